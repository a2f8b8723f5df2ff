/*
 * simd_weight.h - dW (+)= dy' x, db (+)= column sums of dy; part of simd.c.
 *
 * A group of panels takes all rows of dy, and the inputs of as many slabs of x as there is
 * room for, both copied; so dy, which may be far away, is read seldom, and it is fetched while
 * the group before is computed.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_WEIGHT_H
#define KOLM_DEVICE_CPU_SIMD_WEIGHT_H

#include "device/cpu/simd_amx.h"
#include "device/cpu/simd_put.h"

#include <assert.h>

enum { INPUT_STRIDE = SLAB + 4 }; /* of the copied inputs, off the power of two */

struct weight_tile {
	void *w; /* TILE_ROWS inputs of each panel */
	size_t w_stride;
	const void *x;	/* (rows, INPUT_STRIDE) floats, or pairs of rows */
	const void *dy; /* (rows, TILE_WIDTH) */
	int rows;	/* or pairs of them */
	bool pairs;
	bool accumulate;
};

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
	for (int r = 0; r < t->rows; r++, x += INPUT_STRIDE, dy += TILE_WIDTH) {
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
	if (type == DTYPE_BF16) {
		UNROLL
		for (int i = 0; i < inputs; i++) {
			UNROLL
			for (int p = 0; p < panels; p++)
				put_bfloats((uint16_t *)w + (size_t)p * w_stride + i * PANEL,
					    sum[i][p], accumulate);
		}
		return;
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
	for (int r = 0; r < t->rows; r++, x += INPUT_STRIDE, dy += TILE_WIDTH) {
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
	if (PAIRS && !AMX && t->pairs)
		weight_pairs(t, inputs, panels, type);
	else
		weight_floats(t, inputs, panels, type);
}

#define WEIGHT_SHAPES(F, kernel)    \
	WIDE_SHAPES(F, kernel, F32) \
	WIDE_SHAPES(F, kernel, F16) \
	BFLOAT_SHAPES(WIDE_SHAPES(F, kernel, BF16))
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

/* Working memory of a thread. */
struct weight_room {
	float *dy, *x; /* pairs have the size of floats */
	int slabs;     /* that x has room for */
	size_t slab;   /* floats of each */
	int rows;      /* or pairs of them */
	bool pairs;
};

static struct weight_room weight_room(const struct linear *l, float *scratch)
{
	bool in_pairs = PAIRS && l->y.type == DTYPE_BF16;
	int rows = in_pairs ? (l->rows + 1) / 2 : l->rows;
	struct weight_room room = {.dy = scratch, .rows = rows, .pairs = in_pairs};

	room.x = room.dy + l->rows * TILE_WIDTH;
	room.slab = (size_t)rows * INPUT_STRIDE;
#if defined(KOLM_AMX)
	if (in_pairs) {
		room.rows = (int)round_up(rows, AMX_ROWS);
		room.x = room.dy + imax(l->rows, room.rows) * TILE_WIDTH;
		room.slab = (size_t)room.rows * SLAB;
	}
#endif
	room.slabs = (int)(scratch + SCRATCH - room.x) / (int)room.slab;
	return room;
}

#if defined(KOLM_AMX)
/* The inputs [i0, i0 + n) of a slab in tiles of 16 inputs by 16 pairs of rows: all of the first
   inputs, then those of the next. */
static void amx_copy_inputs(const struct linear *l, const struct weight_room *room, int i0,
			    int n, float *to)
{
	for (int r = 0; r < room->rows; r += AMX_ROWS) {
		uint32_t copy[AMX_ROWS][SLAB];
		int rows = imin(2 * AMX_ROWS, l->rows - 2 * r), given = (rows + 1) / 2;
		struct view x = view_from(l->x, (size_t)(2 * r));

		gather_pairs(&x, rows, i0, n, copy[0], SLAB, SLAB);
		memset(copy[given], 0, (size_t)(AMX_ROWS - given) * sizeof(copy[0]));
		for (int i = 0; i < SLAB; i += PANEL) {
			pairs v[16];

			UNROLL
			for (int k = 0; k < 16; k++)
				v[k] = load_pairs(&copy[k][i]);
			transpose_pairs(v);
			store_tile(v, to + i * room->rows + r * PANEL);
		}
	}
}
#endif

/* The inputs of a slab, as what dy is. */
static void copy_inputs(const struct linear *l, const struct weight_room *room, int s,
			float *to)
{
	int n = imin(SLAB, l->in - s * SLAB);

#if defined(KOLM_AMX)
	if (room->pairs) {
		amx_copy_inputs(l, room, s * SLAB, n, to);
		return;
	}
#endif
	if (room->pairs) {
		gather_pairs(&l->x, l->rows, s * SLAB, n, (uint32_t *)to, SLAB, INPUT_STRIDE);
		return;
	}
	gather(&l->x, l->rows, s * SLAB, n, to, SLAB, INPUT_STRIDE);
	if (l->y.type == DTYPE_BF16 && l->x.type == DTYPE_F32)
		for (int r = 0; r < l->rows; r++)
			round_floats(to + (size_t)r * INPUT_STRIDE, SLAB);
}

/* Outputs of a group; those of the bias on the way, if it is its turn. */
static void copy_gradients(const struct linear *l, const struct weight_room *room, int p,
			   int end, bool bias)
{
	int n = imin(end * PANEL, l->out) - p * PANEL;

	if (!room->pairs || bias)
		gather(&l->y, l->rows, p * PANEL, n, room->dy, TILE_WIDTH, TILE_WIDTH);
	if (bias)
		bias_gradient(l, room->dy, p * PANEL, n);
	if (room->pairs)
		gather_pairs(&l->y, l->rows, p * PANEL, n, (uint32_t *)room->dy, TILE_WIDTH,
			     TILE_WIDTH);
	for (int r = (l->rows + 1) / 2; room->pairs && r < room->rows; r++)
		memset(room->dy + (size_t)r * TILE_WIDTH, 0, TILE_WIDTH * sizeof(float));
}

/* Rows of the gradients that the next group will copy. */
struct rows_ahead {
	const char *at;
	size_t stride, size; /* bytes */
	int left, each;	     /* rows, and how many of them at a time */
};

static struct rows_ahead rows_ahead(const struct linear *l, int p, int end, int times)
{
	size_t size = dtype_size(l->y.type);

	return (struct rows_ahead){.at = (const char *)l->y.data + (size_t)(p * PANEL) * size,
				   .stride = l->y.stride * size,
				   .size = (size_t)((end - p) * PANEL) * size,
				   .left = p < end ? l->rows : 0,
				   .each = (int)ceil_div(l->rows, times)};
}

static void fetch_rows(struct rows_ahead *a)
{
	for (int n = imin(a->each, a->left); n > 0; n--, a->left--, a->at += a->stride)
		for (size_t i = 0; i < a->size; i += LINE)
			__builtin_prefetch(a->at + i, 0, 2);
}

/* A group of panels in a slab. */
static void weight_slab(const struct linear *l, const struct weight_room *room, int s, int p,
			int end, const float *x, struct rows_ahead *ahead)
{
	int width = layout_slab_width(l->in, s);
	size_t panel = layout_panel_size(width);
	char *w = (char *)l->weight +
		  (layout_slab_offset(l->out, s) + (size_t)p * panel) * dtype_size(l->type);
	struct weight_tile t = {.w_stride = panel,
				.dy = room->dy,
				.rows = room->rows,
				.pairs = room->pairs,
				.accumulate = l->accumulate};

	for (int k = 0; k < width; k += TILE_ROWS) {
		t.w = w + (size_t)(k * PANEL) * dtype_size(l->type);
		t.x = x + k;
		weight_tiles[l->type][end - p - 1][imin(TILE_ROWS, width - k) - 1](&t);
		fetch_rows(ahead);
	}
}

#if defined(KOLM_AMX)
/* Sums of inputs and of one or two panels to where they belong. */
INLINE void amx_put(const struct linear *l, const float (*sums)[2 * PANEL], int inputs,
		    int panels, char *w, size_t w_stride, const enum dtype type)
{
	for (int i = 0; i < inputs; i++)
		for (int p = 0; p < panels; p++)
			for (int j = 0; j < VPP; j++)
				put_sum(w + (size_t)p * w_stride * dtype_size(type), 0, i, j,
					load(&sums[i][p * PANEL + j * VL]), l->accumulate,
					type);
}

/* A group of panels in a slab. */
static void amx_weight_slab(const struct linear *l, const struct weight_room *room, int s,
			    int p, int end, const float *x, struct rows_ahead *ahead)
{
	int width = layout_slab_width(l->in, s), both = 2 * AMX_ROWS;
	size_t panel = layout_panel_size(width), size = dtype_size(l->type);
	char *w =
		(char *)l->weight + (layout_slab_offset(l->out, s) + (size_t)p * panel) * size;
	float sums[2 * AMX_ROWS][2 * PANEL];

	amx_configure(both);
	for (int i = 0; i < width; i += both) {
		fetch_rows(ahead);
		for (int q = 0; q < end - p; q += 2) {
			bool wide = p + q + 1 < end;
			char *to = w + ((size_t)q * panel + (size_t)(i * PANEL)) * size;
			int inputs = imin(both, width - i), panels = wide ? 2 : 1;

			amx_multiply(
				&(struct amx_product){
					.a = x + i * room->rows,
					.a_stride = AMX_BYTES,
					.a_step = AMX_TILE,
					.a_next = sizeof(float) * (size_t)(PANEL * room->rows),
					.b = room->dy + q * PANEL,
					.b_stride = sizeof(float) * TILE_WIDTH,
					.b_step = sizeof(float) * AMX_ROWS * TILE_WIDTH,
					.b_next = sizeof(float) * PANEL,
					.chunks = room->rows / AMX_ROWS,
					.c = sums[0],
					.c_stride = sizeof(sums[0]),
					.first = true},
				inputs > AMX_ROWS, wide);
			if (l->type == DTYPE_BF16)
				amx_put(l, sums, inputs, panels, to, panel, DTYPE_BF16);
			else if (l->type == DTYPE_F32)
				amx_put(l, sums, inputs, panels, to, panel, DTYPE_F32);
			else
				amx_put(l, sums, inputs, panels, to, panel, DTYPE_F16);
		}
	}
	AMX_RELEASE();
}
#endif

static void simd_backward_weight(const struct linear *l, int p0, int p1, float *scratch)
{
	struct weight_room room = weight_room(l, scratch);
	int groups = (int)ceil_div(p1 - p0, TILE_PANELS), slabs = layout_slabs(l->in);
	int tiles = (int)ceil_div(SLAB, TILE_ROWS);
	void (*multiply)(const struct linear *l, const struct weight_room *room, int s, int p,
			 int end, const float *x, struct rows_ahead *ahead) = weight_slab;

#if defined(KOLM_AMX)
	assert(room.pairs || l->type != DTYPE_BF16);
	if (room.pairs) {
		multiply = amx_weight_slab;
		tiles = SLAB / (2 * AMX_ROWS);
	}
#endif
	for (int first = 0; first < slabs; first += room.slabs) {
		int n = imin(room.slabs, slabs - first);

		for (int s = 0; s < n; s++)
			copy_inputs(l, &room, first + s, room.x + (size_t)s * room.slab);
		for (int g = 0; g < groups; g++) {
			int p = p0 + (int)part_begin(p1 - p0, g, groups);
			int end = p0 + (int)part_begin(p1 - p0, g + 1, groups);
			int next = p0 + (int)part_begin(p1 - p0, imin(g + 2, groups), groups);
			struct rows_ahead ahead = rows_ahead(l, end, next, n * tiles);

			copy_gradients(l, &room, p, end, first == 0 && l->bias);
			for (int s = 0; s < n; s++)
				multiply(l, &room, first + s, p, end,
					 room.x + (size_t)s * room.slab, &ahead);
		}
	}
}

#endif
