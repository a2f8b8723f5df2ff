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

enum { UPDATE_SAMPLE = 1 << 22 }; /* elements that the optimizer is tried on */

/* A group begins together. */
static enum status begin_group(struct engine *e, struct comm *group, int64_t *t,
			       struct error *err)
{
	enum status st;

	TRY(comm_run(group, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
	*t = pace_now(e->pace);
out:
	return st;
}

/* Everybody does. Only for what every rank does equally often. */
static enum status begin(struct engine *e, int64_t *t, struct error *err)
{
	if (e->rank)
		return begin_group(e, e->rank->world, t, err);
	*t = pace_now(e->pace);
	return OK;
}

static double ms_since(const struct engine *e, int64_t begin)
{
	return (double)(pace_now(e->pace) - begin) * 1e-6;
}

/* So often that it takes some 20 ms at 50 GFLOP/s; the same on all ranks. */
static int repetitions(const struct engine *e)
{
	double flops = shape_flops(&e->options.shape) * e->options.shape.rows / e->grid.pp /
		       e->model.n_chunks / e->grid.mp;

	if (device_is_virtual(e->dev))
		return 1;
	return flops > 1e9 ? 1 : imin(40, (int)(1e9 / flops) + 1);
}

static enum status do_part(struct engine *e, int chunk, enum record_kind kind,
			   struct error *err)
{
	const struct chunk *c = &e->model.chunks[chunk];
	struct chunk_buffers *b = &e->buffers.chunks[chunk];
	struct slot *s = &b->slot[0];
	struct flow *f = &b->flow[0];
	struct backward how = {.part = kind == RECORD_WEIGHT ? BACKWARD_WEIGHT : BACKWARD_BOTH,
			       .overlap = !e->options.base};
	int rows = e->options.shape.rows;

	s->input[0] = c->begins ? e->batch.x : b->input[0];
	if (!c->begins)
		how.dx = b->dx[0];
	if (kind == RECORD_FORWARD)
		return chunk_forward(&e->model, c, s, rows, NULL, NULL, err);
	if (kind == RECORD_BACKWARD && c->ends)
		engine_loss(e, &e->batch, 0, s->full, f->full, rows, rows);
	return chunk_backward(&e->model, c, s, f, rows, &how, err);
}

/* The mean of some times, after one that touches the memory. */
static enum status time_part(struct engine *e, int chunk, enum record_kind kind, double *ms,
			     struct error *err)
{
	int n = repetitions(e);
	int64_t t;
	enum status st;

	TRY(do_part(e, chunk, kind, err));
	TRY(begin(e, &t, err));
	for (int i = 0; i < n; i++)
		TRY(do_part(e, chunk, kind, err));
	*ms = ms_since(e, t) / n;
out:
	return st;
}

/* A message to the next stage, while the others send theirs. */
static enum status time_message(struct engine *e, double *ms, struct error *err)
{
	const struct chunk_buffers *b = &e->buffers.chunks[0];
	struct comm_request out = {.kind = REQUEST_NONE}, in = {.kind = REQUEST_NONE};
	struct coords to = e->at, from = e->at;
	int rows = e->options.shape.rows;
	int64_t t;
	enum status st = OK;

	to.pp++;
	from.pp--;
	for (int i = 0; i < 3; i++) {
		struct view v = b->slot[0].input[e->model.chunks[0].count];

		TRY(begin(e, &t, err));
		if (from.pp >= 0)
			comm_irecv(e->pipe, grid_rank(&e->grid, from), 0, b->input[0].data,
				   view_bytes(b->input[0], rows), &in);
		if (to.pp < e->grid.pp)
			comm_isend(e->pipe, grid_rank(&e->grid, to), 0, v.data,
				   view_bytes(v, rows), &out);
		TRY(comm_wait(&in, err));
		*ms = from.pp >= 0 ? ms_since(e, t) : 0;
		TRY(comm_wait(&out, err));
	}
out:
	return st;
}

/* A collective of the replicas, the second time. Other stages have more or fewer of them. */
static enum status time_collective(struct engine *e, enum comm_op op, void *buf, size_t n,
				   enum dtype type, double *ms, struct error *err)
{
	int64_t t;
	enum status st = OK;

	for (int i = 0; i < 2; i++) {
		TRY(begin_group(e, e->replicas, &t, err));
		TRY(comm_run(e->replicas, op, buf, n, type, 0, err));
		*ms = ms_since(e, t);
	}
out:
	return st;
}

/* Sums over the replicas, and what sharded state needs afterwards. */
static enum status time_sums(struct engine *e, struct rank_costs *c, struct error *err)
{
	const struct model *m = &e->model;
	enum comm_op op = e->sync.zero ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE;
	int64_t t;
	enum status st;

	TRY(begin(e, &t, err));
	for (int i = 0; i < e->sync.n_buckets; i++) {
		const struct bucket *b = &e->sync.buckets[i];
		size_t n = b->end - b->begin;
		double ms;

		TRY(time_collective(e, op, flat_at(m->grad, m->grad_type, b->begin), n,
				    m->grad_type, &ms, err));
		sync_note_time(&e->sync, i, ms);
		if (!e->sync.zero)
			continue;
		TRY(time_collective(e, COMM_ALLGATHER, flat_at(m->param, m->type, b->begin), n,
				    m->type, &ms, err));
		c->share += ms;
	}
out:
	return st;
}

/* On arrays of its own: the real ones must not change. */
static enum status time_update(struct engine *e, double *ms, struct error *err)
{
	size_t size = sync_state_size(&e->sync),
	       n = size < UPDATE_SAMPLE ? size : UPDATE_SAMPLE;
	struct update u = e->optim.update;
	float *arrays = NULL;
	int64_t t;
	enum status st = OK;

	if (!device_is_virtual(e->dev)) {
		arrays = aligned_alloc(64, (size_t)round_up((int64_t)n + 1, 16) * 5 *
						   sizeof(float));
		if (!arrays)
			return FAIL(err, ERR_MEMORY, "no memory to try the optimizer");
		for (size_t i = 0; i < 5 * n; i++)
			arrays[i] = 0;
	}
	n = n / 16 * 16;
	u.working = e->optim.master;
	u.working_type = e->optim.type;
	if (arrays) { /* a virtual device only asks which there are */
		u.param = arrays;
		u.grad = arrays + n;
		u.m = u.m ? arrays + 2 * n : NULL;
		u.v = u.v ? arrays + 3 * n : NULL;
		u.working = u.working ? arrays + 4 * n : NULL;
	}
	u.grad_scale = u.correction1 = u.correction2 = 1;
	device_update(e->dev, &u, n);
	TRY(begin(e, &t, err));
	device_update(e->dev, &u, n);
	*ms = n ? ms_since(e, t) * (double)size / (double)n : 0;
	if (e->options.clip > 0 || e->options.type != DTYPE_F32) {
		TRY(begin(e, &t, err));
		sync_squares(&e->sync);
		*ms += ms_since(e, t);
	}
out:
	free(arrays);
	return st;
}

enum status engine_calibrate(struct engine *e, struct rank_costs *c, struct part_cost *parts,
			     struct error *err)
{
	int64_t bytes = e->model.bytes, t;
	struct report sum;
	enum status st;

	*c = (struct rank_costs){0};
	for (int k = 0; k < e->model.n_chunks; k++) {
		TRY(time_part(e, k, RECORD_FORWARD, &parts[k].f, err));
		TRY(time_part(e, k, RECORD_BACKWARD, &parts[k].b, err));
		TRY(time_part(e, k, RECORD_WEIGHT, &parts[k].w, err));
	}
	if (e->grid.pp > 1)
		TRY(time_message(e, &c->message, err));
	if (e->replicas)
		TRY(time_sums(e, c, err));
	TRY(time_update(e, &c->update, err));
	TRY(begin(e, &t, err));
	TRY(engine_exchange(e, (struct report){0}, &sum, err));
	c->exchange = ms_since(e, t);
	c->sync = sync_tail(&e->sync, parts[0].w, !device_is_virtual(e->dev));
	e->model.bytes = bytes;
out:
	return st;
}
