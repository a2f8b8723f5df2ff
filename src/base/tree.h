/*
 * tree.h - the one order in which sums over a power of two of parts are taken.
 *
 * Leaves (0,1), (2,3), ... are added in pairs, then those sums in pairs, and so on: the left
 * one plus the right one. So a sum of 2^k leaves that begin at a multiple of 2^k is one number
 * whoever computes it, and whoever has it may stand in for them: that is what makes the sum
 * the same however the leaves are spread over ranks, and ranks over machines.
 *
 * Whoever has the leaves one after the other needs log2(n) + 1 buffers for it: leaf i goes to
 * buffer tree_depth(i), and then, tree_merges(i) times, the deepest buffer in use is added to
 * the one before it. After the last leaf the sum is in buffer 0.
 *
 *	leaf	0    1    2    3    4 ...
 *	buffer	0    1    1    2    1
 *	merges	0    1    0    2    0	1: 1 to 0; 3: 2 to 1, 1 to 0
 *
 * A part of 2^level leaves goes where its first leaf would, and is merged as leaf number
 * (first >> level) of a tree of such parts is.
 */
#ifndef KOLM_BASE_TREE_H
#define KOLM_BASE_TREE_H

#include <stdbool.h>

static inline int tree_depth(unsigned leaf)
{
	return __builtin_popcount(leaf);
}

static inline int tree_merges(unsigned leaf)
{
	return __builtin_ctz(~leaf);
}

/* Can so many leaves be added up in this way? */
static inline bool tree_has(int leaves)
{
	return leaves > 0 && (leaves & (leaves - 1)) == 0;
}

/* Leaves that each of some ranks has; as_if: ranks that there seem to be, 0: one leaf each. */
static inline int tree_held(int as_if, int ranks)
{
	return as_if ? as_if / ranks : 1;
}

/* log2 of a number of leaves that tree_has. */
static inline int tree_levels(int leaves)
{
	return __builtin_ctz((unsigned)leaves);
}

/* Buffers that it takes at most at a time. */
static inline int tree_buffers(int leaves)
{
	return tree_levels(leaves) + 1;
}

#endif
