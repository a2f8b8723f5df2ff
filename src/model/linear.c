/* linear.c - see linear.h */
#include "model/linear.h"
#include "base/stream.h"
#include "base/util.h"
#include "model/model.h"
#include "model/weights.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WEIGHT, BIAS }; /* its tensors; one that is tied has none */

static const struct linear_config *config_of(const struct layer *l)
{
	return l->config;
}

/* On one rank nothing is split, and nothing is to be gathered. */
static bool is(const struct layer *l, enum linear_split split)
{
	return l->mp > 1 && config_of(l)->split == split;
}

/* What rank number shard multiplies: its outputs and inputs. */
static int own_out(const struct layer *l, int shard)
{
	if (!is(l, LINEAR_COLUMNS) && !is(l, LINEAR_GATHERED))
		return l->out;
	return (int)(part_begin(l->out, shard + 1, l->mp) - part_begin(l->out, shard, l->mp));
}

static int own_in(const struct layer *l)
{
	return is(l, LINEAR_ROWS) ? l->in / l->mp : l->in;
}

/* Are rows brought together before the product, or left apart behind it? */
static bool collects(const struct layer *l)
{
	return is(l, LINEAR_COLUMNS) && l->in_spread;
}

static bool spreads(const struct layer *l)
{
	return is(l, LINEAR_ROWS) && config_of(l)->spreads;
}

/* ---- what it is ---- */

static enum status cannot_split(const struct layer *l, int width, const char *what,
				struct error *err)
{
	char list[128] = "";
	int n = 0;

	for (int i = 2; i <= width && n < 90; i++)
		if (width % i == 0)
			n += snprintf(list + n, sizeof(list) - (size_t)n, "%s%d", n ? ", " : "",
				      i);
	FAIL(err, ERR_USAGE, "the %d %s of %s do not divide by --mp %d", width, what, l->name,
	     l->mp);
	return HINT(err, "--mp %s would fit, or %lld of them", *list ? list : "1",
		    (long long)round_up(width, l->mp));
}

static enum status check_split(const struct layer *l, struct error *err)
{
	const struct linear_config *c = config_of(l);

	if (is(l, LINEAR_ROWS))
		return l->in % l->mp ? cannot_split(l, l->in, "inputs", err) : OK;
	for (int b = 0; b < TENSOR_BLOCKS && c->blocks[b]; b++)
		if (c->blocks[b] % l->mp)
			return cannot_split(l, c->blocks[b], "outputs of a block", err);
	return l->out % l->mp && !c->uneven ? cannot_split(l, l->out, "outputs", err) : OK;
}

/* What is saved: before the activation, where its derivative needs that; the slice that is
   gathered. */
struct rooms {
	int before, slice;
};

static struct rooms rooms_of(const struct layer *l)
{
	bool before = activation_saves(config_of(l)->act) == ACT_SAVES_INPUT;

	return (struct rooms){0, before};
}

/* What is kept: our slice of dy. What is lent: where all slices arrive; all rows of what goes
   in, or of its gradient, or of what comes out, or of its gradient. */
enum { KEPT_SLICE = 0, ARRIVED = 1, ALL_ROWS = 0 };

static void ask_for_rooms(struct layer *l)
{
	if (activation_saves(config_of(l)->act) == ACT_SAVES_INPUT)
		layer_save(l, own_out(l, 0), false);
	if (is(l, LINEAR_GATHERED)) {
		layer_save(l, own_out(l, 0), false);
		layer_keep(l, own_out(l, 0), false);
		layer_borrow(l, l->out, IN_FORWARD);
	}
	if (collects(l) || spreads(l))
		layer_borrow(l, collects(l) ? l->in : l->out,
			     IN_FORWARD | IN_INPUT | IN_WEIGHT);
	l->lean = collects(l) || spreads(l);
	l->needs_y = activation_saves(config_of(l)->act) == ACT_SAVES_OUTPUT;
	l->spoils_dy = config_of(l)->act != ACT_NONE;
}

static enum status add_tensors(struct layer *l, struct model *m, struct error *err)
{
	const struct linear_config *c = config_of(l);
	bool normal = c->deviation > 0;
	struct tensor weight = {.rows = c->out,
				.columns = l->in,
				.matrix = true,
				.bound = normal ? 0 : c->bound,
				.deviation = c->deviation};
	struct tensor bias = {
		.rows = c->out, .columns = 1, .bound = normal ? 0 : 1 / sqrtf((float)l->in)};
	enum status st = OK;

	if (is(l, LINEAR_ROWS))
		weight.split = SPLIT_COLUMNS;
	else if (l->mp > 1)
		weight.split = bias.split = SPLIT_ROWS;
	memcpy(weight.blocks, c->blocks, sizeof(c->blocks));
	memcpy(bias.blocks, c->blocks, sizeof(c->blocks));
	if (!normal) {
		weight.stream = stream_id(STREAM_WEIGHT, (uint64_t)l->number);
		bias.stream = stream_id(STREAM_BIAS, (uint64_t)l->number);
	}
	if (c->tied)
		model_tie(m, l, model_find_tensor(m, c->tied));
	else
		TRY(layer_add_tensor(l, m, "weight", weight, err));
	if (!c->no_bias)
		TRY(layer_add_tensor(l, m, "bias", bias, err));
out:
	return st;
}

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	const struct linear_config *c = config_of(l);
	enum status st = OK;

	assert(!c->tied || (c->no_bias && model_find_tensor(m, c->tied) >= 0));
	l->out = c->out;
	if (l->mp > 1)
		TRY(check_split(l, err));
	assert(l->mp == 1 || l->in_sliced == is(l, LINEAR_ROWS));
	assert(!l->in_spread || collects(l));
	assert(!spreads(l) || c->act == ACT_NONE);
	l->out_sliced = is(l, LINEAR_COLUMNS);
	l->out_spread = spreads(l);
	TRY(add_tensors(l, m, err));
	ask_for_rooms(l);
out:
	return st;
}

static double flops(const struct layer *l)
{
	return 2.0 * l->in * l->out;
}

/* ---- computing ---- */

static struct linear product(const struct layer *l, const struct pass *p)
{
	return (struct linear){.rows = p->rows,
			       .out = own_out(l, p->shard),
			       .in = own_in(l),
			       .act = config_of(l)->act,
			       .type = p->weights->type,
			       .weight = config_of(l)->tied ? pass_param_of(p, l->tied)
							    : pass_param(p, l, WEIGHT)};
}

/* Our slice of what comes out: y, or what is gathered into it, or a part of a sum of all rows.
 */
static struct view own_output(const struct layer *l, const struct pass *p)
{
	if (spreads(l))
		return p->kept[ALL_ROWS];
	return is(l, LINEAR_GATHERED) ? p->saved[rooms_of(l).slice] : p->y;
}

/* What the derivative of the activation is taken from. */
static struct view derived_from(const struct layer *l, const struct pass *p)
{
	switch (activation_saves(config_of(l)->act)) {
	case ACT_SAVES_INPUT:
		return p->saved[rooms_of(l).before];
	case ACT_SAVES_OUTPUT:
		return own_output(l, p);
	case ACT_SAVES_NOTHING:
		break;
	}
	return (struct view){0};
}

/* The product is a part of a sum: bias and activation come after that. */
static enum status forward_rows(const struct layer *l, struct pass *p, struct linear *product,
				struct error *err)
{
	struct view bias = {product->bias, 0, product->type}, before = product->saved;
	struct view to = spreads(l) ? p->y : (struct view){0};
	struct pass_sum sum;
	enum status st;

	product->bias = NULL;
	product->saved = (struct view){0};
	product->act = ACT_NONE;
	device_forward(p->dev, product);
	pass_sum_begin(p, product->y, to, l->out, &sum);
	TRY(pass_sum_end(p, &sum, err));
	if (bias.data || config_of(l)->act != ACT_NONE)
		device_activate(p->dev, p->y, bias, before, pass_rows(p, l, l->out_spread),
				l->out, config_of(l)->act);
out:
	return st;
}

/* Slices arrive one after the other and are put side by side. */
static enum status gather(const struct layer *l, struct pass *p, struct error *err)
{
	struct view slices = p->kept[ARRIVED];
	int n = own_out(l, p->shard);
	enum status st;

	slices.stride = (size_t)n;
	device_copy(p->dev, view_from(slices, (size_t)p->shard * (size_t)p->rows), 0,
		    own_output(l, p), 0, p->rows, n);
	TRY(pass_gather(p, slices, n, err));
	for (int i = 0; i < l->mp; i++)
		device_copy(p->dev, p->y, i * n, view_from(slices, (size_t)i * (size_t)p->rows),
			    0, p->rows, n);
out:
	return st;
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	struct linear linear = product(l, p);
	enum status st = OK;

	linear.bias = config_of(l)->no_bias ? NULL : pass_param(p, l, BIAS);
	linear.x = p->x;
	linear.y = own_output(l, p);
	if (collects(l)) {
		linear.x = p->kept[ALL_ROWS];
		TRY(pass_collect(p, linear.x, p->x, l->in, err));
	}
	if (activation_saves(linear.act) == ACT_SAVES_INPUT)
		linear.saved = p->saved[rooms_of(l).before];
	if (is(l, LINEAR_ROWS))
		return forward_rows(l, p, &linear, err);
	device_forward(p->dev, &linear);
	if (is(l, LINEAR_GATHERED))
		TRY(gather(l, p, err));
out:
	return st;
}

/* Of all rows, of the outputs that are ours. */
static struct view own_gradient(const struct layer *l, const struct pass *p)
{
	if (spreads(l))
		return p->kept[ALL_ROWS];
	return is(l, LINEAR_GATHERED) ? p->kept[KEPT_SLICE] : p->dy;
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	struct linear linear = product(l, p);
	enum status st = OK;

	linear.x = collects(l) ? p->kept[ALL_ROWS] : p->dx;
	linear.y = own_gradient(l, p);
	linear.saved = derived_from(l, p);
	if (is(l, LINEAR_GATHERED))
		device_copy(p->dev, linear.y, 0, p->dy, p->shard * linear.out, p->rows,
			    linear.out);
	if (spreads(l))
		TRY(pass_collect(p, linear.y, p->dy, l->out, err));
	if (!p->dx.data) {
		device_derive(p->dev, linear.y, linear.saved, p->rows, linear.out, linear.act);
		return OK;
	}
	device_backward_input(p->dev, &linear);
	if (is(l, LINEAR_COLUMNS) || is(l, LINEAR_GATHERED))
		pass_sum_begin(p, linear.x, collects(l) ? p->dx : (struct view){0}, l->in,
			       &p->sum);
	if (collects(l)) { /* the rows of x are next there */
		TRY(pass_sum_end(p, &p->sum, err));
		p->sum.request.kind = REQUEST_NONE;
	}
out:
	return st;
}

static enum status backward_weight(const struct layer *l, struct pass *p, struct error *err)
{
	const struct linear_config *c = config_of(l);
	struct linear linear = product(l, p);
	enum status st = OK;

	linear.type = p->weights->grad_type;
	linear.weight = c->tied ? pass_grad_of(p, l->tied) : pass_grad(p, l, WEIGHT);
	linear.bias = c->no_bias ? NULL : pass_grad(p, l, BIAS);
	linear.x = p->x;
	linear.y = own_gradient(l, p);
	linear.accumulate = c->tied ? pass_adds_to(p, l->tied) : p->accumulate;
	if (collects(l)) {
		linear.x = p->kept[ALL_ROWS];
		TRY(pass_collect(p, linear.x, p->x, l->in, err));
	}
	if (spreads(l) && !p->together) /* otherwise they are still there */
		TRY(pass_collect(p, linear.y, p->dy, l->out, err));
	device_backward_weight(p->dev, &linear);
out:
	return st;
}

const struct layer_ops layer_linear = {
	.name = "linear",
	.describe = describe,
	.flops = flops,
	.forward = forward,
	.backward_input = backward_input,
	.backward_weight = backward_weight,
};
