/* reduce.c - see reduce.h */
#include "comm/reduce.h"
#include "base/half.h"
#include "base/machine.h"
#include "base/util.h"

#include <assert.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
	BLOCK = 2048, /* elements: the running sum stays in the first cache */
	FEW = 4,
};

#if defined(__x86_64__)
/* Asked once: a rank sums many blocks. */
static bool has_f16c(void)
{
	static _Atomic int known = -1;

	if (known < 0)
		known = machine_has_f16c();
	return known;
}

__attribute__((target("avx,f16c"))) static void widen_f16c(const uint16_t *x, float *out,
							   size_t n)
{
	for (size_t i = 0; i < n; i += 8)
		_mm256_storeu_ps(out + i,
				 _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(x + i))));
}

__attribute__((target("avx,f16c"))) static void narrow_f16c(const float *x, uint16_t *out,
							    size_t n)
{
	for (size_t i = 0; i < n; i += 8)
		_mm_storeu_si128(
			(__m128i *)(out + i),
			_mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
}

__attribute__((target("avx"))) static void add_avx(float *sum, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
		_mm256_storeu_ps(sum + i, _mm256_add_ps(_mm256_loadu_ps(sum + i),
							_mm256_loadu_ps(x + i)));
}

/* The whole sum of a few fp32 sources without a block in between: each element is read and
   written once. Returns where it stopped. */
__attribute__((target("avx"))) static size_t sum_few_avx(const void *const *sources,
							 int n_sources, void *const *targets,
							 int n_targets, size_t begin,
							 size_t end)
{
	size_t i = begin;

	for (; i + 16 <= end; i += 16) {
		const float *x = (const float *)sources[0] + i;
		__m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(x + 8);

		for (int s = 1; s < n_sources; s++) {
			x = (const float *)sources[s] + i;
			a = _mm256_add_ps(a, _mm256_loadu_ps(x));
			b = _mm256_add_ps(b, _mm256_loadu_ps(x + 8));
		}
		for (int t = 0; t < n_targets; t++) {
			_mm256_storeu_ps((float *)targets[t] + i, a);
			_mm256_storeu_ps((float *)targets[t] + i + 8, b);
		}
	}
	return i;
}
#endif

static void add_f32(float *restrict sum, const float *restrict x, size_t n)
{
	size_t i = 0;

#if defined(__x86_64__)
	if (has_f16c()) {
		i = n / 8 * 8;
		add_avx(sum, x, i);
	}
#endif
	for (; i < n; i++)
		sum[i] += x[i];
}

static void widen_f16(const uint16_t *x, float *out, size_t n)
{
	size_t i = 0;

#if defined(__x86_64__)
	if (has_f16c()) {
		i = n / 8 * 8;
		widen_f16c(x, out, i);
	}
#endif
	for (; i < n; i++)
		out[i] = half_to_float(x[i]);
}

static void narrow_f16(const float *x, uint16_t *out, size_t n)
{
	size_t i = 0;

#if defined(__x86_64__)
	if (has_f16c()) {
		i = n / 8 * 8;
		narrow_f16c(x, out, i);
	}
#endif
	for (; i < n; i++)
		out[i] = half_from_float(x[i]);
}

/* n elements of any type from x[begin] on, as floats. */
static void widen(const void *x, size_t begin, size_t n, enum dtype dtype, float *out)
{
	const uint16_t *half = (const uint16_t *)x + begin;

	if (dtype == DTYPE_F32)
		memcpy(out, (const float *)x + begin, n * sizeof(float));
	else if (dtype == DTYPE_F16)
		widen_f16(half, out, n);
	else
		for (size_t i = 0; i < n; i++)
			out[i] = bfloat_to_float(half[i]);
}

static void narrow(const float *x, void *out, size_t begin, size_t n, enum dtype dtype)
{
	uint16_t *half = (uint16_t *)out + begin;

	if (dtype == DTYPE_F32)
		memcpy((float *)out + begin, x, n * sizeof(float));
	else if (dtype == DTYPE_F16)
		narrow_f16(x, half, n);
	else
		for (size_t i = 0; i < n; i++)
			half[i] = bfloat_from_float(x[i]);
}

void reduce_add(float *sum, bool first, const void *const *sources, int n, size_t begin,
		size_t end, enum dtype dtype)
{
	float other[BLOCK];

	assert(dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16);
	for (size_t at = begin; at < end; at += BLOCK) {
		size_t count = end - at < BLOCK ? end - at : BLOCK;
		float *block = sum + (at - begin);

		for (int s = 0; s < n; s++) {
			if (first && s == 0) {
				widen(sources[0], at, count, dtype, block);
			} else if (dtype == DTYPE_F32) {
				add_f32(block, (const float *)sources[s] + at, count);
			} else {
				widen(sources[s], at, count, dtype, other);
				add_f32(block, other, count);
			}
		}
	}
}

void reduce_store(const float *sum, void *const *targets, int n, size_t begin, size_t end,
		  enum dtype dtype)
{
	for (int t = 0; t < n; t++)
		narrow(sum, targets[t], begin, end - begin, dtype);
}

void reduce_sum(const void *const *sources, int n_sources, void *const *targets, int n_targets,
		size_t begin, size_t end, enum dtype dtype)
{
	float sum[BLOCK];

#if defined(__x86_64__)
	/* With more sources their lines would push each other out of the caches: buffers
	   of all ranks lie at the same place of their segments. */
	if (dtype == DTYPE_F32 && n_sources <= FEW && has_f16c())
		begin = sum_few_avx(sources, n_sources, targets, n_targets, begin, end);
#endif
	for (size_t at = begin; at < end; at += BLOCK) {
		size_t stop = end - at < BLOCK ? end : at + BLOCK;

		assert(at < stop && n_sources > 0); /* so the sum is filled */
		reduce_add(sum, true, sources, n_sources, at, stop, dtype);
		reduce_store(sum, targets, n_targets, at, stop, dtype);
	}
}
