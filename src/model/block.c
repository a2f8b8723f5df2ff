/*
 * block.c - see block.h
 *
 * Rooms, in this order: what comes out of each inner layer but the last (with a bridge: of that
 * too, if it is needed again), then what they have asked for themselves. The gradients of those
 * outputs are kept likewise until the weights have theirs. A block that computes again keeps
 * all of it, the gradients first.
 *
 * Moments of its passes are those of the inner layers, one behind the other; forward once more
 * comes before backward.
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
		l->lean |= before->lean;
	}
	l->out = before->out;
	l->out_sliced = before->out_sliced;
	l->out_spread = before->out_spread;
out:
	return st;
}

/* ---- rooms, and when they are in use ---- */

/* Moments [from, to). */
static uint64_t moments(int from, int to)
{
	assert(to <= 64);
	return (to < 64 ? (uint64_t)1 << to : 0) - ((uint64_t)1 << from);
}

/* When inner layer i begins forward; the one behind the last is the end. */
static int forward_at(const struct layer *l, int i)
{
	int at = 0;

	for (int k = 0; k < i; k++)
		at += config_of(l)->inner[k]->moments;
	return at;
}

/* And backward; the one before the first is the end. */
static int back_at(const struct layer *l, int i)
{
	const struct block_config *c = config_of(l);
	int at = c->recompute ? forward_at(l, c->count) : 0;

	for (int k = c->count - 1; k > i; k--)
		at += c->inner[k]->back_moments;
	return at;
}

/* In use since inner layer i goes forward, until another one does, and backward until a third
   one is through. Where all is computed again that is twice, and nothing is left between. */
static void save_room(struct layer *l, struct layer_room r, int i, int until, int back)
{
	bool again = config_of(l)->recompute;
	struct layer_room *rooms = again ? l->kept : l->saved;
	int *n = again ? &l->n_kept : &l->n_saved;

	r.forward = moments(forward_at(l, i), forward_at(l, until + 1));
	r.backward = moments(forward_at(l, i), back_at(l, back - 1));
	assert(*n < ROOMS_MAX);
	rooms[(*n)++] = r;
}

static void keep_room(struct layer *l, struct layer_room r)
{
	assert(l->n_kept < ROOMS_MAX);
	l->kept[l->n_kept++] = r;
}

/* One of inner layer i's own. */
static void keep_inner(struct layer *l, struct layer_room r, int i)
{
	uint64_t forward = r.forward << forward_at(l, i);

	r.backward = r.backward << back_at(l, i) | (config_of(l)->recompute ? forward : 0);
	r.forward = forward;
	keep_room(l, r);
}

static struct layer_room output_room(const struct layer *inner)
{
	return (struct layer_room){layer_out(inner), .spread = inner->out_spread};
}

/* Of inner layer i's output, since the one behind it writes it, or it is copied. */
static void keep_gradient(struct layer *l, int i)
{
	const struct block_config *c = config_of(l);
	struct layer_room r = output_room(c->inner[i]);
	int from = back_at(l, i);

	if (i + 1 < c->count)
		from = back_at(l, i + 1) + c->inner[i + 1]->dx_moment;
	r.backward = moments(from, back_at(l, i - 1));
	keep_room(l, r);
}

static void ask_for_rooms(struct layer *l)
{
	const struct block_config *c = config_of(l);
	int last = c->count - 1;

	for (int i = 0; i < gradients(l); i++)
		keep_gradient(l, i);
	for (int i = 0; i < c->count; i++)
		for (int k = 0; k < c->inner[i]->n_kept; k++)
			keep_inner(l, c->inner[i]->kept[k], i);
	for (int i = 0; i < outputs(l); i++)
		save_room(l, output_room(c->inner[i]), i, i < last ? i + 1 : last,
			  i < last && !c->inner[i]->needs_y ? i + 1 : i);
	for (int i = 0; i < c->count; i++)
		for (int k = 0; k < c->inner[i]->n_saved; k++)
			save_room(l, c->inner[i]->saved[k], i, i, i);
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
	l->lean |= c->recompute;
	l->moments = forward_at(l, c->count);
	l->back_moments = back_at(l, -1);
	l->dx_moment = back_at(l, 0) + c->inner[0]->dx_moment;
	ask_for_rooms(l);
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
	q.sum.all.under_way = false;
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

/* Before the inner layers' own. */
static enum status begin_backward(const struct layer *l, struct pass *p, struct error *err)
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
out:
	return st;
}

/* Behind them. */
static void end_backward(const struct layer *l, struct pass *p)
{
	if (config_of(l)->bridged && p->dx.data)
		device_add(p->dev, p->dx, p->dy, pass_rows(p, l, l->in_spread), layer_in(l));
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	const struct block_config *c = config_of(l);
	enum status st;

	TRY(begin_backward(l, p, err));
	for (int i = c->count - 1; i >= 0; i--) {
		struct pass q = enter_back(l, p, i);

		TRY(c->inner[i]->ops->backward_input(c->inner[i], &q, err));
		if (q.sum.all.under_way)
			TRY(pass_sum_end(&q, &q.sum, err));
	}
	end_backward(l, p);
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

static enum status backward(const struct layer *l, struct pass *p, struct error *err)
{
	const struct block_config *c = config_of(l);
	enum status st;

	TRY(begin_backward(l, p, err));
	for (int i = c->count - 1; i >= 0; i--) {
		struct pass q = enter_back(l, p, i);

		TRY(layer_backward(c->inner[i], &q, err));
	}
	end_backward(l, p);
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
	.backward = backward,
	.inner = inner,
	.release = release,
};
