/*
 * simd_tile.h - what the matrix products share: the size of a register tile, how rows
 * are cut in tiles, what is fetched ahead; part of simd.c.
 *
 * A register tile is up to TILE_ROWS rows by up to TILE_PANELS panels (forward, weight
 * gradient: one broadcast value times a vector of outputs) or by TILE_INPUTS inputs
 * (input gradient: dot products over the outputs, summed across lanes at the end).
 * Weights that the next tiles will want are prefetched a little at a time while this
 * one is computed.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_TILE_H
#define KOLM_DEVICE_CPU_SIMD_TILE_H

#include "device/cpu/kernels.h"
#include "device/cpu/layout.h"
#include "device/cpu/simd_pairs.h"

#include <string.h>

#if defined(KOLM_AVX512) || defined(KOLM_EMULATED) /* 32 registers of 16 */
enum { TILE_ROWS = 6, TILE_PANELS = 4, TILE_INPUTS = 4 };
enum { TALL_ROWS = 8, TALL_PANELS = 3 };
#elif defined(KOLM_AVX2)   /* 16 registers of 8 */
enum { TILE_ROWS = 6, TILE_PANELS = 1, TILE_INPUTS = 2 };
enum { TALL_ROWS = TILE_ROWS, TALL_PANELS = TILE_PANELS };
#elif defined(__aarch64__) /* 32 registers of 4 */
enum { TILE_ROWS = 6, TILE_PANELS = 1, TILE_INPUTS = 4 };
enum { TALL_ROWS = TILE_ROWS, TALL_PANELS = TILE_PANELS };
#else			   /* 16 registers of 4 */
enum { TILE_ROWS = 3, TILE_PANELS = 1, TILE_INPUTS = 4 };
enum { TALL_ROWS = TILE_ROWS, TALL_PANELS = TILE_PANELS };
#endif

enum {
	VPP = PANEL / VL, /* vectors per panel */
	TILE_VECS = TILE_PANELS * VPP,
	TILE_WIDTH = TILE_PANELS * PANEL,
	PAIR_ROWS = PAIRS ? 12 : TILE_ROWS, /* of a tile of the input gradient in pairs ... */
	PAIR_INPUTS = PAIRS ? 4 : TILE_INPUTS, /* ... and its inputs */
	ROWS_IN_TILE = PAIR_ROWS > TALL_ROWS ? PAIR_ROWS : TALL_ROWS,
	PAIR_BLOCK = 768,		    /* outputs of a block of packed bf16 ... */
	PAIR_STRIDE = 800,		    /* ... and a row of it: an odd number of lines */
	COLUMNS_MAX = 4,		    /* of any tile: panels or inputs */
	LINE = LINE_FLOATS * sizeof(float), /* bytes of a cache line */
};

/* Memory that will be needed soon. */
struct ahead {
	const char *at;
	size_t stride, slab; /* bytes from panel to panel, from slab to slab */
	int slabs;
	int lines; /* cache lines of each panel */
};

/* Rows that a tile's results will go to, and those of a twin that lies elsewhere; fetched a
   line at a time while it is computed, so that writing them does not wait for the memory. */
struct target {
	const char *at;
	size_t stride, line; /* bytes of a row, and of what is fetched of it so far */
	ptrdiff_t twin;	     /* from each place to the other's; 0: there is none */
	size_t width;	     /* bytes of each row */
	int rows;	     /* left */
};

static struct target target_of(struct view v, int r, int rows, int column, int n)
{
	size_t size = dtype_size(v.type);

	return (struct target){
		.at = (const char *)view_from(v, (size_t)r).data + (size_t)column * size,
		.stride = v.stride * size,
		.width = (size_t)n * size,
		.rows = rows,
	};
}

INLINE void fetch_target(struct target *t)
{
	if (!t->rows)
		return;
	__builtin_prefetch(t->at + t->line, 1, 3);
	if (t->twin)
		__builtin_prefetch(t->at + t->line + t->twin, 1, 3);
	t->line += LINE;
	if (t->line >= t->width) {
		t->line = 0;
		t->at += t->stride;
		t->rows--;
	}
}

/* In line: most are short, and a call takes longer. */
INLINE void copy_floats(float *to, const float *from, int n)
{
	int i = 0;

	for (; i + VL <= n; i += VL)
		store(to + i, load(from + i));
	for (; i < n; i++)
		to[i] = from[i];
}

/* n floats to where elements of some type are. */
static void put_as(struct view to, int row, int column, const float *from, int n)
{
	float padded[VL] = {0};
	struct view v = view_from(to, (size_t)row);
	uint16_t *half = (uint16_t *)v.data + column, last[VL];
	int i = 0;

	if (to.type == DTYPE_F32) {
		copy_floats((float *)v.data + column, from, n);
		return;
	}
	for (; i + VL <= n; i += VL) {
		if (to.type == DTYPE_F16)
			store_as(half, (size_t)i, load(from + i), DTYPE_F16);
		else
			store_as(half, (size_t)i, load(from + i), DTYPE_BF16);
	}
	if (i == n)
		return;
	memcpy(padded, from + i, (size_t)(n - i) * sizeof(float));
	if (to.type == DTYPE_F16)
		store_as(last, 0, load(padded), DTYPE_F16);
	else
		store_as(last, 0, load(padded), DTYPE_BF16);
	memcpy(half + i, last, (size_t)(n - i) * sizeof(*last));
}

/* And from there. */
static void get_as(struct view from, int row, int column, float *to, int n)
{
	struct view v = view_from(from, (size_t)row);
	const uint16_t *half = (const uint16_t *)v.data + column;
	int i = 0;

	if (from.type == DTYPE_F32) {
		copy_floats(to, (const float *)v.data + column, n);
		return;
	}
	for (; i + VL <= n; i += VL)
		store(to + i, from.type == DTYPE_F16 ? load_as(half, (size_t)i, DTYPE_F16)
						     : load_as(half, (size_t)i, DTYPE_BF16));
	for (; i < n; i++)
		to[i] = from.type == DTYPE_F16 ? half_to_float(half[i])
					       : bfloat_to_float(half[i]);
}

/* Columns [c0, c0 + n) of a view to rows of width, zero-filled, that are stride apart. */
INLINE void gather_as(const struct view *from, int rows, int c0, int n, float *to,
		      const int width, const int stride, const enum dtype type)
{
	const char *row = (const char *)from->data + (size_t)c0 * dtype_size(type);

	for (int r = 0; r < rows; r++, row += from->stride * dtype_size(type), to += stride) {
		if (n == width) { /* copied in line: this is most of all cases */
			UNROLL
			for (int j = 0; j < width; j += VL)
				store(to + j, load_as(row, (size_t)j, type));
			continue;
		}
		get_as(*from, r, c0, to, n);
		memset(to + n, 0, (size_t)(width - n) * sizeof(float));
	}
}

INLINE void gather(const struct view *from, int rows, int c0, int n, float *to, const int width,
		   const int stride)
{
	if (from->type == DTYPE_F32)
		gather_as(from, rows, c0, n, to, width, stride, DTYPE_F32);
	else if (from->type == DTYPE_F16)
		gather_as(from, rows, c0, n, to, width, stride, DTYPE_F16);
	else
		gather_as(from, rows, c0, n, to, width, stride, DTYPE_BF16);
}

/* Floats as bf16 has them: in a product of bf16 both factors are. */
static void round_floats(float *values, size_t n)
{
	for (size_t i = 0; i < n; i += VL) {
		hvec rounded = bfloats_from(load(values + i));

		store(values + i, load_as(&rounded, 0, DTYPE_BF16));
	}
}

/* Columns [c0, c0 + n) of a row as bf16, zero-filled up to width. */
static void gather_row(const struct view *from, int row, int c0, int n, uint16_t *to, int width)
{
	struct view to_view = {to, 0, DTYPE_BF16};
	const uint16_t *half = (const uint16_t *)view_from(*from, (size_t)row).data + c0;
	float values[PAIR_BLOCK];

	if (from->type == DTYPE_BF16) {
		int i = 0;

		for (; i + 2 * LANES <= n; i += 2 * LANES)
			*(pairs_any *)(to + i) = load_pairs(half + i);
		memcpy(to + i, half + i, (size_t)(n - i) * sizeof(*to));
	} else {
		get_as(*from, row, c0, values, n);
		put_as(to_view, 0, 0, values, n);
	}
	memset(to + n, 0, (size_t)(width - n) * sizeof(*to));
}

/* The same of all rows, two of them interleaved; a last one that is alone with zeros. */
INLINE void gather_pairs(const struct view *from, int rows, int c0, int n, uint32_t *to,
			 const int width, const int stride)
{
	uint16_t copy[2][SLAB] = {{0}};

	for (int r = 0; r < rows; r += 2, to += stride) {
		struct view v = view_at(view_from(*from, (size_t)r), c0);
		const uint16_t *low = v.data, *high = low + from->stride;

		if (from->type != DTYPE_BF16 || n < width || r + 1 == rows) {
			gather_row(from, r, c0, n, copy[0], width);
			if (r + 1 < rows)
				gather_row(from, r + 1, c0, n, copy[1], width);
			else
				memset(copy[1], 0, sizeof(copy[1]));
			low = copy[0];
			high = copy[1];
		}
		UNROLL
		for (int j = 0; j < width; j += LANES)
			*(pairs_any *)(to + j) = interleave(low + j, high + j);
	}
}

/* Rows cut in near-equal tiles; dividing again for every tile would cost too much. */
struct tiling {
	int tiles, size, larger; /* the first `larger` tiles have one row more than size */
};

static struct tiling tile_rows(int rows, int most)
{
	int tiles = (int)ceil_div(rows, most);

	return (struct tiling){tiles, rows / tiles, rows % tiles};
}

/*
 * One function per tile shape and type of the weights. A list of shapes names its macro F
 * with rows, kernel, columns (panels or inputs) and type; F makes the function, or its
 * entry of the table kernel##s[type][columns - 1][rows - 1].
 */
#define TILE_FUNCTION(rows, kernel, columns, type)                               \
	static void kernel##_##rows##_##columns##_##type(const struct kernel *t) \
	{                                                                        \
		kernel(t, rows, columns, DTYPE_##type);                          \
	}
#define TILE_ENTRY(rows, kernel, columns, type) \
	[DTYPE_##type][(columns)-1][(rows)-1] = kernel##_##rows##_##columns##_##type,
#define TILE_TABLE(kernel, shapes)                                      \
	shapes(TILE_FUNCTION, kernel) static void (                     \
			*const kernel##s[][COLUMNS_MAX][ROWS_IN_TILE])( \
		const struct kernel *) = {shapes(TILE_ENTRY, kernel)}

#define ROWS_TO_3(F, ...) F(1, __VA_ARGS__) F(2, __VA_ARGS__) F(3, __VA_ARGS__)
#define ROWS_TO_6(F, ...) \
	ROWS_TO_3(F, __VA_ARGS__) F(4, __VA_ARGS__) F(5, __VA_ARGS__) F(6, __VA_ARGS__)
#define ROWS_TO_8(F, ...) ROWS_TO_6(F, __VA_ARGS__) F(7, __VA_ARGS__) F(8, __VA_ARGS__)
#define ROWS_TO_12(F, ...)        \
	ROWS_TO_8(F, __VA_ARGS__) \
	F(9, __VA_ARGS__) F(10, __VA_ARGS__) F(11, __VA_ARGS__) F(12, __VA_ARGS__)

#if defined(KOLM_AVX512) || defined(KOLM_EMULATED)
#define WIDE_SHAPES(F, kernel, type)  \
	ROWS_TO_6(F, kernel, 1, type) \
	ROWS_TO_6(F, kernel, 2, type) \
	ROWS_TO_6(F, kernel, 3, type) ROWS_TO_6(F, kernel, 4, type)
#define TALL_SHAPES(F, kernel, type)  \
	ROWS_TO_8(F, kernel, 1, type) \
	ROWS_TO_8(F, kernel, 2, type) ROWS_TO_8(F, kernel, 3, type)
#define INPUT_SHAPES(F, kernel, type) ROWS_TO_6(F, kernel, 4, type)
#elif defined(KOLM_AVX2)
#define WIDE_SHAPES(F, kernel, type)  ROWS_TO_6(F, kernel, 1, type)
#define TALL_SHAPES		      WIDE_SHAPES
#define INPUT_SHAPES(F, kernel, type) ROWS_TO_6(F, kernel, 2, type)
#elif defined(__aarch64__)
#define WIDE_SHAPES(F, kernel, type)  ROWS_TO_6(F, kernel, 1, type)
#define TALL_SHAPES		      WIDE_SHAPES
#define INPUT_SHAPES(F, kernel, type) ROWS_TO_6(F, kernel, 4, type)
#else
#define WIDE_SHAPES(F, kernel, type)  ROWS_TO_3(F, kernel, 1, type)
#define TALL_SHAPES		      WIDE_SHAPES
#define INPUT_SHAPES(F, kernel, type) ROWS_TO_3(F, kernel, 4, type)
#endif

#if defined(KOLM_AMX) /* all products of bf16 are there: see simd_amx.h */
#define BFLOAT_SHAPES(...)
#else
#define BFLOAT_SHAPES(...) __VA_ARGS__
#endif

#if defined(KOLM_AVX512BF16) || defined(KOLM_EMULATED)
#define PAIR_INPUT_SHAPES(F, kernel, type) ROWS_TO_12(F, kernel, 4, type)
#else
#define PAIR_INPUT_SHAPES INPUT_SHAPES
#endif

#endif
