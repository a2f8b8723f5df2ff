/*
 * outline.h - what a rank does with a sample and what it holds, by the engine's own word: its
 * layers are built in any size and go forward and backward once, on a device that computes
 * nothing and tells what it is asked for. Nothing is allocated for their tensors.
 */
#ifndef KOLM_PLAN_OUTLINE_H
#define KOLM_PLAN_OUTLINE_H

#include "device/operation.h"
#include "plan/setup.h"

enum { OUTLINE_OPERATIONS = 32, OUTLINE_SUMS = 8 };

struct outline_operation {
	struct operation is;
	/* Where rows are spread: those that go in were gathered from all ranks; those of a
	   product go back to them. Of a weight's gradient, also: what came out is spread. */
	bool gathered, scattered;
};

/* Over the ranks that share a layer. */
struct outline_sum {
	bool half; /* a gathering, or a sum of which each gets its part */
	double bytes;
};

struct outline_pass {
	struct outline_operation operations[OUTLINE_OPERATIONS];
	struct outline_sum sums[OUTLINE_SUMS];
	int operation_count, sum_count;
};

/* The loss belongs to the head: its statistics to the forward, the rest to the backward. */
struct outline_layer {
	struct outline_pass forward, backward;
	double parameters; /* of a rank */
};

struct outline {
	struct outline_layer embedding, block, head;
	double table;		  /* parameters of the embedding's tokens on a rank */
	double parameters, flops; /* of the whole model; of a sample, forward and backward */
};

/* Of the setup only the sizes, tp and sequence_parallel count. ERR_USAGE: there is no such
   model. */
enum status outline_init(struct outline *o, const struct setup *s, struct error *err);

/* Parameters that a rank of the stage has. */
double outline_stage_parameters(const struct outline *o, const struct setup *s, int stage);

#endif
