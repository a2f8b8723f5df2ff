/*
 * calibrate.c - what the parts of a step take on this rank; see predict.h
 *
 * All ranks do the same at the same time, so that what they share (memory, links, cores)
 * is shared as it will be. Weights stay as they are; what is left in activations and
 * gradients is overwritten by the first micro-batch.
 */
#include "base/util.h"
#include "engine/predict.h"

#include <stdlib.h>
#include <string.h>

enum { UPDATE_SAMPLE = 1 << 20 }; /* elements that the optimizer is tried on */

/* A group begins together. */
static enum status begin_group(struct trial *t, struct comm *group, struct error *err)
{
	enum status st;

	TRY(comm_run(group, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
	t->begin = pace_now(t->e->pace);
out:
	return st;
}

/* Everybody does. Only for what every rank does equally often. */
static enum status begin(struct trial *t, struct error *err)
{
	return begin_group(t, t->e->rank->world, err);
}

static double ms_since_begin(const struct trial *t)
{
	return (double)(pace_now(t->e->pace) - t->begin) * 1e-6;
}

/* ---- forward and backward ---- */

/* So often that it takes some ms at 50 GFLOP/s; the same on all ranks. */
static int repetitions(const struct engine *e)
{
	double flops = shape_flops(&e->options.shape) * e->options.shape.rows / e->grid.pp /
		       e->model.n_chunks / e->grid.mp;

	if (device_is_virtual(e->dev))
		return 1;
	return flops > 1e8 ? 1 : imin(20, (int)(1e8 / flops) + 1);
}

/* A layer has its gradient: buckets may be complete, so long after the begin. */
static void layer_done(void *arg, int layer)
{
	struct trial *t = arg;

	for (int i = 0; i < t->e->sync.n_buckets; i++)
		if (t->e->sync.buckets[i].first_layer == layer)
			t->row.buckets[i].complete = ms_since_begin(t);
}

static enum status do_part(struct trial *t, int chunk, enum record_kind kind, struct error *err)
{
	struct engine *e = t->e;
	const struct chunk *c = &e->model.chunks[chunk];
	struct chunk_buffers *b = &e->buffers.chunks[chunk];
	struct slot *s = &b->slot[0];
	struct flow *f = &b->flow[0];
	struct backward how = {.part = kind == RECORD_WEIGHT  ? BACKWARD_WEIGHT
				       : kind == RECORD_INPUT ? BACKWARD_INPUT
							      : BACKWARD_BOTH,
			       .accumulate = e->options.micro_batches > 1,
			       .overlap = !e->options.base,
			       .hook = layer_done,
			       .arg = t};
	int rows = e->options.shape.rows;

	s->input[0] = c->begins ? e->batch.x : b->input[0];
	if (!c->begins)
		how.dx = b->dx[0];
	if (kind == RECORD_FORWARD)
		return chunk_forward(&e->model, c, s, rows, NULL, NULL, err);
	if (kind != RECORD_WEIGHT && c->ends)
		engine_loss(e, &e->batch, 0, s->full, f->full, rows, rows);
	return chunk_backward(&e->model, c, s, f, rows, &how, err);
}

/* Adds what a part takes to *ms. */
static enum status time_part(struct trial *t, int chunk, enum record_kind kind, double *ms,
			     struct error *err)
{
	double before = ms_since_begin(t);
	enum status st;

	TRY(do_part(t, chunk, kind, err));
	*ms += ms_since_begin(t) - before;
out:
	return st;
}

/* In the order of a step, so that caches hold what they will. */
static enum status time_chunk(struct trial *t, int chunk, struct error *err)
{
	bool split = order_is_split(t->e->order);
	struct part_cost *p = &t->row.parts[chunk];
	int n = repetitions(t->e);
	enum status st;

	TRY(begin(t, err));
	for (int i = 0; i < n; i++) {
		TRY(time_part(t, chunk, RECORD_FORWARD, &p->f, err));
		TRY(time_part(t, chunk, split ? RECORD_INPUT : RECORD_BACKWARD, &p->b, err));
		if (split)
			TRY(time_part(t, chunk, RECORD_WEIGHT, &p->w, err));
	}
	for (int i = 0; i < t->e->sync.n_buckets; i++)
		if (t->row.buckets[i].chunk == chunk)
			t->row.buckets[i].complete =
				ms_since_begin(t) - t->row.buckets[i].complete;
	p->f /= n;
	p->w /= n;
	p->b = p->b / n + p->w;
out:
	return st;
}

/* ---- messages ---- */

/* Over links that are known. */
static struct message_cost cost_on_link(const struct engine *e, int stage, struct view v)
{
	const struct links *links = device_links(e->dev);
	struct coords to = e->at;
	int peer;

	to.pp = (stage + e->grid.pp) % e->grid.pp;
	peer = grid_rank(&e->grid, to);
	return (struct message_cost){
		(double)links_transfer_ns(links, e->rank->number, peer,
					  (double)view_bytes(v, e->options.shape.rows)) *
			1e-6,
		(double)links_latency_ns(links, e->rank->number, peer) * 1e-6};
}

/* To the next stage, while the others send theirs. */
static enum status try_message(struct trial *t, double *ms, struct error *err)
{
	struct engine *e = t->e;
	const struct chunk_buffers *b = &e->buffers.chunks[0];
	struct view v = b->slot[0].input[e->model.chunks[0].count];
	struct comm_request out = {.kind = REQUEST_NONE}, in = {.kind = REQUEST_NONE};
	struct coords to = e->at, from = e->at;
	int rows = e->options.shape.rows;
	enum status st;

	to.pp++;
	from.pp--;
	TRY(begin(t, err));
	if (from.pp >= 0)
		comm_irecv(e->pipe, grid_rank(&e->grid, from), 0, b->input[0].data,
			   view_bytes(b->input[0], rows), &in);
	if (to.pp < e->grid.pp)
		comm_isend(e->pipe, grid_rank(&e->grid, to), 0, v.data, view_bytes(v, rows),
			   &out);
	TRY(comm_wait(&in, err));
	TRY(comm_wait(&out, err));
	*ms = ms_since_begin(t);
out:
	return st;
}

static enum status time_messages(struct trial *t, struct error *err)
{
	struct engine *e = t->e;
	double ms;
	enum status st = OK;

	if (device_links(e->dev)) {
		for (int k = 0; k < e->model.n_chunks; k++) {
			const struct chunk_buffers *b = &e->buffers.chunks[k];
			int last = e->model.chunks[k].count;

			t->row.parts[k].forward =
				cost_on_link(e, e->at.pp + 1, b->slot[0].input[last]);
			t->row.parts[k].backward = cost_on_link(e, e->at.pp - 1, b->dx[0]);
		}
		return OK;
	}
	TRY(try_message(t, &ms, err));
	for (int k = 0; k < e->model.n_chunks; k++)
		t->row.parts[k].forward.latency = t->row.parts[k].backward.latency = ms;
out:
	return st;
}

/* ---- what ends a step ---- */

/* A collective of the replicas. Other stages have more or fewer of them. */
static enum status time_collective(struct trial *t, enum comm_op op, void *buf, size_t n,
				   enum dtype type, double *ms, struct error *err)
{
	enum status st;

	TRY(begin_group(t, t->e->replicas, err));
	TRY(comm_run(t->e->replicas, op, buf, n, type, 0, err));
	*ms = ms_since_begin(t);
out:
	return st;
}

/* Sums over the replicas, and what sharded state needs afterwards. */
static enum status time_sums(struct trial *t, struct error *err)
{
	const struct model *m = &t->e->model;
	const struct sync *s = &t->e->sync;
	enum comm_op op = s->zero ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE;
	enum status st;

	TRY(begin(t, err));
	for (int i = 0; i < s->n_buckets; i++) {
		const struct bucket *b = &s->buckets[i];
		struct bucket_cost *cost = &t->row.buckets[i];
		size_t n = b->end - b->begin;

		TRY(time_collective(t, op, flat_at(m->grad, m->grad_type, b->begin), n,
				    m->grad_type, &cost->sum, err));
		if (s->zero)
			TRY(time_collective(t, COMM_ALLGATHER,
					    flat_at(m->param, m->type, b->begin), n, m->type,
					    &cost->share, err));
	}
out:
	return st;
}

static double try_update(struct trial *t)
{
	struct engine *e = t->e;
	struct update u = e->optim.update;
	float *at = t->arrays;
	double squares = 0;

	if (!at) {
		sync_update(&e->sync, &e->optim);
		return ms_since_begin(t);
	}
	u.param = at;
	u.grad = at += t->n;
	u.m = u.m ? at += t->n : NULL;
	u.v = u.v ? at += t->n : NULL;
	u.working = e->optim.master ? at + t->n : NULL;
	u.working_type = e->optim.type;
	u.grad_scale = u.correction1 = u.correction2 = 1;
	device_update(e->dev, &u, t->n, &squares);
	return t->n ? ms_since_begin(t) * (double)sync_state_size(&e->sync) / (double)t->n : 0;
}

static enum status time_end(struct trial *t, struct error *err)
{
	struct rank_costs *c = t->row.rank;
	struct report sum;
	enum status st;

	TRY(begin(t, err));
	c->update = try_update(t);
	if (engine_looks(t->e)) {
		TRY(begin(t, err));
		sync_squares(&t->e->sync);
		c->squares = ms_since_begin(t);
	}
	TRY(begin(t, err));
	TRY(engine_exchange(t->e, (struct report){0}, &sum, err));
	c->exchange = ms_since_begin(t);
out:
	return st;
}

/* ---- all of it ---- */

static int chunk_of_layer(const struct model *m, int layer)
{
	int chunk = 0;

	while (layer >= m->chunks[chunk].first + m->chunks[chunk].count)
		chunk++;
	return chunk;
}

enum status trial_init(struct trial *t, struct engine *e, struct error *err)
{
	const struct update *u = &e->optim.update;
	size_t size = sync_state_size(&e->sync), floats;

	*t = (struct trial){.e = e};
	if (device_is_virtual(e->dev))
		return OK; /* nothing is written there */
	t->n = (size < UPDATE_SAMPLE ? size : UPDATE_SAMPLE) / 16 * 16;
	floats = t->n * (size_t)(2 + (u->m != NULL) + (u->v != NULL) +
				 (e->optim.master != NULL)) +
		 16;
	t->arrays = aligned_alloc(64, floats * sizeof(float));
	if (!t->arrays)
		return FAIL(err, ERR_MEMORY, "no memory to try the optimizer");
	memset(t->arrays, 0, floats * sizeof(float));
	return OK;
}

void trial_release(struct trial *t)
{
	free(t->arrays);
}

enum status trial_run(struct trial *t, double *row, struct error *err)
{
	struct engine *e = t->e;
	int64_t bytes = e->model.bytes;
	enum status st = OK;

	memset(row, 0, cost_row_size(e) * sizeof(*row));
	t->row = cost_row_at(e, row, 0);
	t->row.rank->buckets = e->replicas ? e->sync.n_buckets : 0;
	for (int i = 0; i < e->sync.n_buckets; i++)
		t->row.buckets[i].chunk =
			chunk_of_layer(&e->model, e->sync.buckets[i].first_layer);
	for (int k = 0; k < e->model.n_chunks; k++)
		TRY(time_chunk(t, k, err));
	if (e->grid.pp > 1)
		TRY(time_messages(t, err));
	if (e->replicas)
		TRY(time_sums(t, err));
	TRY(time_end(t, err));
out:
	e->model.bytes = bytes;
	return st;
}
