/* snapshot.c - see snapshot.h */
#include "engine/snapshot.h"
#include "base/util.h"
#include "engine/impl.h"

#include <stdlib.h>

enum {
	BLOCK = 1 << 18
}; /* elements that are read at once when an engine is restored, or a row */

const char *engine_array_name(enum optimizer kind, enum engine_array array)
{
	switch (array) {
	case ARRAY_WEIGHTS:
		return "";
	case ARRAY_FIRST:
		return kind == OPT_SGD	   ? NULL
		       : kind == OPT_ADAMW ? "exp_avg"
					   : "momentum_buffer";
	case ARRAY_SECOND:
		return kind == OPT_ADAMW ? "exp_avg_sq" : NULL;
	case ARRAY_COUNT:
		break;
	}
	return NULL;
}

/* Of DataParallel the master alone has what counts. */
static bool is_idle(const struct engine *e)
{
	return e->options.grad_sync == SYNC_MASTER && e->at.dp > 0;
}

/* Shards and their blocks that this rank has of a tensor, as one number. */
static int count_parts(const struct engine *e, int tensor)
{
	return weights_shards(&e->weights, tensor) *
	       tensor_blocks(&e->options.model->tensors[tensor]);
}

/* One of them, in rows and columns of the whole. */
static struct region part_here(const struct engine *e, enum engine_array array, int tensor,
			       int part)
{
	const struct tensor *t = &e->options.model->tensors[tensor];
	int mp = e->options.model->mp, held = part / tensor_blocks(t);
	int shard = e->at.mp * e->options.model->held + held;
	struct tensor_piece p = tensor_piece(t, mp, shard, part % tensor_blocks(t));
	struct region r = {.array = array,
			   .tensor = tensor,
			   .held = held,
			   .row = p.row,
			   .rows = p.rows,
			   .columns = tensor_own_columns(t, mp),
			   .own = p.own};

	r.column = t->split == SPLIT_COLUMNS ? r.columns * shard : 0;
	return r;
}

/* The same without what other replicas, slices and stages keep. */
static struct region share_of(const struct engine *e, enum engine_array array, int tensor,
			      int part)
{
	struct region r = part_here(e, array, tensor, part);
	bool alone = e->options.grad_sync == SYNC_MASTER;
	int replicas = alone ? 1 : e->options.grid.dp, rows = r.rows;
	int begin = (int)part_begin(rows, e->at.dp, replicas);

	r.rows = (int)part_begin(rows, e->at.dp + 1, replicas) - begin;
	r.row += begin;
	r.own += begin;
	if (is_idle(e) || !weights_is_counted(&e->weights, tensor))
		r.rows = 0;
	return r;
}

static size_t elements(const struct region *r)
{
	return (size_t)r->rows * (size_t)r->columns;
}

/* All regions of this rank, to out if that is not NULL; how many. */
static int list(const struct engine *e, struct region *out, size_t *bytes)
{
	int n = 0;

	*bytes = 0;
	for (int a = 0; a < ARRAY_COUNT; a++)
		for (int t = 0; t < e->options.model->n_tensors; t++) {
			bool here = engine_array_name(e->options.optimizer.kind,
						      (enum engine_array)a) &&
				    e->weights.at[t] != WEIGHTS_ELSEWHERE;

			for (int p = 0; here && p < count_parts(e, t); p++) {
				struct region r = share_of(e, (enum engine_array)a, t, p);

				if (!r.rows)
					continue;
				if (out)
					out[n] = r;
				n++;
				*bytes += elements(&r) * sizeof(float);
			}
		}
	return n;
}

size_t snapshot_bytes(const struct engine *e)
{
	size_t bytes;

	(void)list(e, NULL, &bytes);
	return bytes;
}

enum status snapshot_init(struct snapshot *s, struct engine *e, struct error *err)
{
	float *at;

	*s = (struct snapshot){.engine = e};
	s->count = list(e, NULL, &s->bytes);
	s->regions = calloc((size_t)s->count + 1, sizeof(*s->regions));
	s->values = calloc((size_t)s->count + 1, sizeof(*s->values));
	s->memory = at = malloc(s->bytes + 1);
	if (!s->regions || !s->values || !s->memory) {
		snapshot_release(s);
		return FAIL(err, ERR_MEMORY, "no memory for a copy of the weights");
	}
	(void)list(e, s->regions, &s->bytes);
	for (int i = 0; i < s->count; i++) {
		s->values[i] = at;
		at += elements(&s->regions[i]);
	}
	return OK;
}

void snapshot_release(struct snapshot *s)
{
	free(s->regions);
	free(s->values);
	free(s->memory);
	*s = (struct snapshot){0};
}

/* ---- arrays of the engine ---- */

/* The optimizer's own array, or NULL: these are the parameters themselves. */
static float *state_of(const struct engine *e, enum engine_array array)
{
	switch (array) {
	case ARRAY_WEIGHTS:
		return e->optim.master;
	case ARRAY_FIRST:
		return e->optim.update.m;
	case ARRAY_SECOND:
		return e->optim.update.v;
	case ARRAY_COUNT:
		break;
	}
	return NULL;
}

static enum status make_passage(struct engine *e, struct error *err)
{
	if (e->passage.flat)
		return OK;
	return device_alloc_shared(e->dev, MEMORY_COMM, e->weights.size * sizeof(float),
				   "the optimizer's state on its way",
				   (void **)&e->passage.flat, err);
}

enum status engine_spread(struct engine *e, float *state, void **flat, struct error *err)
{
	enum status st;

	*flat = state;
	if (!e->sync.zero)
		return OK;
	TRY(make_passage(e, err));
	*flat = e->passage.flat;
	TRY(sync_spread(&e->sync, state, e->passage.flat, err));
out:
	return st;
}

/* ---- taking one ---- */

struct take_job {
	const struct snapshot *s;
	enum engine_array array;
	void *flat;
};

/* Of matrices, every thread takes some rows; the rest is short. */
static void take_rows(const struct take_job *job, int i, int part, int parts)
{
	const struct engine *e = job->s->engine;
	const struct region *r = &job->s->regions[i];
	int begin = (int)part_begin(r->rows, part, parts);
	int rows = (int)part_begin(r->rows, part + 1, parts) - begin;

	if (rows)
		weights_read_rows(&e->weights, job->flat, DTYPE_F32, r->tensor, r->held,
				  r->own + begin, rows,
				  job->s->values[i] + (size_t)begin * (size_t)r->columns);
}

static void take_part(void *arg, int part, int parts)
{
	const struct take_job *job = arg;
	const struct tensor *tensors = job->s->engine->options.model->tensors;

	for (int i = 0; i < job->s->count; i++)
		if (job->s->regions[i].array == job->array &&
		    tensors[job->s->regions[i].tensor].matrix)
			take_rows(job, i, part, parts);
}

enum status snapshot_take(struct snapshot *s, struct error *err)
{
	struct engine *e = s->engine;
	const struct tensor *tensors = e->options.model->tensors;
	enum status st = OK;

	TRY(engine_check(e, err));
	for (int a = 0; a < ARRAY_COUNT; a++) {
		struct take_job job = {.s = s, .array = (enum engine_array)a};
		float *state = state_of(e, job.array);

		if (!engine_array_name(e->options.optimizer.kind, job.array))
			continue;
		job.flat = e->weights.param;
		if (a != ARRAY_WEIGHTS || e->weights.type != DTYPE_F32)
			TRY(engine_spread(e, state, &job.flat, err));
		device_parallel(e->dev, take_part, &job);
		for (int i = 0; i < s->count; i++)
			if (s->regions[i].array == job.array &&
			    !tensors[s->regions[i].tensor].matrix)
				take_rows(&job, i, 0, 1);
	}
out:
	return st;
}

/* ---- restoring ---- */

struct engine_state engine_state(const struct engine *e)
{
	return (struct engine_state){.updates = e->optim.steps,
				     .scale = e->scaler.scale,
				     .finite = e->scaler.finite};
}

/* What is here of a block of a tensor, some rows at a time. */
static enum status read_block(struct engine *e, struct region all, void *flat, enum dtype type,
			      float *values, engine_source *source, void *arg,
			      struct error *err)
{
	struct region r = all;
	int most = imax(1, BLOCK / all.columns);
	enum status st = OK;

	for (int row = 0; row < all.rows; row += most) {
		r.row = all.row + row;
		r.own = all.own + row;
		r.rows = imin(most, all.rows - row);
		TRY(source(arg, &r, values, err));
		weights_write_rows(&e->weights, flat, type, r.tensor, r.held, r.own, r.rows,
				   values);
	}
out:
	return st;
}

static enum status restore_array(struct engine *e, enum engine_array array, float *block,
				 engine_source *source, void *arg, struct error *err)
{
	float *state = state_of(e, array), *flat = state ? state : e->weights.param;
	enum dtype type = state ? DTYPE_F32 : e->weights.type;
	enum status st = OK;

	if (state && e->sync.zero) {
		TRY(make_passage(e, err));
		flat = e->passage.flat;
	}
	for (int t = 0; t < e->options.model->n_tensors; t++)
		for (int p = 0; e->weights.at[t] != WEIGHTS_ELSEWHERE && p < count_parts(e, t);
		     p++)
			TRY(read_block(e, part_here(e, array, t, p), flat, type, block, source,
				       arg, err));
	if (state && e->sync.zero)
		sync_keep(&e->sync, flat, state);
out:
	return st;
}

/* The first so many arrays. */
static enum status restore_arrays(struct engine *e, int count, float *block,
				  engine_source *source, void *arg, struct error *err)
{
	enum status st = OK;

	for (int a = 0; a < count && !is_idle(e); a++)
		if (engine_array_name(e->options.optimizer.kind, (enum engine_array)a))
			TRY(restore_array(e, (enum engine_array)a, block, source, arg, err));
	if (e->optim.master)
		TRY(sync_fill_params(&e->sync, &e->optim, err));
out:
	return st;
}

static enum status read_arrays(struct engine *e, int count, engine_source *source, void *arg,
			       struct error *err)
{
	size_t widest = BLOCK;
	float *block;
	enum status st;

	TRY(engine_check(e, err));
	for (int t = 0; t < e->options.model->n_tensors; t++)
		if ((size_t)e->options.model->tensors[t].columns > widest)
			widest = (size_t)e->options.model->tensors[t].columns;
	block = malloc(widest * sizeof(*block));
	if (!block)
		return FAIL(err, ERR_MEMORY, "no memory to read the weights");
	st = restore_arrays(e, count, block, source, arg, err);
	free(block);
out:
	return st;
}

enum status engine_restore(struct engine *e, const struct engine_state *state,
			   engine_source *source, void *arg, struct error *err)
{
	enum status st;

	TRY(read_arrays(e, ARRAY_COUNT, source, arg, err));
	e->optim.steps = state->updates;
	if (e->options.scaler.interval > 0) {
		e->scaler.scale = state->scale;
		e->scaler.finite = state->finite;
	}
out:
	return st;
}

enum status engine_take_weights(struct engine *e, engine_source *source, void *arg,
				struct error *err)
{
	return read_arrays(e, ARRAY_WEIGHTS + 1, source, arg, err);
}
