/* sync.c - see sync.h */
#include "engine/sync.h"
#include "base/util.h"

#include <stdlib.h>
#include <string.h>

const char *const grad_sync_names[] = {NAMES_OF(GRAD_SYNCS)};

/* Cut from the last layer on; a bucket is closed when it is large enough, and where a
   chunk begins, whose gradients are complete at other times. */
static void cut(struct sync *s, const struct chunk *chunks, int n_chunks, size_t bucket_bytes)
{
	const struct weights *w = s->weights;
	/* The first is small, so that something is under way early. */
	size_t first_bytes = bucket_bytes < 1 << 20 ? bucket_bytes : 1 << 20;
	size_t end = w->shared, size = dtype_size(w->grad_type);

	for (int c = n_chunks - 1; c >= 0; c--) {
		const struct chunk *chunk = &chunks[c];

		for (int i = chunk->first + chunk->count - 1; i >= chunk->first; i--) {
			size_t begin = w->begin[i];
			size_t enough = s->n_buckets ? bucket_bytes : first_bytes;

			if (begin == end || /* no tensors */
			    ((end - begin) * size < enough && i > chunk->first))
				continue;
			s->buckets[s->n_buckets++] = (struct bucket){
				.begin = begin, .end = end, .first_layer = i, .chunk = c};
			end = begin;
		}
	}
	if (w->size > w->shared)
		s->buckets[s->n_buckets++] =
			(struct bucket){.begin = w->shared, .end = w->size, .deferred = true};
}

/* Complete when the first chunk is, or the pipeline. */
static void take_all(struct sync *s, const struct chunk *chunks)
{
	const struct weights *w = s->weights;
	/* Other stages have the same of what is shared: in slices of its own. */
	bool apart = s->exact && w->size > w->shared && w->shared > 0;

	s->buckets[s->n_buckets++] = (struct bucket){.end = apart ? w->shared : w->size,
						     .first_layer = chunks[0].first,
						     .deferred = !apart && w->size > w->shared};
	if (apart)
		s->buckets[s->n_buckets++] =
			(struct bucket){.begin = w->shared, .end = w->size, .deferred = true};
}

enum status sync_init(struct sync *s, const struct weights *w, const struct chunk *chunks,
		      int n_chunks, const struct sync_groups *groups,
		      const struct sync_options *o, struct error *err)
{
	int layers = 0;

	*s = (struct sync){.weights = w,
			   .groups = *groups,
			   .count = o->count,
			   .number = o->number,
			   .kind = o->kind,
			   .zero = o->zero && o->count > 1,
			   .overlap = o->overlap && o->kind == SYNC_DDP,
			   .exact = o->exact};
	for (int c = 0; c < n_chunks; c++)
		layers += chunks[c].count;
	s->buckets = calloc((size_t)layers + 2, sizeof(*s->buckets));
	if (!s->buckets)
		return FAIL(err, ERR_MEMORY, "no memory for %d buckets", layers);
	if (o->kind == SYNC_DDP)
		cut(s, chunks, n_chunks, o->bucket_bytes);
	else
		take_all(s, chunks);
	return OK;
}

void sync_release(struct sync *s)
{
	free(s->buckets);
	*s = (struct sync){0};
}

/* This replica's slice of a bucket, or all of it. */
void sync_range(const struct sync *s, const struct bucket *b, bool slice, size_t *begin,
		size_t *end)
{
	int64_t n = (int64_t)(b->end - b->begin);

	*begin = slice ? b->begin + (size_t)part_begin(n, s->number, s->count) : b->begin;
	*end = slice ? b->begin + (size_t)part_begin(n, s->number + 1, s->count) : b->end;
}

void sync_own_range(const struct sync *s, const struct bucket *b, size_t *begin, size_t *end)
{
	sync_range(s, b, s->zero, begin, end);
}

size_t sync_state_begin(const struct sync *s, const struct bucket *b)
{
	size_t at = 0;

	if (!s->zero)
		return b->begin;
	for (const struct bucket *i = s->buckets; i < b; i++) {
		size_t begin, end;

		sync_own_range(s, i, &begin, &end);
		at += end - begin;
	}
	return at;
}

size_t sync_state_size(const struct sync *s)
{
	size_t n = 0;

	if (s->kind == SYNC_MASTER && s->number > 0)
		return 0; /* the master updates */
	for (int i = 0; i < s->n_buckets; i++) {
		size_t begin, end;

		sync_own_range(s, &s->buckets[i], &begin, &end);
		n += end - begin;
	}
	return n;
}

/* A collective of the replicas over a bucket of an array. */
static void begin(struct sync *s, struct bucket *b, enum comm_op op, void *flat,
		  enum dtype type)
{
	collective_begin(&b->sum, s->weights->dev, s->groups.replicas, op,
			 flat_at(flat, type, b->begin), b->end - b->begin, type);
	s->bytes += (int64_t)((b->end - b->begin) * dtype_size(type));
}

static void start(struct sync *s, struct bucket *b)
{
	b->started = true;
	if (s->groups.replicas)
		begin(s, b, s->zero ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE, s->weights->grad,
		      s->weights->grad_type);
}

void sync_begin(struct sync *s)
{
	for (int i = 0; i < s->n_buckets; i++) {
		s->buckets[i].started = false;
		s->buckets[i].sum.under_way = false;
	}
}

void sync_layer_done(struct sync *s, int layer)
{
	for (int i = 0; s->overlap && i < s->n_buckets; i++)
		if (s->buckets[i].first_layer == layer && !s->buckets[i].deferred)
			start(s, &s->buckets[i]);
}

bool sync_waits_for(const struct sync *s, int chunk)
{
	for (int i = 0; i < s->n_buckets; i++)
		if (s->buckets[i].chunk == chunk && !s->buckets[i].started &&
		    !s->buckets[i].deferred)
			return true;
	return false;
}

/* Those that are deferred, or the others. */
static enum status reduce(struct sync *s, bool deferred, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < s->n_buckets; i++) {
		struct bucket *b = &s->buckets[i];

		if (b->started || b->deferred != deferred)
			continue;
		start(s, b);
		TRY(collective_end(&b->sum, err));
	}
out:
	return st;
}

enum status sync_reduce(struct sync *s, struct error *err)
{
	return reduce(s, false, err);
}

/* A sum of some gradients over a group. */
static enum status join(struct sync *s, struct comm *group, enum comm_op op, size_t begin,
			size_t end, struct error *err)
{
	enum dtype type = s->weights->grad_type;

	s->bytes += (int64_t)((end - begin) * dtype_size(type));
	return collective_run(s->weights->dev, group, op,
			      flat_at(s->weights->grad, type, begin), end - begin, type, err);
}

/* Add up what other stages and slices have of the deferred ones. */
static enum status join_parts(struct sync *s, struct error *err)
{
	const struct weights *w = s->weights;
	enum status st = OK;

	if (s->groups.holders)
		TRY(join(s, s->groups.holders, COMM_ALLREDUCE, w->shared, w->partial, err));
	if (w->size > w->partial)
		TRY(join(s, s->groups.slices, COMM_ALLREDUCE, w->partial, w->size, err));
out:
	return st;
}

/* The same bits on every grid: what was added to tensors of other layers, summed over the
   replicas like those, is there now, or on the other stage. */
static enum status join_sums(struct sync *s, struct error *err)
{
	const struct weights *w = s->weights;
	size_t extra = w->size - w->shared, begin, end;
	enum status st = OK;

	if (w->partial == w->shared)
		return OK;
	if (!s->groups.holders && s->groups.replicas)
		TRY(join(s, s->groups.replicas, s->zero ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE,
			 w->size, w->size + extra, err));
	sync_range(s, &(struct bucket){.begin = w->shared, .end = w->size}, s->zero, &begin,
		   &end);
	if (begin == end)
		return OK;
	if (s->groups.holders)
		TRY(join(s, s->groups.holders, COMM_ALLREDUCE, begin, end, err));
	else
		weights_add_gradients(w, begin, w->size + (begin - w->shared), end - begin);
out:
	return st;
}

enum status sync_finish(struct sync *s, struct error *err)
{
	enum status st;

	if (!s->exact)
		TRY(join_parts(s, err));
	TRY(reduce(s, true, err));
	for (int i = 0; i < s->n_buckets; i++)
		TRY(collective_end(&s->buckets[i].sum, err));
	if (s->exact)
		TRY(join_sums(s, err));
out:
	return st;
}

enum status sync_share_array(struct sync *s, void *flat, enum dtype type, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < s->n_buckets && s->zero; i++)
		begin(s, &s->buckets[i], COMM_ALLGATHER, flat, type);
	for (int i = 0; i < s->n_buckets && s->zero; i++)
		TRY(collective_end(&s->buckets[i].sum, err));
out:
	return st;
}

enum status sync_share(struct sync *s, struct error *err)
{
	return sync_share_array(s, s->weights->param, s->weights->type, err);
}

enum status sync_share_gradients(struct sync *s, struct error *err)
{
	return sync_share_array(s, s->weights->grad, s->weights->grad_type, err);
}

enum status sync_fill_params(struct sync *s, const struct optim *o, struct error *err)
{
	const struct weights *w = s->weights;
	bool idle = s->kind == SYNC_MASTER && s->number > 0;

	for (int i = 0; i < s->n_buckets && o->master && !idle; i++) {
		const float *master = o->master + sync_state_begin(s, &s->buckets[i]);
		size_t begin, end;

		sync_own_range(s, &s->buckets[i], &begin, &end);
		device_cast(w->dev, master, DTYPE_F32, flat_at(w->param, w->type, begin),
			    w->type, end - begin);
	}
	return sync_share(s, err);
}
