/* weights.h - the weights of all ranks, or their gradients, brought to rank 0 row by row. */
#ifndef KOLM_ENGINE_WEIGHTS_H
#define KOLM_ENGINE_WEIGHTS_H

#include "engine/engine.h"

/* Takes n rows of a layer's weight (rows of the whole width) or, at last, its bias. */
typedef enum status weights_fn(void *arg, const float *values, size_t count, struct error *err);

/*
 * Every rank calls it; rank 0's fn gets the layers of a replica in order, each as the rows of
 * its weight from the first on and then its bias. Not for use within a step: it allocates.
 */
typedef enum status gather_fn(struct engine *e, int replica, weights_fn *fn, void *arg,
			      struct error *err);
gather_fn weights_gather;

/* The same for what the optimizer keeps: in 16-bit training, the fp32 weights. */
gather_fn masters_gather;
/* And for the sums of gradients that the last step has left, scaled as they were. */
gather_fn gradients_gather;

#endif
