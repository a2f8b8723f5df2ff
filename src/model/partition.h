/*
 * partition.h - which layers are where: the model's list is cut into stages * chunks pieces of
 * consecutive layers, the parts, and every layer is in exactly one. The schedule says which
 * stage has a part.
 */
#ifndef KOLM_MODEL_PARTITION_H
#define KOLM_MODEL_PARTITION_H

#include "base/error.h"
#include "model/model.h"

struct partition {
	int stages, chunks;
	int *first; /* (stages * chunks + 1): part k holds layers first[k] .. first[k+1]-1 */
};

/* list is "a,b,...": layers per part in the order of the layers; "": balanced by cost. */
enum status partition_init(struct partition *p, const struct model *m, int stages, int chunks,
			   const char *list, struct error *err);
void partition_release(struct partition *p);

/* The part that a layer is in. */
int partition_part_of(const struct partition *p, int layer);

#endif
