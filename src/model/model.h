/*
 * model.h - a rank's part of the linear stack: x <- act(x W' + b) for every layer, no
 * activation after the last. Owns parameters and gradients.
 *
 * All parameters lie in one array and all gradients in another at the same places, in
 * the device's layout, so that optimizer and gradient sums see flat arrays. What a rank
 * holds of a weight is the same numbers whatever the grid: element i of tensor t is a pure
 * function of (seed, t, i).
 */
#ifndef KOLM_MODEL_MODEL_H
#define KOLM_MODEL_MODEL_H

#include "comm/comm.h"
#include "device/device.h"
#include "model/partition.h"

/* A layer as this rank has it: all of it, or a slice. */
struct layer {
	int number; /* in the stack */
	enum split split;
	int in, out;	       /* of this rank's slice */
	int full_in, full_out; /* of the whole layer */
	int row, column;       /* where in the whole the slice begins: output, input */
	size_t weight, bias;   /* where in the flat arrays */
};

/* Consecutive layers of this rank that a micro-batch goes through at once. */
struct chunk {
	int part;	   /* of the partition */
	int first, count;  /* layers of this rank */
	bool begins, ends; /* has the stack's first, its last layer */
	int in, out;	   /* widths of what goes in and comes out here */
};

struct model {
	struct device *dev; /* borrowed */
	struct model_shape shape;
	int mp, shard;	   /* ways to split a layer, and which slice is ours */
	struct comm *sums; /* those that have the other slices, or NULL; borrowed */
	struct layer *layers;
	int n_layers;
	struct chunk *chunks;
	int n_chunks;
	enum dtype type, grad_type; /* of parameters and activations; of gradients */
	size_t size;		    /* elements of the flat arrays, padding included */
	float *param, *grad;	    /* (size), of those types */
	int64_t bytes;		    /* brought to sums over the slices so far */
};

/* Element number i of a flat array. */
static inline float *flat_at(float *flat, enum dtype type, size_t i)
{
	return (float *)((char *)flat + i * dtype_size(type));
}

struct model_place {
	int stage, mp, shard;
	enum dtype type, grad_type;
	struct comm *sums; /* over the slices; NULL if mp is 1 */
	bool share_params; /* other ranks read or write our parameters */
	bool plan;	   /* leave the parameters as they are: there is no memory */
};

enum status model_init(struct model *m, struct device *dev, const struct model_shape *shape,
		       const struct partition *partition, const struct model_place *place,
		       uint64_t seed, struct error *err);
void model_release(struct model *m);

/* Elements of grad that every rank of the group of slices has: counted by the first only. */
bool model_is_replicated(const struct model *m, const struct layer *l);

/* Widest that any activation is here, in elements of a row. */
int model_widest(const struct model *m);

/* ---- computing; see compute.c ---- */

/*
 * What a micro-batch leaves in a chunk for its backward pass: input[i] of layer i of the
 * chunk, input[count] its output; before[i] is layer i before gelu. full is the whole
 * output where the last layer is split by columns, otherwise the same as the output.
 */
struct slot {
	struct view *input, *before;
	struct view full;
};

/* Gradients on their way down: flow[i] is that of layer i's output. */
struct flow {
	struct view *flow;
	struct view full; /* of the whole output, where slot has one */
};

/* Called between kernels: a chance to move messages on, or to start a sum. May be NULL. */
typedef void model_hook(void *arg, int layer);

/* input[0] is there; fills the rest. */
enum status chunk_forward(struct model *m, const struct chunk *c, struct slot *s, int rows,
			  model_hook *hook, void *arg, struct error *err);

enum backward_part { BACKWARD_INPUT = 1, BACKWARD_WEIGHT = 2, BACKWARD_BOTH = 3 };

struct backward {
	enum backward_part part;
	struct view dx;	  /* takes the gradient of the chunk's input, unless it begins */
	bool accumulate;  /* add to grad */
	bool overlap;	  /* sum input gradients while the weight gradient is computed */
	model_hook *hook; /* layer: its gradient is complete (of this micro-batch) */
	void *arg;
};

/*
 * flow[count - 1] is the gradient of the output after its activation; if the chunk ends
 * the stack, full is. INPUT computes dx and leaves in flow what WEIGHT needs later.
 */
enum status chunk_backward(struct model *m, const struct chunk *c, struct slot *s,
			   struct flow *f, int rows, const struct backward *how,
			   struct error *err);

#endif
