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

/* What a shard multiplies: its outputs and inputs. */
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

/* Shards that this rank multiplies, and columns from one to the next of what they yield where
   that is split. */
static int shards(const struct layer *l)
{
	return l->mp > 1 ? l->held : 1;
}

static int step(const struct layer *l)
{
	return is(l, LINEAR_ROWS) ? 0 : own_out(l, 0);
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

static enum status check_split(const struct layer *l, struct error *err)
{
	const struct linear_config *c = config_of(l);

	if (is(l, LINEAR_ROWS))
		return l->in % l->mp ? layer_cannot_split(l, l->in, "inputs", err) : OK;
	for (int b = 0; b < TENSOR_BLOCKS && c->blocks[b]; b++)
		if (c->blocks[b] % l->mp)
			return layer_cannot_split(l, c->blocks[b], "outputs of a block", err);
	return l->out % l->mp && !c->uneven ? layer_cannot_split(l, l->out, "outputs", err)
					    : OK;
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

/* Where rows are not spread: what a sum over shards needs. */
static int kept_tree(const struct layer *l)
{
	return is(l, LINEAR_GATHERED) ? ARRIVED + 1 : 0;
}

static void ask_for_rooms(struct layer *l)
{
	int own = is(l, LINEAR_ROWS) ? l->out : own_out(l, 0) * shards(l);

	if (activation_saves(config_of(l)->act) == ACT_SAVES_INPUT)
		layer_save(l, own, false);
	if (is(l, LINEAR_GATHERED)) {
		layer_save(l, own, false);
		layer_keep(l, own, false);
		layer_borrow(l, l->out, IN_FORWARD);
	}
	if (collects(l) || spreads(l))
		layer_borrow(l, collects(l) ? l->in : l->out,
			     IN_FORWARD | IN_INPUT | IN_WEIGHT);
	l->lean = collects(l) || spreads(l);
	if (is(l, LINEAR_ROWS))
		layer_borrow_tree(l, l->out, IN_FORWARD);
	else if (l->mp > 1)
		layer_borrow_tree(l, l->in, IN_INPUT);
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
	assert(l->held == 1 || (!collects(l) && !spreads(l)));
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

/* Of one of our shards. */
static struct linear product(const struct layer *l, const struct pass *p, int held)
{
	return (struct linear){.rows = p->rows,
			       .out = own_out(l, pass_shard(p, l, held)),
			       .in = own_in(l),
			       .act = config_of(l)->act,
			       .type = p->weights->type,
			       .weight = config_of(l)->tied ? pass_tied_param(p, l, held)
							    : pass_param(p, l, WEIGHT, held)};
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

/* The products are parts of a sum: bias and activation come after that. */
static enum status forward_rows(const struct layer *l, struct pass *p, struct view y,
				struct error *err)
{
	struct view to = spreads(l) ? p->y : (struct view){0}, bias = {0}, before = {0};
	struct pass_sum sum;
	enum status st = OK;

	for (int h = 0; h < shards(l); h++) {
		struct linear part = product(l, p, h);

		part.act = ACT_NONE;
		part.x = view_at(p->x, h * part.in);
		part.y = pass_tree(p, y, kept_tree(l), h);
		device_forward(p->dev, &part);
		pass_tree_add(p, y, kept_tree(l), h, l->out);
	}
	if (p->slices) {
		pass_sum_begin(p, y, to, l->out, &sum);
		TRY(pass_sum_end(p, &sum, err));
	}
	if (!config_of(l)->no_bias)
		bias = (struct view){pass_param(p, l, BIAS, 0), 0, p->weights->type};
	if (activation_saves(config_of(l)->act) == ACT_SAVES_INPUT)
		before = p->saved[rooms_of(l).before];
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
	int n = step(l);
	enum status st = OK;

	slices.stride = (size_t)n;
	for (int h = 0; h < shards(l); h++)
		device_copy(p->dev,
			    view_from(slices, (size_t)pass_shard(p, l, h) * (size_t)p->rows), 0,
			    own_output(l, p), h * n, p->rows, n);
	if (p->slices)
		TRY(pass_gather(p, slices, n * shards(l), err));
	for (int i = 0; i < l->mp; i++)
		device_copy(p->dev, p->y, i * n, view_from(slices, (size_t)i * (size_t)p->rows),
			    0, p->rows, n);
out:
	return st;
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	struct view x = p->x, y = own_output(l, p);
	enum status st = OK;

	if (is(l, LINEAR_ROWS))
		return forward_rows(l, p, y, err);
	if (collects(l)) {
		x = p->kept[ALL_ROWS];
		TRY(pass_collect(p, x, p->x, l->in, err));
	}
	for (int h = 0; h < shards(l); h++) {
		struct linear part = product(l, p, h);

		part.bias = config_of(l)->no_bias ? NULL : pass_param(p, l, BIAS, h);
		part.x = x;
		part.y = view_at(y, h * step(l));
		if (activation_saves(part.act) == ACT_SAVES_INPUT)
			part.saved = view_at(p->saved[rooms_of(l).before], h * step(l));
		device_forward(p->dev, &part);
	}
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

/* What dy is a part of: derived, once where all shards have the same. */
static struct linear gradient(const struct layer *l, const struct pass *p, int held)
{
	struct linear part = product(l, p, held);

	part.y = view_at(own_gradient(l, p), held * step(l));
	part.saved = view_at(derived_from(l, p), held * step(l));
	if (is(l, LINEAR_ROWS) && held > 0)
		part.act = ACT_NONE;
	return part;
}

/* Each shard's inputs, or its part of a sum over the shards. */
static void backward_products(const struct layer *l, struct pass *p, struct view dx)
{
	bool split = is(l, LINEAR_ROWS);

	for (int h = 0; h < shards(l); h++) {
		struct linear part = gradient(l, p, h);

		part.x = split ? view_at(dx, h * part.in) : pass_tree(p, dx, kept_tree(l), h);
		device_backward_input(p->dev, &part);
		if (!split)
			pass_tree_add(p, dx, kept_tree(l), h, l->in);
	}
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	struct view dx = collects(l) ? p->kept[ALL_ROWS] : p->dx, dy = own_gradient(l, p);
	enum status st = OK;

	if (is(l, LINEAR_GATHERED))
		device_copy(p->dev, dy, 0, p->dy, p->shard * shards(l) * step(l), p->rows,
			    shards(l) * step(l));
	if (spreads(l))
		TRY(pass_collect(p, dy, p->dy, l->out, err));
	for (int h = 0; h < shards(l) && !p->dx.data; h++) {
		struct linear part = gradient(l, p, h);

		device_derive(p->dev, part.y, part.saved, p->rows, part.out, part.act);
	}
	if (!p->dx.data)
		return OK;
	backward_products(l, p, dx);
	if (p->slices && (is(l, LINEAR_COLUMNS) || is(l, LINEAR_GATHERED)))
		pass_sum_begin(p, dx, collects(l) ? p->dx : (struct view){0}, l->in, &p->sum);
	if (collects(l)) /* the rows of x are next there */
		TRY(pass_sum_end(p, &p->sum, err));
out:
	return st;
}

static enum status backward_weight(const struct layer *l, struct pass *p, struct error *err)
{
	const struct linear_config *c = config_of(l);
	bool accumulate = c->tied ? pass_adds_to(p, l->tied) : p->accumulate;
	struct view x = p->x;
	enum status st = OK;

	if (collects(l)) {
		x = p->kept[ALL_ROWS];
		TRY(pass_collect(p, x, p->x, l->in, err));
	}
	if (spreads(l) && !p->together) /* otherwise they are still there */
		TRY(pass_collect(p, own_gradient(l, p), p->dy, l->out, err));
	for (int h = 0; h < shards(l); h++) {
		bool again = is(l, LINEAR_ROWS) && h > 0; /* all have the same bias */
		struct linear part = product(l, p, h);

		part.type = p->weights->grad_type;
		part.weight = c->tied ? pass_tied_grad(p, l, h) : pass_grad(p, l, WEIGHT, h);
		part.bias = c->no_bias || again ? NULL : pass_grad(p, l, BIAS, h);
		part.x = is(l, LINEAR_ROWS) ? view_at(x, h * part.in) : x;
		part.y = view_at(own_gradient(l, p), h * step(l));
		part.accumulate = accumulate;
		device_backward_weight(p->dev, &part);
	}
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
