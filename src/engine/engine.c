/* engine.c - making an engine, its step, its evaluation; see engine.h */
#include "engine/engine.h"
#include "base/clock.h"
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

	TRY(device_alloc_shared(e->dev, MEMORY_WORKSPACE,
				(rows * (x + y) + labels) * sizeof(float), "the batch", &memory,
				err));
	b->x = (struct view){.data = memory, .stride = x};
	if (e->options.labelled)
		b->labels = (int32_t *)((float *)b->x.data + rows * x);
	else
		b->target = (struct view){.data = (float *)b->x.data + rows * x, .stride = y};
out:
	return st;
}

/* What the master holds for all replicas, on top of its own part. */
static enum status allocate_master(struct engine *e, struct error *err)
{
	size_t rows = (size_t)e->options.shape.rows * (size_t)e->grid.dp;
	size_t size = dtype_size(e->options.type);
	size_t stride = (size_t)round_up(e->options.shape.out, 64 / (int64_t)size);
	enum status st;

	TRY(allocate_batch(e, &e->all, rows * (size_t)e->options.micro_batches, err));
	TRY(device_alloc_shared(e->dev, MEMORY_ACTIVATIONS, 2 * rows * stride * size,
				"the outputs of all replicas", (void **)&e->outputs.data, err));
	e->outputs.stride = stride;
	e->outputs.type = e->options.type;
	e->gradients = view_from(e->outputs, rows);
	TRY(device_reserve(e->dev, (int)rows, e->options.shape.out, err));
out:
	return st;
}

/* On a virtual device, what moves its data goes over its links; the world stays as it is for
   what the ranks tell each other. */
static enum status open_links(struct engine *e, int *ranks, struct error *err)
{
	const struct links *links = device_links(e->dev);
	enum status st;

	for (int i = 0; i < e->rank->ranks; i++)
		ranks[i] = i;
	TRY(comm_create(&e->pipe, e->rank->world, COMM_FOR_PIPELINE, ranks, e->rank->ranks,
			err));
	TRY(comm_use_links(e->pipe, links, err));
	if (e->replicas)
		TRY(comm_use_links(e->replicas, links, err));
	if (e->slices)
		TRY(comm_use_links(e->slices, links, err));
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
		TRY(comm_create(&e->replicas, e->rank->world, COMM_FOR_REPLICAS, ranks,
				grid_group(&e->grid, e->rank->number, GRID_DP, ranks), err));
	if (e->grid.mp > 1)
		TRY(comm_create(&e->slices, e->rank->world, COMM_FOR_SLICES, ranks,
				grid_group(&e->grid, e->rank->number, GRID_MP, ranks), err));
	e->pipe = e->rank->world;
	if (device_is_virtual(e->dev))
		TRY(open_links(e, ranks, err));
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
	struct sync_options sync = {.count = e->grid.dp,
				    .number = e->at.dp,
				    .kind = o->grad_sync,
				    .bucket_bytes = o->bucket_bytes,
				    .zero = o->zero,
				    .overlap = !o->base};
	enum status st;

	e->order = &o->schedule->orders[e->at.pp];
	TRY(open_groups(e, err));
	place = (struct model_place){.stage = e->at.pp,
				     .mp = e->grid.mp,
				     .type = o->type,
				     .grad_type = o->grad_type,
				     .plan = o->plan || device_is_virtual(e->dev),
				     .shard = e->at.mp,
				     .sums = e->slices,
				     .share_params = (o->zero || o->grad_sync == SYNC_MASTER) &&
						     e->grid.dp > 1};
	TRY(model_init(&e->model, e->dev, &o->shape, o->partition, &place, o->seed, err));
	TRY(sync_init(&e->sync, &e->model, e->replicas, &sync, err));
	TRY(optim_init(&e->optim, e->dev, &o->optimizer, sync_state_size(&e->sync), o->type,
		       o->grad_type, err));
	if (!place.plan)
		sync_fill_master(&e->sync, &e->optim);
	TRY(buffers_init(&e->buffers, &e->model, e->order, o->micro_batches, err));
	TRY(transfers_create(e, err));
	if (engine_needs_batch(e))
		TRY(allocate_batch(e, &e->batch, (size_t)engine_batch_rows(e), err));
	if (o->grad_sync == SYNC_MASTER && e->at.dp == 0)
		TRY(allocate_master(e, err));
	if (e->rank)
		TRY(comm_alloc(e->rank->world, (size_t)e->rank->ranks * sizeof(*e->reports),
			       (void **)&e->reports, err));
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
	e->pace = e->rank ? &e->rank->pace : NULL;
	e->scaler = options->scaler;
	if (e->scaler.scale == 0)
		e->scaler.scale = 1;
	if (options->grad_sync == SYNC_MASTER && (!options->grid || options->grid->dp == 1))
		e->options.grad_sync = SYNC_FLAT; /* a master without replicas */
	if (!options->grid) {
		TRY(plan_alone(e, err));
	} else {
		e->grid = *options->grid;
		e->at = grid_coords(&e->grid, e->rank ? e->rank->number : options->plan_rank);
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
	if (e->rank) {
		comm_give_back(e->rank->world, e->reports);
		comm_give_back(e->rank->world, e->passage.masters);
	}
	device_free(e->dev, e->passage.rows);
	device_free(e->dev, e->passage.piece);
	device_free(e->dev, e->outputs.data);
	device_free(e->dev, e->all.x.data);
	device_free(e->dev, e->batch.x.data);
	transfers_free(e);
	buffers_release(&e->buffers);
	optim_release(&e->optim);
	sync_release(&e->sync);
	model_release(&e->model);
	if (e->rank && e->pipe != e->rank->world)
		comm_free(e->pipe);
	comm_free(e->slices);
	comm_free(e->replicas);
	schedule_release(&e->own_schedule);
	partition_release(&e->own_partition);
	free(e);
}

void engine_reach(struct engine *e, enum inject_at at, int micro_batch)
{
	static const char *const names[AT_COUNT] = {"", " forward", " backward", " optimizer"};

	if (e->rank && (at == AT_FORWARD || at == AT_BACKWARD))
		rank_at(e->rank, "step %d%s %d", e->step, names[at], micro_batch);
	else if (e->rank)
		rank_at(e->rank, "step %d%s", e->step, names[at]);
	if (e->options.inject && e->options.inject->count) {
		struct watch w = watch_begin(e);

		inject_do(e->options.inject, e->rank ? e->rank->number : 0, e->step, at,
			  e->pace);
		watch_end(e, w, RECORD_PAUSE, NULL);
	}
}

enum status engine_exchange(struct engine *e, struct report own, struct report *sum,
			    struct error *err)
{
	enum status st = OK;

	*sum = own;
	if (!e->rank)
		return OK;
	e->reports[e->rank->number] = own;
	TRY(comm_run(e->rank->world, COMM_ALLGATHER, e->reports,
		     (size_t)e->rank->ranks * sizeof(*e->reports), DTYPE_BYTE, 0, err));
	*sum = (struct report){.keep = e->reports[0].keep};
	for (int i = 0; i < e->rank->ranks; i++) {
		sum->loss += e->reports[i].loss;
		sum->squares += e->reports[i].squares;
		sum->correct += e->reports[i].correct;
		sum->stop = fmax(sum->stop, e->reports[i].stop);
	}
out:
	return st;
}

/* squares: what this rank alone adds. The loss is known to all slices of a layer. */
static struct report report_of(const struct engine *e, double loss, double squares)
{
	return (struct report){.loss = e->at.mp == 0 ? loss : 0,
			       .squares = squares,
			       .stop = e->rank ? rank_stop(e->rank) : 0,
			       .keep = e->options.keep_ms > 0 &&
				       clock_ms() - e->kept_at > e->options.keep_ms};
}

bool engine_looks(const struct engine *e)
{
	return e->options.clip > 0 || e->options.type != DTYPE_F32;
}

static enum status look_and_update(struct engine *e, double loss, bool idle, struct report *sum,
				   struct step_result *result, struct error *err)
{
	double scale = e->scaler.scale, norm;
	enum status st;

	TRY(engine_exchange(e, report_of(e, loss, idle ? 0 : sync_squares(&e->sync)), sum,
			    err));
	norm = sqrt(sum->squares) / scale;
	/* Everybody has the same sum: not finite if one gradient anywhere is not. */
	result->skipped = e->options.type != DTYPE_F32 && !isfinite(norm);
	if (!result->skipped) {
		optim_begin(&e->optim, optim_clip_scale(norm, e->options.clip) / scale);
		if (!idle && !spoil_update(e))
			sync_update(&e->sync, &e->optim);
		TRY(sync_share(&e->sync, err));
	}
	TRY(scaler_update(&e->scaler, result->skipped, err));
	result->grad_norm = norm;
out:
	return st;
}

/* Clip and update. Where nothing depends on the norm, the update itself sums the squares:
   one pass less. */
static enum status update(struct engine *e, double loss, struct step_result *result,
			  struct error *err)
{
	/* Of DataParallel the first replica does it for all. */
	bool idle = e->options.grad_sync == SYNC_MASTER && e->at.dp > 0;
	double squares = 0;
	struct report sum;
	struct watch w = watch_begin(e);
	enum status st;

	result->loss_scale = e->scaler.scale;
	if (engine_looks(e)) {
		TRY(look_and_update(e, loss, idle, &sum, result, err));
	} else {
		optim_begin(&e->optim, 1);
		if (!idle && !spoil_update(e))
			squares = sync_update(&e->sync, &e->optim);
		if (!e->sync.zero && e->at.dp > 0)
			squares = 0; /* the first replica's, too */
		TRY(sync_share(&e->sync, err));
		TRY(engine_exchange(e, report_of(e, loss, squares), &sum, err));
		result->grad_norm = sqrt(sum.squares);
	}
	result->loss = sum.loss;
	result->stop = (int)sum.stop;
	result->keep = sum.keep > 0;
	watch_end(e, w, RECORD_UPDATE, NULL);
out:
	return st;
}

static struct comm_traffic traffic_of(const struct engine *e)
{
	return e->rank ? comm_traffic(e->rank->world) : (struct comm_traffic){0, 0};
}

enum status engine_step(struct engine *e, int step, struct step_result *result,
			struct error *err)
{
	struct comm_traffic before = traffic_of(e);
	double loss = 0;
	enum status st;

	*result = (struct step_result){0};
	e->step = step;
	watch_begin_step(e);
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
	watch_end_step(e);
	e->traffic.collective_bytes = e->sync.bytes + e->model.bytes;
	e->traffic.moved.in += traffic_of(e).in - before.in;
	e->traffic.moved.out += traffic_of(e).out - before.out;
out:
	return st;
}
