/* reduce.h - sums over the buffers of several ranks, in their order or in a tree of them. */
#ifndef KOLM_COMM_REDUCE_H
#define KOLM_COMM_REDUCE_H

#include "base/dtype.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Elements [begin, end): the sum over sources[0], sources[1], ... in that order, put
 * into every target. Targets may be sources. 16-bit types are summed in fp32 and
 * rounded once.
 */
void reduce_sum(const void *const *sources, int n_sources, void *const *targets, int n_targets,
		size_t begin, size_t end, enum dtype dtype);

/* The same in parts: sum (end - begin floats) is set to or grows by the sources, in their
   order, and is stored in the targets at last. */
void reduce_add(float *sum, bool first, const void *const *sources, int n, size_t begin,
		size_t end, enum dtype dtype);
void reduce_store(const float *sum, void *const *targets, int n, size_t begin, size_t end,
		  enum dtype dtype);

/* The sum of the leaves [first, first + size) of a tree, size a power of two: of a member, or
   of several that are one node of the tree. */
struct reduce_part {
	const void *data; /* from the first element that is asked for */
	unsigned first, size;
};

/*
 * n elements of the sum over parts, in their order and without a gap, that are a whole tree
 * (base/tree.h), put into every target from its beginning on. Targets may be parts. 16-bit
 * types are added in fp32 and rounded at every node: whoever has a node may keep it in that
 * type.
 */
void reduce_tree(const struct reduce_part *parts, int n_parts, void *const *targets,
		 int n_targets, size_t n, enum dtype dtype);

#endif
