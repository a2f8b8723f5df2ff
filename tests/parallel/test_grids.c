/*
 * test_grids.c - every grid trains as one rank does: for all (dp, pp, mp) of up to 16
 * ranks, all schedules, micro-batches fewer and more than stages, odd depths, momentum and
 * clipping, sharded optimizer state, every way of summing gradients; plain stacks, those with
 * norms, bridges and dropout, and those of uneven widths; in 32 and 16 bit. By default each
 * grid runs with a few of the combinations, KOLM_GRIDS=all runs the whole product.
 */
#include "grid_setting.h"

#include "data/data.h"
#include "engine/collect.h"
#include "launch/launch.h"

#include <sys/mman.h>

enum { STEPS = 20, ROWS = 2, WEIGHTS_MAX = 1 << 17, TEXT = 640 };

/* What rank 0 leaves for the test. */
struct outcome {
	double losses[STEPS];
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

static enum status source(void *arg, size_t bytes, void **out, struct error *err)
{
	return comm_alloc(arg, bytes, out, err);
}

static void sink(void *arg, void *memory)
{
	comm_give_back(arg, memory);
}

/* The samples of a step. */
struct supply {
	struct data data;
	struct device *dev;
	float *spare; /* (batch, out) for targets of which classes are made */
	int step, batch;
};

/* Classes from the synthetic inputs: cheap, and the same on every rank. */
static void label(const struct batch *b, int64_t first, int rows)
{
	for (int r = 0; r < rows; r++) {
		const float *x = view_from(b->x, (size_t)r).data;

		b->labels[r] = *x > 0 ? 1 : (int32_t)((first + r) % 2);
	}
}

static void supply_fill(void *arg, int64_t first, int rows, const struct batch *b)
{
	struct supply *s = arg;
	struct batch whole = *b;

	if (b->labels)
		whole.target = (struct view){.data = s->spare, .stride = (size_t)s->data.out};
	data_batch(&s->data, s->dev, s->step, s->batch, (int)first, rows, &whole);
	if (b->labels)
		label(b, first, rows);
}

static enum status train(struct engine *e, const struct job *job, struct error *err)
{
	const struct model *m = engine_options(e)->model;
	struct supply s = {.dev = engine_device(e), .batch = job->batch};
	enum status st;

	s.spare = calloc((size_t)job->batch * (size_t)m->out, sizeof(float));
	TRY(data_open(&s.data, "synthetic", TASK_AUTO, m->in, m->out, 3, 0, err));
	for (; s.step < STEPS; s.step++) {
		struct step_result result;

		engine_load(e, supply_fill, &s);
		TRY(engine_step(e, s.step, &result, err));
		if (comm_rank(engine_options(e)->world) == 0)
			job->outcome->losses[s.step] = result.loss;
	}
	TRY(collect_weights(e, 0, keep_weights, job->outcome, err));
	data_close(&s.data);
out:
	free(s.spare);
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

static enum status build(struct model *m, const struct setting *s, struct error *err)
{
	struct mlp mlp = s->mlp;

	mlp.widths = s->widths;
	model_init(m, s->widths[0], s->grid.mp);
	return mlp_build(m, &mlp, err);
}

static struct engine_options options_of(const struct job *job, struct comm *world)
{
	const struct setting *s = &job->s;
	/* Rounding is amplified by depth. */
	float lr = 0.003f * 8 / (float)imax(8, s->mlp.depth);

	return (struct engine_options){.loss = s->labelled ? &loss_cross_entropy : &loss_mse,
				       .rows = job->batch / s->grid.dp / s->micro_batches,
				       .micro_batches = s->micro_batches,
				       .optimizer = {.kind = s->optimizer,
						     .lr = lr,
						     .momentum = 0.9f,
						     .beta1 = 0.9f,
						     .beta2 = 0.99f,
						     .eps = 1e-3f,
						     .weight_decay = 0.01f},
				       .clip = 0.5,
				       .seed = 3,
				       .grad_sync = s->sync,
				       .bucket_bytes = 3000,
				       .zero = s->zero,
				       .type = s->type,
				       .grad_type = s->grad_type,
				       .scaler = {.scale = s->type == DTYPE_F16 ? 1024 : 1},
				       .base = s->base,
				       .world = world,
				       .grid = s->grid};
}

static enum status train_rank(struct rank *rank, void *arg, struct error *err)
{
	struct job *job = arg;
	const struct setting *s = &job->s;
	struct device_options options = {.threads = 1, .crowded = true};
	struct engine_options o = options_of(job, rank->world);
	struct model model;
	struct partition partition;
	struct schedule schedule;
	struct device *dev;
	struct engine *e;
	enum status st;

	TRY(build(&model, s, err));
	TRY(partition_init(&partition, &model, s->grid.pp, s->chunks, "", err));
	TRY(schedule_init(&schedule, s->schedule, s->grid.pp, s->micro_batches, s->chunks,
			  err));
	o.model = &model;
	o.partition = &partition;
	o.schedule = &schedule;
	TRY(device_open(&dev, "cpu", &options, err));
	if (rank->ranks > 1)
		device_share(dev, source, sink, rank->world);
	TRY(engine_create(&e, dev, &o, err));
	TRY(check_prediction(dev, o, err));
	TRY(train(e, job, err));
	engine_free(e);
	device_close(dev);
	schedule_release(&schedule);
	partition_release(&partition);
	model_release(&model);
out:
	return st;
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

static struct outcome *outcomes; /* of one rank, and of the grid */

static void compare(const struct setting *s)
{
	struct job job = {.s = *s, .outcome = &outcomes[1]}, alone;
	/* Sums in other orders round differently; in 16 bit each rounds to few digits. */
	bool half = s->type != DTYPE_F32;
	double loss_tolerance = half ? 0.03 : 1e-5, weight_tolerance = half ? 0.03 : 1e-4;
	double largest = 0;
	char text[TEXT];

	job.batch = s->grid.dp * s->micro_batches * ROWS;
	alone = job;
	alone.outcome = &outcomes[0];
	alone.s = setting_alone(s);
	run(&alone);
	run(&job);
	setting_describe(s, text, sizeof(text));
	for (int i = 0; i < STEPS; i++)
		if (!(fabs(outcomes[0].losses[i] - outcomes[1].losses[i]) <=
		      loss_tolerance * fabs(outcomes[0].losses[i])))
			fail_msg("%s: loss of step %d is %.9g, on one rank %.9g", text, i,
				 outcomes[1].losses[i], outcomes[0].losses[i]);
	assert_int_equal(outcomes[0].count, outcomes[1].count);
	assert_true(outcomes[0].count > 0);
	for (size_t i = 0; i < outcomes[0].count; i++)
		largest = fmax(largest, fabs((double)outcomes[0].weights[i]));
	for (size_t i = 0; i < outcomes[0].count; i++)
		if (!(fabs((double)outcomes[0].weights[i] - (double)outcomes[1].weights[i]) <=
		      weight_tolerance * largest))
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

/* Everything there is for a grid. */
static int run_all(struct setting *s, struct random *r)
{
	int n = 0;

	for (int variant = 0; variant < VARIANT_COUNT; variant++)
		for (int schedule = 0; schedule < SCHEDULE_KIND_COUNT; schedule++)
			for (size_t m = 0; m < ARRAY_SIZE(counts); m++)
				for (int choice = 0; choice < 6; choice++) {
					s->variant = (enum variant)variant;
					if (setting_fill_in(s, r, schedule, counts[m],
							    choice % 2, choice / 2))
						n += run_both(s, r);
				}
	return n;
}

/* Three of them, the last in 16 bit, so that over all grids every value of every choice
   comes up many times. */
static int run_some(struct setting *s, struct random *r)
{
	int n = 0;

	while (n < 3) {
		s->variant = (enum variant)random_int(r, 0, VARIANT_COUNT - 1);
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

	outcomes = mmap(NULL, 2 * sizeof(*outcomes), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(outcomes != MAP_FAILED);
	for (int dp = 1; dp <= most; dp++)
		for (int pp = 1; dp * pp <= most; pp++)
			for (int mp = 1; dp * pp * mp <= most; mp++) {
				struct setting s = {.grid = {dp, pp, mp}};

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
