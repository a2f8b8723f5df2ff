/* compute.c - what is computed for an action of a schedule; see execute.c */
#include "base/tree.h"
#include "engine/impl.h"

#include <assert.h>

/* Where a part and the next one are on the same stage, nothing is sent between them: the chunk
   of the part before, if it has the micro-batch; -1: it is elsewhere, or this is a trial. */
static int chunk_before(const struct engine *e, const struct action *a)
{
	int c = chunk_of_part(e->chunks, e->n_chunks, e->chunks[a->chunk].part - 1);

	if (c >= 0 && pool_find(&e->buffers.chunks[c].slots, a->micro_batch) < 0)
		return -1;
	return c;
}

/* A buffer for the input gradient: where the chunk before wants it, or the one that was sent
   longest ago. */
static enum status take_dx(struct engine *e, const struct action *a, struct view *dx,
			   struct error *err)
{
	struct execution *x = &e->run;
	int before = chunk_before(e, a);
	int turn = x->dx_turn[a->chunk] % DX_BUFFERS;
	int *user = &x->dx_user[a->chunk * DX_BUFFERS + turn];
	enum status st = OK;

	if (before >= 0) {
		struct chunk_buffers *b = &e->buffers.chunks[before];
		int i = pool_take(&b->tops, a->micro_batch);

		assert(i >= 0); /* the schedule was counted */
		*dx = b->top[i];
		return OK;
	}
	if (*user >= 0) {
		struct action last = {ACTION_SEND_B, a->chunk, *user};

		TRY(message_wait(e, &engine_messages(e, &last)->send_backward, err));
	}
	x->dx_turn[a->chunk]++;
	*user = a->micro_batch;
	engine_messages(e, a)->dx = turn;
	*dx = e->buffers.chunks[a->chunk].dx[turn];
out:
	return st;
}

/* Between layers: let messages go on, and sums start whose gradients are complete. */
static void between_layers(void *arg, int layer, enum chunk_event event)
{
	struct engine *e = arg;
	struct execution *x = &e->run;

	spoil_result(e, &x->now, layer, event);
	transcript_result(e, &x->now, layer, event);
	if (event == CHUNK_WEIGHT && (x->now.micro_batch + 1) % engine_turn(e) == 0)
		weights_add_leaf(&e->weights, layer, engine_leaf(e, x->now.micro_batch));
	if (event == CHUNK_WEIGHT && x->layer_done)
		x->layer_done(x->layer_done_arg, layer);
	else if (event == CHUNK_WEIGHT && x->now.weights) {
		spoil_gradient(e, layer);
		sync_layer_done(&e->sync, layer);
	}
	if (!e->options.base && event != CHUNK_INPUT) {
		messages_go_on(e);
		comm_poke(e->options.world);
	}
}

/* Already divided by what the mean runs over, so that micro-batches simply add up. The
   gradient is that of the scaled loss. */
enum status engine_loss(struct engine *e, const struct samples *s, int micro_batch, size_t row,
			struct view y, struct view dy, int rows, struct error *err)
{
	const struct loss *loss = e->options.loss;
	bool sliced = e->options.model->out_sliced;
	int out = e->options.model->out;
	struct loss_run run = {
		.dev = e->dev,
		.y = y,
		.dy = dy,
		.target = target_from(&s->target, row),
		.rows = rows,
		.columns = out,
		.scale = (float)(e->scaler.scale / (e->run.divisor * loss->terms(out))),
		.sum = &e->losses[micro_batch],
		.correct = e->run.training ? NULL : &e->numbers[NUMBER_CORRECT],
		.slices = sliced ? e->slices : NULL,
		.shard = sliced ? e->at.mp : 0,
		.shards = sliced ? e->options.model->mp : 1,
		.held = sliced ? e->options.model->held : 1,
		.stats = e->stats,
		.unused = &e->numbers[NUMBER_UNUSED],
		.sum_bytes = &e->sum_bytes};

	return loss->run(&run, err);
}

/* Of a micro-batch, in the global batch: a master deals them out in turns. */
static int64_t first_row(const struct engine *e, int micro_batch)
{
	int64_t rows = e->run.rows;

	if (e->options.grad_sync == SYNC_MASTER)
		return rows * ((int64_t)micro_batch * e->options.grid.dp + e->at.dp);
	return (int64_t)engine_batch_rows(e) * e->at.dp + rows * micro_batch;
}

/* A chunk with all that its passes have in common. flow: NULL for a forward pass. */
static struct chunk_run run_of(struct engine *e, const struct action *a, struct slot *s,
			       struct flow *f)
{
	const struct chunk *c = &e->chunks[a->chunk];
	struct execution *x = &e->run;

	x->now = (struct computing){.chunk = c,
				    .slot = s,
				    .flow = f,
				    .number = a->chunk,
				    .micro_batch = a->micro_batch};
	return (struct chunk_run){
		.model = e->options.model,
		.weights = &e->weights,
		.chunk = c,
		.slot = s,
		.flow = f,
		.again = f ? NULL : buffers_again(&e->buffers.chunks[a->chunk]),
		.left_out = x->left_out,
		.hook = between_layers,
		.arg = e,
		.pass = {.dev = e->dev,
			 .slices = e->slices,
			 .shard = e->at.mp,
			 .level = tree_depth((unsigned)engine_leaf(e, a->micro_batch)),
			 .rows = x->rows,
			 .sum_bytes = &e->sum_bytes,
			 .seed = e->options.seed,
			 .step = e->step,
			 .first_row = first_row(e, a->micro_batch),
			 .training = x->training,
			 .cache = x->cache,
			 .position = x->position}};
}

/* What the chunk before has made of a micro-batch. */
static void take_over(struct engine *e, const struct action *a, int before, struct view input)
{
	const struct chunk_buffers *b = &e->buffers.chunks[before];
	const struct slot *s = &b->slot[pool_find(&b->slots, a->micro_batch)];
	const struct layer *first = e->options.model->layers[e->chunks[a->chunk].first];

	device_copy(e->dev, input, 0, s->input[e->chunks[before].count], 0,
		    engine_rows_in(e, a->chunk), layer_in(first));
}

/* Where the input of a chunk is: among the samples, what a message has brought, or what the
   chunk before has made; a trial has none of these. */
static enum status find_input(struct engine *e, const struct action *a, struct view *input,
			      struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	int i, before = chunk_before(e, a);

	if (e->chunks[a->chunk].begins) {
		if (e->options.grad_sync == SYNC_MASTER)
			return master_input(e, a->micro_batch, input, err);
		*input = view_from(e->batch.x, (size_t)a->micro_batch * (size_t)e->run.rows);
		return OK;
	}
	i = pool_find(&b->inputs, a->micro_batch);
	if (i < 0)
		i = pool_take(&b->inputs, a->micro_batch);
	*input = b->input[i];
	if (before >= 0)
		take_over(e, a, before, *input);
	return OK;
}

static enum status forward(struct engine *e, const struct action *a, struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	int i = pool_take(&b->slots, a->micro_batch);
	struct slot *s = &b->slot[i];
	struct chunk_run run;
	enum status st;

	assert(i >= 0); /* the schedule was checked */
	TRY(find_input(e, a, &s->input[0], err));
	run = run_of(e, a, s, NULL);
	TRY(chunk_forward(&run, err));
out:
	return st;
}

/* A forward of which nothing is kept but what it says of the samples. */
static enum status evaluate(struct engine *e, const struct action *a, struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	const struct chunk *c = &e->chunks[a->chunk];
	struct view y;
	enum status st;

	TRY(forward(e, a, err));
	if (!c->ends)
		return OK;
	y = b->slot[pool_find(&b->slots, a->micro_batch)].input[c->count];
	if (e->run.take)
		TRY(e->run.take(e->run.take_arg, y, err));
	if (!e->run.cache) /* otherwise nobody knows what comes next */
		TRY(engine_loss(e, &e->batch, 0, 0, y, y, e->run.rows, err));
out:
	return st;
}

/* Give back what a micro-batch held; its output has arrived long ago, but ask. */
enum status engine_release(struct engine *e, const struct action *a, struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	enum status st;

	TRY(message_wait(e, &engine_messages(e, a)->send_forward, err));
	pool_give_back(&b->slots, a->micro_batch);
	if (pool_find(&b->tops, a->micro_batch) >= 0)
		pool_give_back(&b->tops, a->micro_batch);
	if (pool_find(&b->flows, a->micro_batch) >= 0)
		pool_give_back(&b->flows, a->micro_batch);
	if (!e->chunks[a->chunk].begins)
		pool_give_back(&b->inputs, a->micro_batch);
out:
	return st;
}

/* What enters the backward pass of a chunk: from the loss, or from a message. */
static enum status enter_backward(struct engine *e, const struct action *a, struct flow **flow,
				  struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	const struct chunk *c = &e->chunks[a->chunk];
	int i = pool_find(&b->tops, a->micro_batch);
	int work = pool_take(&b->flows, a->micro_batch);
	enum status st = OK;

	assert(work >= 0); /* the schedule was counted */
	*flow = &b->flow[work];
	if (c->ends) {
		const struct slot *s = &b->slot[pool_find(&b->slots, a->micro_batch)];
		struct view y = s->input[c->count];

		(*flow)->flow[c->count - 1] = y; /* nobody needs it any more */
		if (e->options.grad_sync == SYNC_MASTER)
			TRY(master_loss(e, a->micro_batch, y, y, err));
		else
			TRY(engine_loss(e, &e->batch, a->micro_batch,
					(size_t)(a->micro_batch * e->run.rows), y, y,
					e->run.rows, err));
	} else {
		if (i < 0) /* a trial */
			i = pool_take(&b->tops, a->micro_batch);
		(*flow)->flow[c->count - 1] = b->top[i];
	}
	spoil_flow(e, c, (*flow)->flow[c->count - 1], a->micro_batch);
	transcript_top(e, c, (*flow)->flow[c->count - 1], a->micro_batch);
out:
	return st;
}

/* Is there a gradient of the same chunk that that of an action is added to? They come in the
   order of their micro-batches. */
static bool accumulates(const struct engine *e, const struct action *a)
{
	int left = e->run.weights_left[a->chunk];

	assert(e->run.layer_done || left == e->options.micro_batches - a->micro_batch);
	return (e->options.micro_batches - left) % engine_turn(e) > 0;
}

/* I, or the part of B that others wait for. */
static enum status backward_input(struct engine *e, const struct action *a,
				  enum chunk_weights weights, struct chunk_run *run,
				  struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	struct view dx = {0};
	struct flow *f;
	enum status st = OK;

	if (!e->chunks[a->chunk].begins)
		TRY(take_dx(e, a, &dx, err));
	TRY(enter_backward(e, a, &f, err));
	*run = run_of(e, a, &b->slot[pool_find(&b->slots, a->micro_batch)], f);
	if (weights != WEIGHTS_LATER) {
		e->run.now.weights = e->run.weights_left[a->chunk] == 1;
		run->pass.accumulate = accumulates(e, a);
	}
	TRY(chunk_backward_input(run, dx, weights, !e->options.base, err));
	e->run.dx_ready = watch_now(e);
out:
	return st;
}

/* send: the action that sends the gradient of the input, or NULL. */
static enum status backward(struct engine *e, const struct action *a, const struct action *send,
			    struct error *err)
{
	bool early = engine_sends_early(&e->options) && !e->chunks[a->chunk].begins;
	struct chunk_run run;
	enum status st;

	TRY(backward_input(e, a, early ? WEIGHTS_BESIDE_SUMS : WEIGHTS_WITH_INPUT, &run, err));
	if (early && send)
		TRY(engine_send(e, send, err));
	TRY(chunk_backward_weight(&run, err));
	if (!early && send)
		TRY(engine_send(e, send, err));
	e->run.weights_left[a->chunk]--;
	TRY(engine_release(e, a, err));
out:
	return st;
}

static enum status backward_weight(struct engine *e, const struct action *a, struct error *err)
{
	struct chunk_buffers *b = &e->buffers.chunks[a->chunk];
	struct chunk_run run = run_of(e, a, &b->slot[pool_find(&b->slots, a->micro_batch)],
				      &b->flow[pool_find(&b->flows, a->micro_batch)]);
	int *left = &e->run.weights_left[a->chunk];
	enum status st;

	e->run.now.weights = *left == 1;
	run.pass.accumulate = accumulates(e, a);
	TRY(chunk_backward_weight(&run, err));
	--*left;
	TRY(engine_release(e, a, err));
out:
	return st;
}

static enum status compute(struct engine *e, const struct action *a, const struct action *send,
			   struct error *err)
{
	struct chunk_run run;

	switch (a->kind) {
	case ACTION_F:
		engine_reach(e, AT_FORWARD, a->micro_batch);
		return forward(e, a, err);
	case ACTION_E:
		return evaluate(e, a, err);
	case ACTION_B:
		engine_reach(e, AT_BACKWARD, a->micro_batch);
		return backward(e, a, send, err);
	case ACTION_I:
		engine_reach(e, AT_BACKWARD, a->micro_batch);
		return backward_input(e, a, WEIGHTS_LATER, &run, err);
	case ACTION_W:
		return backward_weight(e, a, err);
	case ACTION_SEND_F:
	case ACTION_RECV_F:
	case ACTION_SEND_B:
	case ACTION_RECV_B:
	case ACTION_REDUCE:
	case ACTION_STEP:
	case ACTION_PAUSE:
		break;
	}
	assert(!"an action that computes");
	return OK;
}

enum status engine_compute(struct engine *e, const struct action *a, const struct action *send,
			   struct error *err)
{
	static const enum record_kind kinds[] = {[ACTION_F] = RECORD_FORWARD,
						 [ACTION_E] = RECORD_FORWARD,
						 [ACTION_B] = RECORD_BACKWARD,
						 [ACTION_I] = RECORD_INPUT,
						 [ACTION_W] = RECORD_WEIGHT};
	struct watch w = watch_begin(e);
	enum status st = compute(e, a, send, err);

	watch_end(e, w, kinds[a->kind], a);
	return st;
}
