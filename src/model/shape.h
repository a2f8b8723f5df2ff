/* shape.h - what the linear stack looks like: numbers that need no memory. */
#ifndef KOLM_MODEL_SHAPE_H
#define KOLM_MODEL_SHAPE_H

#include "device/kernel.h"

struct model_shape {
	int depth;
	int in, dim, out; /* of the first layer, between layers, of the last */
	enum activation act;
	int rows; /* of a micro-batch */
};

/* Inputs and outputs of a whole layer. */
static inline int shape_in(const struct model_shape *s, int layer)
{
	return layer == 0 ? s->in : s->dim;
}

static inline int shape_out(const struct model_shape *s, int layer)
{
	return layer == s->depth - 1 ? s->out : s->dim;
}

/* Parameters without padding; floating-point operations of one sample, both ways. */
int64_t shape_parameters(const struct model_shape *s);
double shape_flops(const struct model_shape *s);
/* Of one layer: forward, weight gradient, and input gradient for all but the first. */
double shape_layer_flops(const struct model_shape *s, int layer);

#endif
