/* cache.c - see cache.h */
#include "model/cache.h"
#include "model/attention.h"

#include <assert.h>
#include <stdlib.h>

struct search {
	struct cache *c;
	const struct chunk *chunks;
	int n_chunks;
};

static bool is_here(const struct search *s, int layer)
{
	for (int i = 0; i < s->n_chunks; i++)
		if (layer >= s->chunks[i].first &&
		    layer < s->chunks[i].first + s->chunks[i].count)
			return true;
	return false;
}

static void count_layer(void *arg, const struct layer *l)
{
	struct search *s = arg;

	s->c->count += is_here(s, l->number);
}

static void add_layer(void *arg, const struct layer *l)
{
	struct search *s = arg;

	if (is_here(s, l->number))
		s->c->layers[s->c->count++].layer = l;
}

static int columns_of(const struct layer *l)
{
	const struct attention_config *a = l->config;

	return a->kv_heads / l->mp * a->width;
}

/* The views of all, from base on; returns the bytes of it. */
static size_t place(struct cache *c, enum dtype type, int length, char *base)
{
	size_t at = 0;

	for (int i = 0; i < c->count; i++) {
		struct view v = {.stride = (size_t)round_up(columns_of(c->layers[i].layer),
							    64 / (int64_t)dtype_size(type)),
				 .type = type};

		for (int k = 0; k < 2; k++) {
			v.data = base ? base + at : NULL;
			at += view_bytes(v, length);
			*(k ? &c->layers[i].v : &c->layers[i].k) = v;
		}
	}
	return at;
}

enum status cache_init(struct cache *c, struct device *dev, const struct model *m,
		       const struct chunk *chunks, int n_chunks, enum dtype type, int length,
		       struct error *err)
{
	struct search s = {c, chunks, n_chunks};
	enum status st;

	*c = (struct cache){.dev = dev};
	model_visit(m, &layer_attention, count_layer, &s);
	c->layers = calloc((size_t)c->count + 1, sizeof(*c->layers));
	if (!c->layers)
		return FAIL(err, ERR_MEMORY, "no memory for the caches of %d layers", c->count);
	c->count = 0;
	model_visit(m, &layer_attention, add_layer, &s);
	TRY(device_alloc(dev, MEMORY_ACTIVATIONS, place(c, type, length, NULL),
			 "keys and values", &c->memory, err));
	place(c, type, length, c->memory);
out:
	if (st != OK)
		cache_release(c);
	return st;
}

void cache_release(struct cache *c)
{
	if (c->dev)
		device_free(c->dev, c->memory);
	free(c->layers);
	*c = (struct cache){0};
}

struct cache_layer *cache_layer(const struct cache *c, const struct layer *l)
{
	for (int i = 0; i < c->count; i++)
		if (c->layers[i].layer == l)
			return &c->layers[i];
	assert(!"a layer that is here");
	return NULL;
}
