/* engine.c - making an engine; see engine.h */
#include "engine/impl.h"
#include "base/clock.h"
#include "base/util.h"

#include <assert.h>
#include <stdlib.h>

enum dtype engine_grad_type(enum dtype type, int micro_batches)
{
	return micro_batches > (type == DTYPE_F16 ? 256 : 32) ? DTYPE_F32 : type;
}

const struct engine_options *engine_options(const struct engine *e)
{
	return &e->options;
}

struct device *engine_device(const struct engine *e)
{
	return e->dev;
}

const struct engine_times *engine_times(const struct engine *e)
{
	return &e->times;
}

const struct traffic_count *engine_traffic(const struct engine *e)
{
	return &e->traffic;
}

void engine_kept(struct engine *e)
{
	e->kept_at = clock_ms();
}

int engine_batch_rows(const struct engine *e)
{
	return e->options.micro_batches * e->options.rows;
}

static int rows_of(const struct engine *e, bool spread)
{
	return spread ? e->run.rows / e->options.grid.mp : e->run.rows;
}

int engine_rows_in(const struct engine *e, int chunk)
{
	return rows_of(e, e->options.model->layers[e->chunks[chunk].first]->in_spread);
}

int engine_rows_out(const struct engine *e, int chunk)
{
	const struct chunk *c = &e->chunks[chunk];

	return rows_of(e, e->options.model->layers[c->first + c->count - 1]->out_spread);
}

bool engine_sends_early(const struct engine_options *o)
{
	return !o->base && !o->model->lean;
}

bool engine_needs_batch(const struct engine *e)
{
	return e->chunks[0].begins || e->chunks[e->n_chunks - 1].ends;
}

/* ---- memory ---- */

static enum status allocate_samples(struct engine *e, struct samples *s, size_t rows,
				    struct error *err)
{
	const struct model *m = e->options.model;
	bool labelled = e->options.loss->labelled;
	size_t x = m->tokens ? 1 : (size_t)round_up(m->in, LINE_FLOATS);
	size_t y = labelled ? 0 : (size_t)round_up(m->out, LINE_FLOATS);
	float *behind;
	enum status st;

	s->rows = rows;
	s->bytes = (rows * (x + y) + (labelled ? rows : 0)) * sizeof(float);
	TRY(device_alloc_shared(e->dev, MEMORY_WORKSPACE, s->bytes, "the batch", &s->memory,
				err));
	s->x = (struct view){
		.data = s->memory, .stride = x, .type = m->tokens ? DTYPE_I32 : DTYPE_F32};
	behind = (float *)s->memory + rows * x;
	if (labelled)
		s->target.labels = (int32_t *)behind;
	else
		s->target.values = (struct view){.data = behind, .stride = y};
out:
	return st;
}

/* What the master holds for all replicas, on top of its own part. */
static enum status allocate_master(struct engine *e, struct error *err)
{
	size_t rows = (size_t)e->options.rows * (size_t)e->options.grid.dp;
	size_t size = dtype_size(e->options.type);
	size_t stride = (size_t)round_up(e->options.model->out, 64 / (int64_t)size);
	enum status st;

	TRY(allocate_samples(e, &e->all, rows * (size_t)e->options.micro_batches, err));
	TRY(device_alloc_shared(e->dev, MEMORY_ACTIVATIONS, 2 * rows * stride * size,
				"the outputs of all replicas", &e->outputs.data, err));
	e->outputs.stride = stride;
	e->outputs.type = e->options.type;
	e->gradients = view_from(e->outputs, rows);
	TRY(device_reserve(e->dev, (int)rows, e->options.model->out, err));
out:
	return st;
}

/* A few numbers of every row, of every slice of the classes; the master has all rows. */
static enum status allocate_stats(struct engine *e, struct error *err)
{
	const struct engine_options *o = &e->options;
	size_t rows = (size_t)o->rows * (size_t)(o->grad_sync == SYNC_MASTER ? o->grid.dp : 1);
	size_t slices = (size_t)(o->model->out_sliced ? o->model->mp : 1);

	if (!o->loss->labelled || !e->chunks[e->n_chunks - 1].ends)
		return OK;
	return device_alloc_shared(
		e->dev, MEMORY_WORKSPACE, slices * rows * CLASS_STATS * sizeof(float),
		"what the classes of a row add up to", (void **)&e->stats, err);
}

/* Of what any layer computes, on the way too. */
static int widest_result(const struct model *m)
{
	int widest = 0;

	for (int i = 0; i < m->count; i++) {
		const struct layer *l = m->layers[i];

		widest = imax(widest, l->out);
		for (int k = 0; k < l->n_saved; k++)
			widest = imax(widest, l->saved[k].columns);
		for (int k = 0; k < l->n_kept; k++)
			widest = imax(widest, l->kept[k].columns);
	}
	return widest;
}

static enum status allocate(struct engine *e, struct error *err)
{
	const struct engine_options *o = &e->options;
	enum status st;

	TRY(device_reserve(e->dev, o->rows, widest_result(o->model), err));
	TRY(model_reserve(o->model, e->dev, err));
	TRY(device_alloc(e->dev, MEMORY_WORKSPACE,
			 (NUMBER_COUNT + (size_t)o->micro_batches) * sizeof(*e->numbers),
			 "what kernels yield", (void **)&e->numbers, err));
	e->losses = e->numbers + NUMBER_COUNT;
	e->yielded = calloc(NUMBER_COUNT + (size_t)o->micro_batches, sizeof(*e->yielded));
	if (!e->yielded)
		return FAIL(err, ERR_MEMORY, "no memory for %d losses", o->micro_batches);
	if (engine_needs_batch(e))
		TRY(allocate_samples(e, &e->batch, (size_t)engine_batch_rows(e), err));
	TRY(allocate_stats(e, err));
	if (o->grad_sync == SYNC_MASTER && e->at.dp == 0)
		TRY(allocate_master(e, err));
	if (!o->plan)
		TRY(comm_alloc(o->world, (size_t)e->ranks * sizeof(*e->reports),
			       (void **)&e->reports, err));
	if (o->forward_only && o->model->tokens)
		TRY(engine_open_sequence(e, err));
out:
	return st;
}

/* ---- the parameters of the optimizer ---- */

/* Tensor by tensor, where this rank keeps a slice of each bucket. */
static enum status make_slices(struct engine *e, bool computes, struct error *err)
{
	const struct weights *w = &e->weights;
	size_t largest = 0;
	void *room = NULL;
	enum status st;

	for (int i = 0; i < w->model->n_tensors; i++)
		if (w->at[i] != WEIGHTS_ELSEWHERE && weights_tensor_size(w, i) > largest)
			largest = weights_tensor_size(w, i);
	TRY(device_alloc(e->dev, MEMORY_WORKSPACE, largest * sizeof(float), "a tensor in fp32",
			 &room, err));
	for (int i = 0; i < w->model->n_tensors && computes; i++) {
		if (w->at[i] == WEIGHTS_ELSEWHERE)
			continue;
		TRY(weights_make_one(w, i, room, DTYPE_F32, e->options.seed, err));
		sync_keep_part(&e->sync, room, w->at[i], weights_tensor_size(w, i),
			       e->optim.master);
	}
out:
	device_free(e->dev, room);
	return st;
}

/* Made like those of the layers, but not rounded: otherwise they would begin in the middle
   between two roundings, and small steps would not show for long. */
static enum status make_master(struct engine *e, bool computes, struct error *err)
{
	if (!e->optim.master || !sync_state_size(&e->sync))
		return OK;
	if (e->sync.zero)
		return make_slices(e, computes, err);
	return computes ? weights_make(&e->weights, e->optim.master, DTYPE_F32, e->options.seed,
				       err)
			: OK;
}

/* ---- all of it ---- */

static enum status place_chunks(struct engine *e, struct error *err)
{
	const struct engine_options *o = &e->options;
	int parts = schedule_parts(o->schedule);

	e->n_chunks = o->schedule->chunks;
	e->chunks = calloc((size_t)e->n_chunks, sizeof(*e->chunks));
	if (!e->chunks)
		return FAIL(err, ERR_MEMORY, "no memory for %d chunks", e->n_chunks);
	for (int c = 0; c < e->n_chunks; c++) {
		int part = schedule_part(o->schedule, e->at.pp, c);
		const int *first = &o->partition->first[part];

		e->chunks[c] = (struct chunk){.part = part,
					      .first = first[0],
					      .count = first[1] - first[0],
					      .begins = part == 0,
					      .ends = part == parts - 1};
	}
	return OK;
}

/* What only training needs. */
static enum status build_training(struct engine *e, bool computes, struct error *err)
{
	const struct engine_options *o = &e->options;
	struct sync_groups groups = {e->replicas, e->slices, e->holders};
	struct sync_options sync = {.count = o->grid.dp,
				    .number = e->at.dp,
				    .kind = o->grad_sync,
				    .bucket_bytes = o->bucket_bytes,
				    .zero = o->zero,
				    .overlap = !o->base};
	enum status st = OK;

	if (o->as_if_dp)
		TRY(device_alloc(e->dev, MEMORY_WORKSPACE, sizeof(*e->squares),
				 "the squares of gradients", (void **)&e->squares, err));
	sync.exact = e->squares;
	TRY(sync_init(&e->sync, &e->weights, e->chunks, e->n_chunks, &groups, &sync, err));
	TRY(optim_init(&e->optim, e->dev, &o->optimizer, sync_state_size(&e->sync), o->type,
		       o->grad_type, err));
	TRY(make_master(e, computes, err));
out:
	return st;
}

static enum status build(struct engine *e, struct error *err)
{
	const struct engine_options *o = &e->options;
	bool computes = !o->plan && !device_is_virtual(e->dev);
	struct weights_options weights = {
		.shard = e->at.mp,
		.type = o->type,
		.grad_type = o->grad_type,
		.plan = !computes,
		.forward_only = o->forward_only,
		.seed = o->seed,
		.as_if = o->as_if_dp > 0,
		.levels = tree_buffers(tree_held(o->as_if_dp, o->grid.dp)),
		.lines = o->as_if_dp ? o->grid.dp : 1, /* slices cut no line */
		.share_params = (o->zero || o->grad_sync == SYNC_MASTER) && o->grid.dp > 1};
	const struct schedule *schedule = o->forward_only ? &e->forward : o->schedule;
	enum status st;

	if (!o->plan)
		TRY(engine_open_groups(e, err));
	TRY(place_chunks(e, err));
	TRY(weights_init(&e->weights, e->dev, o->model, e->chunks, e->n_chunks, &weights, err));
	if (!o->forward_only)
		TRY(build_training(e, computes, err));
	TRY(schedule_init_forward(&e->forward, o->schedule, 1, err));
	TRY(buffers_init(&e->buffers, &e->weights, e->chunks, e->n_chunks,
			 &schedule->orders[e->at.pp], o->rows, o->micro_batches,
			 engine_sends_early(o), err));
	TRY(execution_init(e, err));
	TRY(allocate(e, err));
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
	e->ranks = grid_size(&options->grid);
	e->number = options->plan ? options->plan_rank : comm_rank(options->world);
	e->at = grid_coords(&e->options.grid, e->number);
	assert(options->plan || comm_size(options->world) == e->ranks);
	assert(!options->as_if_dp ||
	       (tree_has(options->as_if_dp) && options->as_if_dp % options->grid.dp == 0 &&
		options->micro_batches % tree_held(options->as_if_dp, options->grid.dp) == 0));
	assert(options->model->mp == options->model->held * options->grid.mp);
	e->scaler = options->scaler;
	if (e->scaler.scale == 0)
		e->scaler.scale = 1;
	if (options->grad_sync == SYNC_MASTER && options->grid.dp == 1)
		e->options.grad_sync = SYNC_FLAT; /* a master without replicas */
	st = build(e, err);
	e->failed = st != OK;
	TRY(st);
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
	engine_part_devices(e);
	engine_close_sequence(e);
	if (!e->options.plan) {
		comm_give_back(e->options.world, e->passage.piece);
		comm_give_back(e->options.world, e->reports);
	}
	free(e->passage.rows);
	device_free(e->dev, e->passage.flat);
	device_free(e->dev, e->outputs.data);
	device_free(e->dev, e->all.memory);
	device_free(e->dev, e->batch.memory);
	device_free(e->dev, e->stats);
	device_free(e->dev, e->numbers);
	device_free(e->dev, e->squares);
	schedule_release(&e->forward);
	execution_release(e);
	buffers_release(&e->buffers);
	optim_release(&e->optim);
	sync_release(&e->sync);
	weights_release(&e->weights);
	if (e->pipe != e->options.world)
		comm_free(e->pipe);
	comm_free(e->holders);
	comm_free(e->slices);
	comm_free(e->replicas);
	free(e->chunks);
	free(e->yielded);
	free(e);
}

void engine_fill_samples(struct engine *e, const struct samples *s, int64_t first,
			 engine_fill *fill, void *arg)
{
	struct batch b = {.x = s->x, .target = s->target.values};
	char *host, *from = s->memory;

	if (!from || device_is_virtual(e->dev))
		return;
	device_await(e->dev, QUEUE_RECEIVE, device_mark(e->dev, QUEUE_COMPUTE));
	host = device_host_begin(e->dev, QUEUE_RECEIVE, from, s->bytes, HOST_WRITES);
	b.x.data = host;
	if (e->options.model->tokens)
		b.tokens = (int32_t *)host;
	if (b.target.data)
		b.target.data = host + ((char *)b.target.data - from);
	if (s->target.labels)
		b.labels = (int32_t *)(host + ((const char *)s->target.labels - from));
	fill(arg, first, (int)s->rows, &b);
	device_host_end(e->dev, QUEUE_RECEIVE, from, s->bytes, HOST_WRITES);
	device_await(e->dev, QUEUE_COMPUTE, device_mark(e->dev, QUEUE_RECEIVE));
}

/* The master of DataParallel makes them for all. */
void engine_load(struct engine *e, engine_fill *fill, void *arg)
{
	if (e->options.grad_sync == SYNC_MASTER)
		engine_fill_samples(e, &e->all, 0, fill, arg);
	else
		engine_fill_samples(e, &e->batch, (int64_t)engine_batch_rows(e) * e->at.dp,
				    fill, arg);
}
