/* weights.h - the weights of all ranks, brought to rank 0 row by row. */
#ifndef KOLM_ENGINE_WEIGHTS_H
#define KOLM_ENGINE_WEIGHTS_H

#include "engine/engine.h"

/* Takes n rows of a layer's weight (rows of the whole width) or, at last, its bias. */
typedef enum status weights_fn(void *arg, const float *values, size_t count, struct error *err);

/*
 * Every rank calls it; rank 0's fn gets the layers in order, each as the rows of its
 * weight from the first on and then its bias. Not for use within a step: it allocates.
 */
enum status weights_gather(struct engine *e, weights_fn *fn, void *arg, struct error *err);

#endif
