/*
 * simd_matrix.h - the three matrix products of a linear layer; part of simd.c.
 *
 * All read or write the weight layout of layout.h. A register tile is TILE_ROWS rows
 * by up to TILE_PANELS panels (forward, weight gradient: one broadcast value times a
 * vector of outputs) or by TILE_INPUTS inputs (input gradient: dot products over the
 * outputs, summed across lanes at the end). Weights that the next tiles will want
 * are prefetched a little at a time while this one is computed.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_MATRIX_H
#define KOLM_DEVICE_CPU_SIMD_MATRIX_H

#include "device/cpu/kernels.h"
#include "device/cpu/layout.h"
#include "device/cpu/simd.h"

#include <string.h>

#if defined(KOLM_AVX512) /* 32 registers of 16 */
#define TILE_ROWS 6
enum { TILE_PANELS = 4, TILE_INPUTS = 4 };
#elif defined(KOLM_AVX2) /* 16 registers of 8 */
#define TILE_ROWS 6
enum { TILE_PANELS = 1, TILE_INPUTS = 2 };
#elif defined(__aarch64__) /* 32 registers of 4 */
#define TILE_ROWS 6
enum { TILE_PANELS = 1, TILE_INPUTS = 4 };
#else /* 16 registers of 4 */
#define TILE_ROWS 3
enum { TILE_PANELS = 1, TILE_INPUTS = 4 };
#endif

enum {
	VPP = PANEL / VL, /* vectors per panel */
	TILE_VECS = TILE_PANELS * VPP,
	TILE_WIDTH = TILE_PANELS * PANEL,
	BLOCK_PANELS = BLOCK / PANEL,
};

/* Memory that will be needed soon: lines of PANEL floats. */
struct ahead {
	const float *at;
	size_t stride; /* from panel to panel */
	int lines;     /* per panel */
};

/* Rows cut in near-equal tiles; dividing again for every tile would cost too much. */
struct tiling {
	int tiles, size, larger; /* the first `larger` tiles have one row more than size */
};

static struct tiling tile_rows(int rows)
{
	int tiles = (int)ceil_div(rows, TILE_ROWS);

	return (struct tiling){tiles, rows / tiles, rows % tiles};
}

/* ---- forward ---- */

struct forward_tile {
	float *sum; /* (rows, TILE_WIDTH), added to unless first */
	const float *x;
	size_t x_stride;
	const float *w;
	size_t w_stride; /* from panel to panel */
	int width;	 /* inputs */
	bool first;
	struct ahead ahead;
};

/* One input of every row, times its weights. */
INLINE void forward_input(vec (*sum)[TILE_VECS], const float *const *x, const float *w,
			  size_t w_stride, int i, const int rows, const int panels)
{
	vec weights[TILE_VECS];

	UNROLL
	for (int j = 0; j < panels * VPP; j++) {
		weights[j] = load(w + (size_t)(j / VPP) * w_stride + (j % VPP) * VL);
		PIN(weights[j]);
	}
	UNROLL
	for (int r = 0; r < rows; r++) {
		vec value = splat(x[r][i]);

		UNROLL
		for (int j = 0; j < panels * VPP; j++)
			sum[r][j] += value * weights[j];
	}
}

INLINE void forward_tile(const struct forward_tile *t, const int rows, const int panels)
{
	vec sum[TILE_ROWS][TILE_VECS];
	const float *x[TILE_ROWS], *w = t->w, *ahead = t->ahead.at;
	float *out = t->sum;
	bool first = t->first;
	size_t w_stride = t->w_stride, ahead_stride = t->ahead.stride;
	int per_step = (int)ceil_div(t->ahead.lines, SLAB / 4);
	int width = t->width, i = 0;

	UNROLL
	for (int r = 0; r < rows; r++) {
		x[r] = t->x + (size_t)r * t->x_stride;
		UNROLL
		for (int j = 0; j < panels * VPP; j++)
			sum[r][j] = (vec){0};
	}
	for (; i < width; i++, w += PANEL) {
		if (i % 4 == 0) {
			/* A little more than was asked for is cheaper than counting. */
			for (int n = 0; n < per_step; n++, ahead += PANEL) {
				UNROLL
				for (int p = 0; p < panels; p++)
					__builtin_prefetch(ahead + (size_t)p * ahead_stride, 0, 2);
			}
		}
		forward_input(sum, x, w, w_stride, i, rows, panels);
	}
	UNROLL
	for (int r = 0; r < rows; r++) {
		UNROLL
		for (int j = 0; j < panels * VPP; j++) {
			float *to = out + r * TILE_WIDTH + j * VL;

			store(to, first ? sum[r][j] : load(to) + sum[r][j]);
		}
	}
}

/* One function per tile shape; a row of the table per number of panels. */
#define SHAPES(name, arg, panels)                                                              \
	static void name##_1_##panels(const struct arg *t) { name(t, 1, panels); }             \
	static void name##_2_##panels(const struct arg *t) { name(t, 2, panels); }             \
	static void name##_3_##panels(const struct arg *t) { name(t, 3, panels); }
#define SHAPES6(name, arg, panels)                                                             \
	SHAPES(name, arg, panels)                                                              \
	static void name##_4_##panels(const struct arg *t) { name(t, 4, panels); }             \
	static void name##_5_##panels(const struct arg *t) { name(t, 5, panels); }             \
	static void name##_6_##panels(const struct arg *t) { name(t, 6, panels); }
#define ROW(name, panels)  name##_1_##panels, name##_2_##panels, name##_3_##panels
#define ROW6(name, panels)                                                                     \
	ROW(name, panels), name##_4_##panels, name##_5_##panels, name##_6_##panels
#if defined(KOLM_AVX512)
#define ALL_SHAPES(name, arg)                                                                  \
	SHAPES6(name, arg, 1)                                                                  \
	SHAPES6(name, arg, 2)                                                                  \
	SHAPES6(name, arg, 3)                                                                  \
	SHAPES6(name, arg, 4)                                                                  \
	static void (*const name##s[][TILE_ROWS])(const struct arg *) = {                      \
		{ROW6(name, 1)}, {ROW6(name, 2)}, {ROW6(name, 3)}, {ROW6(name, 4)}};
#elif TILE_ROWS == 6
#define ALL_SHAPES(name, arg)                                                                  \
	SHAPES6(name, arg, 1)                                                                  \
	static void (*const name##s[][TILE_ROWS])(const struct arg *) = {{ROW6(name, 1)}};
#else
#define ALL_SHAPES(name, arg)                                                                  \
	SHAPES(name, arg, 1)                                                                   \
	static void (*const name##s[][TILE_ROWS])(const struct arg *) = {{ROW(name, 1)}};
#endif

/* clang-format off */
ALL_SHAPES(forward_tile, forward_tile)
/* clang-format on */

INLINE vec activate(vec z, enum activation act)
{
	vec density;

	if (act == ACT_RELU)
		return vec_select(z > 0, z, (vec){0});
	if (act == ACT_GELU)
		return z * vec_normal_cdf(z, &density);
	return z;
}

/* y = act(sum + bias) for n <= TILE_WIDTH outputs of every row. */
static void forward_finish(const struct linear *l, const float *sums, int o0, int n)
{
	float bias[TILE_WIDTH] = {0}, z[TILE_WIDTH], y[TILE_WIDTH];

	if (l->bias)
		memcpy(bias, l->bias + o0, (size_t)n * sizeof(float));
	for (int r = 0; r < l->rows; r++) {
		for (int j = 0; j < n; j += VL) {
			vec value = load(sums + (size_t)r * TILE_WIDTH + j) + load(bias + j);

			store(z + j, value);
			store(y + j, activate(value, l->act));
		}
		if (l->saved.data)
			memcpy(l->saved.data + (size_t)r * l->saved.stride + o0, z,
			       (size_t)n * sizeof(float));
		memcpy(l->y.data + (size_t)r * l->y.stride + o0, y, (size_t)n * sizeof(float));
	}
}

/* All rows of a group of panels in one slab; ahead is what comes after. */
static void forward_slab(const struct linear *l, int s, int p, int panels,
			 const struct ahead *ahead, float *sums)
{
	struct tiling tiling = tile_rows(l->rows);
	int lines = (int)ceil_div(ahead->lines, tiling.tiles), r = 0;
	size_t panel = layout_panel_size(layout_slab_width(l->in, s));
	struct forward_tile t = {
		.w = l->weight + layout_slab_offset(l->out, s) + (size_t)p * panel,
		.w_stride = panel,
		.x_stride = l->x.stride,
		.width = imin(SLAB, l->in - s * SLAB),
		.first = s == 0,
		.ahead = {.at = ahead->at, .stride = ahead->stride, .lines = lines},
	};

	for (int i = 0; i < tiling.tiles; i++) {
		int rows = tiling.size + (i < tiling.larger);

		t.sum = sums + r * TILE_WIDTH;
		t.x = l->x.data + (size_t)r * l->x.stride + s * SLAB;
		forward_tiles[panels - 1][rows - 1](&t);
		t.ahead.at += (size_t)lines * PANEL;
		r += rows;
	}
}

static void simd_forward(const struct linear *l, int p0, int p1, float *scratch)
{
	int groups = (int)ceil_div(p1 - p0, TILE_PANELS), slabs = layout_slabs(l->in);

	for (int g = 0; g < groups; g++) {
		int p = p0 + (int)part_begin(p1 - p0, g, groups);
		int end = p0 + (int)part_begin(p1 - p0, g + 1, groups);

		for (int s = 0; s < slabs; s++) {
			int next_slab = (s + 1) % slabs, next_panel = s + 1 < slabs ? p : end;
			int width = layout_slab_width(l->in, next_slab);
			struct ahead ahead = {
				.at = l->weight + layout_slab_offset(l->out, next_slab) +
				      (size_t)next_panel * layout_panel_size(width),
				.stride = layout_panel_size(width),
				.lines = next_panel < p1 ? width : 0,
			};

			forward_slab(l, s, p, end - p, &ahead, scratch);
		}
		forward_finish(l, scratch, p * PANEL, imin(end * PANEL, l->out) - p * PANEL);
	}
}

/* ---- input gradient ---- */

struct input_tile {
	float *sum; /* (rows, SLAB), added to unless first */
	const float *dy; /* packed */
	const float *w;
	size_t w_stride;
	int panels;
	bool first;
	struct ahead ahead; /* contiguous: stride unused */
};

INLINE void input_tile(const struct input_tile *t, const int rows, const int inputs)
{
	vec sum[TILE_ROWS * TILE_INPUTS + 3];
	const float *w = t->w, *dy = t->dy, *ahead = t->ahead.at;
	size_t w_stride = t->w_stride;
	int per_panel = (int)ceil_div(t->ahead.lines, t->panels);
	float *out = t->sum;
	bool first = t->first;

	UNROLL
	for (int i = 0; i < rows * inputs + 3; i++)
		sum[i] = (vec){0};
	for (int p = t->panels; p > 0; p--, w += w_stride, dy += PANEL) {
		UNROLL
		for (int h = 0; h < PANEL; h += VL) {
			vec weights[TILE_INPUTS];

			UNROLL
			for (int i = 0; i < inputs; i++) {
				weights[i] = load(w + i * PANEL + h);
				PIN(weights[i]);
			}
			UNROLL
			for (int r = 0; r < rows; r++) {
				vec gradient = load(dy + r * BLOCK_STRIDE + h);

				PIN(gradient);
				UNROLL
				for (int i = 0; i < inputs; i++)
					sum[r * inputs + i] += gradient * weights[i];
			}
		}
		for (int n = 0; n < per_panel; n++, ahead += PANEL)
			__builtin_prefetch(ahead, 0, 2);
	}
	/* Four sums over lanes at a time: a row of 4 inputs, or two rows of 2. */
	UNROLL
	for (int i = 0; i < rows * inputs; i += 4) {
		vec4 total = sum_lanes4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);

		if (inputs == 4) {
			vec4_any *to = (vec4_any *)(out + i / 4 * SLAB);

			*to = first ? total : total + *to;
			continue;
		}
		UNROLL
		for (int j = 0; j < 4; j++) {
			float *to = out + (i + j) / inputs * SLAB + (i + j) % inputs;

			if (i + j < rows * inputs)
				*to = total[j] + (first ? 0 : *to);
		}
	}
}

#define INPUT_TILE(rows)                                                                       \
	static void input_tile_##rows(const struct input_tile *t)                              \
	{                                                                                      \
		input_tile(t, rows, TILE_INPUTS);                                              \
	}
/* clang-format off */
INPUT_TILE(1)
INPUT_TILE(2)
INPUT_TILE(3)
#if TILE_ROWS == 6
INPUT_TILE(4)
INPUT_TILE(5)
INPUT_TILE(6)
#endif
/* clang-format on */
static void (*const input_tiles[TILE_ROWS])(const struct input_tile *) = {
	input_tile_1, input_tile_2, input_tile_3,
#if TILE_ROWS == 6
	input_tile_4, input_tile_5, input_tile_6,
#endif
};

INLINE vec derivative(vec saved, enum activation act)
{
	vec density, cdf;

	if (act == ACT_RELU)
		return vec_select(saved > 0, splat(1), (vec){0});
	cdf = vec_normal_cdf(saved, &density);
	return cdf + saved * density;
}

/* dx = sum . act'(saved) for n inputs from i0 of every row. */
static void input_finish(const struct linear *l, float *sums, int i0, int n)
{
	for (int r = 0; r < l->rows; r++) {
		float *sum = sums + (size_t)r * SLAB, saved[SLAB + VL] = {0};

		if (l->act != ACT_NONE) {
			memcpy(saved, l->saved.data + (size_t)r * l->saved.stride + i0,
			       (size_t)n * sizeof(float));
			for (int i = 0; i < n; i += VL)
				store(sum + i,
				      load(sum + i) * derivative(load(saved + i), l->act));
		}
		memcpy(l->x.data + (size_t)r * l->x.stride + i0, sum,
		       (size_t)n * sizeof(float));
	}
}

/* Inputs [a, b) of a slab, counted from the slab's start, for one block of outputs. */
static void input_block(const struct linear *l, const float *packed, int s, int block, int a,
			int b, float *sums)
{
	int width = layout_slab_width(l->in, s), r = 0;
	struct tiling tiling = tile_rows(l->rows);
	size_t panel = layout_panel_size(width);
	const float *w = l->weight + layout_slab_offset(l->out, s) +
			 (size_t)block * BLOCK_PANELS * panel;
	struct input_tile t = {
		.dy = packed + (size_t)block * (size_t)l->rows * BLOCK_STRIDE,
		.w_stride = panel,
		.panels = imin(BLOCK_PANELS, layout_panels(l->out) - block * BLOCK_PANELS),
		.first = block == 0,
	};

	/* Blocks lie one behind the other in memory, and slabs too. */
	t.ahead.at = w + (size_t)t.panels * panel;
	if (b - a == width)
		t.ahead.lines = (int)ceil_div(t.panels * (width + SPARE),
					      tiling.tiles * (width / TILE_INPUTS));
	for (int i = 0; i < tiling.tiles; i++) {
		int rows = tiling.size + (i < tiling.larger);

		for (int k = a; k < b; k += TILE_INPUTS) {
			t.sum = sums + r * SLAB + (k - a);
			t.w = w + (size_t)k * PANEL;
			input_tiles[rows - 1](&t);
			t.ahead.at += (size_t)t.ahead.lines * PANEL;
		}
		t.dy += (size_t)rows * BLOCK_STRIDE;
		r += rows;
	}
}

static void simd_backward_input(const struct linear *l, const float *packed, int i0, int i1,
				float *scratch)
{
	int blocks = (int)ceil_div(l->out, BLOCK);

	for (int s = i0 / SLAB; s * SLAB < i1; s++) {
		int a = imax(i0 - s * SLAB, 0);
		int b = (int)round_up(imin(i1 - s * SLAB, SLAB), IN_ALIGN);

		for (int block = 0; block < blocks; block++)
			input_block(l, packed, s, block, a, b, scratch);
		input_finish(l, scratch, s * SLAB + a, imin(s * SLAB + b, l->in) - s * SLAB - a);
	}
}

/* ---- weight gradient ---- */

struct weight_tile {
	float *w; /* TILE_ROWS inputs of each panel */
	size_t w_stride;
	const float *x;	 /* (rows, SLAB) */
	const float *dy; /* (rows, TILE_WIDTH) */
	int rows;
	bool accumulate;
};

INLINE void weight_tile(const struct weight_tile *t, const int inputs, const int panels)
{
	vec sum[TILE_ROWS][TILE_VECS];
	const float *x = t->x, *dy = t->dy;
	float *w = t->w;
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
				__builtin_prefetch(w + (size_t)p * w_stride +
							   (r + 2 * TILE_ROWS) * PANEL,
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
			float *to = w + (size_t)(j / VPP) * w_stride + i * PANEL + (j % VPP) * VL;

			store(to, accumulate ? load(to) + sum[i][j] : sum[i][j]);
		}
	}
}

/* clang-format off */
ALL_SHAPES(weight_tile, weight_tile)
/* clang-format on */

/* Columns [c0, c0 + n) of a view to rows of width, zero-filled. */
INLINE void gather(const struct view *from, int rows, int c0, int n, float *to, const int width)
{
	const float *row = from->data + c0;

	for (int r = 0; r < rows; r++, row += from->stride, to += width) {
		if (n == width) { /* copied in line: this is most of all cases */
			UNROLL
			for (int j = 0; j < width; j += VL)
				store(to + j, load(row + j));
			continue;
		}
		memcpy(to, row, (size_t)n * sizeof(float));
		memset(to + n, 0, (size_t)(width - n) * sizeof(float));
	}
}

static void bias_gradient(const struct linear *l, const float *dy, int o0, int n)
{
	float sums[TILE_WIDTH] = {0};

	if (l->accumulate)
		memcpy(sums, l->bias + o0, (size_t)n * sizeof(float));
	for (int r = 0; r < l->rows; r++)
		for (int j = 0; j < n; j += VL)
			store(sums + j, load(sums + j) + load(dy + (size_t)r * TILE_WIDTH + j));
	memcpy(l->bias + o0, sums, (size_t)n * sizeof(float));
}

static void simd_backward_weight(const struct linear *l, int p0, int p1, float *scratch)
{
	float *x = scratch, *dy = scratch + ROWS_MAX * SLAB;
	int groups = (int)ceil_div(p1 - p0, TILE_PANELS);

	for (int s = 0; s < layout_slabs(l->in); s++) {
		int width = layout_slab_width(l->in, s);
		size_t panel = layout_panel_size(width);
		float *slab = l->weight + layout_slab_offset(l->out, s);

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
				t.w = slab + (size_t)p * panel + (size_t)k * PANEL;
				t.x = x + k;
				weight_tiles[end - p - 1][imin(TILE_ROWS, width - k) - 1](&t);
			}
		}
	}
}

#endif
