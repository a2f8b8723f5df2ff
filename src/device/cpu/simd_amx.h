/*
 * simd_amx.h - products of bf16 by AMX, for CPUs that have it; part of simd.c.
 *
 * A tile register has 16 rows of 64 bytes. One instruction multiplies A, 16 rows of 32 values
 * of bf16, by B, 16 pairs of values by 16 columns, and adds that to C, 16 x 16 floats. Values
 * of even and of odd number are summed apart, from zero, and both sums are added to C: a row's
 * bits do not depend on its neighbours. Four C at a time, 2 x 2, need two A and two B.
 *  - forward: A are rows of x as they lie there, B lines of weights as pairs of inputs;
 *  - input gradient: A are rows of packed dy, B 16 inputs by pairs of outputs, transposed;
 *  - weight gradient: A are 16 inputs by pairs of rows, transposed, B pairs of rows of dy.
 *
 * Weights keep the one layout (layout.h): what B wants is made of them, a few panels at a time,
 * in the thread's memory. KOLM_EMULATED has the same code with registers and instructions
 * written out, so that it is tested on CPUs which do not have them.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_AMX_H
#define KOLM_DEVICE_CPU_SIMD_AMX_H

#include "device/cpu/simd_tile.h"

#include <string.h>

#if defined(KOLM_AMX)
enum { AMX = 1 };
#else
enum { AMX = 0 };
#endif

enum {
	AMX_ROWS = 16,	/* of a register */
	AMX_BYTES = 64, /* of a row */
	AMX_CHUNK = 32, /* values of bf16 that one instruction multiplies in each row */
	AMX_TILE = AMX_ROWS * AMX_BYTES,
	AMX_DEPTH = 4 * SLAB, /* inputs that forward takes at a time */
};

/* Registers: C by rows and columns, A by rows, B by columns. They have to be constants. */
#define C00 0
#define C01 1
#define C10 2
#define C11 3
#define A0  4
#define A1  5
#define B0  6
#define B1  7

#if defined(KOLM_AMX)

struct amx_shape {
	uint8_t palette, start, reserved[14];
	uint16_t bytes[16]; /* of a row of each register */
	uint8_t rows[16];
} __attribute__((aligned(64)));

#if !defined(KOLM_EMULATED)
/* Written out: gcc's own names 8 of its 64 bytes, and leaves the others out. */
#define AMX_CONFIGURE(shape)	  __asm__ volatile("ldtilecfg %0" ::"m"(*(shape)))
#define AMX_RELEASE()		  _tile_release()
#define AMX_ZERO(t)		  _tile_zero(t)
#define AMX_LOAD(t, from, stride) _tile_loadd(t, from, stride)
#define AMX_STORE(t, to, stride)  _tile_stored(t, to, stride)
#define AMX_DOT(c, a, b)	  _tile_dpbf16ps(c, a, b)
/* The instructions above do not tell the compiler which memory they read and write. */
#define AMX_FENCE()		  __asm__ volatile("" ::: "memory")
#else
static _Thread_local struct {
	struct amx_shape shape;
	uint32_t value[8][AMX_ROWS][AMX_BYTES / 4];
} amx;
#define AMX_CONFIGURE(s)	  (amx.shape = *(s))
#define AMX_RELEASE()		  memset(&amx.shape, 0, sizeof(amx.shape))
#define AMX_ZERO(t)		  memset(amx.value[t], 0, sizeof(amx.value[t]))
#define AMX_LOAD(t, from, stride) amx_load(t, from, stride)
#define AMX_STORE(t, to, stride)  amx_store(t, to, stride)
#define AMX_DOT(c, a, b)	  amx_dot(c, a, b)
#define AMX_FENCE()		  ((void)0)

static void amx_load(int t, const void *from, size_t stride)
{
	AMX_ZERO(t);
	for (int r = 0; r < amx.shape.rows[t]; r++)
		memcpy(amx.value[t][r], (const char *)from + (size_t)r * stride,
		       amx.shape.bytes[t]);
}

static void amx_store(int t, void *to, size_t stride)
{
	for (int r = 0; r < amx.shape.rows[t]; r++)
		memcpy((char *)to + (size_t)r * stride, amx.value[t][r], amx.shape.bytes[t]);
}

static void amx_dot(int c, int a, int b)
{
	for (int r = 0; r < amx.shape.rows[c]; r++) {
		vec16 odd = {0}, even = {0}, sum;

		for (int k = 0; k < AMX_ROWS; k++) {
			pairs x = amx.value[a][r][k] - (pairs){0}, y;

			memcpy(&y, amx.value[b][k], sizeof(y));
			even = flush(even + flush((vec16)(x << 16)) * flush((vec16)(y << 16)));
			odd = flush(odd + flush((vec16)(x & 0xffff0000)) *
						  flush((vec16)(y & 0xffff0000)));
		}
		memcpy(&sum, amx.value[c][r], sizeof(sum));
		sum = flush(flush(sum) + flush(even + odd));
		memcpy(amx.value[c][r], &sum, sizeof(sum));
	}
}
#endif

/* The first and the second tile of a product have so many rows; the second may have none. */
static void amx_configure(int rows)
{
	uint8_t first = (uint8_t)imin(rows, AMX_ROWS);
	uint8_t second = (uint8_t)imax(1, rows - AMX_ROWS);
	struct amx_shape shape = {
		.palette = 1,
		.rows = {[C00] = first,
			 [C01] = first,
			 [A0] = first,
			 [C10] = second,
			 [C11] = second,
			 [A1] = second,
			 [B0] = AMX_ROWS,
			 [B1] = AMX_ROWS},
	};

	for (int t = 0; t < 8; t++)
		shape.bytes[t] = AMX_BYTES;
	AMX_CONFIGURE(&shape);
}

/* Up to 32 rows by up to 32 columns of C: overwritten if first, else added to. Strides in
   bytes; a tile's successor for the next chunk is a step away. */
struct amx_product {
	const void *a, *b;
	size_t a_stride, a_step, a_next; /* next: from the first tile of rows to the second */
	size_t b_stride, b_step, b_next;
	int chunks;
	float *c; /* of 16 columns, the next 16 beside them */
	size_t c_stride;
	bool first;
};

INLINE void amx_multiply_tiles(const struct amx_product *m, const bool tall, const bool wide)
{
	const char *a = m->a, *b = m->b, *a1 = a + m->a_next, *b1 = b + m->b_next;
	float *c = m->c, *below = (float *)((char *)c + AMX_ROWS * m->c_stride);

	AMX_FENCE();
	if (m->first) {
		AMX_ZERO(C00);
		if (wide)
			AMX_ZERO(C01);
		if (tall)
			AMX_ZERO(C10);
		if (tall && wide)
			AMX_ZERO(C11);
	} else {
		AMX_LOAD(C00, c, m->c_stride);
		if (wide)
			AMX_LOAD(C01, c + PANEL, m->c_stride);
		if (tall)
			AMX_LOAD(C10, below, m->c_stride);
		if (tall && wide)
			AMX_LOAD(C11, below + PANEL, m->c_stride);
	}
	for (int i = m->chunks; i > 0; i--) {
		AMX_LOAD(A0, a, m->a_stride);
		AMX_LOAD(B0, b, m->b_stride);
		AMX_DOT(C00, A0, B0);
		if (wide) {
			AMX_LOAD(B1, b1, m->b_stride);
			AMX_DOT(C01, A0, B1);
		}
		if (tall) {
			AMX_LOAD(A1, a1, m->a_stride);
			AMX_DOT(C10, A1, B0);
		}
		if (tall && wide)
			AMX_DOT(C11, A1, B1);
		a += m->a_step;
		a1 += m->a_step;
		b += m->b_step;
		b1 += m->b_step;
	}
	AMX_STORE(C00, c, m->c_stride);
	if (wide)
		AMX_STORE(C01, c + PANEL, m->c_stride);
	if (tall)
		AMX_STORE(C10, below, m->c_stride);
	if (tall && wide)
		AMX_STORE(C11, below + PANEL, m->c_stride);
	AMX_FENCE();
}

static void amx_multiply(const struct amx_product *m, bool tall, bool wide)
{
	if (tall && wide)
		amx_multiply_tiles(m, true, true);
	else if (tall)
		amx_multiply_tiles(m, true, false);
	else if (wide)
		amx_multiply_tiles(m, false, true);
	else
		amx_multiply_tiles(m, false, false);
}

/* The same for any number of rows, 32 at a time. */
static void amx_multiply_rows(struct amx_product m, int rows, bool wide)
{
	size_t both = 2 * AMX_ROWS;

	m.a_next = AMX_ROWS * m.a_stride;
	if (rows >= (int)both)
		amx_configure((int)both);
	for (; rows > 0; rows -= (int)both) {
		if (rows < (int)both)
			amx_configure(rows);
		amx_multiply(&m, rows > AMX_ROWS, wide);
		m.a = (const char *)m.a + both * m.a_stride;
		m.c = (float *)((char *)m.c + both * m.c_stride);
	}
	AMX_RELEASE();
}

/* ---- operands ---- */

/* 16 x 16 pairs, rows and columns exchanged. */
INLINE void transpose_pairs(pairs *v)
{
	pairs t[16], u[16];

	UNROLL
	for (int i = 0; i < 16; i += 2) {
		t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8,
					       24, 9, 25, 12, 28, 13, 29);
		t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 2, 18, 3, 19, 6, 22, 7, 23,
						   10, 26, 11, 27, 14, 30, 15, 31);
	}
	/* u[4 g + j]: rows 4 g to 4 g + 3 of columns j, 4 + j, 8 + j, 12 + j */
#define LOWER(x, y) \
	__builtin_shufflevector(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define UPPER(x, y)                                                                           \
	__builtin_shufflevector(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, \
				31)
	UNROLL
	for (int g = 0; g < 16; g += 4) {
		u[g] = LOWER(t[g], t[g + 2]);
		u[g + 1] = UPPER(t[g], t[g + 2]);
		u[g + 2] = LOWER(t[g + 1], t[g + 3]);
		u[g + 3] = UPPER(t[g + 1], t[g + 3]);
	}
#undef LOWER
#undef UPPER
#define FIRST_HALVES(x, y) \
	__builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23)
#define LAST_HALVES(x, y)                                                                   \
	__builtin_shufflevector(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, \
				30, 31)
#define EVEN_QUARTERS(x, y) \
	__builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define ODD_QUARTERS(x, y)                                                                    \
	__builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, \
				31)
	UNROLL
	for (int j = 0; j < 4; j++) {
		pairs x0 = FIRST_HALVES(u[j], u[4 + j]), x1 = LAST_HALVES(u[j], u[4 + j]);
		pairs y0 = FIRST_HALVES(u[8 + j], u[12 + j]);
		pairs y1 = LAST_HALVES(u[8 + j], u[12 + j]);

		v[j] = EVEN_QUARTERS(x0, y0);
		v[4 + j] = ODD_QUARTERS(x0, y0);
		v[8 + j] = EVEN_QUARTERS(x1, y1);
		v[12 + j] = ODD_QUARTERS(x1, y1);
	}
#undef FIRST_HALVES
#undef LAST_HALVES
#undef EVEN_QUARTERS
#undef ODD_QUARTERS
}

INLINE void store_tile(const pairs *v, void *to)
{
	UNROLL
	for (int i = 0; i < 16; i++)
		((pairs_any *)to)[i] = v[i];
}

#endif
#endif
