/* reduce.c - see reduce.h */
#include "comm/reduce.h"
#include "base/half.h"
#include "comm/vectors.h"

#include <assert.h>

enum {
	BLOCK = 2048, /* elements: the running sum stays in the first cache */
	FEW = 4,
};

#if defined(__x86_64__)
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
