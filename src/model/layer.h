/*
 * layer.h - what a layer is to those who do not know its kind.
 *
 * A kind of layer is one file with one struct layer_ops: what tensors it has, how wide what
 * comes out is, what it keeps of a micro-batch between forward and backward, and how it
 * computes. It calls kernels of the device and sums over the slices of a model-parallel group;
 * it never knows stages, schedules or replicas.
 *
 * What goes from layer to layer is a matrix of rows, one per sample: whole, or, where sliced,
 * each rank of the group has its part of the columns.
 */
#ifndef KOLM_MODEL_LAYER_H
#define KOLM_MODEL_LAYER_H

#include "base/error.h"
#include "comm/comm.h"
#include "device/device.h"
#include "model/tensor.h"

struct model;
struct weights; /* see weights.h */

/* Room for a matrix of so many columns, for every row of a micro-batch. */
struct layer_room {
	int columns;
	bool wide; /* fp32, whatever the activations are */
};

enum { ROOMS_MAX = 32, LAYER_NAME = 40 };

struct layer {
	const struct layer_ops *ops;
	void *config; /* the kind's own */
	char name[LAYER_NAME];
	int number;  /* in the model's list, of the one that it is or is inside of */
	int place;   /* unique in the model: names its random numbers */
	int mp;	     /* ways that layers are split */
	int in, out; /* columns of what goes in and comes out, of the whole */
	bool in_sliced, out_sliced;
	int tensor, n_tensors; /* of the model's: the first of its own, and how many */
	/* What forward leaves for backward, and the input's gradient for that of the weights,
	   beside x, y and dy. */
	struct layer_room saved[ROOMS_MAX], kept[ROOMS_MAX];
	int n_saved, n_kept;
	int saved_before, kept_before; /* by the layers before it in the model's list */
};

/* Columns that this rank has of what goes in and comes out. */
static inline int layer_in(const struct layer *l)
{
	return l->in_sliced ? l->in / l->mp : l->in;
}

static inline int layer_out(const struct layer *l)
{
	return l->out_sliced ? l->out / l->mp : l->out;
}

/* A micro-batch on its way through a layer, as the ranks of a slice see it. */
struct pass {
	struct device *dev;
	const struct weights *weights;
	struct comm *slices; /* those that have the other slices; unused where mp is 1 */
	int shard;	     /* which of them we are */
	int rows;
	struct view x, y; /* (rows, layer_in), (rows, layer_out) */
	/* Backward: dy is that of y and may be overwritten; it stays until the weights have
	   their gradient. dx takes that of x; its data is NULL where nobody wants it. */
	struct view dx, dy;
	struct view *saved, *kept; /* as the layer has asked for them */
	bool accumulate;	   /* weight gradients: add to what is there */
	/* A sum over the slices that backward_input has started: dx is complete when it is. */
	struct comm_request sum;
	int64_t *sum_bytes; /* grows by what is brought to sums */
	/* What random numbers are drawn from: the micro-batch's first row in the global batch.
	 */
	uint64_t seed;
	int64_t step, first_row;
	bool training; /* otherwise nothing is dropped */
};

struct layer_ops {
	const char *name;
	/* in, in_sliced, mp and config are set: say what is needed, and what comes out unless
	   that is as wide as what goes in, and sliced where that is. */
	enum status (*describe)(struct layer *l, struct model *m, struct error *err);
	/* Floating-point operations of a sample, forward; each gradient is taken for as many.
	 */
	double (*flops)(const struct layer *l);
	enum status (*forward)(const struct layer *l, struct pass *p, struct error *err);
	enum status (*backward_input)(const struct layer *l, struct pass *p, struct error *err);
	/* NULL: it has no tensors. */
	enum status (*backward_weight)(const struct layer *l, struct pass *p,
				       struct error *err);
	/* The i-th of the layers that it holds, or NULL; NULL: it holds none. */
	const struct layer *(*inner)(const struct layer *l, int i);
	/* What its config refers to; NULL: nothing. */
	void (*release)(struct layer *l);
};

/* With a copy of its config; model_add takes it over. NULL: no memory. */
struct layer *layer_new(const struct layer_ops *ops, const void *config, size_t size);
void layer_free(struct layer *l);

/* ---- for describe ---- */

/* A tensor, with "layer's name.name"; returns its number among those of the layer. */
enum status layer_add_tensor(struct layer *l, struct model *m, const char *name,
			     struct tensor t, struct error *err);
/* Rooms; returns the index in pass->saved, pass->kept. */
int layer_save(struct layer *l, int columns, bool wide);
int layer_keep(struct layer *l, int columns, bool wide);

/* ---- for computing ---- */

/* This rank's part of the layer's tensor number k, and of its gradient. */
void *pass_param(const struct pass *p, const struct layer *l, int k);
void *pass_grad(const struct pass *p, const struct layer *l, int k);

/* Start to sum rows over the slices, padding included; what was computed is in it, and what is
   computed after pass_sum_end sees the result. */
void pass_sum_begin(struct pass *p, struct view v, struct comm_request *sum);
enum status pass_sum_end(struct pass *p, struct view v, struct comm_request *sum,
			 struct error *err);
/* to = from, also where from is fp32 samples and to is in 16 bit. */
void pass_take_over(struct pass *p, struct view to, struct view from, int columns);
/* Every rank's columns, one after the other in rows of their own, to all: member i brings rows
   [i * rows, (i + 1) * rows) of slices, which are as wide as a slice. */
enum status pass_gather(struct pass *p, struct view slices, int columns, struct error *err);

#endif
