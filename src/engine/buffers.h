/*
 * buffers.h - the activations and gradients of a step: planned from the schedule before
 * step 0, as many as it has alive at once, and one more for each kind that messages bring,
 * so that the next can arrive while the last is in use.
 */
#ifndef KOLM_ENGINE_BUFFERS_H
#define KOLM_ENGINE_BUFFERS_H

#include "model/weights.h"
#include "schedule/schedule.h"

/* n things, some of them in use for a micro-batch. */
struct pool_of {
	int n;
	int *free, n_free; /* (n) those that are not, the next to be taken last */
	int *of;	   /* (micro-batches) which one each has, or -1 */
};

enum { DX_BUFFERS = 2 };

struct chunk_buffers {
	struct pool_of inputs, slots, tops, flows;
	struct view *input;	    /* (inputs.n) what messages bring */
	struct view *top;	    /* (tops.n) and gradients of the output */
	struct slot *slot;	    /* (slots.n) */
	struct flow *flow;	    /* (flows.n) without the top; in use since a B or I */
	struct view dx[DX_BUFFERS]; /* on their way to the stage before */
	struct view *again;	    /* see buffers_again; where nobody has own ones, nothing */
	struct view *views;	    /* what slots, flows and again point into */
	bool *done;		    /* and this */
	bool whole;		    /* flows keep the gradients of all layers */
	bool own_again;
};

struct buffers {
	struct device *dev; /* borrowed */
	int n_chunks;
	struct chunk_buffers *chunks;
	bool forward_only;    /* nothing is kept: no flows, and layers have the same rooms */
	struct view inner[2]; /* between layers of a chunk, in turn: gradients, or then rows */
	void *memory;
};

/* For micro-batches of so many rows. early: the gradient of a chunk's input is sent before
   those of its weights are computed. An order of an evaluation keeps nothing. */
enum status buffers_init(struct buffers *b, const struct weights *w, const struct chunk *chunks,
			 int n_chunks, const struct order *order, int rows, int micro_batches,
			 bool early, struct error *err);
void buffers_release(struct buffers *b);

/* place.c: where everything is from b->memory on; returns how many bytes that takes. */
size_t buffers_place(struct buffers *b, const struct weights *w, const struct chunk *chunks,
		     int rows);

/* Rooms that the layers of a chunk have in forward for a moment: those that are kept by a flow
   that nobody uses, or own ones. */
struct view *buffers_again(const struct chunk_buffers *cb);

/* Is the backward pass of an order in two parts? */
bool order_is_split(const struct order *o);

/* The one of a pool that a micro-batch has, or -1. */
int pool_find(const struct pool_of *p, int micro_batch);
/* One for a micro-batch, or -1: all are in use. */
int pool_take(struct pool_of *p, int micro_batch);
void pool_give_back(struct pool_of *p, int micro_batch);

#endif
