/* simd_weight.h - dW (+)= dy' x, db (+)= column sums of dy; part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_WEIGHT_H
#define KOLM_DEVICE_CPU_SIMD_WEIGHT_H

#include "device/cpu/simd_tile.h"

struct weight_tile {
	void *w; /* TILE_ROWS inputs of each panel */
	size_t w_stride;
	const float *x;	 /* (rows, SLAB) */
	const float *dy; /* (rows, TILE_WIDTH) */
	int rows;
	bool accumulate;
};

INLINE void weight_tile(const struct weight_tile *t, const int inputs, const int panels,
			const enum dtype type)
{
	vec sum[TILE_ROWS][TILE_VECS];
	const float *x = t->x, *dy = t->dy;
	char *w = t->w;
	size_t w_stride = t->w_stride;
	bool accumulate = t->accumulate;

	UNROLL
	for (int i = 0; i < inputs; i++) {
		UNROLL
		for (int j = 0; j < panels * VPP; j++)
			sum[i][j] = (vec){0};
	}
	for (int r = 0; r < t->rows; r++, x += SLAB, dy += TILE_WIDTH) {
		vec gradient[TILE_VECS];

		if (r < inputs) {
			UNROLL
			for (int p = 0; p < panels; p++)
				__builtin_prefetch(w + ((size_t)p * w_stride +
							(size_t)(r + 2 * TILE_ROWS) * PANEL) *
								   dtype_size(type),
						   1, 3);
		}

		UNROLL
		for (int j = 0; j < panels * VPP; j++) {
			gradient[j] = load(dy + j * VL);
			PIN(gradient[j]);
		}
		UNROLL
		for (int i = 0; i < inputs; i++) {
			vec value = splat(x[i]);

			UNROLL
			for (int j = 0; j < panels * VPP; j++)
				sum[i][j] += value * gradient[j];
		}
	}
	UNROLL
	for (int i = 0; i < inputs; i++) {
		UNROLL
		for (int j = 0; j < panels * VPP; j++) {
			size_t at = (size_t)(j / VPP) * w_stride + (size_t)(i * PANEL) +
				    (size_t)(j % VPP) * VL;

			store_as(w, at,
				 accumulate ? load_as(w, at, type) + sum[i][j] : sum[i][j],
				 type);
		}
	}
}

#define WEIGHT_SHAPES(F, kernel)    \
	WIDE_SHAPES(F, kernel, F32) \
	WIDE_SHAPES(F, kernel, F16) \
	WIDE_SHAPES(F, kernel, BF16)
TILE_TABLE(weight_tile, WEIGHT_SHAPES);

static void bias_gradient(const struct linear *l, const float *dy, int o0, int n)
{
	struct view bias = {l->bias, 0, l->type};
	float sums[TILE_WIDTH] = {0};

	if (l->accumulate)
		get_as(bias, 0, o0, sums, n);
	for (int r = 0; r < l->rows; r++)
		for (int j = 0; j < n; j += VL)
			store(sums + j, load(sums + j) + load(dy + (size_t)r * TILE_WIDTH + j));
	put_as(bias, 0, o0, sums, n);
}

static void simd_backward_weight(const struct linear *l, int p0, int p1, float *scratch)
{
	float *x = scratch, *dy = scratch + ROWS_MAX * SLAB;
	int groups = (int)ceil_div(p1 - p0, TILE_PANELS);

	for (int s = 0; s < layout_slabs(l->in); s++) {
		int width = layout_slab_width(l->in, s);
		size_t panel = layout_panel_size(width);
		size_t slab = layout_slab_offset(l->out, s);

		gather(&l->x, l->rows, s * SLAB, imin(SLAB, l->in - s * SLAB), x, SLAB);
		for (int g = 0; g < groups; g++) {
			int p = p0 + (int)part_begin(p1 - p0, g, groups);
			int end = p0 + (int)part_begin(p1 - p0, g + 1, groups);
			int n = imin(end * PANEL, l->out) - p * PANEL;
			struct weight_tile t = {.w_stride = panel,
						.dy = dy,
						.rows = l->rows,
						.accumulate = l->accumulate};

			gather(&l->y, l->rows, p * PANEL, n, dy, TILE_WIDTH);
			if (s == 0 && l->bias)
				bias_gradient(l, dy, p * PANEL, n);
			for (int k = 0; k < width; k += TILE_ROWS) {
				t.w = (char *)l->weight +
				      (slab + (size_t)p * panel + (size_t)k * PANEL) *
					      dtype_size(l->type);
				t.x = x + k;
				weight_tiles[l->type][end - p - 1]
					    [imin(TILE_ROWS, width - k) - 1](&t);
			}
		}
	}
}

#endif
