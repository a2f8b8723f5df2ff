/*
 * model.h - a model is a list of layers: data that everybody iterates. It knows sizes and
 * names; a rank's numbers are in weights.h. A builder (mlp.h, or the caller's own) is the only
 * place that knows what the layers are together.
 */
#ifndef KOLM_MODEL_MODEL_H
#define KOLM_MODEL_MODEL_H

#include "model/layer.h"

/* A layer of the list uses a tensor of another one. */
struct tie {
	int tensor, layer;
};

enum { TIES_MAX = 1 }; /* the engine has one group of stages that hold the same */

struct model {
	int in, out;	       /* columns of what goes in and comes out */
	bool tokens;	       /* what goes in is a token per row, DTYPE_I32 */
	int sequence;	       /* rows of a sample */
	bool out_sliced;       /* what comes out is, and the loss puts it together */
	bool vectors_decay;    /* weight decay is for vectors too */
	int mp;		       /* ways that its layers are split: shards */
	int held;	       /* shards that each rank has, one after the other */
	struct layer **layers; /* (count) */
	int count;
	struct tensor *tensors; /* (n_tensors) of all layers, in their order */
	int n_tensors;
	struct tie ties[TIES_MAX];
	int n_ties;
	int places; /* given to layers so far */
	bool lean;  /* one of its layers is */
};

void model_init(struct model *m, int in, int mp);
/* The same for ranks that have several shards each, of so many; both are powers of two. */
void model_init_as_if(struct model *m, int in, int shards, int held);
void model_release(struct model *m);

/* Append a layer, which is the model's from now on, also where that fails; its name is
   layers.N, or what is given. */
enum status model_add(struct model *m, struct layer *l, struct error *err);
enum status model_add_named(struct model *m, struct layer *l, const char *name,
			    struct error *err);
/* What comes out must be whole, unless it is of classes: otherwise the last layer can't be the
   last. */
enum status model_end(struct model *m, struct error *err);

/* Parameters without padding; floating-point operations of a row, both ways, of a layer and
   of all. The first layer's input needs no gradient. */
int64_t model_parameters(const struct model *m);
double model_layer_flops(const struct model *m, int layer);
double model_flops(const struct model *m);
/* Widest that anything is here, in elements of a row. */
int model_widest(const struct model *m);

/* Have the device reserve what the kernels of all layers need. */
enum status model_reserve(const struct model *m, struct device *dev, struct error *err);

/* Visit the layers of a kind, in their order, also those that others hold. */
typedef void layer_visit(void *arg, const struct layer *l);
void model_visit(const struct model *m, const struct layer_ops *kind, layer_visit *visit,
		 void *arg);

/* The tensor of that name, or -1. */
int model_find_tensor(const struct model *m, const char *name);

/* ---- for kinds that use another layer's tensor ---- */

void model_tie(struct model *m, struct layer *l, int tensor);

/* ---- for kinds that hold other layers ---- */

/* What goes into it. */
struct layer_input {
	int columns;
	bool sliced, spread;
};
/* Describe a layer whose ops and config are set, as number of the model's list. */
enum status model_describe(struct model *m, struct layer *l, int number, const char *name,
			   struct layer_input in, struct error *err);

#endif
