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

/* One function per tile shape; a row of the table per number of panels. */
#define SHAPES(name, arg, panels)                          \
	static void name##_1_##panels(const struct arg *t) \
	{                                                  \
		name(t, 1, panels);                        \
	}                                                  \
	static void name##_2_##panels(const struct arg *t) \
	{                                                  \
		name(t, 2, panels);                        \
	}                                                  \
	static void name##_3_##panels(const struct arg *t) \
	{                                                  \
		name(t, 3, panels);                        \
	}
#define SHAPES6(name, arg, panels)                         \
	SHAPES(name, arg, panels)                          \
	static void name##_4_##panels(const struct arg *t) \
	{                                                  \
		name(t, 4, panels);                        \
	}                                                  \
	static void name##_5_##panels(const struct arg *t) \
	{                                                  \
		name(t, 5, panels);                        \
	}                                                  \
	static void name##_6_##panels(const struct arg *t) \
	{                                                  \
		name(t, 6, panels);                        \
	}
#define ROW(name, panels) name##_1_##panels, name##_2_##panels, name##_3_##panels
#define ROW6(name, panels) \
	ROW(name, panels), name##_4_##panels, name##_5_##panels, name##_6_##panels
#if defined(KOLM_AVX512)
#define ALL_SHAPES(name, arg)                                             \
	SHAPES6(name, arg, 1)                                             \
	SHAPES6(name, arg, 2)                                             \
	SHAPES6(name, arg, 3)                                             \
	SHAPES6(name, arg, 4)                                             \
	static void (*const name##s[][TILE_ROWS])(const struct arg *) = { \
		{ROW6(name, 1)}, {ROW6(name, 2)}, {ROW6(name, 3)}, {ROW6(name, 4)}};
#elif TILE_ROWS == 6
#define ALL_SHAPES(name, arg) \
	SHAPES6(name, arg, 1) \
	static void (*const name##s[][TILE_ROWS])(const struct arg *) = {{ROW6(name, 1)}};
#else
#define ALL_SHAPES(name, arg) \
	SHAPES(name, arg, 1)  \
	static void (*const name##s[][TILE_ROWS])(const struct arg *) = {{ROW(name, 1)}};
#endif

#endif
