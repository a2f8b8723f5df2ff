/* norm.c - see norm.h; it works on whole rows, the same on every rank of a group of slices, or
   on each rank's part of them. */
#include "model/norm.h"
#include "model/model.h"
#include "model/weights.h"

#include <assert.h>

enum { WEIGHT, BIAS }; /* its tensors */

static const struct norm_config *config_of(const struct layer *l)
{
	return l->config;
}

static bool is_biased(const struct layer *l)
{
	return config_of(l)->kind == NORM_LAYER && !config_of(l)->no_bias;
}

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	struct tensor weight = {
		.rows = l->in, .columns = 1, .value = 1, .partial = l->in_spread};
	struct tensor bias = {.rows = l->in, .columns = 1, .partial = l->in_spread};
	enum status st;

	assert(!l->in_sliced);
	TRY(layer_add_tensor(l, m, "weight", weight, err));
	if (is_biased(l))
		TRY(layer_add_tensor(l, m, "bias", bias, err));
	if (l->in_spread)
		layer_save_spread(l, 2, true);
	else
		layer_save(l, 2, true);
out:
	return st;
}

/* Some passes over the row: next to nothing beside a product. */
static double flops(const struct layer *l)
{
	return 8.0 * l->in;
}

static struct norm norm_of(const struct layer *l, const struct pass *p)
{
	return (struct norm){.kind = config_of(l)->kind,
			     .eps = config_of(l)->eps,
			     .rows = pass_rows(p, l, l->in_spread),
			     .columns = l->in,
			     .x = p->x,
			     .saved = p->saved[0],
			     .type = p->weights->type,
			     .grad_type = p->weights->grad_type,
			     .weight = pass_param(p, l, WEIGHT, 0),
			     .bias = is_biased(l) ? pass_param(p, l, BIAS, 0) : NULL};
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	struct norm n = norm_of(l, p);

	(void)err;
	n.y = p->y;
	device_norm_forward(p->dev, &n);
	return OK;
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	struct norm n = norm_of(l, p);

	(void)err;
	n.y = p->dy;
	n.dx = p->dx;
	if (p->dx.data)
		device_norm_backward_input(p->dev, &n);
	return OK;
}

static enum status backward_weight(const struct layer *l, struct pass *p, struct error *err)
{
	struct norm n = norm_of(l, p);

	(void)err;
	n.y = p->dy;
	n.dweight = pass_grad(p, l, WEIGHT, 0);
	n.dbias = n.bias ? pass_grad(p, l, BIAS, 0) : NULL;
	n.accumulate = p->accumulate;
	device_norm_backward_weight(p->dev, &n);
	return OK;
}

const struct layer_ops layer_norm = {
	.name = "norm",
	.describe = describe,
	.flops = flops,
	.forward = forward,
	.backward_input = backward_input,
	.backward_weight = backward_weight,
};
