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
			   .overlap = o->overlap && o->kind == SYNC_DDP};
	for (int c = 0; c < n_chunks; c++)
		layers += chunks[c].count;
	s->buckets = calloc((size_t)layers + 1, sizeof(*s->buckets));
	if (!s->buckets)
		return FAIL(err, ERR_MEMORY, "no memory for %d buckets", layers);
	if (o->kind == SYNC_DDP)
		cut(s, chunks, n_chunks, o->bucket_bytes);
	else /* complete when the first chunk is */
		s->buckets[s->n_buckets++] = (struct bucket){.end = w->size,
							     .first_layer = chunks[0].first,
							     .deferred = w->size > w->shared};
	return OK;
}

void sync_release(struct sync *s)
{
	free(s->buckets);
	*s = (struct sync){0};
}

/* This replica's slice of a bucket, or all of it. */
static void range_of(const struct sync *s, const struct bucket *b, bool slice, size_t *begin,
		     size_t *end)
{
	int64_t n = (int64_t)(b->end - b->begin);

	*begin = slice ? b->begin + (size_t)part_begin(n, s->number, s->count) : b->begin;
	*end = slice ? b->begin + (size_t)part_begin(n, s->number + 1, s->count) : b->end;
}

void sync_own_range(const struct sync *s, const struct bucket *b, size_t *begin, size_t *end)
{
	range_of(s, b, s->zero, begin, end);
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

/* The gradients of a bucket, as the host sees them while they are summed. */
static void *open_bucket(const struct sync *s, const struct bucket *b, void *flat,
			 enum dtype type)
{
	struct device *dev = s->weights->dev;

	device_await(dev, QUEUE_SEND, device_mark(dev, QUEUE_COMPUTE));
	return device_host_begin(dev, QUEUE_SEND, flat_at(flat, type, b->begin),
				 (b->end - b->begin) * dtype_size(type), HOST_READS_WRITES);
}

static enum status close_bucket(const struct sync *s, struct bucket *b, void *flat,
				enum dtype type, struct error *err)
{
	struct device *dev = s->weights->dev;
	enum status st;

	TRY(comm_wait(&b->request, err));
	device_host_end(dev, QUEUE_SEND, flat_at(flat, type, b->begin),
			(b->end - b->begin) * dtype_size(type), HOST_READS_WRITES);
	device_await(dev, QUEUE_COMPUTE, device_mark(dev, QUEUE_SEND));
out:
	return st;
}

static void start(struct sync *s, struct bucket *b)
{
	enum dtype type = s->weights->grad_type;

	b->started = true;
	if (!s->groups.replicas)
		return;
	comm_start(s->groups.replicas, s->zero ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE,
		   open_bucket(s, b, s->weights->grad, type), b->end - b->begin, type, 0,
		   &b->request);
	s->bytes += (int64_t)((b->end - b->begin) * dtype_size(type));
}

void sync_begin(struct sync *s)
{
	for (int i = 0; i < s->n_buckets; i++) {
		s->buckets[i].started = false;
		s->buckets[i].request.kind = REQUEST_NONE;
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
		if (s->groups.replicas)
			TRY(close_bucket(s, b, s->weights->grad, s->weights->grad_type, err));
		b->request.kind = REQUEST_NONE;
	}
out:
	return st;
}

enum status sync_reduce(struct sync *s, struct error *err)
{
	return reduce(s, false, err);
}

/* A sum of some gradients over a group. */
static enum status join(struct sync *s, struct comm *group, size_t begin, size_t end,
			struct error *err)
{
	enum dtype type = s->weights->grad_type;
	struct bucket b = {.begin = begin, .end = end};
	enum status st;

	comm_start(group, COMM_ALLREDUCE, open_bucket(s, &b, s->weights->grad, type),
		   end - begin, type, 0, &b.request);
	TRY(close_bucket(s, &b, s->weights->grad, type, err)); /* it is on our stack */
	s->bytes += (int64_t)((end - begin) * dtype_size(type));
out:
	return st;
}

enum status sync_join(struct sync *s, struct error *err)
{
	const struct weights *w = s->weights;
	enum status st = OK;

	if (s->groups.holders)
		TRY(join(s, s->groups.holders, w->shared, w->partial, err));
	if (w->size > w->partial)
		TRY(join(s, s->groups.slices, w->partial, w->size, err));
out:
	return st;
}

enum status sync_finish(struct sync *s, struct error *err)
{
	enum status st;

	TRY(sync_join(s, err));
	TRY(reduce(s, true, err));
	for (int i = 0; i < s->n_buckets; i++)
		if (s->buckets[i].request.kind != REQUEST_NONE)
			TRY(close_bucket(s, &s->buckets[i], s->weights->grad,
					 s->weights->grad_type, err));
out:
	return st;
}

/* Take back the squares of what is counted elsewhere, in a range. */
static void leave_out_others(const struct sync *s, size_t begin, size_t end, double *squares)
{
	const struct weights *w = s->weights;

	for (int i = 0; i < w->model->n_tensors; i++) {
		size_t a = w->at[i], b;

		if (a == WEIGHTS_ELSEWHERE || weights_is_counted(w, i))
			continue;
		b = a + weights_tensor_size(w, i);
		a = a > begin ? a : begin;
		b = b < end ? b : end;
		if (a < b)
			device_sum_squares(w->dev, flat_at(w->grad, w->grad_type, a),
					   w->grad_type, b - a, -1, squares);
	}
}

void sync_squares(const struct sync *s, double *squares)
{
	const struct weights *w = s->weights;
	bool slice = s->kind != SYNC_MASTER; /* the master alone has the sums */

	for (int i = 0; i < s->n_buckets; i++) {
		size_t begin, end;

		range_of(s, &s->buckets[i], slice, &begin, &end);
		device_sum_squares(w->dev, flat_at(w->grad, w->grad_type, begin), w->grad_type,
				   end - begin, 1, squares);
		leave_out_others(s, begin, end, squares);
	}
}

/* Weight decay is not for all of it. */
static void update_range(const struct sync *s, struct optim *o, size_t begin, size_t end,
			 size_t state, double *squares)
{
	const struct weights *w = s->weights;

	for (size_t at = begin, next; at < end; at = next) {
		bool decays;

		next = weights_run(w, at, &decays);
		next = next < end ? next : end;
		optim_apply(o, flat_at(w->param, w->type, at),
			    flat_at(w->grad, w->grad_type, at), state + at - begin, next - at,
			    decays, squares);
	}
}

void sync_update(struct sync *s, struct optim *o, double *squares)
{
	for (int i = 0; i < s->n_buckets; i++) {
		size_t begin, end;

		sync_own_range(s, &s->buckets[i], &begin, &end);
		update_range(s, o, begin, end, sync_state_begin(s, &s->buckets[i]), squares);
		leave_out_others(s, begin, end, squares);
	}
}

enum status sync_share_array(struct sync *s, void *flat, enum dtype type, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < s->n_buckets && s->zero; i++) {
		struct bucket *b = &s->buckets[i];

		comm_start(s->groups.replicas, COMM_ALLGATHER, open_bucket(s, b, flat, type),
			   b->end - b->begin, type, 0, &b->request);
		s->bytes += (int64_t)((b->end - b->begin) * dtype_size(type));
	}
	for (int i = 0; i < s->n_buckets && s->zero; i++)
		TRY(close_bucket(s, &s->buckets[i], flat, type, err));
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
