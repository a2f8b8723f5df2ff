/* simd_finish.h - what becomes of a forward product's sums: y = act(sum + bias); part of simd.c. */
#ifndef KOLM_DEVICE_CPU_SIMD_FINISH_H
#define KOLM_DEVICE_CPU_SIMD_FINISH_H

#include "device/cpu/activation.h"
#include "device/cpu/simd_tile.h"

/* n <= TILE_WIDTH outputs of every row: any types, and any n. */
static void finish_any(const struct linear *l, const float *sums, const float *bias, int o0,
		       int n)
{
	float z[TILE_WIDTH], y[TILE_WIDTH];

	for (int r = 0; r < l->rows; r++, sums += TILE_WIDTH) {
		for (int j = 0; j < n; j += VL) {
			vec value = load(sums + j) + load(bias + j);

			store(z + j, value);
			store(y + j, act_values(value, l->act));
		}
		if (l->saved.data)
			put_as(l->saved, r, o0, z, n);
		put_as(l->y, r, o0, y, n);
	}
}

/* The same of whole vectors, with what is saved of the type of y. */
INLINE void finish_vectors(const struct linear *l, const float *sums, const float *bias, int o0,
			   int n, const enum activation act, const enum dtype type)
{
	char *y = (char *)l->y.data + (size_t)o0 * dtype_size(type);
	char *saved = (char *)l->saved.data + (size_t)o0 * dtype_size(type);
	bool saves = l->saved.data;

	for (int r = 0; r < l->rows; r++, sums += TILE_WIDTH) {
		for (int j = 0; j < n; j += VL) {
			vec value = load(sums + j) + load(bias + j);

			if (saves)
				store_as(saved, (size_t)j, value, type);
			store_as(y, (size_t)j, act_values(value, act), type);
		}
		y += l->y.stride * dtype_size(type);
		saved += l->saved.stride * dtype_size(type);
	}
}

/* One loop per activation and type, with their constants in registers. */
#define FINISH_ACT(name, ...) \
	FINISH_TYPE(name, F32) FINISH_TYPE(name, F16) FINISH_TYPE(name, BF16)
#define FINISH_TYPE(name, type)                                                       \
	static void finish_##name##_##type(const struct linear *l, const float *sums, \
					   const float *bias, int o0, int n)          \
	{                                                                             \
		finish_vectors(l, sums, bias, o0, n, ACT_##name, DTYPE_##type);       \
	}
ACTIVATIONS(FINISH_ACT)
#undef FINISH_TYPE
#define FINISH_TYPE(name, type) [ACT_##name][DTYPE_##type] = finish_##name##_##type,
static void (*const finish_loops[][PRECISION_COUNT])(const struct linear *l, const float *sums,
						     const float *bias, int o0,
						     int n) = {ACTIVATIONS(FINISH_ACT)};

static void forward_finish(const struct linear *l, const float *sums, int o0, int n)
{
	bool alike = !l->saved.data || l->saved.type == l->y.type;
	int whole = alike ? n / VL * VL : 0;
	float bias[TILE_WIDTH] = {0};

	if (l->bias)
		get_as((struct view){l->bias, 0, l->type}, 0, o0, bias, n);
	finish_loops[l->act][l->y.type](l, sums, bias, o0, whole);
	if (whole < n)
		finish_any(l, sums + whole, bias + whole, o0 + whole, n - whole);
}

#endif
