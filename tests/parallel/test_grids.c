/*
 * test_grids.c - every grid trains as one rank does: for all (dp, pp, mp) of up to 16
 * ranks, all schedules, micro-batches fewer and more than stages, odd depths, momentum and
 * clipping, sharded optimizer state, every way of summing gradients; plain stacks, those with
 * norms, bridges and dropout, and those of uneven widths, and language models, whose embeddings
 * are tied or not, with rows that are spread and blocks that compute again; in 32 and 16 bit.
 * By default each grid runs with a few of the combinations, KOLM_GRIDS=all runs the whole
 * product.
 */
#include "grid_engine.h"

#include "engine/collect.h"
#include "launch/launch.h"

#include <sys/mman.h>

enum { STEPS = 20, ROWS = 2, BUCKET = 3000, WEIGHTS_MAX = 1 << 18, TEXT = 768 };

/* What rank 0 leaves for the test. */
struct outcome {
	double losses[STEPS], norms[STEPS];
	size_t count;
	float weights[WEIGHTS_MAX];
};

struct job {
	struct setting s;
	int batch;
	struct outcome *outcome; /* shared */
};

static enum status keep_weights(void *arg, int tensor, const float *values, size_t count,
				struct error *e)
{
	struct outcome *o = arg;

	(void)tensor;
	if (o->count + count > WEIGHTS_MAX)
		return FAIL(e, ERR_FAILED, "more weights than the test has room for");
	memcpy(o->weights + o->count, values, count * sizeof(float));
	o->count += count;
	return OK;
}

static enum status train(struct grid_engine *g, const struct job *job, struct error *err)
{
	struct supply s;
	enum status st;

	TRY(supply_open(&s, g, job->batch, err));
	for (; s.step < STEPS; s.step++) {
		struct step_result result;

		engine_load(g->engine, supply_fill, &s);
		TRY(engine_step(g->engine, s.step, &result, err));
		if (comm_rank(g->options.world))
			continue;
		job->outcome->losses[s.step] = result.loss;
		job->outcome->norms[s.step] = result.grad_norm;
	}
	TRY(collect_weights(g->engine, 0, keep_weights, job->outcome, err));
	supply_close(&s);
out:
	return st;
}

/* What the plan of this rank's engine takes is what the engine has taken, kind by kind. */
static enum status check_prediction(const struct device *dev, struct engine_options o,
				    struct error *err)
{
	struct device_options options = {.threads = 1, .plan = true};
	struct device *plan;
	struct engine *e;
	enum status st;

	o.plan = true;
	o.plan_rank = comm_rank(o.world);
	o.world = NULL;
	TRY(device_open(&plan, "cpu", &options, err));
	TRY(engine_create(&e, plan, &o, err));
	for (int k = 0; k < MEMORY_KIND_COUNT; k++)
		if (device_memory(plan)->now[k] != device_memory(dev)->now[k])
			return FAIL(err, ERR_FAILED, "%s: predicted %llu bytes, taken %llu",
				    memory_kind_name((enum memory_kind)k),
				    (unsigned long long)device_memory(plan)->now[k],
				    (unsigned long long)device_memory(dev)->now[k]);
	engine_free(e);
	device_close(plan);
out:
	return st;
}

static enum status train_rank(struct rank *rank, void *arg, struct error *err)
{
	struct job *job = arg;
	struct grid_engine g;
	enum status st;

	TRY(grid_engine_open(&g, &job->s, job->batch, BUCKET, rank->world, err));
	TRY(check_prediction(g.dev, g.options, err));
	TRY(train(&g, job, err));
	grid_engine_close(&g);
out:
	return st;
}

/* Rows of a step, of all ranks. */
static int batch_of(const struct setting *s)
{
	return s->grid.dp * s->micro_batches * ROWS * setting_sequence(s);
}

static void run(struct job *job)
{
	struct launch l = {.ranks = grid_size(&job->s.grid), .timeout_ms = 60000};
	struct error err = {0};
	char text[TEXT];

	job->outcome->count = 0;
	if (launch_run(&l, train_rank, job, &err) == OK)
		return;
	setting_describe(&job->s, text, sizeof(text));
	fail_msg("%s: %s; %s", text, err.msg, err.hint);
}

static struct outcome *outcomes; /* of one rank, of the grid, of one rank in 32 bit */

/* How far two are apart, of the first's weights as a whole. */
static double distance(const struct outcome *a, const struct outcome *b)
{
	double squares = 0, differences = 0;

	for (size_t i = 0; i < a->count; i++) {
		double difference = (double)a->weights[i] - (double)b->weights[i];

		squares += (double)a->weights[i] * (double)a->weights[i];
		differences += difference * difference;
	}
	return sqrt(differences / squares);
}

/* Sums in other orders round differently; in 16 bit each rounds to few digits, and what becomes
   of that is seen in how far one rank is from itself in 32 bit. */
static void compare_half(const struct setting *s, const char *text)
{
	const struct outcome *one = &outcomes[0], *grid = &outcomes[1], *exact = &outcomes[2];
	struct job alone = {.s = setting_alone(s), .outcome = &outcomes[2]};
	double spread = 0, apart = distance(one, grid);

	alone.batch = batch_of(s);
	alone.s.type = alone.s.grad_type = DTYPE_F32;
	run(&alone);
	for (int i = 0; i < STEPS; i++) {
		spread = fmax(spread, fabs(one->losses[i] - exact->losses[i]));
		if (!(fabs(one->losses[i] - grid->losses[i]) <=
		      0.03 * fabs(one->losses[i]) + 2 * spread))
			fail_msg(
				"%s: loss of step %d is %.9g, on one rank %.9g, in 32 bit %.9g",
				text, i, grid->losses[i], one->losses[i], exact->losses[i]);
	}
	if (!(apart <= 0.01 + 2 * distance(one, exact)))
		fail_msg(
			"%s: the weights differ from those on one rank by %.3g of their norm, and "
			"these by %.3g from those in 32 bit",
			text, apart, distance(one, exact));
}

static void compare(const struct setting *s)
{
	struct job job = {.s = *s, .outcome = &outcomes[1]}, alone;
	double largest = 0;
	char text[TEXT];

	job.batch = batch_of(s);
	alone = job;
	alone.outcome = &outcomes[0];
	alone.s = setting_alone(s);
	run(&alone);
	run(&job);
	setting_describe(s, text, sizeof(text));
	assert_int_equal(outcomes[0].count, outcomes[1].count);
	assert_true(outcomes[0].count > 0);
	if (s->type != DTYPE_F32) {
		compare_half(s, text);
		return;
	}
	for (int i = 0; i < STEPS; i++)
		if (!(fabs(outcomes[0].losses[i] - outcomes[1].losses[i]) <=
		      1e-5 * fabs(outcomes[0].losses[i])))
			fail_msg("%s: loss of step %d is %.9g, on one rank %.9g", text, i,
				 outcomes[1].losses[i], outcomes[0].losses[i]);
	/* What several stages or slices have is counted once. */
	for (int i = 0; i < STEPS; i++)
		if (!(fabs(outcomes[0].norms[i] - outcomes[1].norms[i]) <=
		      1e-4 * outcomes[0].norms[i]))
			fail_msg(
				"%s: the gradients of step %d have norm %.9g, on one rank %.9g",
				text, i, outcomes[1].norms[i], outcomes[0].norms[i]);
	for (size_t i = 0; i < outcomes[0].count; i++)
		largest = fmax(largest, fabs((double)outcomes[0].weights[i]));
	for (size_t i = 0; i < outcomes[0].count; i++)
		if (!(fabs((double)outcomes[0].weights[i] - (double)outcomes[1].weights[i]) <=
		      1e-4 * largest))
			fail_msg("%s: weight %zu is %.9g, on one rank %.9g", text, i,
				 (double)outcomes[1].weights[i],
				 (double)outcomes[0].weights[i]);
}

static const int counts[] = {1, 2, 5, 8};

/* In 32 bit, and some of them again in 16 bit. */
static int run_both(struct setting *s, struct random *r)
{
	s->type = s->grad_type = DTYPE_F32;
	compare(s);
	if (random_int(r, 0, 3))
		return 1;
	setting_halve(s, r);
	compare(s);
	return 2;
}

/* Everything there is for a grid; language models, which have more to choose from and take
   longer, in a third of it. */
static int run_all(struct setting *s, struct random *r)
{
	int n = 0;

	for (int variant = 0; variant < VARIANT_COUNT; variant++)
		for (int schedule = 0; schedule < SCHEDULE_KIND_COUNT; schedule++)
			for (size_t m = 0; m < ARRAY_SIZE(counts); m++)
				for (int choice = 0; choice < 6; choice++) {
					s->variant = (enum variant)variant;
					if (setting_is_language(s) && random_int(r, 0, 2))
						continue;
					if (setting_fill_in(s, r, schedule, counts[m],
							    choice % 2, choice / 2))
						n += run_both(s, r);
				}
	return n;
}

/* Three of them, one a language model, the last in 16 bit, so that over all grids every value
   of every choice comes up many times. */
static int run_some(struct setting *s, struct random *r)
{
	int n = 0;

	while (n < 3) {
		s->variant = (enum variant)random_int(r, 0, VARIANT_COUNT - 1);
		if (n == 1)
			s->variant = (enum variant)random_int(r, VARIANT_GPT, VARIANT_LLAMA);
		s->type = s->grad_type = DTYPE_F32;
		if (n == 2)
			setting_halve(s, r);
		if (setting_fill_in(s, r, random_int(r, 0, SCHEDULE_KIND_COUNT - 1),
				    counts[random_int(r, 0, 3)], random_int(r, 0, 1),
				    random_int(r, 0, 2))) {
			compare(s);
			n++;
		}
	}
	return n;
}

static void every_grid_trains_as_one_rank_does(void **state)
{
	struct random r = random_start("grids");
	bool all = getenv("KOLM_GRIDS") && !strcmp(getenv("KOLM_GRIDS"), "all");
	int most = getenv("KOLM_GRID_RANKS") ? atoi(getenv("KOLM_GRID_RANKS")) : 16, n = 0;
	(void)state;

	outcomes = mmap(NULL, 3 * sizeof(*outcomes), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(outcomes != MAP_FAILED);
	for (int dp = 1; dp <= most; dp++)
		for (int pp = 1; dp * pp <= most; pp++)
			for (int mp = 1; dp * pp * mp <= most; mp++) {
				struct setting s = {.grid = {dp, pp, mp}, .extra = 3};

				n += all ? run_all(&s, &r) : run_some(&s, &r);
			}
	printf("%d runs\n", n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_grid_trains_as_one_rank_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
