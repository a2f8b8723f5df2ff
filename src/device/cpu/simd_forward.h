/* simd_forward.h - y = act(x W' + b); part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_FORWARD_H
#define KOLM_DEVICE_CPU_SIMD_FORWARD_H

#include "device/cpu/simd_amx.h"
#include "device/cpu/simd_finish.h"
#include "device/cpu/simd_tile.h"

/* Slabs that a tile goes through before its sums go to memory. */
enum { FORWARD_SLABS = 4 };

struct forward_tile {
	float *sum;	 /* (rows, TILE_WIDTH), added to unless first */
	const void *x;	 /* floats; for pairs bf16 */
	size_t x_stride; /* with 16-bit weights SLAB: see slab_inputs */
	const void *w;
	size_t w_stride, w_slab; /* elements from panel to panel, from slab to slab */
	int slabs, width;	 /* and inputs of each */
	bool first;
	struct ahead ahead;
	struct target target; /* of no rows, if sums are not the last */
};

/* One input of every row, times its weights. */
INLINE void forward_input(vec (*sum)[TILE_VECS], const float *const *x, const void *w,
			  size_t at, size_t w_stride, int i, const int rows, const int panels,
			  const enum dtype type)
{
	vec weights[TILE_VECS];

	UNROLL
	for (int j = 0; j < panels * VPP; j++) {
		weights[j] =
			load_as(w, at + (size_t)(j / VPP) * w_stride + (j % VPP) * VL, type);
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

/* Cache lines that the next tiles want, as many at every fourth input. */
INLINE const char *fetch_ahead(const char *at, int lines, size_t stride, const int panels)
{
	for (int n = 0; n < lines; n++, at += LINE) {
		UNROLL
		for (int p = 0; p < panels; p++)
			__builtin_prefetch(at + (size_t)p * stride, 0, 2);
	}
	return at;
}

/* Two inputs at a time: see simd_pairs.h. What is beyond the last input is zero. */
INLINE void forward_pairs(const struct forward_tile *t, const int rows, const int panels)
{
	vec16 sum[TALL_ROWS][TALL_PANELS];
	const uint16_t *x = t->x, *w = t->w;
	const char *ahead = t->ahead.at;
	const char *end = ahead + (t->ahead.slabs ? t->ahead.lines * LINE : 0);
	float *out = t->sum;
	bool first = t->first;
	size_t w_stride = t->w_stride, ahead_stride = t->ahead.stride;
	int per_step = (int)ceil_div(t->ahead.lines, SLAB / 4), width = t->width;

	UNROLL
	for (int r = 0; r < rows; r++) {
		UNROLL
		for (int p = 0; p < panels; p++)
			sum[r][p] = (vec16){0};
	}
	for (int i = 0; i < width; i += 2, x += 2, w += (size_t)(2 * PANEL)) {
		pairs weights[TALL_PANELS];

		if (i % 4 == 0 && ahead < end)
			ahead = fetch_ahead(ahead, per_step, ahead_stride, panels);
		UNROLL
		for (int p = 0; p < panels; p++) {
			weights[p] = pairs_of_inputs(w + (size_t)p * w_stride);
			PIN_LINE(weights[p]);
		}
		UNROLL
		for (int r = 0; r < rows; r++) {
			pairs values = splat_pair(x + r * SLAB);

			UNROLL
			for (int p = 0; p < panels; p++)
				sum[r][p] = add_products(sum[r][p], values, weights[p]);
		}
	}
	UNROLL
	for (int r = 0; r < rows; r++) {
		UNROLL
		for (int p = 0; p < panels; p++) {
			vec16_any *to = (vec16_any *)(out + r * TILE_WIDTH + p * PANEL);

			*to = first ? sum[r][p] : (vec16)*to + sum[r][p];
		}
	}
}

INLINE void forward_floats(const struct forward_tile *t, const int rows, const int panels,
			   const enum dtype type)
{
	vec sum[TALL_ROWS][TILE_VECS];
	const float *x[TALL_ROWS];
	float *out = t->sum;
	bool first = t->first;
	size_t w_stride = t->w_stride, ahead_stride = t->ahead.stride;
	int per_step = (int)ceil_div(t->ahead.lines, SLAB / 4), width = t->width;
	struct target target = t->target;

	UNROLL
	for (int r = 0; r < rows; r++) {
		/* A constant stride saves a pointer per row: there are no registers for 8. */
		x[r] = (const float *)t->x +
		       (size_t)r * (type == DTYPE_F32 ? t->x_stride : SLAB);
		UNROLL
		for (int j = 0; j < panels * VPP; j++)
			sum[r][j] = (vec){0};
	}
	for (int s = 0; s < t->slabs; s++) {
		const char *w = (const char *)t->w + (size_t)s * t->w_slab * dtype_size(type);
		const char *ahead = t->ahead.at + (size_t)s * t->ahead.slab;
		const char *end = ahead + (s < t->ahead.slabs ? t->ahead.lines * LINE : 0);

		for (int i = 0; i < width; i++) {
			if (i % 4 == 0) {
				if (ahead < end)
					ahead = fetch_ahead(ahead, per_step, ahead_stride,
							    panels);
				fetch_target(&target);
			}
			forward_input(sum, x, w, (size_t)i * PANEL, w_stride, i, rows, panels,
				      type);
		}
		UNROLL
		for (int r = 0; r < rows; r++)
			x[r] += SLAB;
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

INLINE void forward_tile(const struct forward_tile *t, const int rows, const int panels,
			 const enum dtype type)
{
	if (PAIRS && type == DTYPE_BF16)
		forward_pairs(t, rows, panels);
	else
		forward_floats(t, rows, panels, type);
}

#define FORWARD_SHAPES(F, kernel)   \
	WIDE_SHAPES(F, kernel, F32) \
	TALL_SHAPES(F, kernel, F16) \
	BFLOAT_SHAPES(TALL_SHAPES(F, kernel, BF16))
TILE_TABLE(forward_tile, FORWARD_SHAPES);

static bool copies_inputs(const struct linear *l)
{
	return l->x.type != DTYPE_F32 || l->type != DTYPE_F32;
}

/* The inputs of a slab as floats, or for pairs as bf16: where they are, or a copy of that slab,
   converted if need be. 16-bit weights always get a copy. */
static struct view slab_inputs(const struct linear *l, int s, float *room)
{
	int n = imin(SLAB, l->in - s * SLAB);

	if (!copies_inputs(l))
		return (struct view){.data = (float *)l->x.data + s * SLAB,
				     .stride = l->x.stride};
	if (PAIRS && l->type == DTYPE_BF16) {
		for (int r = 0; r < l->rows; r++)
			gather_row(&l->x, r, s * SLAB, n, (uint16_t *)room + r * SLAB, SLAB);
		return (struct view){room, SLAB, DTYPE_BF16};
	}
	gather(&l->x, l->rows, s * SLAB, n, room, SLAB, SLAB);
	if (l->type == DTYPE_BF16 && l->x.type == DTYPE_F32)
		round_floats(room, (size_t)(l->rows * SLAB));
	return (struct view){.data = room, .stride = SLAB};
}

static const char *weight_place(const struct linear *l, size_t element)
{
	return (const char *)l->weight + element * dtype_size(l->type);
}

/* A group of panels in a slab, or in several whole ones. */
struct forward_group {
	int slab, slabs, panel, panels;
};

/* Where the weights of a group begin. */
static const char *group_place(const struct linear *l, struct forward_group g)
{
	size_t panel = layout_panel_size(layout_slab_width(l->in, g.slab));

	return weight_place(l, layout_slab_offset(l->out, g.slab) + (size_t)g.panel * panel);
}

/* All rows of a group; next is the one after it, of no panels if there is none. */
static void forward_rows(const struct linear *l, struct view x, struct forward_group g,
			 struct forward_group next, float *sums)
{
	struct tiling tiling = tile_rows(l->rows, l->type == DTYPE_F32 ? TILE_ROWS : TALL_ROWS);
	size_t size = dtype_size(l->type), slab = layout_slab_offset(l->out, 1);
	int width = layout_slab_width(l->in, next.slab), r = 0;
	struct forward_tile t = {
		.w = group_place(l, g),
		.w_stride = layout_panel_size(layout_slab_width(l->in, g.slab)),
		.w_slab = slab,
		.x_stride = x.stride,
		.slabs = g.slabs,
		.width = imin(SLAB, l->in - g.slab * SLAB),
		.first = g.slab == 0,
		.ahead = {.at = group_place(l, next),
			  .stride = layout_panel_size(width) * size,
			  .slab = slab * size,
			  .slabs = next.panels ? next.slabs : 0,
			  .lines = (int)ceil_div(width * PANEL * (int)size,
						 tiling.tiles * LINE)},
	};
	struct forward_end end = forward_end(l, g.panel, g.panels);
	bool last = (g.slab + g.slabs) * SLAB >= l->in;

	for (int i = 0; i < tiling.tiles; i++) {
		int rows = tiling.size + (i < tiling.larger);

		t.sum = sums + r * TILE_WIDTH;
		t.x = view_from(x, (size_t)r).data;
		if (last)
			t.target = end_target(&end, r, rows);
		forward_tiles[l->type][g.panels - 1][rows - 1](&t);
		if (last)
			forward_finish(&end, t.sum, r, rows);
		t.ahead.at += (size_t)t.ahead.lines * LINE;
		r += rows;
	}
}

/* Groups whose sums are kept at once: a slab of 16-bit inputs is converted once for all. */
static int groups_at_once(const struct linear *l)
{
	if (!copies_inputs(l))
		return 1;
	return imax(1, (SCRATCH - l->rows * SLAB) / (l->rows * TILE_WIDTH));
}

#if defined(KOLM_AMX)
/* A panel's inputs [i0, i0 + n) as pairs; zeros up to the end of a chunk. */
static void mix_inputs(const struct linear *l, int panel, int i0, int n, uint16_t *to)
{
	int lines = (int)round_up(n, AMX_CHUNK) / 2, k = 0;

	for (int i = 0; i < n; i += SLAB) {
		int s = (i0 + i) / SLAB, width = layout_slab_width(l->in, s);
		const uint16_t *from = (const uint16_t *)l->weight +
				       layout_slab_offset(l->out, s) +
				       (size_t)panel * layout_panel_size(width);

		for (int end = k + width / 2; k < end; k++, from += 2 * PANEL)
			((pairs_any *)to)[k] = pairs_of_inputs(from);
	}
	for (; k < lines; k++)
		((pairs_any *)to)[k] = (pairs){0};
}

static void amx_forward(const struct linear *l, int p0, int p1, float *scratch)
{
	bool copies = l->x.type != DTYPE_BF16 || l->in % AMX_CHUNK;
	uint16_t *mixed = (uint16_t *)scratch;
	uint16_t *copy = mixed + 2 * AMX_DEPTH * PANEL; /* of all rows' inputs */
	float *sums = (float *)(copy + (copies ? l->rows * AMX_DEPTH : 0));
	int room = (int)(scratch + SCRATCH - sums) / (l->rows * TILE_WIDTH);
	int batch = copies ? imax(1, room) : 1; /* groups of panels that share a copy */

	for (int first = p0; first < p1; first += batch * TILE_PANELS) {
		int last = imin(first + batch * TILE_PANELS, p1);

		for (int i0 = 0; i0 < l->in; i0 += AMX_DEPTH) {
			int n = imin(AMX_DEPTH, l->in - i0);
			struct view x = view_at(l->x, i0);

			if (copies) {
				x = (struct view){copy, AMX_DEPTH, DTYPE_BF16};
				for (int r = 0; r < l->rows; r++)
					gather_row(&l->x, r, i0, n, copy + r * AMX_DEPTH,
						   (int)round_up(n, AMX_CHUNK));
			}
			for (int p = first; p < last; p += 2) {
				bool wide = p + 1 < last;
				int group = (p - first) / TILE_PANELS;
				int column = (p - first) % TILE_PANELS * PANEL;

				mix_inputs(l, p, i0, n, mixed);
				if (wide)
					mix_inputs(l, p + 1, i0, n, mixed + AMX_DEPTH * PANEL);
				amx_multiply_rows(
					(struct amx_product){
						.a = x.data,
						.a_stride = x.stride * sizeof(uint16_t),
						.a_step = AMX_BYTES,
						.b = mixed,
						.b_stride = AMX_BYTES,
						.b_step = AMX_TILE,
						.b_next = sizeof(uint16_t) * AMX_DEPTH * PANEL,
						.chunks = (int)ceil_div(n, AMX_CHUNK),
						.c = sums + group * l->rows * TILE_WIDTH +
						     column,
						.c_stride = sizeof(float) * TILE_WIDTH,
						.first = i0 == 0},
					l->rows, wide);
			}
		}
		for (int p = first; p < last; p += TILE_PANELS) {
			struct forward_end end = forward_end(l, p, imin(TILE_PANELS, last - p));

			forward_finish(&end,
				       sums + (p - first) / TILE_PANELS * l->rows * TILE_WIDTH,
				       0, l->rows);
		}
	}
}
#endif

/* How the weights of outputs [16 * p0, 16 * p1) are gone through. */
struct forward_walk {
	const struct linear *l;
	int p0, p1, groups, blocks; /* of slabs; one that is not whole is a block of its own */
};

static struct forward_walk forward_walk(const struct linear *l, int p0, int p1)
{
	int most = l->type == DTYPE_F32 ? TILE_PANELS : TALL_PANELS;
	int whole = (int)ceil_div(l->in / SLAB, copies_inputs(l) ? 1 : FORWARD_SLABS);

	return (struct forward_walk){l, p0, p1, (int)ceil_div(p1 - p0, most),
				     whole + (l->in % SLAB > 0)};
}

/* A group in a block; of no panels, if it is beyond the last. */
static struct forward_group group_of(const struct forward_walk *w, int g, int b)
{
	int slabs = w->l->in / SLAB, whole = w->blocks - (w->l->in % SLAB > 0);
	int first = b < whole ? (int)part_begin(slabs, b, whole) : slabs;
	int next = b < whole ? (int)part_begin(slabs, b + 1, whole) : slabs + 1;
	int p, end;

	if (g == w->groups)
		return (struct forward_group){0};
	p = w->p0 + (int)part_begin(w->p1 - w->p0, g, w->groups);
	end = w->p0 + (int)part_begin(w->p1 - w->p0, g + 1, w->groups);
	return (struct forward_group){first, next - first, p, end - p};
}

static void simd_forward(const struct linear *l, int p0, int p1, float *scratch)
{
	struct forward_walk w = forward_walk(l, p0, p1);
	int batch = groups_at_once(l);
	float *room = scratch + SCRATCH - l->rows * SLAB;

#if defined(KOLM_AMX)
	if (l->type == DTYPE_BF16) {
		amx_forward(l, p0, p1, scratch);
		return;
	}
#endif
	for (int first = 0; first < w.groups; first += batch) {
		int last = imin(first + batch, w.groups) - 1;

		/* From group to group of the batch in a block, then to the next block. */
		for (int b = 0; b < w.blocks; b++) {
			bool more = b + 1 < w.blocks;
			struct view x = slab_inputs(l, group_of(&w, first, b).slab, room);

			for (int g = first; g <= last; g++)
				forward_rows(l, x, group_of(&w, g, b),
					     g < last ? group_of(&w, g + 1, b)
					     : more   ? group_of(&w, first, b + 1)
						      : group_of(&w, last + 1, 0),
					     scratch + (size_t)(g - first) * (size_t)l->rows *
							       TILE_WIDTH);
		}
	}
}

#endif
