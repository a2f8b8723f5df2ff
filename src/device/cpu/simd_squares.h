/* simd_squares.h - sums of squares of lines, for simd.c: see line_squares in kernels.h. */
#ifndef KOLM_DEVICE_CPU_SIMD_SQUARES_H
#define KOLM_DEVICE_CPU_SIMD_SQUARES_H

#include "device/cpu/kernels.h"
#include "device/cpu/simd.h"

enum { DL = VL / 2 }; /* doubles of a vector */

typedef float half_vec __attribute__((vector_size(DL * 4)));
typedef double wide_vec __attribute__((vector_size(DL * 8)));
typedef double wide_vec2 __attribute__((vector_size(16)));
typedef double wide_vec4 __attribute__((vector_size(32)));

#if defined(KOLM_AVX512)
#define LOWER(v) __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7)
#define UPPER(v) __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)
#elif defined(KOLM_AVX2)
#define LOWER(v) __builtin_shufflevector(v, v, 0, 1, 2, 3)
#define UPPER(v) __builtin_shufflevector(v, v, 4, 5, 6, 7)
#else
#define LOWER(v) __builtin_shufflevector(v, v, 0, 1)
#define UPPER(v) __builtin_shufflevector(v, v, 2, 3)
#endif

INLINE wide_vec square(half_vec v)
{
	wide_vec value = __builtin_convertvector(v, wide_vec);

	return value * value;
}

/* The two halves of it, their halves, and so on. */
INLINE double sum_halves(wide_vec v)
{
#if defined(KOLM_AVX512)
	wide_vec4 four = __builtin_shufflevector(v, v, 0, 1, 2, 3) +
			 __builtin_shufflevector(v, v, 4, 5, 6, 7);
	wide_vec2 two = __builtin_shufflevector(four, four, 0, 1) +
			__builtin_shufflevector(four, four, 2, 3);
#elif defined(KOLM_AVX2)
	wide_vec2 two =
		__builtin_shufflevector(v, v, 0, 1) + __builtin_shufflevector(v, v, 2, 3);
#else
	wide_vec2 two = v;
#endif
	return two[0] + two[1];
}

INLINE void squares_of_lines(const void *x, size_t lines, double *sums, const enum dtype type)
{
	enum { PARTS = SQUARES_LINE / DL };

	for (size_t line = 0; line < lines; line++) {
		wide_vec parts[PARTS];

		UNROLL
		for (int j = 0; j < PARTS / 2; j++) {
			vec v = load_as(x, line * SQUARES_LINE + (size_t)j * VL, type);

			parts[2 * j] = square(LOWER(v));
			parts[2 * j + 1] = square(UPPER(v));
		}
		UNROLL
		for (int half = PARTS / 2; half > 0; half /= 2)
			UNROLL
		for (int j = 0; j < half; j++)
			parts[j] += parts[j + half];
		sums[line] = sum_halves(parts[0]);
	}
}

static void simd_line_squares(const void *x, enum dtype type, size_t lines, double *sums)
{
	if (type == DTYPE_F32)
		squares_of_lines(x, lines, sums, DTYPE_F32);
	else if (type == DTYPE_F16)
		squares_of_lines(x, lines, sums, DTYPE_F16);
	else
		squares_of_lines(x, lines, sums, DTYPE_BF16);
}

#undef LOWER
#undef UPPER

#endif
