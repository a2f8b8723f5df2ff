/*
 * calibrate.c - what the parts of a step take on this rank; see predict.h
 *
 * All ranks do the same at the same time, so that what they share (memory, links, cores)
 * is shared as it will be. Weights stay as they are; what is left in activations and
 * gradients is overwritten by the first micro-batch.
 */
#include "base/util.h"
#include "engine/impl.h"
#include "engine/predict_impl.h"
#include "model/collective.h"

#include <string.h>

/* A group begins together. */
static enum status begin_group(struct trial *t, struct comm *group, struct error *err)
{
	enum status st;

	TRY(comm_run(group, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
	t->begin = pace_now(t->e->options.pace);
out:
	return st;
}

/* Everybody does. Only for what every rank does equally often. */
static enum status begin(struct trial *t, struct error *err)
{
	return begin_group(t, t->e->options.world, err);
}

static double ms_since_begin(const struct trial *t)
{
	engine_wait_devices(t->e, true);
	device_finish(t->e->dev);
	engine_wait_devices(t->e, false);
	return (double)(pace_now(t->e->options.pace) - t->begin) * 1e-6;
}

/* ---- forward and backward ---- */

/* So often that it takes some ms at 50 GFLOP/s; the same on all ranks. */
static int repetitions(const struct engine *e)
{
	const struct engine_options *o = &e->options;
	double flops = model_flops(o->model) * o->rows / o->grid.pp / e->n_chunks / o->grid.mp;

	if (device_is_virtual(e->dev))
		return 1;
	return flops > 1e8 ? 1 : imin(20, (int)(1e8 / flops) + 1);
}

/* A layer has its gradient: buckets may be complete, so long after the begin. */
static void layer_done(void *arg, int layer)
{
	struct trial *t = arg;

	for (int i = 0; i < t->e->sync.n_buckets; i++)
		if (t->e->sync.buckets[i].first_layer == layer &&
		    !t->e->sync.buckets[i].deferred)
			t->row.buckets[i].complete = ms_since_begin(t);
}

/* Adds what an action takes to *ms. */
static enum status time_action(struct trial *t, int chunk, enum action_kind kind, double *ms,
			       struct error *err)
{
	struct action a = {kind, chunk, 0};
	double before = ms_since_begin(t);
	enum status st;

	TRY(engine_compute(t->e, &a, NULL, err));
	*ms += ms_since_begin(t) - before;
out:
	return st;
}

/* What adding up the gradients of replicas that are here as if adds to each micro-batch. */
static double time_leaves(struct trial *t, int chunk)
{
	const struct engine *e = t->e;
	const struct chunk *c = &e->chunks[chunk];
	int leaves = tree_held(e->options.as_if_dp, e->options.grid.dp);
	double before = ms_since_begin(t);

	if (leaves < 2)
		return 0;
	for (int i = c->first; i < c->first + c->count; i++)
		weights_add_leaf(&e->weights, i, 1);
	return (ms_since_begin(t) - before) * (leaves - 1) / e->options.micro_batches;
}

/* In the order of a step, so that caches hold what they will. */
static enum status time_chunk(struct trial *t, int chunk, struct error *err)
{
	struct engine *e = t->e;
	bool split = order_is_split(&e->options.schedule->orders[e->at.pp]);
	struct part_cost *p = &t->row.parts[chunk];
	int n = repetitions(e);
	double leaves;
	enum status st;

	TRY(begin(t, err));
	for (int i = 0; i < n; i++) {
		TRY(time_action(t, chunk, ACTION_F, &p->f, err));
		TRY(time_action(t, chunk, split ? ACTION_I : ACTION_B, &p->b, err));
		if (split)
			TRY(time_action(t, chunk, ACTION_W, &p->w, err));
		else /* what of it comes behind the input's gradient */
			p->w += watch_ms_since(e, e->run.dx_ready);
	}
	for (int i = 0; i < e->sync.n_buckets; i++)
		if (e->sync.buckets[i].chunk == chunk && !e->sync.buckets[i].deferred)
			t->row.buckets[i].complete =
				ms_since_begin(t) - t->row.buckets[i].complete;
	leaves = time_leaves(t, chunk);
	p->f /= n;
	p->w = p->w / n + leaves;
	p->b = p->b / n + (split ? 0 : leaves) + (split ? p->w : 0);
out:
	return st;
}

/* ---- messages ---- */

/* Over links that are known. */
static struct message_cost cost_on_link(const struct engine *e, int stage, struct view v,
					int rows)
{
	const struct links *links = device_links(e->dev);
	struct coords to = e->at;
	int peer;

	to.pp = stage;
	peer = grid_rank(&e->options.grid, to);
	return (struct message_cost){
		(double)links_transfer_ns(links, e->number, peer, (double)view_bytes(v, rows)) *
			1e-6,
		(double)links_latency_ns(links, e->number, peer) * 1e-6};
}

/* To the next stage, while the others send theirs. */
static enum status try_message(struct trial *t, double *ms, struct error *err)
{
	struct engine *e = t->e;
	const struct chunk_buffers *b = &e->buffers.chunks[0];
	struct traffic_count traffic = e->traffic;
	struct message out = {0}, in = {0};
	struct coords to = e->at, from = e->at;
	enum status st;

	to.pp++;
	from.pp--;
	TRY(begin(t, err));
	if (from.pp >= 0)
		message_receive(e, e->pipe, grid_rank(&e->options.grid, from), CHANNEL_FORWARD,
				b->input[0], engine_rows_in(e, 0), &in);
	if (to.pp < e->options.grid.pp)
		message_send(e, e->pipe, grid_rank(&e->options.grid, to), CHANNEL_FORWARD,
			     b->slot[0].input[e->chunks[0].count], engine_rows_out(e, 0), &out);
	TRY(message_wait(e, &in, err));
	TRY(message_wait(e, &out, err));
	*ms = ms_since_begin(t);
	e->traffic = traffic;
out:
	return st;
}

/* What a chunk sends either way takes its link, where there is somebody to send it to. */
static void look_at_links(struct trial *t, int chunk)
{
	const struct engine *e = t->e;
	const struct chunk_buffers *b = &e->buffers.chunks[chunk];
	struct part_cost *p = &t->row.parts[chunk];
	struct action a = {.kind = ACTION_SEND_F, .chunk = chunk};
	int other, stage = schedule_peer(e->options.schedule, e->at.pp, a, &other);

	if (stage >= 0)
		p->forward = cost_on_link(e, stage, b->slot[0].input[e->chunks[chunk].count],
					  engine_rows_out(e, chunk));
	a.kind = ACTION_SEND_B;
	stage = schedule_peer(e->options.schedule, e->at.pp, a, &other);
	if (stage >= 0)
		p->backward = cost_on_link(e, stage, b->dx[0], engine_rows_in(e, chunk));
}

static enum status time_messages(struct trial *t, struct error *err)
{
	struct engine *e = t->e;
	double ms = 0;
	enum status st = OK;

	for (int k = 0; k < e->n_chunks && device_links(e->dev); k++)
		look_at_links(t, k);
	if (device_links(e->dev))
		return OK;
	TRY(try_message(t, &ms, err));
	for (int k = 0; k < e->n_chunks; k++)
		t->row.parts[k].forward.latency = t->row.parts[k].backward.latency = ms;
out:
	return st;
}

/* ---- what ends a step ---- */

/* A collective of a group over a part of a flat array. Other stages have more or fewer
   of them. */
static enum status time_collective(struct trial *t, struct comm *group, enum comm_op op,
				   void *flat, enum dtype type, const struct bucket *b,
				   double *ms, struct error *err)
{
	enum status st;

	device_finish(t->e->dev);
	TRY(begin_group(t, group, err));
	TRY(collective_run(t->e->dev, group, op, flat_at(flat, type, b->begin),
			   b->end - b->begin, type, err));
	*ms = ms_since_begin(t);
out:
	return st;
}

/* Sums over the replicas, and what sharded state needs afterwards. */
static enum status time_sums(struct trial *t, struct error *err)
{
	const struct weights *w = &t->e->weights;
	const struct sync *s = &t->e->sync;
	enum comm_op op = s->zero ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE;
	enum status st;

	TRY(begin(t, err));
	for (int i = 0; i < s->n_buckets; i++) {
		const struct bucket *b = &s->buckets[i];
		struct bucket_cost *cost = &t->row.buckets[i];

		TRY(time_collective(t, t->e->replicas, op, w->grad, w->grad_type, b, &cost->sum,
				    err));
		if (s->zero)
			TRY(time_collective(t, t->e->replicas, COMM_ALLGATHER, w->param,
					    w->type, b, &cost->share, err));
	}
out:
	return st;
}

/* What other stages and slices have of some gradients. */
static enum status time_joins(struct trial *t, struct error *err)
{
	struct sync *s = &t->e->sync;
	const struct weights *w = s->weights;
	struct bucket b = {.begin = w->shared, .end = w->partial};
	struct rank_costs *c = t->row.rank;
	enum status st = OK;

	if (s->groups.holders)
		TRY(time_collective(t, s->groups.holders, COMM_ALLREDUCE, w->grad, w->grad_type,
				    &b, &c->holders, err));
	b = (struct bucket){.begin = w->partial, .end = w->size};
	if (w->size > w->partial)
		TRY(time_collective(t, s->groups.slices, COMM_ALLREDUCE, w->grad, w->grad_type,
				    &b, &c->slices, err));
out:
	return st;
}

/* An update that changes nothing: a rate of 0 for gradients of 0, with all that is remembered
   kept whole. The first micro-batch writes the gradients anew. */
static enum status time_update(struct trial *t, struct error *err)
{
	struct engine *e = t->e;
	const struct weights *w = &e->weights;
	struct update kept = e->optim.update, *u = &e->optim.update;
	enum status st;

	if (!device_is_virtual(e->dev)) /* nothing is written there */
		device_clear(e->dev, w->grad,
			     w->size * dtype_size(w->grad_type) / sizeof(double));
	u->lr = u->weight_decay = 0;
	u->momentum = u->beta1 = u->beta2 = 1;
	u->eps = u->grad_scale = u->correction1 = u->correction2 = 1;
	TRY(begin(t, err));
	sync_update(&e->sync, &e->optim, &e->numbers[NUMBER_UNUSED], !engine_looks(e));
	t->row.rank->update = ms_since_begin(t);
out:
	*u = kept;
	return st;
}

static enum status time_end(struct trial *t, struct error *err)
{
	struct rank_costs *c = t->row.rank;
	struct report sum;
	enum status st;

	TRY(time_update(t, err));
	if (engine_looks(t->e)) {
		TRY(begin(t, err));
		sync_squares(&t->e->sync, &t->e->numbers[NUMBER_UNUSED]);
		c->squares = ms_since_begin(t);
	}
	TRY(begin(t, err));
	TRY(engine_exchange(t->e, (struct report){0}, &sum, err));
	c->exchange = ms_since_begin(t);
out:
	return st;
}

/* ---- all of it ---- */

/* The parts of a step, without messages between stages. */
static enum status time_chunks(struct trial *t, struct error *err)
{
	struct execution *x = &t->e->run;
	struct order nothing = {0};
	enum status st = OK;

	x->training = true;
	x->rows = t->e->options.rows;
	x->divisor = x->rows;
	x->layer_done = layer_done;
	x->layer_done_arg = t;
	for (int k = 0; k < t->e->n_chunks; k++) {
		TRY(engine_execute(t->e, &nothing, err)); /* as at the beginning of a step */
		TRY(time_chunk(t, k, err));
	}
out:
	x->layer_done = NULL;
	return st;
}

enum status trial_run(struct trial *t, double *row, struct error *err)
{
	struct engine *e = t->e;
	int64_t bytes = e->sum_bytes;
	enum status st = OK;

	memset(row, 0, cost_row_size(e) * sizeof(*row));
	t->row = cost_row_at(e, row, 0);
	t->row.rank->buckets = e->replicas ? e->sync.n_buckets : 0;
	for (int i = 0; i < e->sync.n_buckets; i++)
		t->row.buckets[i].chunk =
			e->sync.buckets[i].deferred ? -1 : e->sync.buckets[i].chunk;
	TRY(time_chunks(t, err));
	if (e->options.grid.pp > 1)
		TRY(time_messages(t, err));
	TRY(time_joins(t, err));
	if (e->replicas)
		TRY(time_sums(t, err));
	TRY(time_end(t, err));
out:
	e->sum_bytes = bytes;
	return st;
}
