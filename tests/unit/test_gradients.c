/*
 * test_gradients.c - what every kernel table computes as a gradient, against difference
 * quotients of the loss as its definition reads, in double.
 */
#include "engines.h"

/* A parameter: W[out, in] of a layer, or b[out] if in < 0. */
struct parameter {
	int layer, out, in;
};

/* One row through layer k in double, with parameter p moved by a little; z, if there is a
   rectifier, comes down to its smallest distance from the kink. */
static void plain_layer(const struct engine *e, int k, struct parameter p, double by,
			const double *x, double *y, double *z)
{
	const struct model_shape *s = &e->options.shape;
	const struct layer *l = &e->model.layers[k];
	bool last = k == s->depth - 1;
	float row[256];

	for (int o = 0; o < l->out; o++) {
		bool moved = k == p.layer && o == p.out;

		device_matrix_read(e->dev, e->model.param + l->weight, DTYPE_F32, l->out, l->in,
				   o, 1, row);
		y[o] = e->model.param[l->bias + (size_t)o] + (moved && p.in < 0 ? by : 0);
		for (int i = 0; i < l->in; i++)
			y[o] += x[i] * (row[i] + (moved && p.in == i ? by : 0));
		if (!last && s->act == ACT_RELU) {
			*z = fmin(*z, fabs(y[o]));
			y[o] = fmax(y[o], 0);
		}
		if (!last && s->act == ACT_GELU)
			y[o] *= 0.5 * erfc(-y[o] * M_SQRT1_2);
	}
}

static double plain_row_loss(const struct engine *e, int r, const double *y)
{
	const struct model_shape *s = &e->options.shape;
	const float *target = e->batch.target.data + (size_t)r * e->batch.target.stride;
	double sum = 0;

	for (int o = 0; o < s->out; o++)
		sum += e->options.labelled ? exp(y[o]) : pow(y[o] - target[o], 2);
	return e->options.labelled ? (log(sum) - y[e->batch.labels[r]]) / s->rows
				   : sum / (s->rows * s->out);
}

/* The loss of the batch, computed in double, with a parameter moved by a little. */
static double plain_loss(const struct engine *e, struct parameter p, double by, double *z)
{
	const struct model_shape *s = &e->options.shape;
	double loss = 0, x[256], y[256];

	*z = INFINITY;
	for (int r = 0; r < s->rows; r++) {
		for (int i = 0; i < s->in; i++)
			x[i] = e->batch.x.data[(size_t)r * e->batch.x.stride + (size_t)i];
		for (int k = 0; k < s->depth; k++) {
			plain_layer(e, k, p, by, x, y, z);
			memcpy(x, y, sizeof(x));
		}
		loss += plain_row_loss(e, r, x);
	}
	return loss;
}

static double gradient_of(const struct engine *e, struct parameter p)
{
	const struct layer *l = &e->model.layers[p.layer];
	float row[256];

	if (p.in < 0)
		return e->model.grad[l->bias + (size_t)p.out];
	device_matrix_read(e->dev, e->model.grad + l->weight, DTYPE_F32, l->out, l->in, p.out,
			   1, row);
	return row[p.in];
}

/* The slope of the loss along a parameter. In double the step can be so small that no
   rectifier which is clear of its kink reaches it. */
static double slope_of(const struct engine *e, struct parameter p)
{
	const double h = 0x1p-22;
	double z;

	return (plain_loss(e, p, h, &z) - plain_loss(e, p, -h, &z)) / (2 * h);
}

/* A batch that leaves no rectifier so near its kink that rounding would decide. */
static double fill_clear_of_kinks(struct engine *e, struct random *r)
{
	double loss, z;

	do {
		fill_batch(e, r->seed + r->next++);
		loss = plain_loss(e, (struct parameter){0}, 0, &z);
	} while (z < 2e-5);
	return loss;
}

static void check_gradients(const char *kernels, enum activation act, bool labelled,
			    struct random *r)
{
	struct engine_options o =
		options_of(random_int(r, 1, 40), random_int(r, 1, 40), random_int(r, 2, 30),
			   random_int(r, 1, 4), random_int(r, 1, 20));
	struct engine *e;
	struct device *dev;
	double loss;

	setenv("KOLM_CPU", kernels, 1);
	dev = open_device(2, 0);
	o.labelled = labelled;
	o.shape.act = act;
	o.optimizer.lr = 0; /* keep the parameters where they are */
	assert_int_equal(engine_create(&e, dev, &o, &err), OK);
	loss = fill_clear_of_kinks(e, r);
	assert_true(fabs(step_loss(e) - loss) < 1e-5 * (1 + loss));
	for (int n = 0; n < 30; n++) {
		struct parameter p = {.layer = random_int(r, 0, o.shape.depth - 1)};
		double gradient, slope;

		p.out = random_int(r, 0, e->model.layers[p.layer].out - 1);
		p.in = random_int(r, -1, e->model.layers[p.layer].in - 1);
		gradient = gradient_of(e, p);
		slope = slope_of(e, p);
		if (!(fabs(slope - gradient) <= 1e-6 + 1e-5 * fabs(slope)))
			fail_msg("%s, layer %d [%d, %d]: gradient %g, difference quotient %g",
				 kernels, p.layer, p.out, p.in, gradient, slope);
	}
	engine_free(e);
	device_close(dev);
	unsetenv("KOLM_CPU");
}

static void gradients_agree_with_finite_differences(void **state)
{
	struct random r = random_start("finite differences");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int act = 0; act < ACT_COUNT; act++)
			for (int labelled = 0; labelled < 2; labelled++)
				for (int i = 0; i < 3; i++)
					check_gradients((*k)->name, (enum activation)act,
							labelled, &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gradients_agree_with_finite_differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
