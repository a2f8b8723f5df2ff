/*
 * tensor.h - a parameter of a model: its name, its size, what is in it at first and how it is
 * split. Gradient sums, the optimizer, the norm, dumps, the memory plan and predictions know
 * tensors and nothing else.
 */
#ifndef KOLM_MODEL_TENSOR_H
#define KOLM_MODEL_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TENSOR_NAME = 64 };

/* How the ranks of a model-parallel group share it: each has all of it, or its part of the
   rows, or of the columns. */
enum tensor_split { SPLIT_NONE, SPLIT_ROWS, SPLIT_COLUMNS };

struct tensor {
	char name[TENSOR_NAME]; /* layers.3.weight */
	int layer;		/* of the model's list, that it belongs to */
	int rows, columns;	/* of the whole; a vector has one column */
	bool matrix;		/* in the device's layout of weights, otherwise row by row */
	enum tensor_split split;
	/* Element i is value plus up to bound either way: a pure function of (seed, stream, i).
	   A stream of 0, or one that another tensor has, becomes that of the name. */
	float value, bound;
	uint64_t stream;
};

static inline int64_t tensor_elements(const struct tensor *t)
{
	return (int64_t)t->rows * t->columns;
}

/* What one of mp ranks has of it. */
static inline int tensor_own_rows(const struct tensor *t, int mp)
{
	return t->split == SPLIT_ROWS ? t->rows / mp : t->rows;
}

static inline int tensor_own_columns(const struct tensor *t, int mp)
{
	return t->split == SPLIT_COLUMNS ? t->columns / mp : t->columns;
}

#endif
