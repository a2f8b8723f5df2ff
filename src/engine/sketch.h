/*
 * sketch.h - the gradients of every step and the way of the weights, boiled down to what two
 * runs can be compared by.
 *
 * A sketch of a tensor is SKETCH_BINS sums: every element is added to one of them, with a
 * sign, both drawn from its place in the tensor. Sums are linear, so the difference of two
 * sketches is the sketch of the difference, and the squares of its sums add up, on average,
 * to the square of its norm: how far two tensors are apart is known without keeping them.
 */
#ifndef KOLM_ENGINE_SKETCH_H
#define KOLM_ENGINE_SKETCH_H

#include "engine/engine.h"

enum { SKETCH_BINS = 32 };

/* What a step leaves of a tensor. */
struct sketch_tensor {
	float norm;		     /* of its gradient */
	float gradient[SKETCH_BINS]; /* not scaled, summed over all ranks */
	float moved[SKETCH_BINS];    /* how far the optimizer has come from the first weights */
};

struct sketch {
	int steps, tensors;
	double *start;		      /* (tensors, SKETCH_BINS) of the first weights */
	struct sketch_tensor *values; /* (steps, tensors) */
};

/* Every rank calls init and, after each step, add; rank 0 has the values. scale is what the
   loss of the step was multiplied by. */
enum status sketch_init(struct sketch *s, struct engine *e, int steps, struct error *err);
enum status sketch_add(struct sketch *s, struct engine *e, int step, double scale,
		       struct error *err);
/* All replicas have the same, and some of it slices and stages too, so each in turn shows it:
   which copy collect takes; of DataParallel the first. */
int sketch_copy(const struct engine *e, int step);
/* The values as sketch.safetensors: (steps, tensors, floats of a struct sketch_tensor). */
enum status sketch_write(const struct sketch *s, const char *folder, struct error *err);
void sketch_release(struct sketch *s);

#endif
