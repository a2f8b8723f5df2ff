/* simd_finish.h - what becomes of a forward product's sums: y = act(sum + bias); part of
 * simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_FINISH_H
#define KOLM_DEVICE_CPU_SIMD_FINISH_H

#include "device/cpu/activation.h"
#include "device/cpu/simd_tile.h"

/* Outputs [o0, o0 + n) of a group of panels, and their bias. */
struct forward_end {
	const struct linear *l;
	int o0, n;
	float bias[TILE_WIDTH];
};

static struct forward_end forward_end(const struct linear *l, int panel, int panels)
{
	struct forward_end e = {
		.l = l, .o0 = panel * PANEL, .n = imin(panels * PANEL, l->out - panel * PANEL)};

	if (l->bias)
		get_as((struct view){l->bias, 0, l->type}, 0, e.o0, e.bias, e.n);
	return e;
}

static struct target end_target(const struct forward_end *e, int r, int rows)
{
	const struct linear *l = e->l;
	struct target t = target_of(l->y, r, rows, e->o0, e->n);

	if (l->saved.data && l->saved.type == l->y.type && l->saved.stride == l->y.stride)
		t.twin = (const char *)l->saved.data - (const char *)l->y.data;
	return t;
}

/* Rows [r, r + rows) of outputs [from, e->n): any types, and any number. */
static void finish_any(const struct forward_end *e, const float *sums, int r, int rows,
		       int from)
{
	const struct linear *l = e->l;
	float z[TILE_WIDTH], y[TILE_WIDTH];

	for (; rows > 0; rows--, r++, sums += TILE_WIDTH) {
		for (int j = from; j < e->n; j += VL) {
			vec value = load(sums + j) + load(e->bias + j);

			store(z + j, value);
			store(y + j, act_values(value, l->act));
		}
		if (l->saved.data)
			put_as(l->saved, r, e->o0 + from, z + from, e->n - from);
		put_as(l->y, r, e->o0 + from, y + from, e->n - from);
	}
}

/* The same of the first outputs, whole vectors of them, with what is saved of the type of y. */
INLINE void finish_vectors(const struct forward_end *e, const float *sums, int r, int rows,
			   int n, const enum activation act, const enum dtype type)
{
	const struct linear *l = e->l;
	size_t size = dtype_size(type);
	char *y = (char *)view_from(l->y, (size_t)r).data + (size_t)e->o0 * size;
	char *saved = (char *)view_from(l->saved, (size_t)r).data + (size_t)e->o0 * size;
	bool saves = l->saved.data;

	for (; rows > 0; rows--, sums += TILE_WIDTH) {
		for (int j = 0; j < n; j += VL) {
			vec value = load(sums + j) + load(e->bias + j);

			if (saves)
				store_as(saved, (size_t)j, value, type);
			store_as(y, (size_t)j, act_values(value, act), type);
		}
		y += l->y.stride * size;
		saved += l->saved.stride * size;
	}
}

/* One loop per activation and type, with their constants in registers. */
#define FINISH_ACT(name, ...) \
	FINISH_TYPE(name, F32) FINISH_TYPE(name, F16) FINISH_TYPE(name, BF16)
#define FINISH_TYPE(name, type)                                                            \
	static void finish_##name##_##type(const struct forward_end *e, const float *sums, \
					   int r, int rows, int n)                         \
	{                                                                                  \
		finish_vectors(e, sums, r, rows, n, ACT_##name, DTYPE_##type);             \
	}
ACTIVATIONS(FINISH_ACT)
#undef FINISH_TYPE
#define FINISH_TYPE(name, type) [ACT_##name][DTYPE_##type] = finish_##name##_##type,
static void (*const finish_loops[][PRECISION_COUNT])(const struct forward_end *e,
						     const float *sums, int r, int rows,
						     int n) = {ACTIVATIONS(FINISH_ACT)};

/* Rows [r, r + rows); sums are theirs. */
static void forward_finish(const struct forward_end *e, const float *sums, int r, int rows)
{
	const struct linear *l = e->l;
	bool alike = !l->saved.data || l->saved.type == l->y.type;
	int whole = alike ? e->n / VL * VL : 0;

	finish_loops[l->act][l->y.type](e, sums, r, rows, whole);
	if (whole < e->n)
		finish_any(e, sums, r, rows, whole);
}

#endif
