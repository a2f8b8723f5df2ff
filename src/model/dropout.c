/* dropout.c - see dropout.h */
#include "model/dropout.h"
#include "base/stream.h"

static const struct dropout_config *config_of(const struct layer *l)
{
	return l->config;
}

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	(void)l, (void)m, (void)err;
	return OK;
}

static double flops(const struct layer *l)
{
	return l->in;
}

struct dropout dropout_of(const struct layer *l, uint64_t seed, int64_t step, int64_t row,
			  int64_t column)
{
	return (struct dropout){
		.p = config_of(l)->p,
		.seed = seed,
		.stream = stream_id(STREAM_DROPOUT,
				    (uint64_t)step << 16 | (uint64_t)(uint16_t)l->place),
		.row = row,
		.column = column,
		.columns = l->out};
}

/* to is what is left of from. */
static void drop(const struct layer *l, struct pass *p, struct view to, struct view from)
{
	struct dropout d =
		dropout_of(l, p->seed, p->step, p->first_row + pass_first(p, l, l->in_spread),
			   l->in_sliced ? (int64_t)p->shard * layer_in(l) : 0);
	int rows = pass_rows(p, l, l->in_spread);

	if (p->training && to.type == from.type) {
		device_dropout(p->dev, to, from, rows, layer_in(l), &d);
		return;
	}
	pass_take_over(p, to, from, rows, layer_in(l));
	if (p->training)
		device_dropout(p->dev, to, to, rows, layer_in(l), &d);
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	(void)err;
	drop(l, p, p->y, p->x);
	return OK;
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	(void)err;
	if (p->dx.data)
		drop(l, p, p->dx, p->dy);
	return OK;
}

const struct layer_ops layer_dropout = {
	.name = "dropout",
	.describe = describe,
	.flops = flops,
	.forward = forward,
	.backward_input = backward_input,
};
