/*
 * partition.h - which layers are where: over pipeline stages, and each layer over the
 * ranks of a model-parallel group.
 *
 * The stack is cut into stages * chunks pieces of consecutive layers, the parts; stage s
 * holds parts s, s + stages, ... Every layer is in exactly one. Within a stage, layers of
 * even number are split by columns of their outputs and those of odd number by rows, that
 * is by their inputs, so that two of them need one sum forward and one backward.
 */
#ifndef KOLM_MODEL_PARTITION_H
#define KOLM_MODEL_PARTITION_H

#include "base/error.h"
#include "model/shape.h"

struct partition {
	int stages, chunks;
	int *first; /* (stages * chunks + 1): part k holds layers first[k] .. first[k+1]-1 */
};

/* list is "a,b,...": layers per part in the order of the layers; "": balanced by cost. */
enum status partition_init(struct partition *p, const struct model_shape *shape, int stages,
			   int chunks, const char *list, struct error *err);
void partition_release(struct partition *p);

/* The part that a layer is in. */
int partition_part_of(const struct partition *p, int layer);

enum split { SPLIT_NONE, SPLIT_COLUMNS, SPLIT_ROWS };

static inline enum split split_of(int layer, int mp)
{
	return mp == 1 ? SPLIT_NONE : layer % 2 ? SPLIT_ROWS : SPLIT_COLUMNS;
}

/* Can these layers be split so many ways? The error has values that fit. */
enum status partition_check_split(const struct model_shape *shape, int mp, struct error *err);

#endif
