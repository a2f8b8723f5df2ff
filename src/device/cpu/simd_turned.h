/*
 * simd_turned.h - dx = dy W of many rows; part of simd.c.
 *
 * Blocks of weights are turned, so that 16 inputs are side by side, and multiplied as forward
 * multiplies: nothing is summed across lanes, and floats of dy are read where they are. Many
 * rows share what turning takes; for few of them simd_input.h is faster.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_TURNED_H
#define KOLM_DEVICE_CPU_SIMD_TURNED_H

#include "device/cpu/simd_forward.h"
#include "device/cpu/simd_input.h"

enum {
	SQUARE = PANEL * PANEL,
	TURNED_PANEL = (BLOCK + SPARE) * PANEL, /* elements of 16 inputs of a block */
};

/* Whether that product is computed here. */
static bool turns(const struct linear *l)
{
#if defined(KOLM_AVX512)
	return l->rows >= MANY_ROWS && !(PAIRS && l->type == DTYPE_BF16);
#else
	(void)l;
	return false;
#endif
}

/* Whether dy is multiplied where it is; otherwise it is packed. */
static bool multiplies_in_place(const struct linear *l)
{
	return turns(l) && l->y.type == DTYPE_F32;
}

#if defined(KOLM_AVX512)
/* Four inputs, 4 apart, of four outputs. */
INLINE __m512 four_inputs(const float *from)
{
	__m512 v = _mm512_castps128_ps512(_mm_loadu_ps(from));

	v = _mm512_insertf32x4(v, _mm_loadu_ps(from + (size_t)(4 * PANEL)), 1);
	v = _mm512_insertf32x4(v, _mm_loadu_ps(from + (size_t)(8 * PANEL)), 2);
	return _mm512_insertf32x4(v, _mm_loadu_ps(from + (size_t)(12 * PANEL)), 3);
}

/* 16 inputs of 16 outputs each become 16 outputs of 16 inputs. */
INLINE void turn_floats(const float *from, float *to)
{
	UNROLL
	for (int o = 0; o < PANEL; o += 4, from += 4, to += (size_t)(4 * PANEL)) {
		__m512 a = four_inputs(from), b = four_inputs(from + PANEL);
		__m512 c = four_inputs(from + (size_t)(2 * PANEL));
		__m512 d = four_inputs(from + (size_t)(3 * PANEL));
		__m512d ab = (__m512d)_mm512_unpacklo_ps(a, b);
		__m512d cd = (__m512d)_mm512_unpacklo_ps(c, d);
		__m512d upper_ab = (__m512d)_mm512_unpackhi_ps(a, b);
		__m512d upper_cd = (__m512d)_mm512_unpackhi_ps(c, d);

		store(to, (vec)_mm512_unpacklo_pd(ab, cd));
		store(to + PANEL, (vec)_mm512_unpackhi_pd(ab, cd));
		store(to + (size_t)(2 * PANEL), (vec)_mm512_unpacklo_pd(upper_ab, upper_cd));
		store(to + (size_t)(3 * PANEL), (vec)_mm512_unpackhi_pd(upper_ab, upper_cd));
	}
}

/* The same of weights of any type, of which the first n inputs are there. */
static void turn_square(const struct linear *l, size_t at, int n, float *to)
{
	const void *w = weight_place(l, at);
	float square[SQUARE];

	if (l->type == DTYPE_F32 && n == PANEL) {
		turn_floats(w, to);
		return;
	}
	get_as((struct view){(void *)(uintptr_t)w, 0, l->type}, 0, 0, square, n * PANEL);
	memset(square + n * PANEL, 0, (size_t)(SQUARE - n * PANEL) * sizeof(float));
	turn_floats(square, to);
}

/* Inputs of up to TILE_PANELS panels from i on, for outputs [o0, o1). */
struct turned_block {
	int i, panels, o0, o1;
};

/* Where 16 inputs of a block begin; input i is the first of them. */
static size_t block_place(const struct linear *l, const struct turned_block *b, int i)
{
	size_t panel = layout_panel_size(layout_slab_width(l->in, i / SLAB));

	return layout_slab_offset(l->out, i / SLAB) + (size_t)(b->o0 / PANEL) * panel +
	       (size_t)(i % SLAB * PANEL);
}

static void turn_weights(const struct linear *l, const struct turned_block *b, float *to)
{
	for (int p = 0; p < b->panels; p++, to += TURNED_PANEL) {
		int i = b->i + p * PANEL, width = layout_slab_width(l->in, i / SLAB);
		size_t at = block_place(l, b, i);

		for (int o = b->o0; o < b->o1; o += PANEL, at += layout_panel_size(width))
			turn_square(l, at, imin(PANEL, width - i % SLAB),
				    to + (size_t)((o - b->o0) * PANEL));
	}
}

/* dy of a block's outputs. */
static struct view block_gradients(const struct linear *l, const struct packed *p, int o)
{
	if (multiplies_in_place(l))
		return view_at(l->y, o);
	return (struct view){packed_row(l, p, o, 0), BLOCK_STRIDE, DTYPE_F32};
}

/* All rows of a block, which is turned; the last one's go to dx. Every tile fetches a panel of
   the next block's weights: most of them, if there are 128 rows. */
static void turned_rows(const struct linear *l, const struct packed *p,
			const struct turned_block *b, const struct turned_block *next,
			const float *turned, float *sums)
{
	struct tiling tiling = tile_rows(l->rows, TILE_ROWS);
	struct view dy = block_gradients(l, p, b->o0);
	size_t size = dtype_size(l->type);
	int n = imin(b->panels * PANEL, l->in - b->i), r = 0;
	struct forward_tile t = {
		.w = turned,
		.w_stride = TURNED_PANEL,
		.x_stride = dy.stride,
		.slabs = 1,
		.width = b->o1 - b->o0,
		.first = b->o0 == 0,
		.ahead = {.at = weight_place(l, block_place(l, next, next->i)),
			  .stride = SQUARE * size,
			  .lines = (int)(SQUARE * size / LINE)},
	};
	size_t panel = layout_panel_size(layout_slab_width(l->in, next->i / SLAB)) * size;

	for (int i = 0; i < tiling.tiles; i++) {
		int rows = tiling.size + (i < tiling.larger);

		t.sum = sums + r * TILE_WIDTH;
		t.x = view_from(dy, (size_t)r).data;
		t.ahead.slabs = next->o0 + i * PANEL < next->o1;
		if (b->o1 == l->out)
			t.target = target_of(l->x, r, rows, b->i, n);
		forward_tiles[DTYPE_F32][b->panels - 1][rows - 1](&t);
		if (b->o1 == l->out)
			input_finish(l, t.sum, TILE_WIDTH, r, rows, b->i, n);
		t.ahead.at += panel;
		r += rows;
	}
}

static void turned_backward_input(const struct linear *l, const struct packed *p, int i0,
				  int i1, float *scratch)
{
	float *sums = scratch, *turned = scratch + ROWS_MAX * TILE_WIDTH;
	struct turned_block b, next = {.i = i0, .o0 = p->o0};

	for (b = next; b.i < i1; b = next) {
		int n = imin(TILE_WIDTH, i1 - b.i);
		bool last;

		b.panels = (int)ceil_div(n, PANEL);
		b.o1 = imin(b.o0 + BLOCK, p->o1);
		last = b.o1 == p->o1;
		next = (struct turned_block){.i = last ? b.i + TILE_WIDTH : b.i,
					     .o0 = last ? p->o0 : b.o1};
		next.o1 = next.i < i1 ? imin(next.o0 + BLOCK, p->o1) : next.o0;
		if (b.o0 == p->o0 && p->o0 > 0)
			move_sums(l, p, b.i, n, sums, TILE_WIDTH, false);
		turn_weights(l, &b, turned);
		turned_rows(l, p, &b, &next, turned, sums);
		if (last && p->o1 < l->out)
			move_sums(l, p, b.i, n, sums, TILE_WIDTH, true);
	}
}
#endif

static void simd_backward_input(const struct linear *l, const struct packed *p, int i0, int i1,
				float *scratch)
{
#if defined(KOLM_AVX512)
	if (turns(l)) {
		turned_backward_input(l, p, i0, i1, scratch);
		return;
	}
#endif
	few_backward_input(l, p, i0, i1, scratch);
}

#endif
