/*
 * chunk.h - consecutive layers of a rank that a micro-batch goes through at once, forward and
 * backward.
 */
#ifndef KOLM_MODEL_CHUNK_H
#define KOLM_MODEL_CHUNK_H

#include "model/model.h"

struct weights;

struct chunk {
	int part;	   /* of the partition */
	int first, count;  /* layers of the model */
	bool begins, ends; /* has the model's first, its last layer */
};

/* Which of a rank's chunks has that part, or -1. */
static inline int chunk_of_part(const struct chunk *chunks, int n, int part)
{
	while (--n >= 0 && chunks[n].part != part)
		;
	return n;
}

/*
 * What a micro-batch leaves in a chunk for its backward pass: input[i] of layer i of the
 * chunk, input[count] its output; saved, layer by layer, what each has asked for.
 */
struct slot {
	struct view *input, *saved;
};

/* Gradients on their way down: flow[i] is that of layer i's output; kept is what layers have
   asked for; done: layer i's weights have their gradient of this micro-batch. */
struct flow {
	struct view *flow, *kept;
	bool *done;
};

/* Called between kernels: a chance to move messages on, or to start a sum. A layer's output is
   there, the gradient of its input, or that of its weights. May be NULL. */
enum chunk_event { CHUNK_FORWARD, CHUNK_INPUT, CHUNK_WEIGHT };
typedef void chunk_hook(void *arg, int layer, enum chunk_event event);

/* A chunk with all that its passes have in common. */
struct chunk_run {
	const struct model *model;
	const struct weights *weights;
	const struct chunk *chunk;
	struct slot *slot;
	struct flow *flow;  /* backward */
	struct view *again; /* forward: rooms of layers that have kept ones there too */
	struct pass pass;   /* device, slices, rows, randomness */
	int left_out;	    /* forward: rows that the model's last layer is not asked for */
	chunk_hook *hook;
	void *arg;
};

/* input[0] is there; fills the rest. */
enum status chunk_forward(struct chunk_run *r, struct error *err);

/* When weights get their gradient: in a pass of their own; with each layer's input gradient;
   or only beside sums that input gradients wait for, so that dx is there as soon as can be. */
enum chunk_weights { WEIGHTS_LATER, WEIGHTS_WITH_INPUT, WEIGHTS_BESIDE_SUMS };

/* flow[count - 1] is the gradient of the output; dx takes that of the input, unless the chunk
   begins. What flow and kept have afterwards is for chunk_backward_weight. overlap: weights
   get theirs while a sum is under way, not after it. */
enum status chunk_backward_input(struct chunk_run *r, struct view dx,
				 enum chunk_weights weights, bool overlap, struct error *err);
/* Those that have none yet. */
enum status chunk_backward_weight(struct chunk_run *r, struct error *err);

#endif
