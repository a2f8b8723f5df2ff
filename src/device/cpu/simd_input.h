/*
 * simd_input.h - dx = dy W; part of simd.c.
 *
 * dy is packed in blocks of outputs, [block][rows][stride]. A tile goes through a block and
 * sums across lanes at its end; longer blocks do that less often, but the rows of a tile are
 * to stay in the first cache.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_INPUT_H
#define KOLM_DEVICE_CPU_SIMD_INPUT_H

#include "device/cpu/simd_amx.h"
#include "device/cpu/simd_tile.h"

struct input_tile {
	float *sum;	/* (rows, SLAB), added to unless first */
	const void *dy; /* packed: floats; for pairs bf16 */
	const void *w;
	size_t w_stride;
	int panels;
	bool first;
	struct ahead ahead; /* contiguous: stride unused */
};

/* Two lines, which are 4 inputs by 8 pairs of outputs: see simd_pairs.h. */
INLINE void input_pairs(const struct input_tile *t, const int rows)
{
	vec16 sum[PAIR_ROWS + 3][2];
	const uint16_t *dy = t->dy, *w = t->w;
	const char *ahead = t->ahead.at;
	size_t w_stride = t->w_stride;
	int per_panel = (int)ceil_div(t->ahead.lines, t->panels);
	float *out = t->sum;
	bool first = t->first;

	UNROLL
	for (int r = 0; r < rows + 3; r++)
		sum[r][0] = sum[r][1] = (vec16){0};
	for (int p = t->panels; p > 0; p--, w += w_stride, dy += PANEL) {
		pairs low = load_pairs(w), high = load_pairs(w + (size_t)(2 * PANEL));

		PIN_LINE(low);
		PIN_LINE(high);
		UNROLL
		for (int r = 0; r < rows; r++) {
			pairs gradient = pairs_twice(dy + r * PAIR_STRIDE);

			sum[r][0] = add_products(sum[r][0], gradient, low);
			sum[r][1] = add_products(sum[r][1], gradient, high);
		}
		for (int n = 0; n < per_panel; n++, ahead += LINE)
			__builtin_prefetch(ahead, 0, 2);
	}
	UNROLL
	for (int r = 0; r < rows; r += 4) {
		vec16 four = sum_lines(&sum[r]);

		UNROLL
		for (int k = 0; k < imin(4, rows - r); k++) {
			vec4_any *to = (vec4_any *)(out + (r + k) * SLAB);
			vec4 total = quarter(four, k);

			*to = first ? total : total + (vec4)*to;
		}
	}
}

INLINE void input_floats(const struct input_tile *t, const int rows, const int inputs,
			 const enum dtype type)
{
	vec sum[TILE_ROWS * TILE_INPUTS + 3];
	const float *dy = t->dy;
	const char *w = t->w, *ahead = t->ahead.at;
	size_t w_stride = t->w_stride * dtype_size(type);
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
				weights[i] = load_as(w, (size_t)i * PANEL + (size_t)h, type);
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
		for (int n = 0; n < per_panel; n++, ahead += LINE)
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

INLINE void input_tile(const struct input_tile *t, const int rows, const int inputs,
		       const enum dtype type)
{
	if (PAIRS && type == DTYPE_BF16)
		input_pairs(t, rows);
	else
		input_floats(t, rows, inputs, type);
}

#define ALL_INPUT_SHAPES(F, kernel)  \
	INPUT_SHAPES(F, kernel, F32) \
	INPUT_SHAPES(F, kernel, F16) \
	BFLOAT_SHAPES(PAIR_INPUT_SHAPES(F, kernel, BF16))
TILE_TABLE(input_tile, ALL_INPUT_SHAPES);

/* Inputs [i0, i0 + n) of rows [r, r + rows), whose sums these are, stride apart. */
static void input_finish(const struct linear *l, const float *sums, int stride, int r, int rows,
			 int i0, int n)
{
	for (; rows > 0; rows--, r++, sums += stride)
		put_as(l->x, r, i0, sums, n);
}

/* How output gradients are packed. */
struct packing {
	int block, stride; /* outputs, elements of a row */
	size_t element;	   /* bytes */
};

static struct packing packing_of(const struct linear *l)
{
	if (PAIRS && l->type == DTYPE_BF16)
		return (struct packing){PAIR_BLOCK, PAIR_STRIDE, sizeof(uint16_t)};
	return (struct packing){BLOCK, BLOCK_STRIDE, sizeof(float)};
}

/* Where the block that begins with output o has a row. */
static void *packed_row(const struct linear *l, const struct packed *p, int o, int r)
{
	struct packing k = packing_of(l);
	size_t row = (size_t)((o - p->o0) / k.block) * (size_t)l->rows + (size_t)r;

	return (char *)p->dy + row * (size_t)k.stride * k.element;
}

#if defined(KOLM_AMX)
/* Two panels' inputs [0, n), at most 16, as pairs of outputs, an input in each column; of one
   panel only, if the other is NULL. */
INLINE void mix_outputs(const uint16_t *panel, const uint16_t *other, int n, void *to)
{
	pairs v[16];

	UNROLL
	for (int i = 0; i < 16; i++) {
		hvec16 low = {0}, high = {0};

		if (i < n)
			low = *(const hvec16_any *)(panel + i * PANEL);
		if (i < n && other)
			high = *(const hvec16_any *)(other + i * PANEL);
		v[i] = (pairs)__builtin_shufflevector(
			low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
			18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
	}
	transpose_pairs(v);
	store_tile(v, to);
}

/* Inputs [a, b) of a slab for outputs [o0, o1) of a block, as input_block. */
static void amx_input_block(const struct linear *l, const void *dy, int s, int o0, int o1,
			    int a, int b, float *sums)
{
	int width = layout_slab_width(l->in, s), panels = layout_panels(o1 - o0);
	size_t panel = layout_panel_size(width);
	const uint16_t *w = (const uint16_t *)l->weight + layout_slab_offset(l->out, s) +
			    (size_t)(o0 / PANEL) * panel;
	char *mixed = (char *)(sums + ROWS_MAX * SLAB);
	size_t next = (size_t)PAIR_BLOCK / AMX_CHUNK * AMX_TILE;

	for (int i = a; i < b; i += 2 * PANEL) {
		bool wide = i + PANEL < b;

		for (int k = 0; k < (wide ? 2 : 1); k++) {
			int first = i + k * PANEL, n = imin(PANEL, width - first);
			const uint16_t *from = w + (size_t)(first * PANEL);
			char *to = mixed + (size_t)k * next;

			for (int p = 0; p < panels; p += 2, to += AMX_TILE, from += 2 * panel) {
				const uint16_t *other = p + 1 < panels ? from + panel : NULL;

				if (n == PANEL && other) /* this is most of all cases */
					mix_outputs(from, other, PANEL, to);
				else
					mix_outputs(from, other, n, to);
			}
		}
		amx_multiply_rows(
			(struct amx_product){.a = dy,
					     .a_stride = sizeof(uint16_t) * PAIR_STRIDE,
					     .a_step = AMX_BYTES,
					     .b = mixed,
					     .b_stride = AMX_BYTES,
					     .b_step = AMX_TILE,
					     .b_next = next,
					     .chunks = (int)ceil_div(panels, 2),
					     .c = sums + (i - a),
					     .c_stride = sizeof(float) * SLAB,
					     .first = o0 == 0},
			l->rows, wide);
	}
	if (o1 == l->out)
		input_finish(l, sums, SLAB, 0, l->rows, s * SLAB + a,
			     imin(b, l->in - s * SLAB) - a);
}
#endif

/* Inputs [a, b) of a slab, counted from the slab's start, for outputs [o0, o1) of a block;
   those of the last block go to dx, tile by tile. */
static void input_block(const struct linear *l, const void *dy, int s, int o0, int o1, int a,
			int b, float *sums)
{
	bool is_bf16 = l->type == DTYPE_BF16;
	int inputs = is_bf16 ? PAIR_INPUTS : TILE_INPUTS;
	struct packing k = packing_of(l);
	int width = layout_slab_width(l->in, s), r = 0, size = (int)dtype_size(l->type);
	struct tiling tiling = tile_rows(l->rows, is_bf16 ? PAIR_ROWS : TILE_ROWS);
	size_t panel = layout_panel_size(width);
	size_t w = layout_slab_offset(l->out, s) + (size_t)(o0 / PANEL) * panel;
	struct input_tile t = {
		.dy = dy,
		.w_stride = panel,
		.panels = layout_panels(o1 - o0),
		.first = o0 == 0,
	};
	int first = s * SLAB + a, n = imin(s * SLAB + b, l->in) - first;
	struct target target = {0};

	/* Blocks lie one behind the other in memory, and slabs too. */
	t.ahead.at = weight_place(l, w + (size_t)t.panels * panel);
	if (b - a == width)
		t.ahead.lines = (int)ceil_div(t.panels * (width + SPARE) * PANEL * size,
					      tiling.tiles * (width / inputs) * LINE);
	for (int i = 0; i < tiling.tiles; i++) {
		int rows = tiling.size + (i < tiling.larger);

		if (o1 == l->out)
			target = target_of(l->x, r, rows, first, n);
		for (int i0 = a; i0 < b; i0 += inputs) {
			/* A tile has at most a quarter of a line of every row: this is enough.
			 */
			fetch_target(&target);
			fetch_target(&target);
			fetch_target(&target);
			t.sum = sums + r * SLAB + (i0 - a);
			t.w = weight_place(l, w + (size_t)i0 * PANEL);
			input_tiles[l->type][inputs - 1][rows - 1](&t);
			t.ahead.at += (size_t)t.ahead.lines * LINE;
		}
		if (o1 == l->out)
			input_finish(l, sums + r * SLAB, SLAB, r, rows, first, n);
		t.dy = (const char *)t.dy + (size_t)(rows * k.stride) * k.element;
		r += rows;
	}
}

/* The sums of n inputs from i0 on of every row, from span to span. */
static void move_sums(const struct linear *l, const struct packed *p, int i0, int n,
		      float *sums, int stride, bool out)
{
	for (int r = 0; r < l->rows; r++, sums += stride) {
		float *kept = p->sums + (size_t)r * (size_t)l->in + i0;

		memcpy(out ? kept : sums, out ? sums : kept, (size_t)n * sizeof(float));
	}
}

/* Of any number of rows; see simd_turned.h for where many are multiplied otherwise. */
static void few_backward_input(const struct linear *l, const struct packed *p, int i0, int i1,
			       float *scratch)
{
	int block = packing_of(l).block;
	void (*multiply)(const struct linear *l, const void *dy, int s, int o0, int o1, int a,
			 int b, float *sums) = input_block;

#if defined(KOLM_AMX)
	if (l->type == DTYPE_BF16)
		multiply = amx_input_block;
#endif
	for (int s = i0 / SLAB; s * SLAB < i1; s++) {
		int a = imax(i0 - s * SLAB, 0);
		int b = (int)round_up(imin(i1 - s * SLAB, SLAB), IN_ALIGN);
		int first = s * SLAB + a, n = imin(s * SLAB + b, l->in) - first;

		if (p->o0 > 0)
			move_sums(l, p, first, n, scratch, SLAB, false);
		for (int o = p->o0; o < p->o1; o += block)
			multiply(l, packed_row(l, p, o, 0), s, o, imin(o + block, p->o1), a, b,
				 scratch);
		if (p->o1 < l->out)
			move_sums(l, p, first, n, scratch, SLAB, true);
	}
}

#endif
