/* simd_weight.h - dW (+)= dy' x, db (+)= column sums of dy; part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_WEIGHT_H
#define KOLM_DEVICE_CPU_SIMD_WEIGHT_H

#include "device/cpu/simd_tile.h"

struct weight_tile {
	void *w; /* TILE_ROWS inputs of each panel */
	size_t w_stride;
	const void *x;	/* (rows, SLAB) floats, or pairs of rows */
	const void *dy; /* (rows, TILE_WIDTH) */
	int rows;	/* or pairs of them */
	bool pairs;
	bool accumulate;
};

INLINE void fetch_gradients(const char *w, size_t w_stride, int r, const int panels,
			    const enum dtype type)
{
	UNROLL
	for (int p = 0; p < panels; p++)
		__builtin_prefetch(
			w + ((size_t)p * w_stride + (size_t)(r + 2 * TILE_ROWS) * PANEL) *
					dtype_size(type),
			1, 3);
}

/* Vector j of an input's sums to the gradients. */
INLINE void put_sum(char *w, size_t w_stride, int i, const int j, vec sum, bool accumulate,
		    const enum dtype type)
{
	size_t at = (size_t)(j / VPP) * w_stride + (size_t)(i * PANEL) + (size_t)(j % VPP) * VL;

	store_as(w, at, accumulate ? load_as(w, at, type) + sum : sum, type);
}

/* VL of the lanes. */
INLINE vec lanes_from(vec16 v, const int first)
{
	vec part;

	__builtin_memcpy(&part, (const char *)&v + first * (int)sizeof(float), sizeof(part));
	return part;
}

/* Two rows at a time: see simd_pairs.h. */
INLINE void weight_pairs(const struct weight_tile *t, const int inputs, const int panels,
			 const enum dtype type)
{
	vec16 sum[TILE_ROWS][TILE_PANELS];
	const uint32_t *x = t->x, *dy = t->dy;
	char *w = t->w;
	size_t w_stride = t->w_stride;
	bool accumulate = t->accumulate;

	UNROLL
	for (int i = 0; i < inputs; i++) {
		UNROLL
		for (int p = 0; p < panels; p++)
			sum[i][p] = (vec16){0};
	}
	for (int r = 0; r < t->rows; r++, x += SLAB, dy += TILE_WIDTH) {
		pairs gradient[TILE_PANELS];

		if (r < inputs)
			fetch_gradients(w, w_stride, r, panels, type);
		UNROLL
		for (int p = 0; p < panels; p++) {
			gradient[p] = load_pairs(dy + p * PANEL);
			PIN_LINE(gradient[p]);
		}
		UNROLL
		for (int i = 0; i < inputs; i++) {
			pairs values = splat_pair(x + i);

			UNROLL
			for (int p = 0; p < panels; p++)
				sum[i][p] = add_products(sum[i][p], values, gradient[p]);
		}
	}
	UNROLL
	for (int i = 0; i < inputs; i++) {
		UNROLL
		for (int j = 0; j < panels * VPP; j++)
			put_sum(w, w_stride, i, j, lanes_from(sum[i][j / VPP], j % VPP * VL),
				accumulate, type);
	}
}

INLINE void weight_floats(const struct weight_tile *t, const int inputs, const int panels,
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

		if (r < inputs)
			fetch_gradients(w, w_stride, r, panels, type);
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
		for (int j = 0; j < panels * VPP; j++)
			put_sum(w, w_stride, i, j, sum[i][j], accumulate, type);
	}
}

INLINE void weight_tile(const struct weight_tile *t, const int inputs, const int panels,
			const enum dtype type)
{
	if (PAIRS && t->pairs)
		weight_pairs(t, inputs, panels, type);
	else
		weight_floats(t, inputs, panels, type);
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
	bool is_bf16 = l->y.type == DTYPE_BF16, in_pairs = PAIRS && is_bf16;
	float *x = scratch, *dy = scratch + ROWS_MAX * SLAB;
	uint32_t *x_pairs = (uint32_t *)x, *dy_pairs = (uint32_t *)dy;
	int groups = (int)ceil_div(p1 - p0, TILE_PANELS);

	for (int s = 0; s < layout_slabs(l->in); s++) {
		int width = layout_slab_width(l->in, s);
		size_t panel = layout_panel_size(width);
		size_t slab = layout_slab_offset(l->out, s);
		int inputs = imin(SLAB, l->in - s * SLAB);

		if (in_pairs)
			gather_pairs(&l->x, l->rows, s * SLAB, inputs, x_pairs, SLAB);
		else
			gather(&l->x, l->rows, s * SLAB, inputs, x, SLAB);
		if (is_bf16 && !in_pairs && l->x.type == DTYPE_F32)
			round_floats(x, (size_t)(l->rows * SLAB));
		for (int g = 0; g < groups; g++) {
			int p = p0 + (int)part_begin(p1 - p0, g, groups);
			int end = p0 + (int)part_begin(p1 - p0, g + 1, groups);
			int n = imin(end * PANEL, l->out) - p * PANEL;
			struct weight_tile t = {.w_stride = panel,
						.dy = dy,
						.rows = in_pairs ? (l->rows + 1) / 2 : l->rows,
						.pairs = in_pairs,
						.accumulate = l->accumulate};

			if (!in_pairs || (s == 0 && l->bias))
				gather(&l->y, l->rows, p * PANEL, n, dy, TILE_WIDTH);
			if (s == 0 && l->bias)
				bias_gradient(l, dy, p * PANEL, n);
			if (in_pairs)
				gather_pairs(&l->y, l->rows, p * PANEL, n, dy_pairs,
					     TILE_WIDTH);
			for (int k = 0; k < width; k += TILE_ROWS) {
				t.w = (char *)l->weight +
				      (slab + (size_t)p * panel + (size_t)k * PANEL) *
					      dtype_size(l->type);
				t.x = x + k; /* a pair has the size of a float */
				weight_tiles[l->type][end - p - 1]
					    [imin(TILE_ROWS, width - k) - 1](&t);
			}
		}
	}
}

#endif
