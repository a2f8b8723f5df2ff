/* optim.c - see optim.h */
#include "optim/optim.h"

#include <math.h>

enum status optim_init(struct optim *o, struct device *dev, const struct update *hyper,
		       size_t size, enum dtype type, enum dtype grad_type, struct error *err)
{
	enum status st = OK;

	*o = (struct optim){.dev = dev, .update = *hyper, .type = type};
	o->update.m = o->update.v = NULL;
	o->update.grad_type = grad_type;
	if (type != DTYPE_F32)
		TRY(device_alloc(dev, MEMORY_OPTIMIZER, size * sizeof(float),
				 "the fp32 parameters", (void **)&o->master, err));
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
		device_free(o->dev, o->master);
	}
	*o = (struct optim){0};
}

void optim_begin(struct optim *o, double scale)
{
	struct update *u = &o->update;

	o->steps++;
	u->grad_scale = (float)scale;
	u->correction1 = (float)(1 - pow(u->beta1, (double)o->steps));
	u->correction2 = (float)(1 - pow(u->beta2, (double)o->steps));
}

void optim_apply(struct optim *o, void *param, const void *grad, size_t at, size_t n,
		 bool decays, double *squares)
{
	struct update u = o->update;

	u.weight_decay = decays ? u.weight_decay : 0;
	u.param = param;
	u.grad = grad;
	if (o->master) {
		u.param = o->master + at;
		u.working = param;
		u.working_type = o->type;
	}
	u.m = u.m ? u.m + at : NULL;
	u.v = u.v ? u.v + at : NULL;
	device_update(o->dev, &u, n, squares);
}

double optim_clip_scale(double norm, double clip)
{
	/* Not fmin: a norm that is NaN must show in the parameters. */
	return clip <= 0 || norm + 1e-6 <= clip ? 1 : clip / (norm + 1e-6);
}
