/*
 * simd.h - vectors of VL floats for simd.c, which is compiled once per instruction
 * set: 4 lanes (any CPU), 8 (AVX2), 16 (AVX-512). GCC's vector extension keeps one
 * source for all of them.
 */
#ifndef KOLM_DEVICE_CPU_SIMD_H
#define KOLM_DEVICE_CPU_SIMD_H

#include "base/dtype.h"
#include "base/half.h"

#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(KOLM_AVX512BF16) /* AVX-512, and products of bf16 */
#define KOLM_AVX512
enum { VL = 16 };
#if defined(KOLM_AMX) /* ... by tiles: see simd_amx.h */
#define SIMD_NAME  "amx"
#define SIMD_TABLE kernels_amx
#else
#define SIMD_NAME  "avx512bf16"
#define SIMD_TABLE kernels_avx512bf16
#endif
#elif defined(KOLM_AVX512)
enum { VL = 16 };
#define SIMD_NAME  "avx512"
#define SIMD_TABLE kernels_avx512
#elif defined(KOLM_EMULATED) /* AVX2, with the code of avx512bf16 or amx */
#define KOLM_AVX2
enum { VL = 8 };
#if defined(KOLM_AMX)
#define SIMD_NAME  "emulated-amx"
#define SIMD_TABLE kernels_emulated_amx
#else
#define SIMD_NAME  "emulated"
#define SIMD_TABLE kernels_emulated
#endif
#elif defined(KOLM_AVX2)
enum { VL = 8 };
#define SIMD_NAME  "avx2"
#define SIMD_TABLE kernels_avx2
#else
enum { VL = 4 };
#define SIMD_NAME  "generic"
#define SIMD_TABLE kernels_generic
#endif

typedef float vec __attribute__((vector_size(VL * 4)));
typedef int32_t ivec __attribute__((vector_size(VL * 4)));
typedef uint32_t uvec __attribute__((vector_size(VL * 4)));
typedef uint16_t hvec __attribute__((vector_size(VL * 2)));
typedef uint16_t hvec32 __attribute__((vector_size(64)));
typedef uint16_t hvec_any __attribute__((vector_size(VL * 2), aligned(2), may_alias));
typedef float vec_any __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef float vec4 __attribute__((vector_size(16)));
typedef float vec4_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef float vec8 __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

/* PIN keeps v in a register: gcc otherwise repeats the load inside every FMA. MUST_DO
   keeps a computation whose result nobody reads. */
#if defined(__x86_64__)
#define PIN(v)	   __asm__("" : "+v"(v))
#define MUST_DO(v) __asm__ volatile("" : "+v"(v))
#elif defined(__aarch64__)
#define PIN(v)	   __asm__("" : "+w"(v))
#define MUST_DO(v) __asm__ volatile("" : "+w"(v))
#else
#define PIN(v)	   ((void)0)
#define MUST_DO(v) __asm__ volatile("" : "+m"(v))
#endif

INLINE vec load(const float *p)
{
	return *(const vec_any *)p;
}

INLINE void store(float *p, vec v)
{
	*(vec_any *)p = v;
}

/* VL elements of any type from number i on, as floats. type is a constant. */
INLINE vec load_as(const void *p, size_t i, const enum dtype type)
{
	const uint16_t *half = (const uint16_t *)p + i;

	if (type == DTYPE_F32)
		return load((const float *)p + i);
#if defined(KOLM_AVX512)
	if (type == DTYPE_F16)
		return (vec)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)half));
	return (vec)_mm512_slli_epi32(
		_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)half)), 16);
#elif defined(KOLM_AVX2)
	if (type == DTYPE_F16)
		return (vec)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)half));
	return (vec)_mm256_slli_epi32(
		_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)half)), 16);
#else
	vec v;

	for (int j = 0; j < VL; j++)
		v[j] = type == DTYPE_F16 ? half_to_float(half[j]) : bfloat_to_float(half[j]);
	return v;
#endif
}

/* As bfloat_from_float does it: a NaN stays one. */
INLINE hvec bfloats_from(vec v)
{
	uvec bits = (uvec)v, rounded = bits + 0x7fff + (bits >> 16 & 1);

#if defined(KOLM_AVX512)
	/* The mask and the upper halves in one instruction each. */
	const hvec32 upper = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
	__mmask16 nan = _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q);
	__m512i all = _mm512_mask_or_epi32((__m512i)rounded, nan, (__m512i)bits,
					   _mm512_set1_epi32(0x400000));

	return (hvec)_mm512_castsi512_si256(_mm512_permutexvar_epi16((__m512i)upper, all));
#else
	uvec number = (uvec)(v == v);

	return __builtin_convertvector(
		((number & rounded) | (~number & (bits | 0x400000))) >> 16, hvec);
#endif
}

/* And back, rounded to nearest, ties to even. */
INLINE void store_as(void *p, size_t i, vec v, const enum dtype type)
{
	uint16_t *half = (uint16_t *)p + i;

	if (type == DTYPE_F32) {
		store((float *)p + i, v);
		return;
	}
	if (type == DTYPE_BF16) {
		*(hvec_any *)half = bfloats_from(v);
		return;
	}
#if defined(KOLM_AVX512)
	_mm256_storeu_si256((__m256i *)half,
			    _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(KOLM_AVX2)
	_mm_storeu_si128((__m128i *)half,
			 _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
#else
	for (int j = 0; j < VL; j++)
		half[j] = half_from_float(v[j]);
#endif
}

INLINE vec splat(float s)
{
	return s - (vec){0};
}

INLINE vec vec_select(ivec mask, vec yes, vec no)
{
	return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

/* The larger one; b where either is no number. */
INLINE vec vec_max(vec a, vec b)
{
#if defined(KOLM_AVX512)
	return (vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(KOLM_AVX2)
	return (vec)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__x86_64__)
	return (vec)_mm_max_ps((__m128)a, (__m128)b);
#else
	return vec_select(a > b, a, b);
#endif
}

INLINE vec vec_abs(vec a)
{
	return (vec)((ivec)a & 0x7fffffff);
}

INLINE vec vec_sqrt(vec a)
{
#if defined(KOLM_AVX512)
	return (vec)_mm512_sqrt_ps((__m512)a);
#elif defined(KOLM_AVX2)
	return (vec)_mm256_sqrt_ps((__m256)a);
#elif defined(__x86_64__)
	return (vec)_mm_sqrt_ps((__m128)a);
#elif defined(__aarch64__)
	return (vec)vsqrtq_f32((float32x4_t)a);
#else
	for (int i = 0; i < VL; i++)
		a[i] = __builtin_sqrtf(a[i]);
	return a;
#endif
}

INLINE float vec_sum(vec a)
{
	float sum = 0;

	for (int i = 0; i < VL; i++)
		sum += a[i];
	return sum;
}

/* Interleave the lower (upper) halves of each 128-bit lane of a and b, and add. */
#if defined(KOLM_AVX512)
#define PAIR_SUM(a, b)                                                                         \
	(__builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13,   \
				 29) +                                                         \
	 __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, \
				 31))
#define QUAD_SUM(ab, cd)                                                                       \
	(__builtin_shufflevector(ab, cd, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, \
				 29) +                                                         \
	 __builtin_shufflevector(ab, cd, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15,   \
				 30, 31))
#elif defined(KOLM_AVX2)
#define PAIR_SUM(a, b)                                             \
	(__builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13) + \
	 __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15))
#define QUAD_SUM(ab, cd)                                             \
	(__builtin_shufflevector(ab, cd, 0, 1, 8, 9, 4, 5, 12, 13) + \
	 __builtin_shufflevector(ab, cd, 2, 3, 10, 11, 6, 7, 14, 15))
#else
#define PAIR_SUM(a, b) \
	(__builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7))
#define QUAD_SUM(ab, cd)                               \
	(__builtin_shufflevector(ab, cd, 0, 1, 4, 5) + \
	 __builtin_shufflevector(ab, cd, 2, 3, 6, 7))
#endif

/* The sums over the lanes of four vectors, together. */
INLINE vec4 sum_lanes4(vec a, vec b, vec c, vec d)
{
	vec ab = PAIR_SUM(a, b), cd = PAIR_SUM(c, d);
	vec abcd = QUAD_SUM(ab, cd);

#if defined(KOLM_AVX512)
	vec8 half = __builtin_shufflevector(abcd, abcd, 0, 1, 2, 3, 4, 5, 6, 7) +
		    __builtin_shufflevector(abcd, abcd, 8, 9, 10, 11, 12, 13, 14, 15);
#else
#define half abcd
#endif
#if defined(KOLM_AVX512) || defined(KOLM_AVX2)
	return __builtin_shufflevector(half, half, 0, 1, 2, 3) +
	       __builtin_shufflevector(half, half, 4, 5, 6, 7);
#else
	return half;
#endif
#undef half
}

/* e^x for |x| <= 87; of what is no number, no number. Relative error < 3e-7. */
INLINE vec vec_exp_in_range(vec x)
{
	const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
	vec shifted, n, r, p;

	shifted = x * 1.44269504f + magic;
	n = shifted - magic;
	r = x - n * 0.693145751953125f - n * 1.42860677e-6f; /* ln 2 in two parts */
	p = r * (1.0f / 5040) + 1.0f / 720;
	p = p * r + 1.0f / 120;
	p = p * r + 1.0f / 24;
	p = p * r + 1.0f / 6;
	p = p * r + 0.5f;
	p = p * r + 1.0f;
	p = p * r + 1.0f;
	return (vec)((ivec)p + ((ivec)shifted << 23)); /* times 2^n */
}

/* e^x for x <= 0; below -87 it is a tiny positive number. */
INLINE vec vec_exp(vec x)
{
	return vec_exp_in_range(vec_max(x, splat(-87.0f)));
}

#endif
