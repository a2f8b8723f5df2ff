/* gate.c - see gate.h; where it is split, every rank has its part of a and of b. */
#include "model/gate.h"

#include <assert.h>

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	(void)m, (void)err;
	assert(l->in % (2 * (l->in_sliced ? l->mp : 1)) == 0);
	l->out = l->in / 2;
	return OK;
}

static double flops(const struct layer *l)
{
	return 8.0 * l->out;
}

static struct gate gate_of(const struct layer *l, const struct pass *p)
{
	return (struct gate){.rows = p->rows,
			     .columns = layer_out(l),
			     .act = ((const struct gate_config *)l->config)->act,
			     .x = p->x};
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	struct gate g = gate_of(l, p);

	(void)err;
	g.y = p->y;
	device_gate(p->dev, &g);
	return OK;
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	struct gate g = gate_of(l, p);

	(void)err;
	g.dy = p->dy;
	g.dx = p->dx;
	if (p->dx.data)
		device_gate_gradient(p->dev, &g);
	return OK;
}

const struct layer_ops layer_gate = {
	.name = "gate",
	.describe = describe,
	.flops = flops,
	.forward = forward,
	.backward_input = backward_input,
};
