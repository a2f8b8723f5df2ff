/*
 * stack.h - the linear stack: x <- act(x W' + b) for every layer, no activation after
 * the last. Owns parameters, gradients and the activations of one micro-batch.
 *
 * All parameters lie in one array and all gradients in another at the same places, in
 * the device's layout, so that the optimizer sees two flat arrays.
 */
#ifndef KOLM_MODEL_STACK_H
#define KOLM_MODEL_STACK_H

#include "device/device.h"

struct stack_shape {
	int depth;
	int in, dim, out; /* of the first layer, between layers, of the last */
	enum activation act;
	int rows; /* of a micro-batch */
};

struct layer {
	int in, out;
	size_t weight, bias; /* where in the flat arrays */
};

struct stack {
	struct device *dev; /* borrowed */
	struct stack_shape shape;
	struct layer *layers;
	size_t size;	     /* elements of the flat arrays, padding included */
	float *param, *grad; /* (size) */
	struct view *input;  /* input[i] of layer i; input[depth] is the stack's output */
	struct view *before; /* gelu: layer i before its activation */
	struct view flow[2]; /* gradients on their way down, layer by layer */
	float *activations;  /* what the views point into */
};

/* Weights are a pure function of the seed. */
enum status stack_init(struct stack *s, struct device *dev, const struct stack_shape *shape,
		       uint64_t seed, struct error *err);
void stack_release(struct stack *s);

/* Parameters without padding; floating-point operations of one sample, both ways. */
int64_t stack_parameters(const struct stack_shape *shape);
double stack_flops(const struct stack_shape *shape);

/* The output for rows <= shape.rows samples of x. */
struct view stack_forward(struct stack *s, struct view x, int rows);

/* Where the loss puts the gradient of the output, for stack_backward. */
struct view stack_output_gradient(struct stack *s);

/* Gradients of what stack_forward computed last; added to grad if accumulate. */
void stack_backward(struct stack *s, int rows, bool accumulate);

#endif
