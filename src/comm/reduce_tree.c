/* reduce_tree.c - sums in a tree; see reduce.h */
#include "base/half.h"
#include "base/limits.h"
#include "base/tree.h"
#include "comm/reduce.h"
#include "comm/vectors.h"

#include <assert.h>

enum {
	BLOCK = 1024,	  /* elements: the nodes stay in the cache */
	BUFFERS = 1 + 12, /* of the deepest tree */
	FOUR = 4,
};
_Static_assert(RANKS_MAX <= 1 << (BUFFERS - 1), "or a tree is deeper");

#if defined(__x86_64__)
/* sum = sum + x, of types (fp32, from), as if it were kept in a type. */
WIDE_INLINE size_t add_node_as(float *sum, const void *x, size_t begin, size_t n,
			       const enum dtype from, const enum dtype type)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		__m256 v = _mm256_add_ps(get(sum, i, DTYPE_F32), get(x, begin + i, from));

		put(sum, i, rounded(v, type), DTYPE_F32);
	}
	return i;
}

WIDE static size_t add_node_vectors(float *sum, const void *x, size_t begin, size_t n,
				    enum dtype from, enum dtype type)
{
	if (type == DTYPE_F32)
		return add_node_as(sum, x, begin, n, DTYPE_F32, DTYPE_F32);
	if (type == DTYPE_F16)
		return from == type ? add_node_as(sum, x, begin, n, DTYPE_F16, DTYPE_F16)
				    : add_node_as(sum, x, begin, n, DTYPE_F32, DTYPE_F16);
	return from == type ? add_node_as(sum, x, begin, n, DTYPE_BF16, DTYPE_BF16)
			    : add_node_as(sum, x, begin, n, DTYPE_F32, DTYPE_BF16);
}

/* Four leaves without buffers in between: each element is read and written once. */
WIDE_INLINE size_t sum_four_as(const struct reduce_part *p, void *const *targets, int n_targets,
			       size_t n, const enum dtype type)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		__m256 low = _mm256_add_ps(get(p[0].data, i, type), get(p[1].data, i, type));
		__m256 high = _mm256_add_ps(get(p[2].data, i, type), get(p[3].data, i, type));
		__m256 sum = _mm256_add_ps(rounded(low, type), rounded(high, type));

		for (int t = 0; t < n_targets; t++)
			put(targets[t], i, sum, type);
	}
	return i;
}

WIDE static size_t sum_four(const struct reduce_part *p, void *const *targets, int n_targets,
			    size_t n, enum dtype type)
{
	if (type == DTYPE_F32)
		return sum_four_as(p, targets, n_targets, n, DTYPE_F32);
	return type == DTYPE_F16 ? sum_four_as(p, targets, n_targets, n, DTYPE_F16)
				 : sum_four_as(p, targets, n_targets, n, DTYPE_BF16);
}
#endif

static void add_node(float *sum, const void *x, size_t begin, size_t n, enum dtype from,
		     enum dtype type)
{
	uint16_t kept;
	size_t i = 0;

#if defined(__x86_64__)
	if (has_vectors())
		i = add_node_vectors(sum, x, begin, n, from, type);
#endif
	for (; i < n; i++) {
		sum[i] += float_from(x, begin + i, from);
		if (type == DTYPE_F32)
			continue;
		float_to(&kept, 0, type, sum[i]);
		sum[i] = float_from(&kept, 0, type);
	}
}

/* One block of all parts, as they come; the sum is in buffer 0. */
static void climb(float buffers[BUFFERS][BLOCK], const struct reduce_part *parts, int n_parts,
		  size_t begin, size_t end, enum dtype type)
{
	for (int i = 0; i < n_parts; i++) {
		const struct reduce_part *p = &parts[i];
		int depth = tree_depth(p->first), merges = tree_merges(p->first / p->size);

		assert(depth < BUFFERS && tree_has((int)p->size) && p->first % p->size == 0);
		if (!merges)
			reduce_add(buffers[depth], true, &p->data, 1, begin, end, type);
		else /* a leaf needs no buffer of its own */
			add_node(buffers[--depth], p->data, begin, end - begin, type, type);
		for (; merges > 1; merges--, depth--)
			add_node(buffers[depth - 1], buffers[depth], 0, end - begin, DTYPE_F32,
				 type);
	}
}

void reduce_tree(const struct reduce_part *parts, int n_parts, void *const *targets,
		 int n_targets, size_t n, enum dtype dtype)
{
	const struct reduce_part *last = &parts[n_parts - 1];
	float buffers[BUFFERS][BLOCK];
	size_t begin = 0;

	assert(dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16);
	assert(parts[0].first == 0 && tree_has((int)(last->first + last->size)));
	if (n_parts <= 2) { /* one node: the same in any order */
		const void *sources[2] = {parts[0].data, last->data};

		reduce_sum(sources, n_parts, targets, n_targets, 0, n, dtype);
		return;
	}
#if defined(__x86_64__)
	if (n_parts == FOUR && parts[0].size == last->size && parts[1].size == last->size &&
	    has_vectors()) /* all four alike */
		begin = sum_four(parts, targets, n_targets, n, dtype);
#endif
	for (; begin < n; begin += BLOCK) {
		size_t end = n - begin < BLOCK ? n : begin + BLOCK;

		climb(buffers, parts, n_parts, begin, end, dtype);
		reduce_store(buffers[0], targets, n_targets, begin, end, dtype);
	}
}
