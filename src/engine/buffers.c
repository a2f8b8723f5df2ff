/* buffers.c - see buffers.h */
#include "engine/buffers.h"
#include "base/util.h"

#include <assert.h>
#include <stdlib.h>

/* Rows begin on cache lines. */
static size_t row_stride(const struct model *m, int columns)
{
	return (size_t)round_up(columns, 64 / (int64_t)dtype_size(m->type));
}

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

/* Most micro-batches of a chunk that are between two kinds of actions at once. */
static int most_alive(const struct order *o, int chunk, bool since_input)
{
	int alive = 0, most = 0;

	for (int i = 0; i < o->count; i++) {
		const struct action *a = &o->actions[i];

		if (a->chunk != chunk)
			continue;
		if (a->kind == (since_input ? ACTION_I : ACTION_F))
			alive++;
		most = imax(most, alive);
		if (a->kind == ACTION_W || (a->kind == ACTION_B && !since_input))
			alive--;
	}
	return most;
}

bool order_is_split(const struct order *o)
{
	for (int i = 0; i < o->count; i++)
		if (o->actions[i].kind == ACTION_I)
			return true;
	return false;
}

/* The next (rows, columns) of the memory; base is NULL while sizes are added up. */
static struct view take(const struct model *m, float *base, size_t *at, int columns)
{
	struct view v = {NULL, row_stride(m, columns), m->type};

	if (base)
		v.data = flat_at(base, m->type, *at);
	*at += (size_t)m->shape.rows * v.stride;
	return v;
}

/* Is the last layer's output put together from slices? */
static bool is_gathered(const struct model *m, const struct chunk *c)
{
	return c->ends && m->layers[c->first + c->count - 1].split == SPLIT_COLUMNS;
}

static void place_slot(const struct model *m, const struct chunk *c, struct slot *s,
		       float *base, size_t *at)
{
	for (int i = 0; i < c->count; i++) {
		const struct layer *l = &m->layers[c->first + i];

		s->input[i + 1] = take(m, base, at, l->out);
		s->before[i] = (struct view){0};
		if (m->shape.act == ACT_GELU && l->number < m->shape.depth - 1)
			s->before[i] = take(m, base, at, l->out);
	}
	s->full = s->input[c->count];
	if (is_gathered(m, c)) {
		s->full = take(m, base, at, m->shape.out);
		*at += (size_t)m->shape.rows * row_stride(m, m->shape.out);
	}
}

/* With the backward pass in two parts a flow keeps the gradients of all layers; otherwise
   only the top one, and the others take turns in two places. */
static void place_flow(const struct buffers *b, const struct model *m, const struct chunk *c,
		       struct flow *f, bool split, float *base, size_t *at)
{
	for (int i = 0; i < c->count; i++) {
		bool own = split || i == c->count - 1;

		f->flow[i] =
			own ? take(m, base, at, m->layers[c->first + i].out) : b->inner[i % 2];
	}
	f->full = f->flow[c->count - 1];
	if (is_gathered(m, c))
		f->full = take(m, base, at, m->shape.out);
}

/* Returns how many elements all of it takes. */
static size_t place_all(struct buffers *b, const struct model *m, bool split, float *base)
{
	size_t at = 0;

	for (int i = 0; i < 2; i++)
		b->inner[i] = take(m, base, &at, model_widest(m));
	for (int k = 0; k < b->n_chunks; k++) {
		const struct chunk *c = &m->chunks[k];
		struct chunk_buffers *cb = &b->chunks[k];

		for (int i = 0; i < cb->inputs.n; i++)
			cb->input[i] = take(m, base, &at, c->in);
		for (int i = 0; i < cb->slots.n; i++)
			place_slot(m, c, &cb->slot[i], base, &at);
		for (int i = 0; i < cb->flows.n; i++)
			place_flow(b, m, c, &cb->flow[i], split, base, &at);
		for (int i = 0; i < DX_BUFFERS && !c->begins; i++)
			cb->dx[i] = take(m, base, &at, c->in);
	}
	return at;
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

static bool count_chunk(struct chunk_buffers *cb, const struct chunk *c, const struct order *o,
			int k, int micro_batches, bool split)
{
	int alive = most_alive(o, k, false), n = c->count;
	int flows = (split ? most_alive(o, k, true) : 1) + !c->ends;
	struct view *at;

	assert(alive > 0 && flows > 0 && n > 0); /* every chunk has layers and work */
	if (!pool_init(&cb->inputs, c->begins ? 0 : alive + 1, micro_batches) ||
	    !pool_init(&cb->slots, alive, micro_batches) ||
	    !pool_init(&cb->flows, flows, micro_batches))
		return false;
	cb->input = calloc((size_t)cb->inputs.n + 1, sizeof(*cb->input));
	cb->slot = calloc((size_t)alive, sizeof(*cb->slot));
	cb->flow = calloc((size_t)flows, sizeof(*cb->flow));
	cb->views = calloc((size_t)alive * (size_t)(2 * n + 1) + (size_t)flows * (size_t)n,
			   sizeof(*cb->views));
	if (!cb->input || !cb->slot || !cb->flow || !cb->views)
		return false;
	at = cb->views;
	for (int i = 0; i < alive; i++) {
		cb->slot[i].input = at;
		cb->slot[i].before = at + n + 1;
		at += 2 * n + 1;
	}
	for (int i = 0; i < flows; i++, at += n)
		cb->flow[i].flow = at;
	return true;
}

enum status buffers_init(struct buffers *b, const struct model *m, const struct order *order,
			 int micro_batches, struct error *err)
{
	enum status st = OK;
	bool split = order_is_split(order), ok;

	*b = (struct buffers){.dev = m->dev, .n_chunks = m->n_chunks};
	b->chunks = calloc((size_t)m->n_chunks, sizeof(*b->chunks));
	ok = b->chunks != NULL;
	for (int k = 0; ok && k < m->n_chunks; k++)
		ok = count_chunk(&b->chunks[k], &m->chunks[k], order, k, micro_batches, split);
	if (!ok) {
		st = FAIL(err, ERR_MEMORY, "no memory to plan the buffers");
		goto out;
	}
	TRY(device_alloc_shared(m->dev, MEMORY_ACTIVATIONS,
				place_all(b, m, split, NULL) * dtype_size(m->type),
				"the activations", (void **)&b->memory, err));
	place_all(b, m, split, b->memory);
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
	}
	if (b->dev)
		device_free(b->dev, b->memory);
	free(b->chunks);
	*b = (struct buffers){0};
}
