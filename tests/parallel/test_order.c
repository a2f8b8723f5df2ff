/*
 * test_order.c - the sum of a bucket over the replicas begins when the gradients of all of its
 * weights are there, those of the last micro-batch included, and no earlier: on random grids,
 * schedules and models, with buckets of every size. The linker sends what kernels and sums are
 * called with through here, so that nothing that the engine says of itself is believed.
 */
#include "grid_engine.h"

#include "engine/impl.h"
#include "launch/launch.h"

enum { STEPS = 3, RANKS = 8, ROUNDS = 120, TENSORS_MAX = 12 * SETTING_DEPTH };

void __real_comm_start(struct comm *c, enum comm_op op, void *buf, size_t n, enum dtype dtype,
		       int root, struct comm_request *r);
void __wrap_comm_start(struct comm *c, enum comm_op op, void *buf, size_t n, enum dtype dtype,
		       int root, struct comm_request *r);
enum status __real_comm_run(struct comm *c, enum comm_op op, void *buf, size_t n,
			    enum dtype dtype, int root, struct error *err);
enum status __wrap_comm_run(struct comm *c, enum comm_op op, void *buf, size_t n,
			    enum dtype dtype, int root, struct error *err);
void __real_device_backward_weight(struct device *dev, const struct linear *l);
void __wrap_device_backward_weight(struct device *dev, const struct linear *l);
void __real_device_norm_backward_weight(struct device *dev, const struct norm *n);
void __wrap_device_norm_backward_weight(struct device *dev, const struct norm *n);
void __real_device_embed_gradient(struct device *dev, const struct embedding *e);
void __wrap_device_embed_gradient(struct device *dev, const struct embedding *e);
void __real_device_positions_gradient(struct device *dev, const struct positions *p);
void __wrap_device_positions_gradient(struct device *dev, const struct positions *p);

/* A step of this rank, as it was seen; every rank is a process. */
static struct {
	const struct engine *engine; /* NULL: nobody looks */
	int computed[TENSORS_MAX];   /* times that a tensor got a gradient */
	int joined[TENSORS_MAX];     /* that other stages or slices have added theirs */
	int summed[TENSORS_MAX];     /* and that a sum over the replicas has begun */
	int early;		     /* a tensor whose sum began too early, or -1 */
} seen;

/* Of the flat array of gradients. */
static size_t place_of(const void *address)
{
	const struct weights *w = &seen.engine->weights;

	return (size_t)((const char *)address - (const char *)w->grad) /
	       dtype_size(w->grad_type);
}

static void computed(const void *gradient)
{
	const struct weights *w = &seen.engine->weights;

	for (int i = 0; i < w->model->n_tensors; i++)
		if (gradient && w->at[i] == place_of(gradient))
			seen.computed[i]++;
}

/* How often it is computed in a step: layers of this stage may share it. */
static int times(int tensor)
{
	const struct engine *e = seen.engine;
	const struct model *m = e->weights.model;
	int users[2] = {m->tensors[tensor].layer, -1}, n = 0;

	for (int i = 0; i < m->n_ties; i++)
		if (m->ties[i].tensor == tensor)
			users[1] = m->ties[i].layer;
	for (int i = 0; i < 2; i++)
		for (int c = 0; c < e->n_chunks; c++)
			n += users[i] >= e->chunks[c].first &&
			     users[i] < e->chunks[c].first + e->chunks[c].count;
	return n * e->options.micro_batches;
}

/* Sums over other stages or slices that come before that over the replicas. */
static int joins(int tensor)
{
	const struct weights *w = &seen.engine->weights;

	return w->at[tensor] >= w->shared;
}

/* A sum of some gradients has begun; of all replicas, or among the others before that. */
static void begun(const void *buf, size_t n, bool replicas)
{
	const struct weights *w = &seen.engine->weights;
	size_t begin = place_of(buf);

	for (int i = 0; i < w->model->n_tensors; i++) {
		if (w->at[i] == WEIGHTS_ELSEWHERE || w->at[i] < begin || w->at[i] >= begin + n)
			continue;
		++*(replicas ? &seen.summed[i] : &seen.joined[i]);
		if (seen.computed[i] < times(i) || (replicas && seen.joined[i] < joins(i)))
			seen.early = i;
	}
}

static bool is_gradient(const void *buf)
{
	const struct weights *w = &seen.engine->weights;
	const char *begin = w->grad, *at = buf;

	return at >= begin && at < begin + w->size * dtype_size(w->grad_type);
}

static void look_at(const struct comm *c, enum comm_op op, const void *buf, size_t n)
{
	if (seen.engine && (op == COMM_ALLREDUCE || op == COMM_REDUCE_SCATTER) &&
	    is_gradient(buf))
		begun(buf, n, c == seen.engine->replicas);
}

void __wrap_comm_start(struct comm *c, enum comm_op op, void *buf, size_t n, enum dtype dtype,
		       int root, struct comm_request *r)
{
	look_at(c, op, buf, n);
	__real_comm_start(c, op, buf, n, dtype, root, r);
}

enum status __wrap_comm_run(struct comm *c, enum comm_op op, void *buf, size_t n,
			    enum dtype dtype, int root, struct error *err)
{
	look_at(c, op, buf, n);
	return __real_comm_run(c, op, buf, n, dtype, root, err);
}

void __wrap_device_backward_weight(struct device *dev, const struct linear *l)
{
	__real_device_backward_weight(dev, l);
	if (!seen.engine)
		return;
	computed(l->weight);
	computed(l->bias);
}

void __wrap_device_norm_backward_weight(struct device *dev, const struct norm *n)
{
	__real_device_norm_backward_weight(dev, n);
	if (!seen.engine)
		return;
	computed(n->dweight);
	computed(n->dbias);
}

void __wrap_device_embed_gradient(struct device *dev, const struct embedding *e)
{
	__real_device_embed_gradient(dev, e);
	if (seen.engine)
		computed(e->table);
}

void __wrap_device_positions_gradient(struct device *dev, const struct positions *p)
{
	__real_device_positions_gradient(dev, p);
	if (seen.engine)
		computed(p->table);
}

struct job {
	struct setting s;
	size_t bucket_bytes;
};

/* Every tensor got a gradient from every micro-batch and every layer that has it, and was
   summed once, behind them and behind what other stages and slices have of it. */
static enum status check_step(int step, struct error *err)
{
	const struct weights *w = &seen.engine->weights;
	const struct tensor *tensors = w->model->tensors;

	if (seen.early >= 0)
		return FAIL(err, ERR_FAILED, "step %d: the sum of %s began too early", step,
			    tensors[seen.early].name);
	for (int i = 0; i < w->model->n_tensors; i++)
		if (w->at[i] != WEIGHTS_ELSEWHERE &&
		    (seen.computed[i] != times(i) || seen.joined[i] != joins(i) ||
		     seen.summed[i] != 1))
			return FAIL(err, ERR_FAILED,
				    "step %d: %s got %d gradients, was joined %d times and "
				    "summed %d times",
				    step, tensors[i].name, seen.computed[i], seen.joined[i],
				    seen.summed[i]);
	return OK;
}

static enum status train_rank(struct rank *rank, void *arg, struct error *err)
{
	const struct job *job = arg;
	int batch = job->s.grid.dp * job->s.micro_batches * setting_sequence(&job->s);
	struct grid_engine g;
	struct supply s;
	enum status st;

	TRY(grid_engine_open(&g, &job->s, batch, job->bucket_bytes, rank->world, err));
	TRY(supply_open(&s, &g, batch, err));
	for (; s.step < STEPS; s.step++) {
		struct step_result result;

		memset(&seen, 0, sizeof(seen));
		seen.early = -1;
		seen.engine = g.engine;
		engine_load(g.engine, supply_fill, &s);
		TRY(engine_step(g.engine, s.step, &result, err));
		TRY(check_step(s.step, err));
	}
	seen.engine = NULL;
	supply_close(&s);
	grid_engine_close(&g);
out:
	return st;
}

/* Half of them have all there is: replicas, stages and slices. */
static struct grid random_grid(struct random *r)
{
	struct grid g = {2, 2, 2};

	if (random_int(r, 0, 1))
		return g;

	do
		g = (struct grid){random_int(r, 2, 4), random_int(r, 1, 4),
				  random_int(r, 1, 4)};
	while (grid_size(&g) > RANKS);
	return g;
}

static void sums_begin_behind_their_gradients(void **state)
{
	struct random r = random_start("order");
	(void)state;

	for (int round = 0; round < ROUNDS; round++) {
		struct job job = {
			.s = {.variant = (enum variant)(round % VARIANT_COUNT), .extra = 10}};
		struct launch l = {.timeout_ms = 60000};
		struct error err = {0};
		char text[768];

		do
			job.s.grid = random_grid(&r);
		while (!setting_fill_in(&job.s, &r, random_int(&r, 0, SCHEDULE_KIND_COUNT - 1),
					random_int(&r, 1, 6), random_int(&r, 0, 1),
					random_int(&r, SYNC_DDP, SYNC_FLAT)));
		job.bucket_bytes = (size_t)1 << random_int(&r, 8, 14);
		l.ranks = grid_size(&job.s.grid);
		if (launch_run(&l, train_rank, &job, &err) == OK)
			continue;
		setting_describe(&job.s, text, sizeof(text));
		fail_msg("buckets of %zu bytes, %s: %s", job.bucket_bytes, text, err.msg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_begin_behind_their_gradients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
