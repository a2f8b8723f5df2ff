/*
 * execute.c - the one executor of all schedules: it goes through the actions of its stage
 * in order. Receives are posted as early as there is a buffer for them, sends do not
 * block, and a wait happens only where something is used or a buffer is needed again. The
 * base engine does none of that: each message is waited for where it stands.
 */
#include "base/util.h"
#include "engine/engine.h"

#include <assert.h>
#include <stdlib.h>

/* The messages of a (chunk, micro-batch). */
struct messages {
	struct comm_request receive_forward, receive_backward, send_forward, send_backward;
	int dx; /* of DX_BUFFERS: what send_backward sends */
};

struct transfers {
	struct messages *all;	 /* (chunks, micro_batches) */
	int next[2];		 /* action up to which receives are posted, by direction */
	int *dx_user;		 /* (chunks, DX_BUFFERS): the micro-batch that uses it, or -1 */
	int *dx_turn;		 /* (chunks) */
	int *weights_left;	 /* (chunks) weight gradients until the last */
	int previous, following; /* ranks */
	int chunk;		 /* whose last weight gradients are computed now, or -1 */
	struct computing now;
};

static struct messages *messages_of(const struct engine *e, const struct action *a)
{
	return &e->transfers->all[a->chunk * e->options.micro_batches + a->micro_batch];
}

enum status transfers_create(struct engine *e, struct error *err)
{
	struct transfers *t = calloc(1, sizeof(*t));
	size_t chunks = (size_t)e->model.n_chunks;
	struct coords to = e->at;

	e->transfers = t;
	if (t) {
		t->all = calloc(chunks * (size_t)e->options.micro_batches, sizeof(*t->all));
		t->dx_user = calloc(chunks * DX_BUFFERS, sizeof(int));
		t->dx_turn = calloc(chunks, sizeof(int));
		t->weights_left = calloc(chunks, sizeof(int));
	}
	if (!t || !t->all || !t->dx_user || !t->dx_turn || !t->weights_left)
		return FAIL(err, ERR_MEMORY, "no memory for the messages of a step");
	to.pp = (e->at.pp + 1) % e->grid.pp;
	t->following = grid_rank(&e->grid, to);
	to.pp = (e->at.pp + e->grid.pp - 1) % e->grid.pp;
	t->previous = grid_rank(&e->grid, to);
	return OK;
}

void transfers_free(struct engine *e)
{
	if (!e->transfers)
		return;
	free(e->transfers->all);
	free(e->transfers->dx_user);
	free(e->transfers->dx_turn);
	free(e->transfers->weights_left);
	free(e->transfers);
	e->transfers = NULL;
}

/* ---- receives ---- */

/* Post the receive of an action if a buffer is free. */
static bool post(struct engine *e, const struct action *a)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	struct messages *m = messages_of(e, a);
	bool forward = a->kind == ACTION_RECV_F;
	int i = pool_take(forward ? &b->inputs : &b->flows, a->micro_batch);
	struct view v;

	if (i < 0)
		return false;
	v = forward ? b->input[i] : b->flow[i].flow[e->model.chunks[a->chunk].count - 1];
	comm_irecv(e->pipe, forward ? e->transfers->previous : e->transfers->following,
		   forward ? CHANNEL_FORWARD : CHANNEL_BACKWARD, v.data,
		   view_bytes(v, e->options.shape.rows),
		   forward ? &m->receive_forward : &m->receive_backward);
	return true;
}

/* Post receives of one direction up to an action, as far as there are buffers. */
static void post_until(struct engine *e, enum action_kind kind, int end)
{
	int *next = &e->transfers->next[kind == ACTION_RECV_B];

	for (; *next < end; ++*next) {
		const struct action *a = &e->order->actions[*next];

		if (a->kind == kind && !post(e, a))
			return;
	}
}

static void post_receives(struct engine *e, int at)
{
	int end = e->options.base ? at + 1 : e->order->count;

	post_until(e, ACTION_RECV_F, end);
	post_until(e, ACTION_RECV_B, end);
}

/* ---- sends ---- */

static enum status send(struct engine *e, const struct action *a, struct view v,
			struct comm_request *r, struct error *err)
{
	bool forward = a->kind == ACTION_SEND_F;

	comm_isend(e->pipe, forward ? e->transfers->following : e->transfers->previous,
		   forward ? CHANNEL_FORWARD : CHANNEL_BACKWARD, v.data,
		   view_bytes(v, e->options.shape.rows), r);
	e->traffic.messages++;
	e->traffic.bytes += (int64_t)view_bytes(v, e->options.shape.rows);
	e->traffic.forward_messages += forward;
	e->traffic.forward_bytes += forward ? (int64_t)view_bytes(v, e->options.shape.rows) : 0;
	return e->options.base ? comm_wait(r, err) : OK;
}

static enum status send_forward(struct engine *e, const struct action *a, struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	int i = pool_find(&b->slots, a->micro_batch);

	assert(i >= 0);
	return send(e, a, b->slot[i].input[e->model.chunks[a->chunk].count],
		    &messages_of(e, a)->send_forward, err);
}

static enum status send_backward(struct engine *e, const struct action *a, struct error *err)
{
	struct messages *m = messages_of(e, a);

	return send(e, a, e->buffers.chunks[a->chunk].dx[m->dx], &m->send_backward, err);
}

/* A buffer for the input gradient: the one that was sent longest ago. */
static enum status take_dx(struct engine *e, const struct action *a, struct view *dx,
			   struct error *err)
{
	struct transfers *t = e->transfers;
	int turn = t->dx_turn[a->chunk]++ % DX_BUFFERS;
	int *user = &t->dx_user[a->chunk * DX_BUFFERS + turn];
	enum status st = OK;

	if (*user >= 0) {
		struct action last = {ACTION_SEND_B, a->chunk, *user};

		TRY(comm_wait(&messages_of(e, &last)->send_backward, err));
	}
	*user = a->micro_batch;
	messages_of(e, a)->dx = turn;
	*dx = e->buffers.chunks[a->chunk].dx[turn];
out:
	return st;
}

/* ---- computing ---- */

/* Between layers: let messages go on, and sums start whose gradients are complete. */
static void between_layers(void *arg, int layer)
{
	struct engine *e = arg;
	struct transfers *t = e->transfers;
	int chunk = t->chunk;

	spoil_result(e, &t->now, layer);
	if (chunk >= 0 && e->transfers->weights_left[chunk] == 0) {
		spoil_gradient(e, layer);
		sync_layer_done(&e->sync, layer);
	}
	if (e->rank && !e->options.base)
		comm_poke(e->rank->world);
}

/* Already divided by what the mean runs over, so that micro-batches simply add up. The
   gradient is that of the scaled loss. */
double engine_loss(struct engine *e, const struct batch *b, int row, struct view y,
		   struct view dy, int rows, double divisor)
{
	int out = e->options.shape.out;
	double scale = e->scaler.scale;

	if (e->options.labelled)
		return device_cross_entropy(e->dev, y, b->labels + row, dy, rows, out,
					    (float)(scale / divisor)) /
		       divisor;
	divisor *= out;
	return device_mse(e->dev, y, view_from(b->target, (size_t)row), dy, rows, out,
			  (float)(scale / divisor)) /
	       divisor;
}

static enum status forward(struct engine *e, const struct action *a, struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	const struct chunk *c = &e->model.chunks[a->chunk];
	int rows = e->options.shape.rows, i = pool_take(&b->slots, a->micro_batch);
	struct slot *s = &b->slot[i];

	assert(i >= 0); /* the schedule was checked */
	engine_reach(e, AT_FORWARD, a->micro_batch);
	s->input[0] = c->begins ? view_from(e->batch.x, (size_t)a->micro_batch * (size_t)rows)
				: b->input[pool_find(&b->inputs, a->micro_batch)];
	e->transfers->chunk = -1;
	e->transfers->now = (struct computing){c, s, NULL, a->micro_batch};
	return chunk_forward(&e->model, c, s, rows, between_layers, e, err);
}

/* Give back what a micro-batch held; its output has arrived long ago, but ask. */
static enum status release(struct engine *e, const struct action *a, struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	enum status st;

	TRY(comm_wait(&messages_of(e, a)->send_forward, err));
	pool_give_back(&b->slots, a->micro_batch);
	pool_give_back(&b->flows, a->micro_batch);
	if (!e->model.chunks[a->chunk].begins)
		pool_give_back(&b->inputs, a->micro_batch);
out:
	return st;
}

static enum status backward(struct engine *e, const struct action *a, double *loss,
			    struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	const struct chunk *c = &e->model.chunks[a->chunk];
	struct transfers *t = e->transfers;
	int rows = e->options.shape.rows;
	struct slot *s = &b->slot[pool_find(&b->slots, a->micro_batch)];
	struct backward how = {.part = a->kind == ACTION_I   ? BACKWARD_INPUT
				       : a->kind == ACTION_W ? BACKWARD_WEIGHT
							     : BACKWARD_BOTH,
			       .accumulate =
				       t->weights_left[a->chunk] < e->options.micro_batches,
			       .overlap = !e->options.base,
			       .hook = between_layers,
			       .arg = e};
	struct flow *f;
	enum status st = OK;

	if (a->kind != ACTION_W) {
		engine_reach(e, AT_BACKWARD, a->micro_batch);
		if (!c->begins)
			TRY(take_dx(e, a, &how.dx, err));
		if (c->ends)
			pool_take(&b->flows, a->micro_batch);
	}
	f = &b->flow[pool_find(&b->flows, a->micro_batch)];
	if (a->kind != ACTION_W && c->ends)
		*loss += engine_loss(e, &e->batch, a->micro_batch * rows, s->full, f->full,
				     rows, (double)engine_batch_rows(e) * e->grid.dp);
	if (a->kind != ACTION_W)
		spoil_flow(e, c, f, a->micro_batch);
	t->chunk = -1;
	if (a->kind != ACTION_I) {
		t->weights_left[a->chunk]--;
		t->chunk = a->chunk;
	}
	t->now = (struct computing){c, s, f, a->micro_batch};
	TRY(chunk_backward(&e->model, c, s, f, rows, &how, err));
	if (a->kind != ACTION_I)
		TRY(release(e, a, err));
out:
	return st;
}

static enum status compute(struct engine *e, const struct action *a, double *loss,
			   struct error *err)
{
	static const enum record_kind kinds[] = {[ACTION_F] = RECORD_FORWARD,
						 [ACTION_B] = RECORD_BACKWARD,
						 [ACTION_I] = RECORD_INPUT,
						 [ACTION_W] = RECORD_WEIGHT};
	struct watch w = watch_begin(e);
	enum status st = a->kind == ACTION_F ? forward(e, a, err) : backward(e, a, loss, err);

	if (!e->times.window) /* its end is not known yet */
		e->times.window = -w.begin;
	watch_end(e, w, kinds[a->kind], a);
	return st;
}

static enum status execute(struct engine *e, const struct action *a, double *loss,
			   struct error *err)
{
	switch (a->kind) {
	case ACTION_RECV_F: /* posted by now: there are buffers for what the schedule needs */
		assert(messages_of(e, a)->receive_forward.kind != REQUEST_NONE);
		return comm_wait(&messages_of(e, a)->receive_forward, err);
	case ACTION_RECV_B:
		assert(messages_of(e, a)->receive_backward.kind != REQUEST_NONE);
		return comm_wait(&messages_of(e, a)->receive_backward, err);
	case ACTION_SEND_F:
		return send_forward(e, a, err);
	case ACTION_SEND_B:
		return send_backward(e, a, err);
	case ACTION_F:
	case ACTION_B:
	case ACTION_I:
	case ACTION_W:
		return compute(e, a, loss, err);
	case ACTION_E:
	case ACTION_REDUCE: /* sums start by themselves, the step is the caller's */
	case ACTION_STEP:
	case ACTION_PAUSE:
		break;
	}
	return OK;
}

static void begin(struct engine *e)
{
	struct transfers *t = e->transfers;

	for (int c = 0; c < e->model.n_chunks; c++) {
		t->weights_left[c] = e->options.micro_batches;
		t->dx_turn[c] = 0;
		for (int i = 0; i < DX_BUFFERS; i++)
			t->dx_user[c * DX_BUFFERS + i] = -1;
	}
	for (int i = 0; i < e->model.n_chunks * e->options.micro_batches; i++)
		t->all[i] = (struct messages){.dx = -1};
	t->next[0] = t->next[1] = 0;
}

enum status engine_execute(struct engine *e, double *loss, struct error *err)
{
	enum status st = OK;

	begin(e);
	for (int i = 0; i < e->order->count; i++) {
		post_receives(e, i);
		TRY(execute(e, &e->order->actions[i], loss, err));
	}
	e->times.window += pace_now(e->pace);
	/* What the stages before have not taken yet. */
	for (int i = 0; i < e->model.n_chunks * e->options.micro_batches; i++)
		TRY(comm_wait(&e->transfers->all[i].send_backward, err));
out:
	return st;
}
