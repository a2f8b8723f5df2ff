/* optim.h - SGD, momentum and AdamW over flat arrays, with clipping, as PyTorch has them. */
#ifndef KOLM_OPTIM_OPTIM_H
#define KOLM_OPTIM_OPTIM_H

#include "device/device.h"

struct optim {
	struct device *dev;   /* borrowed */
	struct update update; /* hyper-parameters, and where the state is */
	double clip;	      /* largest norm of the gradient; 0: any */
	size_t size;
	int64_t steps; /* taken so far */
};

/* hyper: kind and hyper-parameters; its pointers are ignored. */
enum status optim_init(struct optim *o, struct device *dev, const struct update *hyper,
		       double clip, size_t size, struct error *err);
void optim_release(struct optim *o);

/* Update param from grad; returns the norm of grad before clipping. */
double optim_step(struct optim *o, float *param, const float *grad);

#endif
