/*
 * block.c - see block.h
 *
 * Rooms, in this order: what comes out of each inner layer but the last (with a bridge: of that
 * too, if it is needed again), then what they have asked for themselves. The gradients of those
 * outputs are kept likewise until the weights have theirs. A block that computes again keeps
 * all of it, the gradients first.
 */
#include "model/block.h"
#include "model/model.h"

#include <assert.h>
#include <stdio.h>

static const struct block_config *config_of(const struct layer *l)
{
	return l->config;
}

static const struct layer *last_of(const struct layer *l)
{
	return config_of(l)->inner[config_of(l)->count - 1];
}

/* Outputs of inner layers that have a room of their own. A bridge adds to that of the last one
   in place, unless somebody needs it as it was; samples may be of another type. */
static int outputs(const struct layer *l)
{
	bool own = config_of(l)->bridged && (last_of(l)->needs_y || l->number == 0);

	return config_of(l)->count - !own;
}

/* And their gradients: that of the last one is the block's, unless it is changed on the way. */
static int gradients(const struct layer *l)
{
	bool own = config_of(l)->bridged && last_of(l)->spoils_dy;

	return config_of(l)->count - !own;
}

static enum status describe_inner(struct layer *l, struct model *m, struct error *err)
{
	const struct block_config *c = config_of(l);
	const struct layer *before = NULL;
	enum status st = OK;

	for (int i = 0; i < c->count; i++) {
		struct layer_input in = {.columns = before ? before->out : l->in,
					 .sliced = before ? before->out_sliced : l->in_sliced,
					 .spread = before ? before->out_spread : l->in_spread};
		char name[2 * LAYER_NAME];

		if (*c->label[i] == '/')
			snprintf(name, sizeof(name), "%s", c->label[i] + 1);
		else
			snprintf(name, sizeof(name), "%s%s", l->name, c->label[i]);
		TRY(model_describe(m, c->inner[i], l->number, name, in, err));
		before = c->inner[i];
		l->n_tensors += before->n_tensors;
		l->keeps_forward |= before->keeps_forward;
		l->recomputes |= before->recomputes;
	}
	l->out = before->out;
	l->out_sliced = before->out_sliced;
	l->out_spread = before->out_spread;
out:
	return st;
}

static void save_room(struct layer *l, struct layer_room r)
{
	struct layer_room *rooms = config_of(l)->recompute ? l->kept : l->saved;
	int *n = config_of(l)->recompute ? &l->n_kept : &l->n_saved;

	assert(*n < ROOMS_MAX);
	rooms[(*n)++] = r;
}

static void keep_room(struct layer *l, struct layer_room r)
{
	assert(l->n_kept < ROOMS_MAX);
	l->kept[l->n_kept++] = r;
}

static struct layer_room output_room(const struct layer *inner)
{
	return (struct layer_room){layer_out(inner), false, inner->out_spread};
}

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	const struct block_config *c = config_of(l);
	enum status st;

	TRY(describe_inner(l, m, err));
	assert(!c->bridged || (l->out == l->in && l->out_sliced == l->in_sliced &&
			       l->out_spread == l->in_spread));
	l->needs_y = !c->bridged && last_of(l)->needs_y;
	l->spoils_dy = !c->bridged && last_of(l)->spoils_dy;
	l->keeps_forward |= c->recompute;
	l->recomputes |= c->recompute;
	for (int i = 0; i < gradients(l); i++)
		keep_room(l, output_room(c->inner[i]));
	for (int i = 0; i < c->count; i++)
		for (int k = 0; k < c->inner[i]->n_kept; k++)
			keep_room(l, c->inner[i]->kept[k]);
	for (int i = 0; i < outputs(l); i++)
		save_room(l, output_room(c->inner[i]));
	for (int i = 0; i < c->count; i++)
		for (int k = 0; k < c->inner[i]->n_saved; k++)
			save_room(l, c->inner[i]->saved[k]);
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

/* What inner layers have kept up to one of them. */
static int kept_before(const struct layer *l, int i)
{
	int n = 0;

	for (int k = 0; k < i; k++)
		n += config_of(l)->inner[k]->n_kept;
	return n;
}

/* Where saved rooms are: with the kept ones where all is computed again. */
static struct view *saved_of(const struct layer *l, const struct pass *p)
{
	if (!config_of(l)->recompute)
		return p->saved;
	return p->kept + gradients(l) + kept_before(l, config_of(l)->count);
}

/* The block's pass as inner layer i sees it: forward, where there are no gradients yet. */
static struct pass enter(const struct layer *l, const struct pass *p, int i)
{
	const struct block_config *c = config_of(l);
	struct view *saved = saved_of(l, p);
	struct pass q = *p;

	q.x = i > 0 ? saved[i - 1] : p->x;
	q.y = i < outputs(l) ? saved[i] : p->y;
	q.saved = saved + outputs(l);
	for (int k = 0; k < i; k++)
		q.saved += c->inner[k]->n_saved;
	if (p->kept)
		q.kept = p->kept + gradients(l) + kept_before(l, i);
	q.again = p->again && i == c->count - 1 && !c->bridged;
	return q;
}

/* Backward. */
static struct pass enter_back(const struct layer *l, const struct pass *p, int i)
{
	struct pass q = enter(l, p, i);

	q.dy = i < gradients(l) ? p->kept[i] : p->dy;
	q.dx = i > 0 ? p->kept[i - 1] : p->dx;
	q.sum.request.kind = REQUEST_NONE;
	return q;
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	const struct block_config *c = config_of(l);
	int rows = pass_rows(p, l, l->out_spread);
	bool in_place = outputs(l) < c->count;
	/* What the last one does is there already, if it does nothing else. */
	bool skips = p->again && c->bridged && in_place && !last_of(l)->n_saved;
	enum status st = OK;

	for (int i = 0; i < c->count - skips; i++) {
		struct pass q = enter(l, p, i);

		TRY(c->inner[i]->ops->forward(c->inner[i], &q, err));
	}
	if (!c->bridged || skips)
		goto out;
	if (in_place) {
		device_add(p->dev, p->y, p->x, rows, layer_out(l));
	} else if (!p->again) {
		pass_take_over(p, p->y, p->x, rows, layer_out(l));
		device_add(p->dev, p->y, saved_of(l, p)[c->count - 1], rows, layer_out(l));
	}
out:
	return st;
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	const struct block_config *c = config_of(l);
	struct pass again = *p;
	enum status st = OK;

	again.again = true;
	if (c->recompute)
		TRY(forward(l, &again, err));
	if (gradients(l) == c->count) /* an inner layer may change its copy */
		device_copy(p->dev, p->kept[c->count - 1], 0, p->dy, 0,
			    pass_rows(p, l, l->out_spread), layer_out(l));
	for (int i = c->count - 1; i >= 0; i--) {
		struct pass q = enter_back(l, p, i);

		TRY(c->inner[i]->ops->backward_input(c->inner[i], &q, err));
		if (q.sum.request.kind != REQUEST_NONE)
			TRY(pass_sum_end(&q, &q.sum, err));
	}
	if (c->bridged && p->dx.data)
		device_add(p->dev, p->dx, p->dy, pass_rows(p, l, l->in_spread), layer_in(l));
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
