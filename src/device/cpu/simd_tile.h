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

/* Memory that will be needed soon: lines of PANEL weights. */
struct ahead {
	const char *at;
	size_t stride; /* bytes from panel to panel */
	int lines;     /* per panel */
};

/* n floats to where elements of some type are. */
static void put_as(struct view to, int row, int column, const float *from, int n)
{
	float padded[VL] = {0};
	struct view v = view_from(to, (size_t)row);
	uint16_t *half = (uint16_t *)v.data + column, last[VL];
	int i = 0;

	if (to.type == DTYPE_F32) {
		memcpy(v.data + column, from, (size_t)n * sizeof(float));
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
		memcpy(to, v.data + column, (size_t)n * sizeof(float));
		return;
	}
	for (; i + VL <= n; i += VL)
		store(to + i, from.type == DTYPE_F16 ? load_as(half, (size_t)i, DTYPE_F16)
						     : load_as(half, (size_t)i, DTYPE_BF16));
	for (; i < n; i++)
		to[i] = from.type == DTYPE_F16 ? half_to_float(half[i])
					       : bfloat_to_float(half[i]);
}

/* Rows cut in near-equal tiles; dividing again for every tile would cost too much. */
struct tiling {
	int tiles, size, larger; /* the first `larger` tiles have one row more than size */
};

static struct tiling tile_rows(int rows)
{
	int tiles = (int)ceil_div(rows, TILE_ROWS);

	return (struct tiling){tiles, rows / tiles, rows % tiles};
}

/* One function per tile shape and type of the weights; a row of the table per number of
   panels. */
#define SHAPE(name, arg, type, rows, panels)                               \
	static void name##_##rows##_##panels##_##type(const struct arg *t) \
	{                                                                  \
		name(t, rows, panels, DTYPE_##type);                       \
	}
#define SHAPES(name, arg, type, panels)   \
	SHAPE(name, arg, type, 1, panels) \
	SHAPE(name, arg, type, 2, panels) \
	SHAPE(name, arg, type, 3, panels)
#define SHAPES6(name, arg, type, panels)  \
	SHAPES(name, arg, type, panels)   \
	SHAPE(name, arg, type, 4, panels) \
	SHAPE(name, arg, type, 5, panels) \
	SHAPE(name, arg, type, 6, panels)
#define ROW(name, type, panels) \
	name##_1_##panels##_##type, name##_2_##panels##_##type, name##_3_##panels##_##type
#define ROW6(name, type, panels)                                                         \
	ROW(name, type, panels), name##_4_##panels##_##type, name##_5_##panels##_##type, \
		name##_6_##panels##_##type
#if defined(KOLM_AVX512)
#define SHAPES_OF(name, arg, type)  \
	SHAPES6(name, arg, type, 1) \
	SHAPES6(name, arg, type, 2) \
	SHAPES6(name, arg, type, 3) \
	SHAPES6(name, arg, type, 4)
#define ROWS_OF(name, type)                                                          \
	{                                                                            \
		{ROW6(name, type, 1)}, {ROW6(name, type, 2)}, {ROW6(name, type, 3)}, \
		{                                                                    \
			ROW6(name, type, 4)                                          \
		}                                                                    \
	}
#elif TILE_ROWS == 6
#define SHAPES_OF(name, arg, type) SHAPES6(name, arg, type, 1)
#define ROWS_OF(name, type)                 \
	{                                   \
		{                           \
			ROW6(name, type, 1) \
		}                           \
	}
#else
#define SHAPES_OF(name, arg, type) SHAPES(name, arg, type, 1)
#define ROWS_OF(name, type)                \
	{                                  \
		{                          \
			ROW(name, type, 1) \
		}                          \
	}
#endif
/* name##s[type][panels - 1][rows - 1] */
#define ALL_SHAPES(name, arg)                                                          \
	SHAPES_OF(name, arg, F32)                                                      \
	SHAPES_OF(name, arg, F16)                                                      \
	SHAPES_OF(name, arg, BF16)                                                     \
	static void (*const name##s[][TILE_PANELS][TILE_ROWS])(const struct arg *) = { \
		ROWS_OF(name, F32), ROWS_OF(name, F16), ROWS_OF(name, BF16)};

#endif
