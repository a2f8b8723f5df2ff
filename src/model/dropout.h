/* dropout.h - in training, every element is 0 with some probability and otherwise divided by
   that of staying, so that its mean is as before. Which are dropped is a pure function of
   (seed, step, layer, row of the global batch, column): the same on any grid. */
#ifndef KOLM_MODEL_DROPOUT_H
#define KOLM_MODEL_DROPOUT_H

#include "model/layer.h"

struct dropout_config {
	double p; /* of being dropped */
};

extern const struct layer_ops layer_dropout;

/* What the device draws from, for a micro-batch that begins with a row of the global batch:
   columns of the slice that begins with one. For dumps as well. */
struct dropout dropout_of(const struct layer *l, uint64_t seed, int64_t step, int64_t row,
			  int64_t column);

#endif
