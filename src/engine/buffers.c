/* buffers.c - see buffers.h */
#include "engine/buffers.h"
#include "base/util.h"

#include <assert.h>
#include <stdlib.h>

int pool_find(const struct pool_of *p, int micro_batch)
{
	return p->of[micro_batch];
}

int pool_take(struct pool_of *p, int micro_batch)
{
	if (!p->n_free)
		return -1;
	return p->of[micro_batch] = p->free[--p->n_free];
}

void pool_give_back(struct pool_of *p, int micro_batch)
{
	assert(p->of[micro_batch] >= 0);
	p->free[p->n_free++] = p->of[micro_batch];
	p->of[micro_batch] = -1;
}

/* Most micro-batches of a chunk that are at once between two kinds of actions: since one of
   two of some chunk, until its own B or W. */
static int most_alive(const struct order *o, int chunk, int since, enum action_kind kind,
		      enum action_kind or_kind)
{
	int alive = 0, most = 0;

	for (int i = 0; i < o->count; i++) {
		const struct action *a = &o->actions[i];

		if (a->chunk == since && (a->kind == kind || a->kind == or_kind))
			alive++;
		most = imax(most, alive);
		if (a->chunk == chunk && (a->kind == ACTION_W || a->kind == ACTION_B))
			alive--;
	}
	return most;
}

static bool order_has(const struct order *o, enum action_kind kind)
{
	for (int i = 0; i < o->count; i++)
		if (o->actions[i].kind == kind)
			return true;
	return false;
}

bool order_is_split(const struct order *o)
{
	return order_has(o, ACTION_I);
}

/* Memory that is handed out piece by piece; base is NULL while sizes are added up. */
struct plan {
	const struct buffers *b;
	const struct model *model;
	enum dtype type; /* of activations */
	int rows;
	char *base;
	size_t at, most; /* bytes */
};

/* Rows begin on cache lines. */
static size_t stride_of(int columns, enum dtype type)
{
	return (size_t)round_up(columns, 64 / (int64_t)dtype_size(type));
}

/* The next (rows, columns); spread: of our part of the rows. */
static struct view take(struct plan *p, int columns, enum dtype type, bool spread)
{
	struct view v = {.stride = stride_of(columns, type), .type = type};

	if (p->base)
		v.data = p->base + p->at;
	p->at += view_bytes(v, spread ? p->rows / p->model->mp : p->rows);
	p->most = p->at > p->most ? p->at : p->most;
	return v;
}

static void take_rooms(struct plan *p, const struct layer_room *rooms, int n, struct view *out)
{
	for (int i = 0; i < n; i++)
		out[i] = take(p, rooms[i].columns, rooms[i].wide ? DTYPE_F32 : p->type,
			      rooms[i].spread);
}

static void place_slot(struct plan *p, const struct chunk *c, struct slot *s)
{
	struct view *saved = s->saved;

	for (int i = 0; i < c->count; i++) {
		const struct layer *l = p->model->layers[c->first + i];

		s->input[i + 1] = take(p, layer_out(l), p->type, l->out_spread);
		take_rooms(p, l->saved, l->n_saved, saved);
		saved += l->n_saved;
	}
}

/* Where there is no way back, what goes from layer to layer takes turns in two places, and all
   have their rooms in one. */
static void place_passage(struct plan *p, const struct chunk *c, struct slot *s)
{
	const struct layer *last = p->model->layers[c->first + c->count - 1];
	struct view *saved = s->saved;
	size_t start;

	s->input[c->count] = take(p, layer_out(last), p->type, last->out_spread);
	start = p->most = p->at;
	for (int i = 0; i < c->count; i++) {
		const struct layer *l = p->model->layers[c->first + i];

		if (l != last) {
			s->input[i + 1] = p->b->inner[i % 2];
			s->input[i + 1].stride = stride_of(layer_out(l), p->type);
		}
		p->at = start;
		take_rooms(p, l->saved, l->n_saved, saved);
		saved += l->n_saved;
	}
	p->at = p->most;
}

/* Where weights get their gradients later, a flow keeps those of all layers; otherwise only
   the top one, the others take turns in two places, and layers keep theirs in the same. */
static void place_flow(struct plan *p, const struct chunk *c, struct flow *f, bool whole)
{
	struct view *kept = f->kept;
	size_t start;

	for (int i = 0; i < c->count; i++) {
		const struct layer *l = p->model->layers[c->first + i];
		bool top = i == c->count - 1;

		if (top && c->ends) /* see flow_top */
			continue;
		f->flow[i] = whole || top ? take(p, layer_out(l), p->type, l->out_spread)
					  : p->b->inner[i % 2];
		f->flow[i].stride = stride_of(layer_out(l), p->type);
	}
	start = p->most = p->at;
	for (int i = 0; i < c->count; i++) {
		const struct layer *l = p->model->layers[c->first + i];

		p->at = whole ? p->at : start;
		take_rooms(p, l->kept, l->n_kept, kept);
		kept += l->n_kept;
	}
	p->at = p->most;
}

/* What forward has for a moment: layers have theirs in the same place. */
static void place_again(struct plan *p, const struct chunk *c, struct view *again)
{
	size_t start = p->at;

	p->most = p->at;
	for (int i = 0; i < c->count; i++) {
		const struct layer *l = p->model->layers[c->first + i];

		p->at = start;
		if (l->keeps_forward)
			take_rooms(p, l->kept, l->n_kept, again);
		again += l->n_kept;
	}
}

/* Of what the layers of chunks hand to each other. */
static int widest_output(const struct model *m, const struct chunk *chunks, int n)
{
	int widest = 0;

	for (int k = 0; k < n; k++)
		for (int i = 0; i < chunks[k].count - 1; i++)
			widest = imax(widest, layer_out(m->layers[chunks[k].first + i]));
	return widest;
}

/* Returns how many bytes all of it takes. */
static size_t place_all(struct buffers *b, struct plan *p, const struct chunk *chunks)
{
	int widest = widest_output(p->model, chunks, b->n_chunks);
	size_t end, most;

	for (int i = 0; i < 2; i++)
		b->inner[i] = take(p, widest, p->type, false);
	for (int k = 0; k < b->n_chunks; k++) {
		const struct chunk *c = &chunks[k];
		struct chunk_buffers *cb = &b->chunks[k];
		const struct layer *first = p->model->layers[c->first];
		int in = layer_in(first);

		for (int i = 0; i < cb->inputs.n; i++)
			cb->input[i] = take(p, in, p->type, first->in_spread);
		for (int i = 0; i < cb->slots.n; i++)
			(b->forward_only ? place_passage : place_slot)(p, c, &cb->slot[i]);
		for (int i = 0; i < cb->flows.n; i++)
			place_flow(p, c, &cb->flow[i], cb->whole);
		for (int i = 0; i < DX_BUFFERS && !c->begins && !b->forward_only; i++)
			cb->dx[i] = take(p, in, p->type, first->in_spread);
	}
	end = most = p->at;
	for (int k = 0; k < b->n_chunks && p->model->keeps_forward; k++) {
		p->at = end;
		place_again(p, &chunks[k], b->chunks[k].again);
		most = p->most > most ? p->most : most;
	}
	return most;
}

static bool pool_init(struct pool_of *p, int n, int micro_batches)
{
	p->n = n;
	p->free = malloc((size_t)(n + 1) * sizeof(int));
	p->of = malloc((size_t)micro_batches * sizeof(int));
	if (!p->free || !p->of)
		return false;
	while (p->n_free < n) {
		p->free[p->n_free] = n - 1 - p->n_free;
		p->n_free++;
	}
	for (int i = 0; i < micro_batches; i++)
		p->of[i] = -1;
	return true;
}

static void pool_release(struct pool_of *p)
{
	free(p->free);
	free(p->of);
}

/* What the layers of a chunk save and keep. */
static void count_rooms(const struct model *m, const struct chunk *c, size_t *saved,
			size_t *kept)
{
	*saved = *kept = 0;
	for (int i = c->first; i < c->first + c->count; i++) {
		*saved += (size_t)m->layers[i]->n_saved;
		*kept += (size_t)m->layers[i]->n_kept;
	}
}

/* What slots and flows point into. */
static bool make_views(struct chunk_buffers *cb, const struct model *m, const struct chunk *c)
{
	size_t slots = (size_t)cb->slots.n, flows = (size_t)cb->flows.n, n = (size_t)c->count;
	size_t saved, kept;
	struct view *at;

	count_rooms(m, c, &saved, &kept);
	cb->input = calloc((size_t)cb->inputs.n + 1, sizeof(*cb->input));
	cb->slot = calloc(slots, sizeof(*cb->slot));
	cb->flow = calloc(flows + 1, sizeof(*cb->flow));
	cb->views = calloc(slots * (n + 1 + saved) + flows * (n + kept) + kept + 1,
			   sizeof(*cb->views));
	cb->done = calloc(flows * n + 1, sizeof(*cb->done));
	if (!cb->input || !cb->slot || !cb->flow || !cb->views || !cb->done)
		return false;
	at = cb->views;
	for (size_t i = 0; i < slots; i++, at += n + 1 + saved)
		cb->slot[i] = (struct slot){.input = at, .saved = at + n + 1};
	for (size_t i = 0; i < flows; i++, at += n + kept)
		cb->flow[i] =
			(struct flow){.flow = at, .kept = at + n, .done = cb->done + i * n};
	if (m->keeps_forward)
		cb->again = at;
	return true;
}

/* Gradients come by message, with one more that may have arrived, or from the next part where
   that is on this stage; where the model ends, they are made. */
static int count_flows(const struct chunk *chunks, int n_chunks, const struct order *o, int k)
{
	int next = chunk_of_part(chunks, n_chunks, chunks[k].part + 1);

	if (next >= 0)
		return most_alive(o, k, next, ACTION_B, ACTION_I);
	return most_alive(o, k, k, ACTION_B, ACTION_I) + !chunks[k].ends;
}

static bool count_chunk(struct chunk_buffers *cb, const struct chunk *chunks, int n_chunks,
			const struct order *o, int k, int micro_batches, bool early)
{
	const struct chunk *c = &chunks[k];
	bool split = order_is_split(o);
	bool forward_only = order_has(o, ACTION_E); /* one after the other */
	int alive = forward_only ? 1 : most_alive(o, k, k, ACTION_F, ACTION_F);
	int flows = forward_only ? 0 : count_flows(chunks, n_chunks, o, k);

	assert(alive > 0 && c->count > 0); /* every chunk has layers and work */
	assert(flows > 0 || forward_only);
	cb->whole = split || (early && !c->begins);
	return pool_init(&cb->inputs, c->begins ? 0 : alive + 1, micro_batches) &&
	       pool_init(&cb->slots, alive, micro_batches) &&
	       pool_init(&cb->flows, flows, micro_batches);
}

enum status buffers_init(struct buffers *b, const struct weights *w, const struct chunk *chunks,
			 int n_chunks, const struct order *order, int rows, int micro_batches,
			 bool early, struct error *err)
{
	struct plan plan = {.b = b, .model = w->model, .type = w->type, .rows = rows};
	enum status st = OK;
	bool ok;

	*b = (struct buffers){.dev = w->dev,
			      .n_chunks = n_chunks,
			      .forward_only = order_has(order, ACTION_E)};
	b->chunks = calloc((size_t)n_chunks, sizeof(*b->chunks));
	ok = b->chunks != NULL;
	for (int k = 0; ok && k < n_chunks; k++)
		ok = count_chunk(&b->chunks[k], chunks, n_chunks, order, k, micro_batches,
				 early) &&
		     make_views(&b->chunks[k], w->model, &chunks[k]);
	if (!ok) {
		st = FAIL(err, ERR_MEMORY, "no memory to plan the buffers");
		goto out;
	}
	TRY(device_alloc_shared(w->dev, MEMORY_ACTIVATIONS, place_all(b, &plan, chunks),
				"the activations", &b->memory, err));
	plan.base = b->memory;
	plan.at = plan.most = 0;
	place_all(b, &plan, chunks);
out:
	if (st != OK)
		buffers_release(b);
	return st;
}

void buffers_release(struct buffers *b)
{
	for (int k = 0; b->chunks && k < b->n_chunks; k++) {
		struct chunk_buffers *cb = &b->chunks[k];

		pool_release(&cb->inputs);
		pool_release(&cb->slots);
		pool_release(&cb->flows);
		free(cb->input);
		free(cb->slot);
		free(cb->flow);
		free(cb->views);
		free(cb->done);
	}
	if (b->dev)
		device_free(b->dev, b->memory);
	free(b->chunks);
	*b = (struct buffers){0};
}
