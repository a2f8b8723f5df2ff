/* optim.c - see optim.h */
#include "optim/optim.h"

#include <math.h>

enum status optim_init(struct optim *o, struct device *dev, const struct update *hyper,
		       double clip, size_t size, struct error *err)
{
	enum status st = OK;

	*o = (struct optim){.dev = dev, .update = *hyper, .clip = clip, .size = size};
	o->update.m = o->update.v = NULL;
	if (hyper->kind != OPT_SGD)
		TRY(device_alloc(dev, MEMORY_OPTIMIZER, size * sizeof(float),
				 hyper->kind == OPT_ADAMW ? "the first moments"
							  : "the momentum",
				 (void **)&o->update.m, err));
	if (hyper->kind == OPT_ADAMW)
		TRY(device_alloc(dev, MEMORY_OPTIMIZER, size * sizeof(float),
				 "the second moments", (void **)&o->update.v, err));
out:
	if (st != OK)
		optim_release(o);
	return st;
}

void optim_release(struct optim *o)
{
	if (o->dev) {
		device_free(o->dev, o->update.v);
		device_free(o->dev, o->update.m);
	}
	*o = (struct optim){0};
}

double optim_step(struct optim *o, float *param, const float *grad)
{
	struct update u = o->update;
	double norm, squares;

	o->steps++;
	u.param = param;
	u.grad = grad;
	u.grad_scale = 1;
	u.correction1 = (float)(1 - pow(u.beta1, (double)o->steps));
	u.correction2 = (float)(1 - pow(u.beta2, (double)o->steps));
	if (o->clip > 0) {
		norm = sqrt(device_sum_squares(o->dev, grad, o->size));
		/* Not fmin: a norm that is NaN must show in the parameters. */
		u.grad_scale = norm + 1e-6 <= o->clip ? 1 : (float)(o->clip / (norm + 1e-6));
		device_update(o->dev, &u, o->size);
		return norm;
	}
	/* Without clipping the update itself sums the squares: one pass less. */
	squares = device_update(o->dev, &u, o->size);
	return sqrt(squares);
}
