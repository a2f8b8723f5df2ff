/*
 * master.c - DataParallel, as PyTorch's class of that name does it, with its real costs.
 * One master keeps the model. Every step it gives the weights to all replicas; for every
 * micro-batch it sends them their inputs, collects their outputs, computes the loss, sends
 * the gradients of the outputs back; at last it collects the gradients and updates.
 */
#include "engine/engine.h"

/* Between the master's rows and those of every replica, its own included. */
static enum status distribute(struct engine *e, struct view all, struct view own, bool collect,
			      struct error *err)
{
	int rows = e->options.shape.rows, me = comm_rank(e->replicas);
	size_t bytes = view_bytes(own, rows);
	struct comm_request r;
	enum status st = OK;

	if (me > 0) {
		if (collect)
			comm_isend(e->replicas, 0, CHANNEL_MASTER, own.data, bytes, &r);
		else
			comm_irecv(e->replicas, 0, CHANNEL_MASTER, own.data, bytes, &r);
		e->traffic.messages += collect;
		e->traffic.bytes += collect ? (int64_t)bytes : 0;
		return comm_wait(&r, err);
	}
	for (int i = 1; i < comm_size(e->replicas); i++) {
		float *theirs = view_from(all, (size_t)i * (size_t)rows).data;

		if (collect)
			comm_irecv(e->replicas, i, CHANNEL_MASTER, theirs, bytes, &r);
		else
			comm_isend(e->replicas, i, CHANNEL_MASTER, theirs, bytes, &r);
		e->traffic.messages += !collect;
		e->traffic.bytes += collect ? 0 : (int64_t)bytes;
		TRY(comm_wait(&r, err));
	}
	if (all.data != own.data)
		device_copy(e->dev, collect ? all : own, 0, collect ? own : all, 0, rows,
			    (int)own.stride);
out:
	return st;
}

static enum status micro_batch(struct engine *e, int number, double *loss, struct error *err)
{
	const struct chunk *c = &e->model.chunks[0];
	struct slot *s = &e->buffers.chunks[0].slot[0];
	struct flow *f = &e->buffers.chunks[0].flow[0];
	struct backward how = {.part = BACKWARD_BOTH, .accumulate = number > 0};
	bool master = e->at.dp == 0;
	int rows = e->options.shape.rows, all = rows * e->grid.dp;
	struct view inputs = e->batch.x;
	struct action a = {ACTION_F, 0, number};
	struct watch w;
	enum status st;

	if (master)
		inputs = view_from(e->all.x, (size_t)number * (size_t)all);
	TRY(distribute(e, inputs, inputs, false, err));
	engine_reach(e, AT_FORWARD, number);
	s->input[0] = inputs;
	w = watch_begin(e);
	TRY(chunk_forward(&e->model, c, s, rows, NULL, NULL, err));
	watch_end(e, w, RECORD_FORWARD, &a);
	TRY(distribute(e, e->outputs, s->full, true, err));
	if (master)
		*loss += engine_loss(e, &e->all, number * all, e->outputs, e->gradients, all,
				     (double)engine_batch_rows(e) * e->grid.dp);
	TRY(distribute(e, e->gradients, f->full, false, err));
	spoil_flow(e, c, f, number);
	engine_reach(e, AT_BACKWARD, number);
	w = watch_begin(e);
	TRY(chunk_backward(&e->model, c, s, f, rows, &how, err));
	watch_end(e, w, RECORD_BACKWARD, &a);
out:
	return st;
}

enum status engine_step_master(struct engine *e, double *loss, struct error *err)
{
	struct model *m = &e->model;
	enum status st;

	TRY(comm_run(e->replicas, COMM_BROADCAST, m->param, m->size, m->type, 0, err));
	for (int i = 0; i < e->options.micro_batches; i++)
		TRY(micro_batch(e, i, loss, err));
	for (int i = 0; i < m->n_layers; i++)
		spoil_gradient(e, i);
	/* Summed where each slice is, then brought together at the master. */
	TRY(comm_run(e->replicas, COMM_REDUCE_SCATTER, m->grad, m->size, m->grad_type, 0, err));
	TRY(comm_run(e->replicas, COMM_GATHER, m->grad, m->size, m->grad_type, 0, err));
	e->sync.bytes +=
		(int64_t)(m->size * (dtype_size(m->type) + 2 * dtype_size(m->grad_type)));
out:
	return st;
}
