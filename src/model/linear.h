/* linear.h - y = act(x W' + b). */
#ifndef KOLM_MODEL_LINEAR_H
#define KOLM_MODEL_LINEAR_H

#include "model/layer.h"

/*
 * Split by columns, it takes whole rows and yields slices: its input gradient is a sum over
 * the ranks. Split by rows, it takes slices and yields whole rows: its output is a sum, and
 * bias and activation come after it. Gathered, it is split by columns and brings the slices
 * together afterwards.
 */
enum linear_split { LINEAR_COLUMNS, LINEAR_ROWS, LINEAR_GATHERED };

struct linear_config {
	int out;
	enum activation act;
	enum linear_split split; /* where there are ranks to split it over */
	float bound;		 /* of the weights at first */
};

extern const struct layer_ops layer_linear;

#endif
