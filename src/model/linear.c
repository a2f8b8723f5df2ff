/* linear.c - see linear.h */
#include "model/linear.h"
#include "base/stream.h"
#include "base/util.h"
#include "model/model.h"
#include "model/weights.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { WEIGHT, BIAS }; /* its tensors */

static const struct linear_config *config_of(const struct layer *l)
{
	return l->config;
}

/* On one rank nothing is split, and nothing is to be gathered. */
static bool is(const struct layer *l, enum linear_split split)
{
	return l->mp > 1 && config_of(l)->split == split;
}

/* What this rank multiplies: its outputs and inputs. */
static int own_out(const struct layer *l)
{
	return is(l, LINEAR_COLUMNS) || is(l, LINEAR_GATHERED) ? l->out / l->mp : l->out;
}

static int own_in(const struct layer *l)
{
	return is(l, LINEAR_ROWS) ? l->in / l->mp : l->in;
}

/* ---- what it is ---- */

static enum status check_split(const struct layer *l, struct error *err)
{
	bool rows = is(l, LINEAR_ROWS);
	int width = rows ? l->in : l->out, n = 0;
	char list[128] = "";

	if (width % l->mp == 0)
		return OK;
	for (int i = 2; i <= width && n < 90; i++)
		if (width % i == 0)
			n += snprintf(list + n, sizeof(list) - (size_t)n, "%s%d", n ? ", " : "",
				      i);
	FAIL(err, ERR_USAGE, "the %d %s of %s do not divide by --mp %d", width,
	     rows ? "inputs" : "outputs", l->name, l->mp);
	return HINT(err, "--mp %s would fit, or %lld of them", *list ? list : "1",
		    (long long)round_up(width, l->mp));
}

/* Rooms by their order: before the activation, where its derivative needs that; the slice
   that is gathered, and where all arrive. */
struct rooms {
	int before, slice, arrived;
};

static struct rooms rooms_of(const struct layer *l)
{
	bool before = activation_saves(config_of(l)->act) == ACT_SAVES_INPUT;

	return (struct rooms){0, before, before + 1};
}

static void ask_for_rooms(struct layer *l)
{
	if (activation_saves(config_of(l)->act) == ACT_SAVES_INPUT)
		layer_save(l, own_out(l), false);
	if (is(l, LINEAR_GATHERED)) {
		layer_save(l, own_out(l), false);
		layer_save(l, l->out, false);
		layer_keep(l, own_out(l), false); /* our slice of dy */
	}
}

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	const struct linear_config *c = config_of(l);
	struct tensor weight = {.columns = l->in, .matrix = true, .bound = c->bound};
	struct tensor bias = {.columns = 1, .bound = 1 / sqrtf((float)l->in)};
	enum status st = OK;

	l->out = weight.rows = bias.rows = c->out;
	if (l->mp > 1)
		TRY(check_split(l, err));
	assert(l->mp == 1 || l->in_sliced == is(l, LINEAR_ROWS));
	l->out_sliced = is(l, LINEAR_COLUMNS);
	if (is(l, LINEAR_ROWS))
		weight.split = SPLIT_COLUMNS;
	else if (l->mp > 1)
		weight.split = bias.split = SPLIT_ROWS;
	weight.stream = stream_id(STREAM_WEIGHT, (uint64_t)l->number);
	bias.stream = stream_id(STREAM_BIAS, (uint64_t)l->number);
	TRY(layer_add_tensor(l, m, "weight", weight, err));
	TRY(layer_add_tensor(l, m, "bias", bias, err));
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
	return (struct linear){
		.rows = p->rows, .out = own_out(l), .in = own_in(l), .act = config_of(l)->act};
}

/* Our slice of what comes out: y, or what is gathered into it. */
static struct view own_output(const struct layer *l, const struct pass *p)
{
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
	struct comm_request sum;
	enum status st;

	product->bias = NULL;
	product->saved = (struct view){0};
	product->act = ACT_NONE;
	device_forward(p->dev, product);
	pass_sum_begin(p, p->y, &sum);
	TRY(pass_sum_end(p, p->y, &sum, err));
	device_activate(p->dev, p->y, bias, before, p->rows, l->out, config_of(l)->act);
out:
	return st;
}

/* Slices arrive one after the other and are put side by side. */
static enum status gather(const struct layer *l, struct pass *p, struct error *err)
{
	struct view slices = p->saved[rooms_of(l).arrived];
	int n = own_out(l);
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

	linear.type = p->weights->type;
	linear.weight = pass_param(p, l, WEIGHT);
	linear.bias = pass_param(p, l, BIAS);
	linear.x = p->x;
	linear.y = own_output(l, p);
	if (activation_saves(linear.act) == ACT_SAVES_INPUT)
		linear.saved = p->saved[rooms_of(l).before];
	if (is(l, LINEAR_ROWS))
		return forward_rows(l, p, &linear, err);
	device_forward(p->dev, &linear);
	return is(l, LINEAR_GATHERED) ? gather(l, p, err) : OK;
}

static struct view own_gradient(const struct layer *l, const struct pass *p)
{
	return is(l, LINEAR_GATHERED) ? p->kept[0] : p->dy;
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	struct linear linear = product(l, p);

	(void)err;
	linear.type = p->weights->type;
	linear.weight = pass_param(p, l, WEIGHT);
	linear.x = p->dx;
	linear.y = own_gradient(l, p);
	linear.saved = derived_from(l, p);
	if (is(l, LINEAR_GATHERED))
		device_copy(p->dev, linear.y, 0, p->dy, p->shard * own_out(l), p->rows,
			    own_out(l));
	if (!p->dx.data) {
		device_derive(p->dev, linear.y, linear.saved, p->rows, linear.out, linear.act);
		return OK;
	}
	device_backward_input(p->dev, &linear);
	if (is(l, LINEAR_COLUMNS) || is(l, LINEAR_GATHERED))
		pass_sum_begin(p, p->dx, &p->sum);
	return OK;
}

static enum status backward_weight(const struct layer *l, struct pass *p, struct error *err)
{
	struct linear linear = product(l, p);

	(void)err;
	linear.type = p->weights->grad_type;
	linear.weight = pass_grad(p, l, WEIGHT);
	linear.bias = pass_grad(p, l, BIAS);
	linear.x = p->x;
	linear.y = own_gradient(l, p);
	linear.accumulate = p->accumulate;
	device_backward_weight(p->dev, &linear);
	return OK;
}

const struct layer_ops layer_linear = {
	.name = "linear",
	.describe = describe,
	.flops = flops,
	.forward = forward,
	.backward_input = backward_input,
	.backward_weight = backward_weight,
};
