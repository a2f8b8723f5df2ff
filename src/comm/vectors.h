/* vectors.h - eight elements of any type at a time, where the CPU can. Only for comm/. */
#ifndef KOLM_COMM_VECTORS_H
#define KOLM_COMM_VECTORS_H

#include "base/dtype.h"
#include "base/machine.h"

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <immintrin.h>

enum { LANES = 8 };

#define WIDE	    __attribute__((target("avx2,f16c")))
#define WIDE_INLINE WIDE static inline __attribute__((always_inline))

/* Asked once: a rank sums many blocks. */
static inline bool has_vectors(void)
{
	static _Atomic int known = -1;

	if (known < 0)
		known = machine_has_f16c() && __builtin_cpu_supports("avx2");
	return known;
}

/* LANES elements from number i on. */
WIDE_INLINE __m256 get(const void *x, size_t i, const enum dtype dtype)
{
	const __m128i *half = (const __m128i *)((const uint16_t *)x + i);

	if (dtype == DTYPE_F32)
		return _mm256_loadu_ps((const float *)x + i);
	if (dtype == DTYPE_F16)
		return _mm256_cvtph_ps(_mm_loadu_si128(half));
	return _mm256_castsi256_ps(
		_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(half)), 16));
}

/* Rounded to nearest, ties to even; a NaN stays one. */
WIDE_INLINE __m128i bfloats_from(__m256 v)
{
	__m256i bits = _mm256_castps_si256(v);
	__m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
	__m256i rounded =
		_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
	__m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
	__m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
	__m256i top = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);

	return _mm_packus_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
}

WIDE_INLINE void put(void *x, size_t i, __m256 v, const enum dtype dtype)
{
	__m128i *half = (__m128i *)((uint16_t *)x + i);

	if (dtype == DTYPE_F32)
		_mm256_storeu_ps((float *)x + i, v);
	else if (dtype == DTYPE_F16)
		_mm_storeu_si128(half, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
	else
		_mm_storeu_si128(half, bfloats_from(v));
}

/* What a vector is when it has been stored in a type. */
WIDE_INLINE __m256 rounded(__m256 v, const enum dtype dtype)
{
	if (dtype == DTYPE_F16)
		return _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
	if (dtype == DTYPE_BF16)
		return _mm256_castsi256_ps(
			_mm256_slli_epi32(_mm256_cvtepu16_epi32(bfloats_from(v)), 16));
	return v;
}
#endif

#endif
