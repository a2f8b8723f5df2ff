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

/* That are here, each with both halves side by side. */
static int shards(const struct layer *l)
{
	return l->in_sliced ? l->held : 1;
}

/* Of one of them. */
static struct gate gate_of(const struct layer *l, const struct pass *p, int held)
{
	return (struct gate){.rows = p->rows,
			     .columns = layer_out_shard(l),
			     .act = ((const struct gate_config *)l->config)->act,
			     .x = view_at(p->x, held * layer_in_shard(l))};
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	(void)err;
	for (int h = 0; h < shards(l); h++) {
		struct gate g = gate_of(l, p, h);

		g.y = view_at(p->y, h * g.columns);
		device_gate(p->dev, &g);
	}
	return OK;
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	(void)err;
	for (int h = 0; h < shards(l) && p->dx.data; h++) {
		struct gate g = gate_of(l, p, h);

		g.dy = view_at(p->dy, h * g.columns);
		g.dx = view_at(p->dx, h * layer_in_shard(l));
		device_gate_gradient(p->dev, &g);
	}
	return OK;
}

const struct layer_ops layer_gate = {
	.name = "gate",
	.describe = describe,
	.flops = flops,
	.forward = forward,
	.backward_input = backward_input,
};
