/*
 * block.c - see block.h
 *
 * Rooms, in this order: what comes out of each inner layer but the last (with a bridge: of all
 * of them), then what they have asked for themselves. The gradients of those outputs are kept
 * likewise until the weights have theirs.
 */
#include "model/block.h"
#include "model/model.h"

#include <assert.h>
#include <stdio.h>

static const struct block_config *config_of(const struct layer *l)
{
	return l->config;
}

/* Outputs of inner layers that have a room of their own. */
static int between(const struct layer *l)
{
	return config_of(l)->count - !config_of(l)->bridged;
}

static enum status describe_inner(struct layer *l, struct model *m, struct error *err)
{
	const struct block_config *c = config_of(l);
	const struct layer *before = NULL;
	enum status st = OK;

	for (int i = 0; i < c->count; i++) {
		char name[LAYER_NAME];

		snprintf(name, sizeof(name), "%.24s%.12s", l->name, c->label[i]);
		TRY(model_describe(m, c->inner[i], l->number, name,
				   before ? before->out : l->in,
				   before ? before->out_sliced : l->in_sliced, err));
		before = c->inner[i];
		l->n_tensors += before->n_tensors;
	}
	l->out = before->out;
	l->out_sliced = before->out_sliced;
out:
	return st;
}

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	const struct block_config *c = config_of(l);
	enum status st;

	TRY(describe_inner(l, m, err));
	assert(!c->bridged || (l->out == l->in && l->out_sliced == l->in_sliced));
	for (int i = 0; i < between(l); i++) {
		layer_save(l, layer_out(c->inner[i]), false);
		layer_keep(l, layer_out(c->inner[i]), false);
	}
	for (int i = 0; i < c->count; i++) {
		const struct layer *inner = c->inner[i];

		for (int k = 0; k < inner->n_saved; k++)
			layer_save(l, inner->saved[k].columns, inner->saved[k].wide);
		for (int k = 0; k < inner->n_kept; k++)
			layer_keep(l, inner->kept[k].columns, inner->kept[k].wide);
	}
out:
	return st;
}

static double flops(const struct layer *l)
{
	const struct block_config *c = config_of(l);
	double n = 0;

	for (int i = 0; i < c->count; i++)
		n += c->inner[i]->ops->flops(c->inner[i]);
	return n;
}

/* The block's pass as inner layer i sees it: forward, where there are no gradients yet. */
static struct pass enter(const struct layer *l, const struct pass *p, int i)
{
	const struct block_config *c = config_of(l);
	struct pass q = *p;

	q.x = i > 0 ? p->saved[i - 1] : p->x;
	q.y = i < between(l) ? p->saved[i] : p->y;
	q.saved = p->saved + between(l);
	for (int k = 0; k < i; k++)
		q.saved += c->inner[k]->n_saved;
	return q;
}

/* Backward. */
static struct pass enter_back(const struct layer *l, const struct pass *p, int i)
{
	const struct block_config *c = config_of(l);
	struct pass q = enter(l, p, i);

	q.dy = i < between(l) ? p->kept[i] : p->dy;
	q.dx = i > 0 ? p->kept[i - 1] : p->dx;
	q.kept = p->kept + between(l);
	for (int k = 0; k < i; k++)
		q.kept += c->inner[k]->n_kept;
	q.sum.kind = REQUEST_NONE;
	return q;
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	const struct block_config *c = config_of(l);
	enum status st = OK;

	for (int i = 0; i < c->count; i++) {
		struct pass q = enter(l, p, i);

		TRY(c->inner[i]->ops->forward(c->inner[i], &q, err));
	}
	if (c->bridged) {
		pass_take_over(p, p->y, p->x, layer_out(l));
		device_add(p->dev, p->y, p->saved[c->count - 1], p->rows, layer_out(l));
	}
out:
	return st;
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	const struct block_config *c = config_of(l);
	enum status st = OK;

	if (c->bridged) /* an inner layer may change its copy */
		device_copy(p->dev, p->kept[c->count - 1], 0, p->dy, 0, p->rows, layer_out(l));
	for (int i = c->count - 1; i >= 0; i--) {
		struct pass q = enter_back(l, p, i);

		TRY(c->inner[i]->ops->backward_input(c->inner[i], &q, err));
		if (q.sum.kind != REQUEST_NONE)
			TRY(pass_sum_end(&q, q.dx, &q.sum, err));
	}
	if (c->bridged && p->dx.data)
		device_add(p->dev, p->dx, p->dy, p->rows, layer_in(l));
out:
	return st;
}

static enum status backward_weight(const struct layer *l, struct pass *p, struct error *err)
{
	const struct block_config *c = config_of(l);
	enum status st = OK;

	for (int i = c->count - 1; i >= 0; i--) {
		struct pass q = enter_back(l, p, i);

		if (c->inner[i]->ops->backward_weight)
			TRY(c->inner[i]->ops->backward_weight(c->inner[i], &q, err));
	}
out:
	return st;
}

static const struct layer *inner(const struct layer *l, int i)
{
	return i < config_of(l)->count ? config_of(l)->inner[i] : NULL;
}

static void release(struct layer *l)
{
	const struct block_config *c = config_of(l);

	for (int i = 0; i < c->count; i++)
		layer_free(c->inner[i]);
}

const struct layer_ops layer_block = {
	.name = "block",
	.describe = describe,
	.flops = flops,
	.forward = forward,
	.backward_input = backward_input,
	.backward_weight = backward_weight,
	.inner = inner,
	.release = release,
};
