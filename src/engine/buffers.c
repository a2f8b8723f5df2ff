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

struct view *buffers_again(const struct chunk_buffers *cb)
{
	if (cb->whole && cb->flows.n_free)
		return cb->flow[cb->flows.free[cb->flows.n_free - 1]].kept;
	assert(cb->own_again);
	return cb->again;
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
	cb->top = calloc((size_t)cb->tops.n + 1, sizeof(*cb->top));
	cb->slot = calloc(slots, sizeof(*cb->slot));
	cb->flow = calloc(flows + 1, sizeof(*cb->flow));
	cb->views = calloc(slots * (n + 1 + saved) + flows * (n + kept) + kept + 1,
			   sizeof(*cb->views));
	cb->done = calloc(flows * n + 1, sizeof(*cb->done));
	if (!cb->input || !cb->top || !cb->slot || !cb->flow || !cb->views || !cb->done)
		return false;
	at = cb->views;
	for (size_t i = 0; i < slots; i++, at += n + 1 + saved)
		cb->slot[i] = (struct slot){.input = at, .saved = at + n + 1};
	for (size_t i = 0; i < flows; i++, at += n + kept)
		cb->flow[i] =
			(struct flow){.flow = at, .kept = at + n, .done = cb->done + i * n};
	cb->again = at;
	return true;
}

/* Gradients of the output come by message, with one more that may have arrived, or from the
   next part where that is on this stage; where the model ends, they are made. */
static int count_tops(const struct chunk *chunks, int n_chunks, const struct order *o, int k)
{
	int next = chunk_of_part(chunks, n_chunks, chunks[k].part + 1);

	if (chunks[k].ends)
		return 0;
	if (next >= 0)
		return most_alive(o, k, next, ACTION_B, ACTION_I);
	return most_alive(o, k, k, ACTION_B, ACTION_I) + 1;
}

/* Does a forward pass of a chunk begin while all of its flows are in use? */
static bool is_forward_beside(const struct order *o, int chunk, int flows)
{
	int alive = 0;

	for (int i = 0; i < o->count; i++) {
		const struct action *a = &o->actions[i];

		if (a->chunk != chunk)
			continue;
		if (a->kind == ACTION_I)
			alive++;
		if (a->kind == ACTION_W)
			alive--;
		if (a->kind == ACTION_F && alive == flows)
			return true;
	}
	return false;
}

static bool count_chunk(struct chunk_buffers *cb, const struct chunk *chunks, int n_chunks,
			const struct order *o, int k, int micro_batches, bool early)
{
	const struct chunk *c = &chunks[k];
	bool split = order_is_split(o);
	bool forward_only = order_has(o, ACTION_E); /* one after the other */
	int alive = forward_only ? 1 : most_alive(o, k, k, ACTION_F, ACTION_F);
	int tops = forward_only ? 0 : count_tops(chunks, n_chunks, o, k);
	int flows = forward_only ? 0 : most_alive(o, k, k, ACTION_B, ACTION_I);

	assert(alive > 0 && c->count > 0); /* every chunk has layers and work */
	assert(flows > 0 || forward_only);
	cb->whole = !forward_only && (split || (early && !c->begins));
	cb->own_again = !cb->whole || is_forward_beside(o, k, flows);
	return pool_init(&cb->inputs, c->begins ? 0 : alive + 1, micro_batches) &&
	       pool_init(&cb->slots, alive, micro_batches) &&
	       pool_init(&cb->tops, tops, micro_batches) &&
	       pool_init(&cb->flows, flows, micro_batches);
}

enum status buffers_init(struct buffers *b, const struct weights *w, const struct chunk *chunks,
			 int n_chunks, const struct order *order, int rows, int micro_batches,
			 bool early, struct error *err)
{
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
	TRY(device_alloc_shared(w->dev, MEMORY_ACTIVATIONS, buffers_place(b, w, chunks, rows),
				"the activations", &b->memory, err));
	buffers_place(b, w, chunks, rows);
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
		pool_release(&cb->tops);
		pool_release(&cb->flows);
		free(cb->input);
		free(cb->top);
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
