/*
 * test_grids.c - every grid trains as one rank does: for all (dp, pp, mp) of up to 16
 * ranks, all schedules, micro-batches fewer and more than stages, odd depths, momentum and
 * clipping, sharded optimizer state, every way of summing gradients. By default each grid
 * runs with a few of the combinations, KOLM_GRIDS=all runs the whole product.
 */
#include "testing.h"

#include "engine/weights.h"

#include <sys/mman.h>

enum { STEPS = 20, ROWS = 2, WEIGHTS_MAX = 1 << 17 };

/* One run: what is trained and how. */
struct setting {
	struct grid grid;
	enum schedule_kind schedule;
	int chunks, micro_batches, depth, dim, out;
	enum grad_sync sync;
	enum activation act;
	enum optimizer optimizer;
	enum dtype type, grad_type;
	bool zero, base, labelled;
};

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

static enum status keep_weights(void *arg, const float *values, size_t count, struct error *e)
{
	struct outcome *o = arg;

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

/* Classes from the synthetic inputs: cheap, and the same on every rank. */
static void label(const struct engine *e)
{
	for (int r = 0; r < engine_batch_rows(e); r++)
		e->batch.labels[r] =
			e->batch.x.data[(size_t)r * e->batch.x.stride] > 0 ? 1 : r % 2;
}

static enum status train(struct engine *e, struct data *d, const struct job *job,
			 struct error *err)
{
	int rows = engine_batch_rows(e);
	struct batch whole = e->batch;
	float *spare = calloc((size_t)job->batch * 256, sizeof(float));
	enum status st = OK;

	if (job->s.labelled) /* the generator wants somewhere to put its targets */
		whole.target = (struct view){.data = spare, .stride = 256};
	for (int step = 0; step < STEPS; step++) {
		struct step_result result;

		if (e->all.x.data)
			data_batch(d, e->dev, step, job->batch, 0, job->batch, &e->all);
		else if (engine_needs_batch(e))
			data_batch(d, e->dev, step, job->batch, rows * e->at.dp, rows, &whole);
		if (job->s.labelled && engine_needs_batch(e))
			label(e);
		TRY(engine_step(e, step, &result, err));
		if (e->rank->number == 0)
			job->outcome->losses[step] = result.loss;
	}
	TRY(weights_gather(e, 0, keep_weights, job->outcome, err));
out:
	free(spare);
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
	o.plan_rank = o.rank->number;
	o.rank = NULL;
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
	const struct setting *s = &job->s;
	struct model_shape shape = {.depth = s->depth,
				    .in = s->out,
				    .dim = s->dim,
				    .out = s->out,
				    .act = s->act,
				    .rows = job->batch / s->grid.dp / s->micro_batches};
	struct device_options options = {.threads = 1, .crowded = true};
	struct engine_options o = {
		.shape = shape,
		.micro_batches = s->micro_batches,
		.labelled = s->labelled,
		.optimizer = {.kind = s->optimizer,
			      .lr = 0.003f * 8 /
				    (float)imax(8,
						s->depth), /* rounding is amplified by depth */
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
		.rank = rank,
		.grid = &s->grid};
	struct partition partition;
	struct schedule schedule;
	struct device *dev;
	struct engine *e;
	struct data d;
	enum status st;

	TRY(data_open(&d, "synthetic", TASK_AUTO, s->out, 3, 0, err));
	TRY(partition_check_split(&shape, s->grid.mp, err));
	TRY(partition_init(&partition, &shape, s->grid.pp, s->chunks, "", err));
	TRY(schedule_init(&schedule, s->schedule, s->grid.pp, s->micro_batches, s->chunks,
			  err));
	o.partition = &partition;
	o.schedule = &schedule;
	TRY(device_open(&dev, "cpu", &options, err));
	if (rank->ranks > 1)
		device_share(dev, source, sink, rank->world);
	TRY(engine_create(&e, dev, &o, err));
	TRY(check_prediction(dev, o, err));
	TRY(train(e, &d, job, err));
	engine_free(e);
	device_close(dev);
	schedule_release(&schedule);
	partition_release(&partition);
	data_close(&d);
out:
	return st;
}

static void describe(const struct setting *s, char *buf, size_t size)
{
	snprintf(
		buf, size,
		"dp %d pp %d mp %d, %s, chunks %d, %d micro-batches, depth %d, dim %d, activation "
		"%d, optimizer %d, %s, gradients %s, %s%s%s",
		s->grid.dp, s->grid.pp, s->grid.mp, schedule_name(s->schedule), s->chunks,
		s->micro_batches, s->depth, s->dim, (int)s->act, (int)s->optimizer,
		dtype_name(s->type), dtype_name(s->grad_type), grad_sync_names[s->sync],
		s->zero ? ", zero" : "", s->base ? ", base" : "");
}

static void run(struct job *job)
{
	struct launch l = {.ranks = grid_size(&job->s.grid), .timeout_ms = 60000};
	struct error err = {0};
	char text[320];

	job->outcome->count = 0;
	if (launch_run(&l, train_rank, job, &err) == OK)
		return;
	describe(&job->s, text, sizeof(text));
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
	char text[320];

	job.batch = s->grid.dp * s->micro_batches * ROWS;
	alone = job;
	alone.outcome = &outcomes[0];
	alone.s.grid = (struct grid){1, 1, 1};
	alone.s.schedule = SCHEDULE_1F1B;
	alone.s.chunks = alone.s.micro_batches = 1;
	alone.s.zero = alone.s.base = false;
	alone.s.sync = SYNC_DDP;
	run(&alone);
	run(&job);
	describe(s, text, sizeof(text));
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

/* The rest of a setting, by a number; false if it makes no sense for the grid. */
static bool fill_in(struct setting *s, struct random *r, int schedule, int m, bool zero,
		    int sync)
{
	s->schedule = (enum schedule_kind)schedule;
	s->micro_batches = m;
	s->zero = zero;
	s->sync = (enum grad_sync)sync;
	s->chunks = schedule_chunks(s->schedule, 2) > 1 ? random_int(r, 2, 3) : 1;
	s->base = schedule == SCHEDULE_NAIVE;
	s->depth = s->grid.pp * s->chunks + random_int(r, 0, 3);
	s->dim = s->grid.mp * random_int(r, 2, 20 / s->grid.mp + 3);
	s->out = s->dim;
	s->act = (enum activation)random_int(r, 0, ACT_COUNT - 1);
	/* AdamW divides by what may be mostly rounding, and deep stacks amplify it. */
	s->optimizer = s->depth > 12 || random_int(r, 0, 3) ? OPT_MOMENTUM : OPT_ADAMW;
	s->labelled = sync != SYNC_MASTER && random_int(r, 0, 3) == 0;
	if (schedule_for(s->schedule, s->grid.pp) != s->schedule)
		return false;
	if (zero && (s->grid.dp == 1 || sync == SYNC_MASTER)) /* the same as without */
		return false;
	return sync != SYNC_MASTER || (s->grid.pp == 1 && s->grid.mp == 1);
}

static const int counts[] = {1, 2, 5, 8};

/* In 16 bit, gradients in that or in fp32. */
static void halve(struct setting *s, struct random *r)
{
	s->type = (enum dtype)random_int(r, DTYPE_F16, DTYPE_BF16);
	s->grad_type = random_int(r, 0, 1) ? s->type : DTYPE_F32;
}

/* Everything there is for a grid, and a quarter of it again in 16 bit. */
static int run_all(struct setting *s, struct random *r)
{
	int n = 0;

	for (int schedule = 0; schedule < SCHEDULE_KIND_COUNT; schedule++)
		for (size_t m = 0; m < ARRAY_SIZE(counts); m++)
			for (int zero = 0; zero < 2; zero++)
				for (int sync = 0; sync < 3; sync++) {
					if (!fill_in(s, r, schedule, counts[m], zero, sync))
						continue;
					s->type = s->grad_type = DTYPE_F32;
					compare(s);
					n++;
					if (random_int(r, 0, 3))
						continue;
					halve(s, r);
					compare(s);
					n++;
				}
	return n;
}

/* Three of them, the last in 16 bit, so that over all grids every value of every choice
   comes up many times. */
static int run_some(struct setting *s, struct random *r)
{
	int n = 0;

	while (n < 3) {
		s->type = s->grad_type = DTYPE_F32;
		if (n == 2)
			halve(s, r);
		if (fill_in(s, r, random_int(r, 0, SCHEDULE_KIND_COUNT - 1),
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
