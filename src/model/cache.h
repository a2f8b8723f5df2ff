/*
 * cache.h - the keys and values of one sequence that is continued, of the layers that are here:
 * what attention has seen of it so far.
 */
#ifndef KOLM_MODEL_CACHE_H
#define KOLM_MODEL_CACHE_H

#include "model/chunk.h"

struct cache_layer {
	const struct layer *layer;
	struct view k, v; /* (length, heads of keys here * width) */
};

struct cache {
	struct device *dev; /* borrowed */
	int count;
	struct cache_layer *layers; /* (count) */
	void *memory;
};

/* For the layers of some chunks, and sequences of up to so many rows. */
enum status cache_init(struct cache *c, struct device *dev, const struct model *m,
		       const struct chunk *chunks, int n_chunks, enum dtype type, int length,
		       struct error *err);
void cache_release(struct cache *c);

/* That of a layer, which has one. */
struct cache_layer *cache_layer(const struct cache *c, const struct layer *l);

#endif
