/* sync.c - see sync.h */
#include "engine/sync.h"
#include "base/util.h"

#include <stdlib.h>
#include <string.h>

const char *const grad_sync_names[] = {NAMES_OF(GRAD_SYNCS)};

/* Cut from the last layer on; a bucket is closed when it is large enough, and where a
   chunk begins, whose gradients are complete at other times. */
static void cut(struct sync *s, size_t bucket_bytes)
{
	const struct model *m = s->model;
	/* The first is small, so that something is under way early. */
	size_t first_bytes = bucket_bytes < 1 << 20 ? bucket_bytes : 1 << 20;
	size_t end = m->size, size = dtype_size(m->grad_type);

	for (int c = m->n_chunks - 1; c >= 0; c--) {
		const struct chunk *chunk = &m->chunks[c];

		for (int i = chunk->first + chunk->count - 1; i >= chunk->first; i--) {
			size_t begin = m->layers[i].weight;

			size_t enough = s->n_buckets ? bucket_bytes : first_bytes;

			if ((end - begin) * size < enough && i > chunk->first)
				continue;
			s->buckets[s->n_buckets++] =
				(struct bucket){.begin = begin, .end = end, .first_layer = i};
			end = begin;
		}
	}
}

enum status sync_init(struct sync *s, struct model *m, struct comm *replicas,
		      const struct sync_options *o, struct error *err)
{
	*s = (struct sync){.model = m,
			   .replicas = replicas,
			   .count = o->count,
			   .number = o->number,
			   .kind = o->kind,
			   .zero = o->zero && o->count > 1,
			   .overlap = o->overlap && o->kind == SYNC_DDP};
	s->buckets = calloc((size_t)m->n_layers, sizeof(*s->buckets));
	if (!s->buckets)
		return FAIL(err, ERR_MEMORY, "no memory for %d buckets", m->n_layers);
	if (o->kind == SYNC_DDP) {
		cut(s, o->bucket_bytes);
	} else {
		s->buckets[0] = (struct bucket){.end = m->size};
		s->n_buckets = 1;
	}
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

/* The part of a bucket that this rank updates. */
static void own_range(const struct sync *s, const struct bucket *b, size_t *begin, size_t *end)
{
	range_of(s, b, s->zero, begin, end);
}

size_t sync_state_size(const struct sync *s)
{
	size_t n = 0;

	if (s->kind == SYNC_MASTER && s->number > 0)
		return 0; /* the master updates */
	for (int i = 0; i < s->n_buckets; i++) {
		size_t begin, end;

		own_range(s, &s->buckets[i], &begin, &end);
		n += end - begin;
	}
	return n;
}

static void start(struct sync *s, struct bucket *b)
{
	if (b->started)
		return;
	b->started = true;
	if (!s->replicas)
		return;
	comm_start(s->replicas, s->zero ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE,
		   flat_at(s->model->grad, s->model->grad_type, b->begin), b->end - b->begin,
		   s->model->grad_type, 0, &b->request);
	s->bytes += (int64_t)((b->end - b->begin) * dtype_size(s->model->grad_type));
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
		if (s->buckets[i].first_layer == layer)
			start(s, &s->buckets[i]);
}

enum status sync_finish(struct sync *s, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < s->n_buckets; i++) {
		start(s, &s->buckets[i]);
		if (!s->overlap)
			TRY(comm_wait(&s->buckets[i].request, err));
	}
	for (int i = 0; i < s->n_buckets; i++)
		TRY(comm_wait(&s->buckets[i].request, err));
out:
	return st;
}

/* Squares of what other slices of the layers have too, in a range; 0 on the first. */
static double replicated_squares(const struct sync *s, size_t begin, size_t end)
{
	const struct model *m = s->model;
	double sum = 0;

	for (int i = 0; i < m->n_layers && m->shard > 0; i++) {
		const struct layer *l = &m->layers[i];
		size_t a = l->bias > begin ? l->bias : begin;
		size_t b = l->bias + (size_t)l->out < end ? l->bias + (size_t)l->out : end;

		if (model_is_replicated(m, l) && a < b)
			device_sum_squares(m->dev, flat_at(m->grad, m->grad_type, a),
					   m->grad_type, b - a, 1, &sum);
	}
	return sum;
}

double sync_squares(const struct sync *s)
{
	const struct model *m = s->model;
	bool slice = s->kind != SYNC_MASTER; /* the master alone has the sums */
	double sum = 0;

	for (int i = 0; i < s->n_buckets; i++) {
		size_t begin, end;

		range_of(s, &s->buckets[i], slice, &begin, &end);
		device_sum_squares(m->dev, flat_at(m->grad, m->grad_type, begin), m->grad_type,
				   end - begin, 1, &sum);
		sum -= replicated_squares(s, begin, end);
	}
	return sum;
}

double sync_update(struct sync *s, struct optim *o)
{
	const struct model *m = s->model;
	double sum = 0;
	size_t at = 0;

	for (int i = 0; i < s->n_buckets; i++) {
		size_t begin, end;

		own_range(s, &s->buckets[i], &begin, &end);
		optim_apply(o, flat_at(m->param, m->type, begin),
			    flat_at(m->grad, m->grad_type, begin), at, end - begin, &sum);
		sum -= replicated_squares(s, begin, end);
		at += end - begin;
	}
	return sum;
}

void sync_fill_master(const struct sync *s, struct optim *o)
{
	const struct model *m = s->model;
	size_t at = 0;

	if (s->kind == SYNC_MASTER && s->number > 0)
		return;
	for (int i = 0; i < s->n_buckets && o->master; i++) {
		size_t begin, end;

		own_range(s, &s->buckets[i], &begin, &end);
		device_cast(m->dev, flat_at(m->param, m->type, begin), m->type, o->master + at,
			    DTYPE_F32, end - begin);
		at += end - begin;
	}
}

/* Where the state is sharded, every replica has its slice of each bucket: give it to all. */
static enum status share(struct sync *s, float *flat, enum dtype type, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < s->n_buckets && s->zero; i++) {
		struct bucket *b = &s->buckets[i];

		comm_start(s->replicas, COMM_ALLGATHER, flat_at(flat, type, b->begin),
			   b->end - b->begin, type, 0, &b->request);
		s->bytes += (int64_t)((b->end - b->begin) * dtype_size(type));
	}
	for (int i = 0; i < s->n_buckets && s->zero; i++)
		TRY(comm_wait(&s->buckets[i].request, err));
out:
	return st;
}

enum status sync_share(struct sync *s, struct error *err)
{
	return share(s, s->model->param, s->model->type, err);
}

enum status sync_share_gradients(struct sync *s, struct error *err)
{
	return share(s, s->model->grad, s->model->grad_type, err);
}

enum status sync_masters(struct sync *s, const struct optim *o, float *flat, struct error *err)
{
	size_t at = 0;

	for (int i = 0; i < s->n_buckets && (s->kind != SYNC_MASTER || s->number == 0); i++) {
		size_t begin, end;

		own_range(s, &s->buckets[i], &begin, &end);
		memcpy(flat + begin, o->master + at, (end - begin) * sizeof(*flat));
		at += end - begin;
	}
	return share(s, flat, DTYPE_F32, err);
}
