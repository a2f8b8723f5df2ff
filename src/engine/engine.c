/* engine.c - making an engine, its step, its evaluation; see engine.h */
#include "engine/engine.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>

int engine_batch_rows(const struct engine *e)
{
	return e->options.micro_batches * e->options.shape.rows;
}

bool engine_needs_batch(const struct engine *e)
{
	return e->model.chunks[0].begins || e->model.chunks[e->model.n_chunks - 1].ends;
}

/* Inputs, then targets or labels, in one piece. */
static enum status allocate_batch(struct engine *e, struct batch *b, size_t rows,
				  struct error *err)
{
	const struct model_shape *shape = &e->options.shape;
	size_t x = (size_t)round_up(shape->in, LINE_FLOATS);
	size_t y = e->options.labelled ? 0 : (size_t)round_up(shape->out, LINE_FLOATS);
	size_t labels = e->options.labelled ? rows : 0;
	void *memory;
	enum status st;

	TRY(device_alloc_shared(e->dev, MEMORY_ACTIVATIONS,
				(rows * (x + y) + labels) * sizeof(float), "the batch", &memory,
				err));
	b->x = (struct view){memory, x};
	if (e->options.labelled)
		b->labels = (int32_t *)(b->x.data + rows * x);
	else
		b->target = (struct view){b->x.data + rows * x, y};
out:
	return st;
}

/* What the master holds for all replicas, on top of its own part. */
static enum status allocate_master(struct engine *e, struct error *err)
{
	size_t rows = (size_t)e->options.shape.rows * (size_t)e->grid.dp;
	size_t stride = (size_t)round_up(e->options.shape.out, LINE_FLOATS);
	enum status st;

	TRY(allocate_batch(e, &e->all, rows * (size_t)e->options.micro_batches, err));
	TRY(device_alloc_shared(e->dev, MEMORY_ACTIVATIONS, 2 * rows * stride * sizeof(float),
				"the outputs of all replicas", (void **)&e->outputs.data, err));
	e->outputs.stride = e->gradients.stride = stride;
	e->gradients.data = e->outputs.data + rows * stride;
	TRY(device_reserve(e->dev, (int)rows, e->options.shape.out, err));
out:
	return st;
}

/* The groups that this rank talks to. Every rank makes the same calls. */
static enum status open_groups(struct engine *e, struct error *err)
{
	enum status st = OK;
	int *ranks;

	if (!e->rank)
		return OK;
	ranks = calloc((size_t)grid_size(&e->grid), sizeof(int));
	if (!ranks)
		return FAIL(err, ERR_MEMORY, "no memory for the groups of %d ranks",
			    grid_size(&e->grid));
	if (e->grid.dp > 1)
		TRY(comm_create(&e->replicas, e->rank->world, ranks,
				grid_group(&e->grid, e->rank->number, GRID_DP, ranks), err));
	if (e->grid.mp > 1)
		TRY(comm_create(&e->slices, e->rank->world, ranks,
				grid_group(&e->grid, e->rank->number, GRID_MP, ranks), err));
out:
	free(ranks);
	return st;
}

/* One rank on its own: all layers, one micro-batch after the other. */
static enum status plan_alone(struct engine *e, struct error *err)
{
	enum status st;

	e->grid = (struct grid){1, 1, 1};
	TRY(partition_init(&e->own_partition, &e->options.shape, 1, 1, "", err));
	TRY(schedule_init(&e->own_schedule, SCHEDULE_1F1B, 1, e->options.micro_batches, 1,
			  err));
	e->options.partition = &e->own_partition;
	e->options.schedule = &e->own_schedule;
out:
	return st;
}

static enum status build(struct engine *e, struct error *err)
{
	const struct engine_options *o = &e->options;
	struct model_place place;
	struct sync_options sync = {.kind = o->grad_sync,
				    .bucket_bytes = o->bucket_bytes,
				    .zero = o->zero,
				    .overlap = !o->base};
	enum status st;

	e->order = &o->schedule->orders[e->at.pp];
	TRY(open_groups(e, err));
	place = (struct model_place){.stage = e->at.pp,
				     .mp = e->grid.mp,
				     .shard = e->at.mp,
				     .sums = e->slices,
				     .share_params = (o->zero || o->grad_sync == SYNC_MASTER) &&
						     e->grid.dp > 1};
	TRY(model_init(&e->model, e->dev, &o->shape, o->partition, &place, o->seed, err));
	TRY(sync_init(&e->sync, &e->model, e->replicas, &sync, err));
	TRY(optim_init(&e->optim, e->dev, &o->optimizer, sync_state_size(&e->sync), err));
	TRY(buffers_init(&e->buffers, &e->model, e->order, o->micro_batches, err));
	TRY(transfers_create(e, err));
	if (engine_needs_batch(e))
		TRY(allocate_batch(e, &e->batch, (size_t)engine_batch_rows(e), err));
	if (o->grad_sync == SYNC_MASTER && e->at.dp == 0)
		TRY(allocate_master(e, err));
	TRY(device_alloc_shared(e->dev, MEMORY_COMM,
				(size_t)grid_size(&e->grid) * sizeof(*e->reports),
				"the reports", (void **)&e->reports, err));
out:
	return st;
}

enum status engine_create(struct engine **out, struct device *dev,
			  const struct engine_options *options, struct error *err)
{
	enum status st = OK;
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return FAIL(err, ERR_MEMORY, "no memory for the engine");
	e->dev = dev;
	e->options = *options;
	e->rank = options->rank;
	if (options->grad_sync == SYNC_MASTER && (!e->rank || options->grid->dp == 1))
		e->options.grad_sync = SYNC_FLAT; /* a master without replicas */
	if (!e->rank) {
		TRY(plan_alone(e, err));
	} else {
		e->grid = *options->grid;
		e->at = grid_coords(&e->grid, e->rank->number);
	}
	TRY(build(e, err));
	*out = e;
	e = NULL; /* the caller's now */
out:
	engine_free(e);
	return st;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	device_free(e->dev, e->reports);
	device_free(e->dev, e->outputs.data);
	device_free(e->dev, e->all.x.data);
	device_free(e->dev, e->batch.x.data);
	transfers_free(e);
	buffers_release(&e->buffers);
	optim_release(&e->optim);
	sync_release(&e->sync);
	model_release(&e->model);
	comm_free(e->slices);
	comm_free(e->replicas);
	schedule_release(&e->own_schedule);
	partition_release(&e->own_partition);
	free(e);
}

void engine_reach(const struct engine *e, enum inject_at at, int micro_batch)
{
	static const char *const names[AT_COUNT] = {"", " forward", " backward", " optimizer"};

	if (e->rank && (at == AT_FORWARD || at == AT_BACKWARD))
		rank_at(e->rank, "step %d%s %d", e->step, names[at], micro_batch);
	else if (e->rank)
		rank_at(e->rank, "step %d%s", e->step, names[at]);
	if (e->options.inject)
		inject_do(e->options.inject, e->rank ? e->rank->number : 0, e->step, at);
}

enum status engine_exchange(struct engine *e, struct report own, struct report *sum,
			    struct error *err)
{
	size_t floats = sizeof(struct report) / sizeof(float);
	enum status st = OK;

	*sum = own;
	if (!e->rank)
		return OK;
	e->reports[e->rank->number] = own;
	TRY(comm_run(e->rank->world, COMM_ALLGATHER, e->reports,
		     (size_t)e->rank->ranks * floats, DTYPE_F32, 0, err));
	*sum = (struct report){0};
	for (int i = 0; i < e->rank->ranks; i++) {
		sum->loss += e->reports[i].loss;
		sum->squares += e->reports[i].squares;
		sum->correct += e->reports[i].correct;
		sum->stop = fmax(sum->stop, e->reports[i].stop);
	}
out:
	return st;
}

/* What only one of several ranks that know it may add. */
static struct report report_of(const struct engine *e, double loss, double squares)
{
	bool counts = e->sync.zero || e->at.dp == 0;

	return (struct report){.loss = e->at.mp == 0 ? loss : 0,
			       .squares = counts ? squares : 0,
			       .stop = e->rank ? rank_stop(e->rank) : 0};
}

/* Clip and update. Clipping needs the norm over the whole grid first; otherwise the update
   itself sums the squares: one pass less. */
static enum status update(struct engine *e, double loss, struct step_result *result,
			  struct error *err)
{
	bool clip = e->options.clip > 0, master = e->options.grad_sync == SYNC_MASTER;
	bool idle = master && e->at.dp > 0; /* the first replica does it for all */
	struct report sum;
	double squares = 0;
	enum status st;

	if (clip) {
		TRY(engine_exchange(e, report_of(e, loss, idle ? 0 : sync_squares(&e->sync)),
				    &sum, err));
		optim_begin(&e->optim, optim_clip_scale(sqrt(sum.squares), e->options.clip));
		if (!idle)
			sync_update(&e->sync, &e->optim);
	} else {
		optim_begin(&e->optim, 1);
		if (!idle)
			squares = sync_update(&e->sync, &e->optim);
	}
	TRY(sync_share(&e->sync, err));
	if (!clip)
		TRY(engine_exchange(e, report_of(e, loss, squares), &sum, err));
	result->loss = sum.loss;
	result->grad_norm = sqrt(sum.squares);
	result->stop = (int)sum.stop;
out:
	return st;
}

enum status engine_step(struct engine *e, int step, struct step_result *result,
			struct error *err)
{
	double loss = 0;
	enum status st;

	*result = (struct step_result){0};
	e->step = step;
	engine_reach(e, AT_STEP, 0);
	if (e->options.grad_sync == SYNC_MASTER) {
		TRY(engine_step_master(e, &loss, err));
	} else {
		sync_begin(&e->sync);
		TRY(engine_execute(e, &loss, err));
		TRY(sync_finish(&e->sync, err));
	}
	engine_reach(e, AT_OPTIMIZER, 0);
	TRY(update(e, loss, result, err));
	e->traffic.collective_bytes = e->sync.bytes + e->model.bytes;
out:
	return st;
}

static int correct_rows(const struct engine *e, struct view y, int rows)
{
	int correct = 0;

	for (int r = 0; r < rows; r++) {
		const float *row = y.data + (size_t)r * y.stride;
		int best = 0;

		for (int i = 1; i < e->options.shape.out; i++)
			if (row[i] > row[best])
				best = i;
		correct += best == e->batch.labels[r];
	}
	return correct;
}

static void no_hook(void *arg, int layer)
{
	(void)arg;
	(void)layer;
}

/* One part of the stack for some samples: from the part before, to the part behind. */
static enum status evaluate_part(struct engine *e, int part, int rows, double divisor,
				 struct report *sum, struct error *err)
{
	int k = part / e->grid.pp, parts = e->grid.pp * e->model.n_chunks;
	const struct chunk *c = &e->model.chunks[k];
	struct chunk_buffers *b = &e->buffers.chunks[k];
	struct slot *s = &b->slot[0];
	struct coords at = e->at;
	struct comm_request r;
	enum status st = OK;

	if (part % e->grid.pp != e->at.pp)
		return OK;
	s->input[0] = c->begins ? e->batch.x : b->input[0];
	if (part > 0) {
		at.pp = (part - 1) % e->grid.pp;
		comm_irecv(e->rank->world, grid_rank(&e->grid, at), 0, s->input[0].data,
			   (size_t)rows * s->input[0].stride * sizeof(float), &r);
		TRY(comm_wait(&r, err));
	}
	TRY(chunk_forward(&e->model, c, s, rows, no_hook, NULL, err));
	if (part < parts - 1) {
		at.pp = (part + 1) % e->grid.pp;
		comm_isend(e->rank->world, grid_rank(&e->grid, at), 0, s->input[c->count].data,
			   (size_t)rows * s->input[c->count].stride * sizeof(float), &r);
		TRY(comm_wait(&r, err));
		return OK;
	}
	if (e->at.mp > 0)
		return OK;
	sum->loss += engine_loss(e, s, &b->flow[0], 0, rows, divisor);
	if (e->options.labelled)
		sum->correct += correct_rows(e, s->full, rows);
out:
	return st;
}

/* The first replica does it, part after part. */
enum status engine_evaluate(struct engine *e, const struct data *d, struct evaluation *out,
			    struct error *err)
{
	struct report own = {0}, sum;
	enum status st = OK;

	*out = (struct evaluation){.samples = d->held_out, .accuracy = NAN};
	for (int64_t i = 0; i < d->held_out && e->at.dp == 0; i += e->options.shape.rows) {
		int rows = (int)min64(e->options.shape.rows, d->held_out - i);

		if (e->rank)
			rank_at(e->rank, "evaluation of sample %lld", (long long)i);
		if (engine_needs_batch(e))
			data_held_out(d, i, rows, &e->batch);
		for (int part = 0; part < e->grid.pp * e->model.n_chunks; part++)
			TRY(evaluate_part(e, part, rows, (double)d->held_out, &own, err));
	}
	TRY(engine_exchange(e, own, &sum, err));
	out->loss = sum.loss;
	if (e->options.labelled)
		out->accuracy = sum.correct / (double)d->held_out;
out:
	return st;
}
