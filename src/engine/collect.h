/* collect.h - the tensors of all ranks, or their gradients, brought to rank 0 row by row. */
#ifndef KOLM_ENGINE_COLLECT_H
#define KOLM_ENGINE_COLLECT_H

#include "engine/engine.h"

/* Takes some rows of the model's tensor of that number, from its first row on. */
typedef enum status collect_fn(void *arg, int tensor, const float *values, size_t count,
			       struct error *err);

/*
 * Every rank calls it; rank 0's fn gets the tensors in the model's order. Replicas have the
 * same, some of it slices and stages too: copy is a number, and each number another choice of
 * them; below dp, a replica. Not for use within a step: it allocates.
 */
typedef enum status collect_tensors(struct engine *e, int copy, collect_fn *fn, void *arg,
				    struct error *err);
collect_tensors collect_weights;

/* The same for what the optimizer keeps: in 16-bit training, the fp32 weights. The tensors may
   be asked for in another order: (tensors) their numbers. */
collect_tensors collect_masters;
enum status collect_in_order(struct engine *e, int copy, const int *order, collect_fn *fn,
			     void *arg, struct error *err);
/* And for the sums of gradients that the last step has left, scaled as they were. */
collect_tensors collect_gradients;

#endif
