/*
 * test_gradients.c - what every kernel table computes as a gradient, against difference
 * quotients of the loss as its definition reads, in double: for all activations, norms, with
 * and without bridges and dropout, for layers of any width.
 */
#include "plain_mlp.h"

enum { MOST_ROWS = 20, MOST_WIDE = 40, SAMPLES = 30 };

/* Widths that differ, and some that do not, for bridges; of two or three numbers a norm leaves
   little but rounding. */
static struct recipe random_recipe(struct random *r, enum norm_kind norm)
{
	int least = norm == NORM_NONE ? 1 : 8;

	struct recipe recipe =
		recipe_of(0, 0, 0, random_int(r, 1, 4), random_int(r, 1, MOST_ROWS));

	for (int i = 0; i <= recipe.mlp.depth; i++)
		recipe.widths[i] = i > 0 && random_int(r, 0, 1)
					   ? recipe.widths[i - 1]
					   : random_int(r, least, MOST_WIDE);
	recipe.widths[recipe.mlp.depth] =
		imax(2, recipe.widths[recipe.mlp.depth]); /* classes */
	recipe.threads = 2;
	recipe.mlp.norm = norm;
	recipe.options.optimizer.lr = 0; /* keep the parameters where they are */
	return recipe;
}

/* Memory for the samples of the plain model; the engine gets the same ones. */
static float values[2][MOST_ROWS * MOST_WIDE];
static int32_t labels[MOST_ROWS];

static struct plain plain_of(struct fixture *f, const struct mlp *mlp)
{
	const struct engine_options *o = engine_options(f->engine);
	struct plain p = {.mlp = mlp,
			  .model = &f->model,
			  .in = {.x = {.data = values[0], .stride = MOST_WIDE},
				 .target = {.data = values[1], .stride = MOST_WIDE}},
			  .rows = o->rows,
			  .labelled = o->loss->labelled,
			  .seed = o->seed};
	size_t n = (size_t)model_parameters(&f->model);
	float *weights = read_tensors(f, collect_weights);

	if (p.labelled)
		p.in.labels = labels;
	p.params = calloc(n, sizeof(*p.params));
	for (size_t i = 0; i < n; i++)
		p.params[i] = (double)weights[i];
	free(weights);
	return p;
}

/* Samples that leave no rectifier so near its kink that rounding would decide. */
static double load_clear_of_kinks(struct fixture *f, struct plain *p, struct random *r)
{
	struct random_samples s = {.model = &f->model};
	double loss;

	do {
		s.seed = r->seed + r->next++;
		fill_random(&s, 0, p->rows, &p->in);
		loss = plain_loss(p);
	} while (p->kink < 2e-5);
	engine_load(f->engine, fill_random, &s);
	return loss;
}

static void check_some(struct plain *p, const float *gradients, const char *what,
		       struct random *r)
{
	int count = (int)model_parameters(p->model);
	/* What a norm makes of rows that a rectifier has left almost nothing of is mostly
	   rounding. */
	double near = p->mlp->norm == NORM_NONE ? 1 : 10;

	for (int n = 0; n < SAMPLES; n++) {
		size_t i = (size_t)random_int(r, 0, count - 1);
		double slope = plain_slope(p, i), gradient = (double)gradients[i];

		if (!(fabs(slope - gradient) <= near * (1e-6 + 1e-5 * fabs(slope))))
			fail_msg("%s, parameter %zu: gradient %g, difference quotient %g", what,
				 i, gradient, slope);
	}
}

static void check_gradients(const char *kernels, const struct recipe *r, struct random *random)
{
	struct mlp mlp = r->mlp;
	struct fixture f;
	struct plain p;
	float *gradients;
	char what[256];
	double loss;

	mlp.widths = r->widths;
	snprintf(what, sizeof(what),
		 "%s, %s, norm %s, dropout %g%s%s, %d rows, widths %d %d %d %d %d", kernels,
		 activation_names[mlp.act], norm_names[mlp.norm], mlp.dropout,
		 mlp.residual ? ", residual" : "", r->options.loss->labelled ? ", labels" : "",
		 r->options.rows, r->widths[0], r->widths[1], r->widths[2], r->widths[3],
		 r->widths[4]);
	setenv("KOLM_CPU", kernels, 1);
	fixture_open(&f, r);
	p = plain_of(&f, &mlp);
	loss = load_clear_of_kinks(&f, &p, random);
	if (!(fabs(step_loss(&f) - loss) < 1e-5 * (1 + loss)))
		fail_msg("%s: another loss than %g", what, loss);
	gradients = read_tensors(&f, collect_gradients);
	check_some(&p, gradients, what, random);
	free(gradients);
	free(p.params);
	fixture_close(&f);
	unsetenv("KOLM_CPU");
}

/* Norms and activations of one kernel table; the bits of extra say what else there is. */
static void check_table(const char *kernels, int extra, struct random *r)
{
	for (int act = 0; act < ACT_COUNT; act++)
		for (int norm = 0; norm < NORM_COUNT; norm++) {
			struct recipe recipe = random_recipe(r, (enum norm_kind)norm);

			recipe.mlp.act = (enum activation)act;
			recipe.mlp.residual = extra & 1;
			recipe.mlp.dropout = extra & 2 ? 0.3 : 0;
			recipe.options.loss = extra & 4 ? &loss_cross_entropy : &loss_mse;
			check_gradients(kernels, &recipe, r);
		}
}

static void gradients_agree_with_finite_differences(void **state)
{
	struct random r = random_start("finite differences");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int extra = 0; extra < 8; extra++)
			check_table((*k)->name, extra, &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gradients_agree_with_finite_differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
