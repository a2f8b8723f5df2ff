/* reduce.h - sums over the buffers of several ranks, in their order. */
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

#endif
