/*
 * tensor.h - a parameter of a model: its name, its size, what is in it at first and how it is
 * split. Gradient sums, the optimizer, the norm, dumps, the memory plan and predictions know
 * tensors and nothing else.
 */
#ifndef KOLM_MODEL_TENSOR_H
#define KOLM_MODEL_TENSOR_H

#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TENSOR_NAME = 96, TENSOR_BLOCKS = 3 };

/* How the ranks of a model-parallel group share it: each has all of it, or its part of the
   rows, or of the columns. Rows may be in blocks, such as those of queries, keys and values:
   then each has its part of every block. Columns are cut evenly, rows need not be. */
enum tensor_split { SPLIT_NONE, SPLIT_ROWS, SPLIT_COLUMNS };

struct tensor {
	char name[TENSOR_NAME]; /* layers.3.weight */
	int layer;		/* of the model's list, that it belongs to */
	int rows, columns;	/* of the whole; a vector has one column */
	bool matrix;		/* in the device's layout of weights, otherwise row by row */
	enum tensor_split split;
	int blocks[TENSOR_BLOCKS]; /* rows of each; the first is 0: all of them are one */
	/* Each rank has all of it, but its gradient there is of a part of the samples' rows. */
	bool partial;
	/* Element i is value plus up to bound either way, or plus something normal of that
	   deviation: a pure function of (seed, stream, i). A stream of 0, or one that another
	   tensor has, becomes that of the name. */
	float value, bound, deviation;
	uint64_t stream;
};

static inline int64_t tensor_elements(const struct tensor *t)
{
	return (int64_t)t->rows * t->columns;
}

/* Dimensions that it has for people. */
static inline int tensor_dims(const struct tensor *t)
{
	return t->matrix || t->columns > 1 ? 2 : 1;
}

/* Is something random in it? */
static inline bool tensor_is_random(const struct tensor *t)
{
	return t->bound > 0 || t->deviation > 0;
}

static inline int tensor_blocks(const struct tensor *t)
{
	int n = 0;

	while (n < TENSOR_BLOCKS && t->blocks[n])
		n++;
	return n ? n : 1;
}

/* A block as one of mp ranks has it: so many rows, which begin at own there and at row of the
   whole. */
struct tensor_piece {
	int own, row, rows;
};

static inline struct tensor_piece tensor_piece(const struct tensor *t, int mp, int shard,
					       int block)
{
	struct tensor_piece p = {0};
	int parts = t->split == SPLIT_ROWS ? mp : 1, part = parts > 1 ? shard : 0;

	for (int b = 0;; b++) {
		int all = t->blocks[0] ? t->blocks[b] : t->rows;
		int begin = (int)part_begin(all, part, parts);

		p.rows = (int)part_begin(all, part + 1, parts) - begin;
		if (b == block) {
			p.row += begin;
			return p;
		}
		p.own += p.rows;
		p.row += all;
	}
}

/* What one of mp ranks has of it. */
static inline int tensor_own_rows(const struct tensor *t, int mp, int shard)
{
	struct tensor_piece last = tensor_piece(t, mp, shard, tensor_blocks(t) - 1);

	return last.own + last.rows;
}

static inline int tensor_own_columns(const struct tensor *t, int mp)
{
	return t->split == SPLIT_COLUMNS ? t->columns / mp : t->columns;
}

/* The row of the whole that its row number own is. */
static inline int tensor_row_of(const struct tensor *t, int mp, int shard, int own)
{
	struct tensor_piece p = tensor_piece(t, mp, shard, 0);

	for (int b = 1; own >= p.own + p.rows; b++)
		p = tensor_piece(t, mp, shard, b);
	return p.row + own - p.own;
}

#endif
