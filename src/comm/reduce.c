/* reduce.c - see reduce.h */
#include "comm/reduce.h"
#include "base/half.h"
#include "base/machine.h"
#include "base/util.h"

#include <assert.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
	BLOCK = 2048, /* elements: the running sum stays in the first cache */
	FEW = 4,
	LANES = 8,
};

#if defined(__x86_64__)
#define WIDE	    __attribute__((target("avx2,f16c")))
#define WIDE_INLINE WIDE static inline __attribute__((always_inline))

/* Asked once: a rank sums many blocks. */
static bool has_vectors(void)
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

WIDE_INLINE size_t add_as(float *sum, bool first, const void *x, size_t begin, size_t n,
			  const enum dtype dtype)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		__m256 v = get(x, begin + i, dtype);

		put(sum, i, first ? v : _mm256_add_ps(get(sum, i, DTYPE_F32), v), DTYPE_F32);
	}
	return i;
}

WIDE_INLINE size_t store_as(const float *sum, void *x, size_t begin, size_t n,
			    const enum dtype dtype)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		put(x, begin + i, get(sum, i, DTYPE_F32), dtype);
	return i;
}

WIDE_INLINE size_t sum_as(const void *const *sources, int n_sources, void *const *targets,
			  int n_targets, size_t begin, size_t end, const enum dtype dtype)
{
	size_t i = begin;

	for (; i + 2 * LANES <= end; i += 2 * LANES) {
		__m256 a = get(sources[0], i, dtype), b = get(sources[0], i + LANES, dtype);

		for (int s = 1; s < n_sources; s++) {
			a = _mm256_add_ps(a, get(sources[s], i, dtype));
			b = _mm256_add_ps(b, get(sources[s], i + LANES, dtype));
		}
		for (int t = 0; t < n_targets; t++) {
			put(targets[t], i, a, dtype);
			put(targets[t], i + LANES, b, dtype);
		}
	}
	return i;
}

/* The three below go as far as whole vectors do, and return how far that is. */
#define BY_TYPE(fn, ...)                                   \
	(dtype == DTYPE_F32   ? fn(__VA_ARGS__, DTYPE_F32) \
	 : dtype == DTYPE_F16 ? fn(__VA_ARGS__, DTYPE_F16) \
			      : fn(__VA_ARGS__, DTYPE_BF16))

WIDE static size_t add_vectors(float *sum, bool first, const void *x, size_t begin, size_t n,
			       enum dtype dtype)
{
	return BY_TYPE(add_as, sum, first, x, begin, n);
}

WIDE static size_t store_vectors(const float *sum, void *x, size_t begin, size_t n,
				 enum dtype dtype)
{
	return BY_TYPE(store_as, sum, x, begin, n);
}

/* The whole sum of a few sources without a block in between: each element is read and
   written once. */
WIDE static size_t sum_vectors(const void *const *sources, int n_sources, void *const *targets,
			       int n_targets, size_t begin, size_t end, enum dtype dtype)
{
	return BY_TYPE(sum_as, sources, n_sources, targets, n_targets, begin, end);
}
#endif

/* sum (+)= n elements from x[begin] on. */
static void add(float *sum, bool first, const void *x, size_t begin, size_t n, enum dtype dtype)
{
	size_t i = 0;

#if defined(__x86_64__)
	if (has_vectors())
		i = add_vectors(sum, first, x, begin, n, dtype);
#endif
	for (; i < n; i++)
		sum[i] = first ? float_from(x, begin + i, dtype)
			       : sum[i] + float_from(x, begin + i, dtype);
}

static void store(const float *sum, void *x, size_t begin, size_t n, enum dtype dtype)
{
	size_t i = 0;

#if defined(__x86_64__)
	if (has_vectors())
		i = store_vectors(sum, x, begin, n, dtype);
#endif
	for (; i < n; i++)
		float_to(x, begin + i, dtype, sum[i]);
}

void reduce_add(float *sum, bool first, const void *const *sources, int n, size_t begin,
		size_t end, enum dtype dtype)
{
	assert(dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16);
	for (size_t at = begin; at < end; at += BLOCK)
		for (int s = 0; s < n; s++)
			add(sum + (at - begin), first && s == 0, sources[s], at,
			    end - at < BLOCK ? end - at : BLOCK, dtype);
}

void reduce_store(const float *sum, void *const *targets, int n, size_t begin, size_t end,
		  enum dtype dtype)
{
	for (int t = 0; t < n; t++)
		store(sum, targets[t], begin, end - begin, dtype);
}

void reduce_sum(const void *const *sources, int n_sources, void *const *targets, int n_targets,
		size_t begin, size_t end, enum dtype dtype)
{
	float sum[BLOCK];

#if defined(__x86_64__)
	/* With more sources their lines would push each other out of the caches: buffers
	   of all ranks lie at the same place of their segments. */
	if (n_sources <= FEW && has_vectors())
		begin = sum_vectors(sources, n_sources, targets, n_targets, begin, end, dtype);
#endif
	for (size_t at = begin; at < end; at += BLOCK) {
		size_t stop = end - at < BLOCK ? end : at + BLOCK;

		assert(at < stop && n_sources > 0); /* so the sum is filled */
		reduce_add(sum, true, sources, n_sources, at, stop, dtype);
		reduce_store(sum, targets, n_targets, at, stop, dtype);
	}
}
