/*
 * model.h - a model is a list of layers: data that everybody iterates. It knows sizes and
 * names; a rank's numbers are in weights.h. A builder (mlp.h, or the caller's own) is the only
 * place that knows what the layers are together.
 */
#ifndef KOLM_MODEL_MODEL_H
#define KOLM_MODEL_MODEL_H

#include "model/layer.h"

struct model {
	int in, out;	       /* columns of what goes in and comes out */
	int mp;		       /* ways that its layers are split */
	struct layer **layers; /* (count) */
	int count;
	struct tensor *tensors; /* (n_tensors) of all layers, in their order */
	int n_tensors;
	int places; /* given to layers so far */
};

void model_init(struct model *m, int in, int mp);
void model_release(struct model *m);

/* Append a layer, which is the model's from now on, also where that fails. */
enum status model_add(struct model *m, struct layer *l, struct error *err);
/* What comes out must be whole: otherwise the last layer can't be the last. */
enum status model_end(struct model *m, struct error *err);

/* Parameters without padding; floating-point operations of a sample, both ways, of a layer and
   of all. The first layer's input needs no gradient. */
int64_t model_parameters(const struct model *m);
double model_layer_flops(const struct model *m, int layer);
double model_flops(const struct model *m);
/* Widest that anything is here, in elements of a row. */
int model_widest(const struct model *m);

/* Visit the layers of a kind, in their order, also those that others hold. */
typedef void layer_visit(void *arg, const struct layer *l);
void model_visit(const struct model *m, const struct layer_ops *kind, layer_visit *visit,
		 void *arg);

/* ---- for kinds that hold other layers ---- */

/* Describe a layer whose ops and config are set, as number of the model's list. */
enum status model_describe(struct model *m, struct layer *l, int number, const char *name,
			   int in, bool in_sliced, struct error *err);

#endif
