/*
 * mlp.h - a stack of linear layers.
 *
 * x <- act(x W' + b) for every layer, no activation after the last. With a norm, every layer
 * but the first has one before it. Dropout follows the activation. With bridges, layers that
 * are as wide as their input add to it: x <- x + f(x), the last one excepted.
 */
#ifndef KOLM_MODEL_MLP_H
#define KOLM_MODEL_MLP_H

#include "model/model.h"

struct mlp {
	const int *widths; /* (depth + 1) from what goes in to what comes out */
	int depth;
	enum activation act;
	enum norm_kind norm;
	bool residual;
	double dropout; /* 0: none */
};

/* The layers of m, which is empty. Where layers are split over ranks, they alternate between
   outputs and inputs, so that two of them need one sum each way; with norms or bridges, which
   need whole rows, each is split by its outputs and gathered. */
enum status mlp_build(struct model *m, const struct mlp *mlp, struct error *err);

#endif
