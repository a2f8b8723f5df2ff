/* norm.h - every row to mean 0 and deviation 1 (layer), or to a mean square of 1 (rms), then
   times a weight and, for layer, plus a bias; as PyTorch has them. */
#ifndef KOLM_MODEL_NORM_H
#define KOLM_MODEL_NORM_H

#include "model/layer.h"

struct norm_config {
	enum norm_kind kind;
	float eps;
	bool no_bias;
};

extern const struct layer_ops layer_norm;

#endif
