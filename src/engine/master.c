/*
 * master.c - DataParallel, as PyTorch's class of that name does it, with its real costs.
 * One master keeps the model. Every step it gives the weights to all replicas; for every
 * micro-batch it sends them their inputs, collects their outputs, computes the loss, sends
 * the gradients of the outputs back; at last it collects the gradients and updates.
 */
#include "engine/impl.h"
#include "model/collective.h"

/* Between the master's rows and those of every replica, its own included. */
static enum status distribute(struct engine *e, struct view all, struct view own, bool collect,
			      struct error *err)
{
	int rows = e->options.rows, me = comm_rank(e->replicas);
	struct message m;
	enum status st = OK;

	if (me > 0) {
		if (collect)
			message_send(e, e->replicas, 0, CHANNEL_MASTER, own, rows, &m);
		else
			message_receive(e, e->replicas, 0, CHANNEL_MASTER, own, rows, &m);
		return message_wait(e, &m, err);
	}
	for (int i = 1; i < comm_size(e->replicas); i++) {
		struct view theirs = view_from(all, (size_t)i * (size_t)rows);

		if (collect)
			message_receive(e, e->replicas, i, CHANNEL_MASTER, theirs, rows, &m);
		else
			message_send(e, e->replicas, i, CHANNEL_MASTER, theirs, rows, &m);
		TRY(message_wait(e, &m, err));
	}
	if (all.data != own.data)
		device_copy(e->dev, collect ? all : own, 0, collect ? own : all, 0, rows,
			    (int)own.stride);
out:
	return st;
}

/* A collective of the replicas over all parameters, or all gradients. */
static enum status run(struct engine *e, enum comm_op op, void *flat, enum dtype type,
		       struct error *err)
{
	e->sync.bytes += (int64_t)(e->weights.size * dtype_size(type));
	return collective_run(e->dev, e->replicas, op, flat, e->weights.size, type, err);
}

enum status master_begin(struct engine *e, struct error *err)
{
	return run(e, COMM_BROADCAST, e->weights.param, e->weights.type, err);
}

enum status master_input(struct engine *e, int micro_batch, struct view *x, struct error *err)
{
	/* Each has a place of its own: a schedule may have several under way. */
	*x = view_from(e->batch.x, (size_t)micro_batch * (size_t)e->options.rows);
	if (!e->run.training) /* the first replica evaluates alone */
		return OK;
	if (e->at.dp == 0)
		*x = view_from(e->all.x, (size_t)micro_batch * (size_t)e->options.rows *
						 (size_t)e->options.grid.dp);
	return distribute(e, *x, *x, false, err);
}

enum status master_loss(struct engine *e, int micro_batch, struct view y, struct view dy,
			struct error *err)
{
	int all = e->options.rows * e->options.grid.dp;
	enum status st;

	TRY(distribute(e, e->outputs, y, true, err));
	if (e->at.dp == 0)
		TRY(engine_loss(e, &e->all, micro_batch, (size_t)(micro_batch * all),
				e->outputs, e->gradients, all, err));
	TRY(distribute(e, e->gradients, dy, false, err));
out:
	return st;
}

/* Summed where each slice is, then brought together at the master. */
enum status master_reduce(struct engine *e, struct error *err)
{
	const struct weights *w = &e->weights;
	enum status st;

	TRY(run(e, COMM_REDUCE_SCATTER, w->grad, w->grad_type, err));
	TRY(run(e, COMM_GATHER, w->grad, w->grad_type, err));
out:
	return st;
}
