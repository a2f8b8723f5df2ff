/*
 * layer.h - what a layer is to those who do not know its kind.
 *
 * A kind of layer is one file with one struct layer_ops: what tensors it has, how wide what
 * comes out is, what it keeps of a micro-batch between forward and backward, and how it
 * computes. It calls kernels of the device and sums over the slices of a model-parallel group;
 * it never knows stages, schedules or replicas.
 *
 * What goes from layer to layer is a matrix of rows, one per sample, or of a sequence one per
 * token: whole, or, where sliced, each rank of the group has its part of the columns, or, where
 * spread, its part of the rows.
 */
#ifndef KOLM_MODEL_LAYER_H
#define KOLM_MODEL_LAYER_H

#include "base/error.h"
#include "comm/comm.h"
#include "device/device.h"
#include "model/collective.h"
#include "model/tensor.h"

struct model;
struct weights; /* see weights.h */
struct cache;	/* see cache.h */

/*
 * Room for a matrix of so many columns, for every row of a micro-batch. Passes have moments: of
 * a layer that holds no others, forward is one; backward is two, the input's gradient and that
 * of the weights. Bits say in which of them a room is in use. Where both gradients are computed
 * at once, rooms that never are at the same moment may be the same memory.
 */
struct layer_room {
	int columns;
	bool wide;   /* fp32, whatever the activations are */
	bool spread; /* for this rank's part of the rows only */
	bool lent;   /* for a call: nothing is left there for another one */
	uint64_t forward, backward;
};

enum { ROOMS_MAX = 64, LAYER_NAME = 64 };

struct layer {
	const struct layer_ops *ops;
	void *config; /* the kind's own */
	char name[LAYER_NAME];
	int number;   /* in the model's list, of the one that it is or is inside of */
	int place;    /* unique in the model: names its random numbers */
	int mp;	      /* ways that layers are split: shards */
	int held;     /* shards that a rank has */
	int sequence; /* rows of a sample */
	int in, out;  /* columns of what goes in and comes out, of the whole */
	bool in_sliced, out_sliced;
	bool in_spread, out_spread;
	int tensor, n_tensors; /* of the model's: the first of its own, and how many */
	int tied;	       /* one of another layer's that it uses; see model_tie */
	/* What forward leaves for backward, and the input's gradient for that of the weights,
	   beside x, y and dy; among the second also what is lent for a call. */
	struct layer_room saved[ROOMS_MAX], kept[ROOMS_MAX];
	int n_saved, n_kept;
	int moments, back_moments, dx_moment; /* in which of those dx is written first */
	bool needs_y;			      /* backward reads what came out */
	bool spoils_dy;			      /* backward changes it */
	bool lean;		       /* it computes or collects again what it could keep */
	int saved_before, kept_before; /* by the layers before it in the model's list */
};

/* Columns that a shard has of what goes in and comes out; of classes that can't be shared
   evenly it may have one less. */
static inline int layer_in_shard(const struct layer *l)
{
	return l->in_sliced ? (int)ceil_div(l->in, l->mp) : l->in;
}

static inline int layer_out_shard(const struct layer *l)
{
	return l->out_sliced ? (int)ceil_div(l->out, l->mp) : l->out;
}

/* And that this rank has: those of its shards, side by side. */
static inline int layer_in(const struct layer *l)
{
	return layer_in_shard(l) * (l->in_sliced ? l->held : 1);
}

static inline int layer_out(const struct layer *l)
{
	return layer_out_shard(l) * (l->out_sliced ? l->held : 1);
}

/* A sum over the slices that is under way: what it is taken of, and where our part of the rows
   goes when it is complete, or nowhere. */
struct pass_sum {
	struct collective all;
	struct view of, to;
	int columns;
};

/* A micro-batch on its way through a layer, as the ranks of a slice see it. */
struct pass {
	struct device *dev;
	const struct weights *weights;
	struct comm *slices; /* those that have the other slices; NULL where we have all */
	int shard;	     /* which of them we are */
	int level;	     /* of the gradient arrays, that takes what is computed */
	int rows;	     /* of all; where they are spread, a rank has its part: pass_rows */
	struct view x, y;    /* (rows, layer_in), (rows, layer_out) */
	/* Backward: dy is that of y and may be overwritten; it stays until the weights have
	   their gradient. dx takes that of x; its data is NULL where nobody wants it. */
	struct view dx, dy;
	struct view *saved, *kept; /* as the layer has asked for them */
	bool accumulate;	   /* weight gradients: add to what is there */
	/* Weights get their gradient right behind the input: also what was lent for that is
	   still there. And: while a sum is under way, not after it. */
	bool together, overlap;
	/* This is forward once more, for what it saves: what comes out is there. */
	bool again;
	/* A sum over the slices that backward_input has started: dx is complete when it is. */
	struct pass_sum sum;
	int64_t *sum_bytes; /* grows by what is brought to sums */
	/* What random numbers are drawn from: the micro-batch's first row in the global batch.
	 */
	uint64_t seed;
	int64_t step, first_row;
	bool training; /* otherwise nothing is dropped */
	/* A sequence that is continued: what was seen of it, and how many rows that were; or
	   NULL and 0. */
	struct cache *cache;
	int position;
};

struct layer_ops {
	const char *name;
	/* in, in_sliced, mp and config are set: say what is needed, and what comes out unless
	   that is as wide as what goes in, and sliced where that is. */
	enum status (*describe)(struct layer *l, struct model *m, struct error *err);
	/* Floating-point operations of a row, forward; each gradient is taken for as many. */
	double (*flops)(const struct layer *l);
	enum status (*forward)(const struct layer *l, struct pass *p, struct error *err);
	enum status (*backward_input)(const struct layer *l, struct pass *p, struct error *err);
	/* NULL: it has no tensors. */
	enum status (*backward_weight)(const struct layer *l, struct pass *p,
				       struct error *err);
	/* Both; NULL: one after the other. */
	enum status (*backward)(const struct layer *l, struct pass *p, struct error *err);
	/* Have the device reserve what its kernels need beyond device_reserve; NULL: nothing.
	 */
	enum status (*reserve)(const struct layer *l, struct device *dev, struct error *err);
	/* The i-th of the layers that it holds, or NULL; NULL: it holds none. */
	const struct layer *(*inner)(const struct layer *l, int i);
	/* What its config refers to; NULL: nothing. */
	void (*release)(struct layer *l);
};

/* With a copy of its config; model_add takes it over. NULL: no memory. */
struct layer *layer_new(const struct layer_ops *ops, const void *config, size_t size);
void layer_free(struct layer *l);

/* ---- for describe ---- */

/* A tensor, with "layer's name.name". */
enum status layer_add_tensor(struct layer *l, struct model *m, const char *name,
			     struct tensor t, struct error *err);
/* Rooms; returns the index in pass->saved, pass->kept. */
int layer_save(struct layer *l, int columns, bool wide);
int layer_keep(struct layer *l, int columns, bool wide);
/* The same for this rank's part of the rows. */
int layer_save_spread(struct layer *l, int columns, bool wide);
/* A room among the kept ones while calls last that are named as a sum of these; of the
   activations' type. */
enum layer_call { IN_FORWARD = 1, IN_INPUT = 2, IN_WEIGHT = 4 };
int layer_borrow(struct layer *l, int columns, int calls);
/* The same for what a sum over our shards needs beside the place for its result: see pass_tree.
   Returns the index of the first in pass->kept. */
int layer_borrow_tree(struct layer *l, int columns, int calls);

/* What asked for as many parts as there are, as in an option, of ranks that have so many shards
   each; the numbers of parts that would be possible, as a list for people; and: it can't be. */
const char *layer_split_option(int held);
enum { SPLIT_LIST = 128 };
const char *layer_split_list(int width, int held, char list[SPLIT_LIST]);
enum status layer_cannot_split(const struct layer *l, int width, const char *what,
			       struct error *err);

/* ---- for computing ---- */

/* This rank's part of the layer's tensor number k, and of its gradient: what its shard number
   held has. */
void *pass_param(const struct pass *p, const struct layer *l, int k, int held);
void *pass_grad(const struct pass *p, const struct layer *l, int k, int held);
/* The same of a tensor that belongs to another layer. */
void *pass_tied_param(const struct pass *p, const struct layer *l, int held);
void *pass_tied_grad(const struct pass *p, const struct layer *l, int held);
/* Is something of this step in its gradient, so that the next is added? From now on there is.
   For tensors that several layers share; others have accumulate. */
bool pass_adds_to(const struct pass *p, int tensor);

/* The number of all shards that our number held is. */
static inline int pass_shard(const struct pass *p, const struct layer *l, int held)
{
	return p->shard * l->held + held;
}

/* Rows that this rank has, and where they begin among those of the micro-batch. */
static inline int pass_rows(const struct pass *p, const struct layer *l, bool spread)
{
	return spread ? p->rows / l->mp : p->rows;
}

static inline int pass_first(const struct pass *p, const struct layer *l, bool spread)
{
	return spread ? p->rows / l->mp * p->shard : 0;
}

/* Both gradients of a layer, one right behind the other; overlap is up to the pass. */
enum status layer_backward(const struct layer *l, struct pass *p, struct error *err);

/* A sum over our shards, in the order of tree.h: where number held puts its part, if the result
   is to be in to and rooms is what layer_borrow_tree has returned; then it is added. */
struct view pass_tree(const struct pass *p, struct view to, int rooms, int held);
void pass_tree_add(struct pass *p, struct view to, int rooms, int held, int columns);

/* Start to sum all rows over the slices, padding included; what was computed is in it, and what
   is computed after pass_sum_end sees the result: in place, or, where to is not nothing, our
   part of the rows of so many columns there, and the rest is undefined. */
void pass_sum_begin(struct pass *p, struct view v, struct view to, int columns,
		    struct pass_sum *sum);
enum status pass_sum_end(struct pass *p, struct pass_sum *sum, struct error *err);
/* The rows of all ranks, side by side in all, from each rank's part of them. */
enum status pass_collect(struct pass *p, struct view all, struct view part, int columns,
			 struct error *err);
/* to = from, also where from is fp32 samples and to is in 16 bit. */
void pass_take_over(struct pass *p, struct view to, struct view from, int rows, int columns);
/* Every rank's columns, one after the other in rows of their own, to all: member i brings rows
   [i * rows, (i + 1) * rows) of slices, which are as wide as a slice. */
enum status pass_gather(struct pass *p, struct view slices, int columns, struct error *err);

#endif
