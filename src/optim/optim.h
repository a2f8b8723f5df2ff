/* optim.h - SGD, momentum and AdamW over flat arrays, as PyTorch has them. */
#ifndef KOLM_OPTIM_OPTIM_H
#define KOLM_OPTIM_OPTIM_H

#include "device/device.h"

struct optim {
	struct device *dev;   /* borrowed */
	struct update update; /* hyper-parameters, and where the state is */
	float *master;	      /* fp32 parameters where the working ones are in 16 bit */
	enum dtype type;      /* of the working parameters */
	int64_t steps;	      /* taken so far */
};

/* hyper: kind and hyper-parameters; its pointers are ignored. State for size elements;
   type and grad_type are those of parameters and gradients. */
enum status optim_init(struct optim *o, struct device *dev, const struct update *hyper,
		       size_t size, enum dtype type, enum dtype grad_type, struct error *err);
void optim_release(struct optim *o);

/* Begin a step in which every gradient is multiplied by scale. */
void optim_begin(struct optim *o, double scale);
/* Update n parameters whose state begins at element at; *squares, in device memory, grows by
   the sum of squares of their gradients as they were. decays: weight decay is for them. */
void optim_apply(struct optim *o, void *param, const void *grad, size_t at, size_t n,
		 bool decays, double *squares);

/* What gradients of that norm are multiplied by so that it does not exceed clip; 0: any. */
double optim_clip_scale(double norm, double clip);

#endif
