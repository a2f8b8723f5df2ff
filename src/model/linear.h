/* linear.h - y = act(x W' + b). */
#ifndef KOLM_MODEL_LINEAR_H
#define KOLM_MODEL_LINEAR_H

#include "model/layer.h"

/*
 * Split by columns, it takes whole rows and yields slices: its input gradient is a sum over
 * the ranks. Split by rows, it takes slices and yields whole rows: its output is a sum, and
 * bias and activation come after it. Gathered, it is split by columns and brings the slices
 * together afterwards.
 *
 * Where rows are spread, one that is split by columns collects them first, and one that is
 * split by rows leaves them spread.
 */
enum linear_split { LINEAR_COLUMNS, LINEAR_ROWS, LINEAR_GATHERED };

struct linear_config {
	int out;
	enum activation act;
	enum linear_split split; /* where there are ranks to split it over */
	float bound;		 /* of the weights at first */
	float deviation;	 /* instead: normal weights, and a bias of 0 */
	bool no_bias;
	bool spreads;		   /* split by rows: what comes out is spread */
	int blocks[TENSOR_BLOCKS]; /* of outputs, which are split each; or 0 */
	const char *tied; /* the name of another layer's tensor that it uses, or NULL */
	bool uneven;	  /* outputs need not divide by the ranks: classes */
};

extern const struct layer_ops layer_linear;

#endif
