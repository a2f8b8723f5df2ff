/*
 * execute.c - the one executor of all schedules: it goes through the actions of its stage
 * in order. Receives are posted as early as there is a buffer for them, sends do not
 * block, and a wait happens only where something is used or a buffer is needed again. The
 * gradient of a chunk's input is sent before those of its weights are computed, so that the
 * stage before can go on. The base engine does none of that: each message is waited for where
 * it stands.
 */
#include "base/util.h"
#include "engine/impl.h"

#include <assert.h>
#include <stdlib.h>

struct messages *engine_messages(const struct engine *e, const struct action *a)
{
	return &e->run.messages[a->chunk * e->options.micro_batches + a->micro_batch];
}

enum status execution_init(struct engine *e, struct error *err)
{
	struct execution *x = &e->run;
	size_t chunks = (size_t)e->n_chunks;

	x->messages = calloc(chunks * (size_t)e->options.micro_batches, sizeof(*x->messages));
	x->dx_user = calloc(chunks * DX_BUFFERS, sizeof(int));
	x->dx_turn = calloc(chunks, sizeof(int));
	x->weights_left = calloc(chunks, sizeof(int));
	if (!x->messages || !x->dx_user || !x->dx_turn || !x->weights_left)
		return FAIL(err, ERR_MEMORY, "no memory for the messages of a step");
	return OK;
}

void execution_release(struct engine *e)
{
	free(e->run.messages);
	free(e->run.dx_user);
	free(e->run.dx_turn);
	free(e->run.weights_left);
}

/* ---- messages ---- */

/* The rank at the other end of a message. */
static int peer_of(const struct engine *e, const struct action *a)
{
	struct coords to = e->at;
	int chunk;

	to.pp = schedule_peer(e->options.schedule, e->at.pp, *a, &chunk);
	return grid_rank(&e->options.grid, to);
}

/* Post the receive of an action if a buffer is free. */
static bool post(struct engine *e, const struct action *a)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	struct messages *m = engine_messages(e, a);
	bool forward = a->kind == ACTION_RECV_F;
	int i = pool_take(forward ? &b->inputs : &b->tops, a->micro_batch);

	if (i < 0)
		return false;
	message_receive(e, e->pipe, peer_of(e, a), forward ? CHANNEL_FORWARD : CHANNEL_BACKWARD,
			forward ? b->input[i] : b->top[i],
			forward ? engine_rows_in(e, a->chunk) : engine_rows_out(e, a->chunk),
			forward ? &m->receive_forward : &m->receive_backward);
	return true;
}

/* Post receives of one direction up to an action, as far as there are buffers. */
static void post_until(struct engine *e, enum action_kind kind, int end)
{
	int *next = &e->run.next[kind == ACTION_RECV_B];

	for (; *next < end; ++*next) {
		const struct action *a = &e->run.order->actions[*next];

		if (a->kind == kind && !post(e, a))
			return;
	}
}

static void post_receives(struct engine *e, int at)
{
	int end = e->options.base ? at + 1 : e->run.order->count;

	post_until(e, ACTION_RECV_F, end);
	post_until(e, ACTION_RECV_B, end);
}

static enum status send_forward(struct engine *e, const struct action *a, struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	struct message *m = &engine_messages(e, a)->send_forward;
	int i = pool_find(&b->slots, a->micro_batch);

	assert(i >= 0);
	message_send(e, e->pipe, peer_of(e, a), CHANNEL_FORWARD,
		     b->slot[i].input[e->chunks[a->chunk].count], engine_rows_out(e, a->chunk),
		     m);
	return e->options.base ? message_wait(e, m, err) : OK;
}

static enum status send_backward(struct engine *e, const struct action *a, struct error *err)
{
	struct messages *m = engine_messages(e, a);

	message_send(e, e->pipe, peer_of(e, a), CHANNEL_BACKWARD,
		     e->buffers.chunks[a->chunk].dx[m->dx], engine_rows_in(e, a->chunk),
		     &m->send_backward);
	return e->options.base ? message_wait(e, &m->send_backward, err) : OK;
}

enum status engine_send(struct engine *e, const struct action *a, struct error *err)
{
	return a->kind == ACTION_SEND_F ? send_forward(e, a, err) : send_backward(e, a, err);
}

/* ---- the order ---- */

/* The pipeline is through: nothing of it is left but what the stages before have not taken. */
static enum status end_pipeline(struct engine *e, struct error *err)
{
	struct execution *x = &e->run;
	enum status st = OK;

	if (x->ended)
		return OK;
	x->ended = true;
	watch_end_pipeline(e);
	for (int i = 0; i < e->n_chunks * e->options.micro_batches; i++)
		TRY(message_wait(e, &x->messages[i].send_backward, err));
out:
	return st;
}

/* Sums that were not started while the last gradients were computed come behind all. */
static enum status reduce(struct engine *e, const struct action *a, struct error *err)
{
	enum status st = OK;

	if (!sync_waits_for(&e->sync, a->chunk))
		return OK;
	TRY(end_pipeline(e, err));
	if (e->options.grad_sync == SYNC_MASTER)
		TRY(master_reduce(e, err));
	else
		TRY(sync_reduce(&e->sync, err));
out:
	return st;
}

/* following is the next action, if there is one. *done: it was done as well. */
static enum status execute(struct engine *e, const struct action *a,
			   const struct action *following, bool *done, struct error *err)
{
	struct messages *m = engine_messages(e, a);
	enum status st = OK;

	*done = false;
	switch (a->kind) {
	case ACTION_RECV_F: /* posted by now: there are buffers for what the schedule needs */
		assert(m->receive_forward.started);
		return message_wait(e, &m->receive_forward, err);
	case ACTION_RECV_B:
		assert(m->receive_backward.started);
		return message_wait(e, &m->receive_backward, err);
	case ACTION_SEND_F:
	case ACTION_SEND_B:
		return engine_send(e, a, err);
	case ACTION_B:
		*done = !e->options.base && following && following->kind == ACTION_SEND_B;
		return engine_compute(e, a, *done ? following : NULL, err);
	case ACTION_F:
	case ACTION_E:
	case ACTION_I:
	case ACTION_W:
		return engine_compute(e, a, NULL, err);
	case ACTION_REDUCE:
		return reduce(e, a, err);
	case ACTION_STEP:
		TRY(end_pipeline(e, err));
		return engine_update(e, err);
	case ACTION_PAUSE:
		break; /* in timelines only */
	}
out:
	return st;
}

static void begin(struct engine *e, const struct order *order)
{
	struct execution *x = &e->run;
	int m = e->options.micro_batches;

	x->order = order;
	x->first_out = NULL;
	x->ended = false;
	for (int c = 0; c < e->n_chunks; c++) {
		/* What is tried is neither the first nor the last, where there are others. */
		x->weights_left[c] = x->layer_done ? imax(1, m - 1) : m;
		x->dx_turn[c] = 0;
		for (int i = 0; i < DX_BUFFERS; i++)
			x->dx_user[c * DX_BUFFERS + i] = -1;
	}
	for (int i = 0; i < e->n_chunks * m; i++)
		x->messages[i] = (struct messages){.dx = -1};
	x->next[0] = x->next[1] = 0;
	weights_begin_step(&e->weights);
	sync_begin(&e->sync);
}

enum status engine_execute(struct engine *e, const struct order *order, struct error *err)
{
	bool done = false;
	enum status st = OK;

	begin(e, order);
	if (e->options.grad_sync == SYNC_MASTER && e->run.training)
		TRY(master_begin(e, err));
	for (int i = 0; i < order->count; i++) {
		const struct action *following =
			i + 1 < order->count ? &order->actions[i + 1] : NULL;

		post_receives(e, i);
		if (done)
			done = false;
		else
			TRY(execute(e, &order->actions[i], following, &done, err));
	}
	messages_send_all(e);
out:
	return st;
}
