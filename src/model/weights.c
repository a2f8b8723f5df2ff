/* weights.c - where a rank's tensors lie, and what is in them at first; see weights.h */
#include "model/weights.h"
#include "base/rng.h"
#include "base/util.h"

#include <stdlib.h>
#include <string.h>

enum { INIT_ELEMENTS = 1 << 14 }; /* of a tensor that are made at once, or a row */

static const struct tensor *tensor_of(const struct weights *w, int tensor)
{
	return &w->model->tensors[tensor];
}

/* The number of all shards that our number held is. */
static int shard_of(const struct weights *w, int held)
{
	return w->shard * w->model->held + held;
}

static int own_rows(const struct weights *w, int tensor, int held)
{
	return tensor_own_rows(tensor_of(w, tensor), w->model->mp, shard_of(w, held));
}

static int own_columns(const struct weights *w, int tensor)
{
	return tensor_own_columns(tensor_of(w, tensor), w->model->mp);
}

int weights_shards(const struct weights *w, int tensor)
{
	return tensor_of(w, tensor)->split == SPLIT_NONE ? 1 : w->model->held;
}

static size_t shard_size(const struct weights *w, int tensor, int held)
{
	int rows = own_rows(w, tensor, held), columns = own_columns(w, tensor);
	size_t n = tensor_of(w, tensor)->matrix ? device_matrix_size(w->dev, rows, columns)
						: (size_t)rows * (size_t)columns;

	/* The next one begins at a cache line in 16 bit too. */
	return (size_t)round_up((int64_t)n, 2 * LINE_FLOATS);
}

/* Of the first so many. */
static size_t shards_size(const struct weights *w, int tensor, int n)
{
	size_t size = 0;

	for (int h = 0; h < n; h++)
		size += shard_size(w, tensor, h);
	return size;
}

size_t weights_tensor_size(const struct weights *w, int tensor)
{
	return shards_size(w, tensor, weights_shards(w, tensor));
}

size_t weights_at(const struct weights *w, int tensor, int held)
{
	return w->at[tensor] + shards_size(w, tensor, held);
}

size_t weights_tied_at(const struct weights *w, int tensor, int held)
{
	size_t at = weights_at(w, tensor, held);

	return w->as_if && !w->borrowed[tensor] ? w->size + (at - w->shared) : at;
}

bool weights_is_counted(const struct weights *w, int tensor)
{
	bool replicated = w->model->mp > 1 && tensor_of(w, tensor)->split == SPLIT_NONE;

	return !w->borrowed[tensor] && (!replicated || w->shard == 0);
}

bool weights_decays(const struct weights *w, int tensor)
{
	return w->model->vectors_decay || tensor_dims(tensor_of(w, tensor)) > 1;
}

size_t weights_run(const struct weights *w, size_t from, weights_are *are, bool *is)
{
	size_t end = w->size, near = 0;

	*is = true;
	for (int i = 0; i < w->model->n_tensors; i++)
		if (w->at[i] <= from && w->at[i] >= near) { /* the last that begins before it */
			near = w->at[i];
			*is = are(w, i);
		}
	for (int i = 0; i < w->model->n_tensors; i++)
		if (w->at[i] > from && w->at[i] < end && are(w, i) != *is)
			end = w->at[i];
	return end;
}

void weights_begin_step(const struct weights *w)
{
	memset(w->filled, 0, (size_t)w->model->n_tensors * sizeof(*w->filled));
}

/* Where to ask for a row of a tensor that begins there: of a matrix, at its beginning. */
static void *row_at(const struct weights *w, void *begin, enum dtype type, int tensor, int row)
{
	size_t skip = tensor_of(w, tensor)->matrix ? 0 : (size_t)row;

	return flat_at(begin, type, skip * (size_t)own_columns(w, tensor));
}

void weights_read_rows(const struct weights *w, void *flat, enum dtype type, int tensor,
		       int held, int row, int rows, float *values)
{
	void *begin = flat_at(flat, type, weights_at(w, tensor, held));
	void *at = row_at(w, begin, type, tensor, row);

	if (tensor_of(w, tensor)->matrix)
		device_matrix_read(w->dev, at, type, own_rows(w, tensor, held),
				   own_columns(w, tensor), row, rows, values);
	else
		device_read(w->dev, at, type, (size_t)rows * (size_t)own_columns(w, tensor),
			    values);
}

static void write_rows(const struct weights *w, void *begin, enum dtype type, int tensor,
		       int held, int row, int rows, const float *values)
{
	void *at = row_at(w, begin, type, tensor, row);

	if (tensor_of(w, tensor)->matrix)
		device_matrix_write(w->dev, at, type, own_rows(w, tensor, held),
				    own_columns(w, tensor), row, rows, values);
	else
		device_write(w->dev, at, type, (size_t)rows * (size_t)own_columns(w, tensor),
			     values);
}

void weights_write_rows(const struct weights *w, void *flat, enum dtype type, int tensor,
			int held, int row, int rows, const float *values)
{
	write_rows(w, flat_at(flat, type, weights_at(w, tensor, held)), type, tensor, held, row,
		   rows, values);
}

/* ---- the first values ---- */

struct init_job {
	const struct weights *w;
	int tensor, held, rows; /* that are made at once */
	void *begin;		/* of the shard, of that type */
	enum dtype type;
	uint64_t seed;
	float *values; /* (threads, elements) */
	size_t elements;
};

static void fill(const struct init_job *job, int row, float *values)
{
	const struct tensor *t = tensor_of(job->w, job->tensor);
	const struct weights *w = job->w;
	int columns = own_columns(w, job->tensor);
	int shard = shard_of(w, job->held);
	int first_column = t->split == SPLIT_COLUMNS ? columns * shard : 0;
	uint64_t at =
		(uint64_t)tensor_row_of(t, w->model->mp, shard, row) * (uint64_t)t->columns +
		(uint64_t)first_column;

	if (t->deviation > 0) {
		rng_normal(job->seed, t->stream, at, (size_t)columns, values);
		for (int i = 0; i < columns; i++)
			values[i] = t->value + t->deviation * values[i];
	} else if (t->bound > 0) {
		rng_uniform(job->seed, t->stream, at, (size_t)columns, t->value - t->bound,
			    t->value + t->bound, values);
	} else {
		for (int i = 0; i < columns; i++)
			values[i] = t->value;
	}
}

static void init_rows(void *arg, int part, int parts)
{
	const struct init_job *job = arg;
	const struct weights *w = job->w;
	int all = own_rows(w, job->tensor, job->held), columns = own_columns(w, job->tensor);
	float *values = job->values + (size_t)part * job->elements;

	for (int row = part * job->rows; row < all; row += parts * job->rows) {
		int n = imin(job->rows, all - row);

		for (int r = 0; r < n; r++)
			fill(job, row + r, values + (size_t)r * (size_t)columns);
		write_rows(w, job->begin, job->type, job->tensor, job->held, row, n, values);
	}
}

static enum status begin_job(struct init_job *job, struct error *err)
{
	const struct weights *w = job->w;
	size_t widest = (size_t)model_widest(w->model);

	job->elements = widest > INIT_ELEMENTS ? widest : INIT_ELEMENTS;
	job->values =
		malloc((size_t)device_threads(w->dev) * job->elements * sizeof(*job->values));
	if (!job->values)
		return FAIL(err, ERR_MEMORY, "no memory to initialise layers of width %zu",
			    widest);
	return OK;
}

static void make_tensor(struct init_job *job, int tensor, void *begin)
{
	const struct weights *w = job->w;

	job->tensor = tensor;
	job->rows = imax(1, INIT_ELEMENTS / own_columns(w, tensor));
	for (job->held = 0; job->held < weights_shards(w, tensor); job->held++) {
		job->begin = flat_at(begin, job->type, shards_size(w, tensor, job->held));
		if (tensor_of(w, tensor)->matrix)
			device_parallel(w->dev, init_rows, job);
		else /* short, and written with all threads of the device */
			init_rows(job, 0, 1);
	}
}

enum status weights_make(const struct weights *w, void *flat, enum dtype type, uint64_t seed,
			 struct error *err)
{
	struct init_job job = {.w = w, .type = type, .seed = seed};
	enum status st;

	TRY(begin_job(&job, err));
	for (int i = 0; i < w->model->n_tensors; i++)
		if (w->at[i] != WEIGHTS_ELSEWHERE)
			make_tensor(&job, i, flat_at(flat, type, w->at[i]));
out:
	free(job.values);
	return st;
}

enum status weights_make_one(const struct weights *w, int tensor, void *begin, enum dtype type,
			     uint64_t seed, struct error *err)
{
	struct init_job job = {.w = w, .type = type, .seed = seed};
	enum status st;

	TRY(begin_job(&job, err));
	make_tensor(&job, tensor, begin);
out:
	free(job.values);
	return st;
}

/* ---- places ---- */

static bool is_here(const struct chunk *chunks, int n_chunks, int layer)
{
	for (int c = 0; c < n_chunks; c++)
		if (layer >= chunks[c].first && layer < chunks[c].first + chunks[c].count)
			return true;
	return false;
}

/* Do several stages have it? Those that share a layer's tensor have it too. */
static bool is_shared(const struct weights *w, const struct chunk *chunks, int n_chunks,
		      int tensor, bool *borrowed)
{
	const struct model *m = w->model;
	bool owned = is_here(chunks, n_chunks, m->tensors[tensor].layer), shared = false;

	*borrowed = false;
	for (int i = 0; i < m->n_ties; i++) {
		bool used = is_here(chunks, n_chunks, m->ties[i].layer);

		if (m->ties[i].tensor != tensor)
			continue;
		*borrowed |= used && !owned;
		shared |= used != owned || (w->as_if && used);
	}
	return shared;
}

static void put(struct weights *w, int tensor)
{
	w->at[tensor] = w->size;
	w->size += weights_tensor_size(w, tensor);
}

/* Matrices come first, so that what decays alike lies together. */
static void place_layer(struct weights *w, const struct layer *l)
{
	for (int vectors = 0; vectors < 2; vectors++)
		for (int t = l->tensor; t < l->tensor + l->n_tensors; t++)
			if (w->at[t] == WEIGHTS_ELSEWHERE &&
			    (w->model->vectors_decay ? !vectors
						     : weights_decays(w, t) == !vectors))
				put(w, t);
}

/* The next thing begins here. */
static size_t next_begin(struct weights *w, int lines)
{
	w->size = (size_t)round_up((int64_t)w->size, (int64_t)lines * LINE_FLOATS);
	return w->size;
}

static void place(struct weights *w, const struct chunk *chunks, int n_chunks, int lines)
{
	enum { LATER = 1 }; /* nothing begins there */
	const struct model *m = w->model;

	for (int i = 0; i < m->n_tensors; i++)
		w->at[i] = WEIGHTS_ELSEWHERE;
	for (int i = 0; i < m->n_tensors; i++)
		if (is_shared(w, chunks, n_chunks, i, &w->borrowed[i]) ||
		    (tensor_of(w, i)->partial &&
		     is_here(chunks, n_chunks, tensor_of(w, i)->layer)))
			w->at[i] = LATER; /* its place is behind the layers */
	for (int c = 0; c < n_chunks; c++)
		for (int i = chunks[c].first; i < chunks[c].first + chunks[c].count; i++) {
			w->begin[i] = next_begin(w, lines);
			place_layer(w, m->layers[i]);
		}
	w->shared = next_begin(w, lines);
	for (int i = 0; i < m->n_tensors; i++)
		if (w->at[i] == LATER && !tensor_of(w, i)->partial)
			put(w, i);
	w->partial = next_begin(w, lines);
	for (int i = 0; i < m->n_tensors; i++)
		if (w->at[i] == LATER && tensor_of(w, i)->partial)
			put(w, i);
	w->grad_size = next_begin(w, lines);
	for (int i = 0; w->as_if && i < m->n_ties; i++) /* both are here */
		if (is_here(chunks, n_chunks, m->ties[i].layer) &&
		    is_here(chunks, n_chunks, m->tensors[m->ties[i].tensor].layer))
			w->grad_size = w->size + (w->size - w->shared);
}

enum status weights_init(struct weights *w, struct device *dev, const struct model *m,
			 const struct chunk *chunks, int n_chunks,
			 const struct weights_options *o, struct error *err)
{
	enum status st;

	*w = (struct weights){.dev = dev,
			      .model = m,
			      .shard = o->shard,
			      .type = o->type,
			      .grad_type = o->grad_type,
			      .as_if = o->as_if,
			      .levels = imax(o->levels, 1)};
	w->at = calloc((size_t)m->n_tensors + 1, sizeof(*w->at));
	w->begin = calloc((size_t)m->count + 1, sizeof(*w->begin));
	w->borrowed = calloc((size_t)m->n_tensors + 1, sizeof(*w->borrowed));
	w->filled = calloc((size_t)m->n_tensors + 1, sizeof(*w->filled));
	if (!w->at || !w->begin || !w->borrowed || !w->filled) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d tensors", m->n_tensors);
		goto out;
	}
	place(w, chunks, n_chunks, imax(o->lines, 1));
	if (o->share_params)
		TRY(device_alloc_shared(dev, MEMORY_PARAMS, w->size * dtype_size(w->type),
					"the parameters", &w->param, err));
	else
		TRY(device_alloc(dev, MEMORY_PARAMS, w->size * dtype_size(w->type),
				 "the parameters", &w->param, err));
	if (o->forward_only)
		return OK;
	TRY(device_alloc_shared(dev, MEMORY_GRADS,
				(size_t)w->levels * w->grad_size * dtype_size(w->grad_type),
				"the gradients", &w->grad, err));
	if (!o->plan)
		TRY(weights_make(w, w->param, w->type, o->seed, err));
out:
	if (st != OK)
		weights_release(w);
	return st;
}

void weights_release(struct weights *w)
{
	if (w->dev) {
		device_free(w->dev, w->grad);
		device_free(w->dev, w->param);
	}
	free(w->at);
	free(w->begin);
	free(w->borrowed);
	free(w->filled);
	*w = (struct weights){0};
}
