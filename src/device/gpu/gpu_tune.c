/*
 * gpu_tune.c - which way to cut products is fastest on this device: tried once on a product
 * that fills it, and kept in the cache. What comes out of a product does not depend on it.
 */
#include "base/clock.h"
#include "base/util.h"
#include "device/gpu/gpu.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 512, DEPTH = 256, TRIES = 3 };
enum { USUAL = 1 }; /* tile, where none was tried */

static double time_of(struct gpu *g, const struct gpu_product *p, int tile)
{
	double best = 0;

	for (int i = 0; i <= TRIES; i++) {
		double begin = clock_ms(), ms;

		gpu_multiply(g, p, tile);
		g->driver->finish(g->context);
		ms = clock_ms() - begin;
		if (i == 1 || (i > 1 && ms < best)) /* the first one builds it */
			best = ms;
	}
	return best;
}

static int measure(struct gpu *g, int type)
{
	enum dtype of = type < PRECISION_COUNT ? (enum dtype)type : DTYPE_F32;
	uint64_t size = (uint64_t)SIZE * DEPTH * sizeof(float);
	struct gpu_product p = {.m = SIZE,
				.n = SIZE,
				.k = DEPTH,
				.a = g->driver->alloc(g->context, size),
				.b = g->driver->alloc(g->context, size),
				.a_type = of,
				.b_type = of,
				.a_m = DEPTH,
				.a_k = 1,
				.b_k = 1,
				.b_n = DEPTH,
				.c = {g->driver->alloc(g->context, 2 * size), SIZE, DTYPE_F32}};
	void *memory[] = {(void *)(uintptr_t)p.a, (void *)(uintptr_t)p.b, p.c.data};
	bool has_room = p.a && p.b && p.c.data;
	double least = 0;
	int best = USUAL;

	for (int tile = 0; tile < GPU_TILES && has_room; tile++) {
		double ms = time_of(g, &p, tile);

		if (tile == 0 || ms < least) {
			least = ms;
			best = tile;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(memory); i++)
		if (memory[i])
			g->driver->free(g->context, memory[i]);
	return best;
}

int gpu_fastest_tile(struct gpu *g, int type)
{
	static const char *const names[GPU_TYPES] = {"tile fp32", "tile fp16", "tile bf16",
						     "tile mixed"};
	char *kept, written;
	size_t size;

	if (g->tile[type] >= 0)
		return g->tile[type];
	kept = gpu_cache_read(g, names[type], &size);
	if (kept && size == 1 && *kept >= '0' && *kept < '0' + GPU_TILES)
		g->tile[type] = *kept - '0';
	free(kept);
	if (g->tile[type] >= 0)
		return g->tile[type];
	/* To try is to wait for all queues, some of which may wait for other GPUs. */
	if (g->groups > 0)
		return USUAL;
	g->tile[type] = measure(g, type);
	written = (char)('0' + g->tile[type]);
	gpu_cache_write(g, names[type], &written, 1);
	return g->tile[type];
}
