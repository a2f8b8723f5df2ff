/*
 * simd_pairs.h - products of bf16 without conversion, for CPUs with VDPBF16PS; part of simd.c.
 *
 * The instruction multiplies pairs of bf16 values and adds both products to a float, in 16
 * lanes. Weights stay in the one layout (layout.h): of an input and its neighbour a panel has
 * 64 bytes, a line, which is
 *  - 16 outputs by 2 inputs, side by side after one shuffle (forward), or
 *  - 2 inputs by 8 pairs of outputs as it lies there (input gradient).
 * For the weight gradient two rows of x, and of dy, are interleaved.
 *
 * Where PAIRS is 0 none of this is used: values are converted to floats as they are loaded.
 * KOLM_EMULATED has the same code with the instruction written out, so that it is tested on
 * CPUs which do not have it.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_PAIRS_H
#define KOLM_DEVICE_CPU_SIMD_PAIRS_H

#include "device/cpu/layout.h"
#include "device/cpu/simd.h"

#if defined(KOLM_AVX512BF16) || defined(KOLM_EMULATED)
enum { PAIRS = 1 };
#else
enum { PAIRS = 0 };
#endif

enum { LANES = 16 }; /* of a line of pairs */

typedef float vec16 __attribute__((vector_size(64)));
typedef float vec16_any __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t pairs __attribute__((vector_size(64)));
typedef uint32_t pairs_any __attribute__((vector_size(64), aligned(2), may_alias));
typedef uint16_t hvec16 __attribute__((vector_size(32)));
typedef uint16_t hvec16_any __attribute__((vector_size(32), aligned(2), may_alias));

#if defined(KOLM_AVX512BF16)
#define PIN_LINE(v) PIN(v)

/* sum + a.high * b.high + a.low * b.low */
INLINE vec16 add_products(vec16 sum, pairs a, pairs b)
{
	return (vec16)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b);
}
#else
#define PIN_LINE(v) ((void)0) /* no register is as wide */

/* What is below the smallest normal number counts as nothing. */
INLINE vec16 flush(vec16 v)
{
	pairs bits = (pairs)v;

	return (vec16)(bits & (0x80000000 | (pairs)((bits & 0x7f800000) != 0)));
}

/* As the instruction does it: two multiply-adds, each rounded to nearest. */
INLINE vec16 add_products(vec16 sum, pairs a, pairs b)
{
	sum = flush(sum) + flush((vec16)(a & 0xffff0000)) * flush((vec16)(b & 0xffff0000));
	sum = flush(sum) + flush((vec16)(a << 16)) * flush((vec16)(b << 16));
	return flush(sum);
}
#endif

/* Sums as bf16: below the smallest normal number they are nothing already. */
INLINE hvec16 sums_as_bfloats(vec16 v)
{
#if defined(KOLM_AVX512BF16)
	return (hvec16)_mm512_cvtneps_pbh((__m512)v);
#else
	pairs bits = (pairs)flush(v), rounded = bits + 0x7fff + (bits >> 16 & 1);
	pairs number = (pairs)(v == v);

	return __builtin_convertvector(
		((number & rounded) | (~number & (bits | 0x400000))) >> 16, hvec16);
#endif
}

INLINE pairs load_pairs(const void *p)
{
	return *(const pairs_any *)p;
}

/* That pair in every lane. */
INLINE pairs splat_pair(const void *p)
{
#if defined(KOLM_AVX512) /* the broadcast of floats is a load alone */
	float pair;

	__builtin_memcpy(&pair, p, sizeof(pair));
	return (pairs)_mm512_set1_ps(pair);
#else
	uint32_t pair;

	__builtin_memcpy(&pair, p, sizeof(pair));
	return pair - (pairs){0};
#endif
}

/* A line of weights as pairs of inputs, an output in each lane. */
INLINE pairs pairs_of_inputs(const uint16_t *line)
{
	hvec32 w = (hvec32)load_pairs(line);

	return (pairs)__builtin_shufflevector(w, w, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
					      22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
					      13, 29, 14, 30, 15, 31);
}

/* 8 pairs of outputs, twice: for both inputs of a line. */
INLINE pairs pairs_twice(const uint16_t *outputs)
{
#if defined(KOLM_AVX512) /* gcc makes a load and a shuffle of the other */
	return (pairs)_mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)outputs));
#else
	hvec16 v = *(const hvec16_any *)outputs;

	return (pairs)__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
					      13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
					      25, 26, 27, 28, 29, 30, 31);
#endif
}

/* 16 values of two rows, interleaved. */
INLINE pairs interleave(const uint16_t *low, const uint16_t *high)
{
	return __builtin_convertvector(*(const hvec16_any *)low, pairs) |
	       __builtin_convertvector(*(const hvec16_any *)high, pairs) << 16;
}

/*
 * The sums of four rows a to d by two lines, which are 4 inputs each; a lane has 8 per input.
 * They come row by row.
 */
INLINE vec16 sum_lines(const vec16 (*rows)[2])
{
#define EVEN_ODD(r)                                                                            \
	(__builtin_shufflevector(rows[r][0], rows[r][1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, \
				 25, 12, 28, 13, 29) +                                         \
	 __builtin_shufflevector(rows[r][0], rows[r][1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26,   \
				 11, 27, 14, 30, 15, 31))
#define BOTH(x, y)                                                                             \
	(__builtin_shufflevector(x, y, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28,   \
				 29) +                                                         \
	 __builtin_shufflevector(x, y, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, \
				 31))
	vec16 a = EVEN_ODD(0), b = EVEN_ODD(1), c = EVEN_ODD(2), d = EVEN_ODD(3);
	/* Each quarter: the first row's inputs 0 or 1 and 2 or 3, the second row's. */
	vec16 ab = BOTH(a, b), cd = BOTH(c, d);
#undef EVEN_ODD
#undef BOTH
	/* Quarters: even inputs of a and b, odd ones, even ones of c and d, odd ones. */
	vec16 all = __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19,
					    24, 25, 26, 27) +
		    __builtin_shufflevector(ab, cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23,
					    28, 29, 30, 31);

	return __builtin_shufflevector(all, all, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14,
				       11, 15);
}

/* k is a constant. */
INLINE vec4 quarter(vec16 v, const int k)
{
	switch (k) {
	case 0:
		return __builtin_shufflevector(v, v, 0, 1, 2, 3);
	case 1:
		return __builtin_shufflevector(v, v, 4, 5, 6, 7);
	case 2:
		return __builtin_shufflevector(v, v, 8, 9, 10, 11);
	}
	return __builtin_shufflevector(v, v, 12, 13, 14, 15);
}

#endif
