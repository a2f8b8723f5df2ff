/* attention.c - see attention.h */
#include "model/attention.h"
#include "base/stream.h"
#include "model/cache.h"
#include "model/model.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static const struct attention_config *config_of(const struct layer *l)
{
	return l->config;
}

/* Of one shard. */
static int own_heads(const struct layer *l)
{
	return config_of(l)->heads / l->mp;
}

static int own_kv_heads(const struct layer *l)
{
	return config_of(l)->kv_heads / l->mp;
}

enum status attention_check_heads(int heads, int kv_heads, int mp, int held, struct error *err)
{
	const char *option = layer_split_option(held);
	char list[SPLIT_LIST], few[64] = "";

	if (heads % mp == 0 && kv_heads % mp == 0)
		return OK;
	if (kv_heads != heads)
		snprintf(few, sizeof(few), ", of which %d have keys,", kv_heads);
	FAIL(err, ERR_USAGE, "%d heads%s do not divide by %s%d", heads, few, option, mp);
	return HINT(err,
		    "%s%s would fit: every rank needs whole heads, and as many as the others",
		    option, layer_split_list(kv_heads, held, list));
}

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	const struct attention_config *c = config_of(l);
	enum status st;

	(void)m;
	assert(l->in == (c->heads + 2 * c->kv_heads) * c->width);
	assert(l->mp == 1 || l->in_sliced);
	TRY(attention_check_heads(c->heads, c->kv_heads, l->mp, l->held, err));
	l->out = c->heads * c->width;
	layer_save(l, own_heads(l) * l->held, true); /* the logarithms of their sums */
	l->needs_y = true;
out:
	return st;
}

static enum status reserve(const struct layer *l, struct device *dev, struct error *err)
{
	return device_reserve_attention(dev, l->sequence, config_of(l)->width, err);
}

/* On average a row looks at half of its sequence, with two products. */
static double flops(const struct layer *l)
{
	return 2.0 * (l->sequence + 1) * config_of(l)->heads * config_of(l)->width;
}

struct dropout attention_dropout(const struct layer *l, uint64_t seed, int64_t step)
{
	return (struct dropout){
		.p = config_of(l)->dropout,
		.seed = seed,
		.stream = stream_id(STREAM_DROPOUT,
				    (uint64_t)step << 16 | (uint64_t)(uint16_t)l->place),
		.columns = l->sequence};
}

/* Queries, keys and values of a shard, or their gradients, in a matrix of all three. */
struct parts {
	struct view q, k, v;
};

static struct parts parts_of(const struct layer *l, struct view all, int held)
{
	int width = config_of(l)->width, q = own_heads(l) * width, k = own_kv_heads(l) * width;

	all = view_at(all, held * (q + 2 * k));
	return (struct parts){all, view_at(all, q), view_at(all, q + k)};
}

static struct attention attention_of(const struct layer *l, const struct pass *p, int held)
{
	const struct attention_config *c = config_of(l);
	struct parts in = parts_of(l, p->x, held);

	return (struct attention){.sequences = p->rows / l->sequence,
				  .queries = l->sequence,
				  .keys = l->sequence,
				  .heads = own_heads(l),
				  .kv_heads = own_kv_heads(l),
				  .width = c->width,
				  .scale = 1 / sqrtf((float)c->width),
				  .q = in.q,
				  .k = in.k,
				  .v = in.v,
				  .out = view_at(p->y, held * own_heads(l) * c->width),
				  .saved = view_at(p->saved[0], held * own_heads(l)),
				  .drop = p->training && c->dropout > 0
						  ? attention_dropout(l, p->seed, p->step)
						  : (struct dropout){0},
				  .first_row = p->first_row,
				  .all_heads = c->heads,
				  .first_head = own_heads(l) * pass_shard(p, l, held)};
}

/* Queries and keys lie side by side. */
static void rotate(const struct layer *l, const struct pass *p, struct view x, int length,
		   bool back)
{
	struct rotary r = {.rows = p->rows,
			   .heads = own_heads(l) + own_kv_heads(l),
			   .width = config_of(l)->width,
			   .length = length,
			   .first = p->position,
			   .theta = config_of(l)->theta,
			   .back = back,
			   .x = x};

	if (config_of(l)->theta > 0)
		device_rotate(p->dev, &r);
}

/* The next rows of one sequence, whose keys and values so far are remembered; who does that has
   one shard. */
static void go_on(const struct layer *l, struct pass *p, struct attention *a)
{
	struct cache_layer *c = cache_layer(p->cache, l);

	assert(l->held == 1);
	a->sequences = 1;
	a->queries = p->rows;
	a->first = p->position;
	a->keys = p->position + p->rows;
	device_copy(p->dev, view_from(c->k, (size_t)p->position), 0, a->k, 0, p->rows,
		    a->kv_heads * a->width);
	device_copy(p->dev, view_from(c->v, (size_t)p->position), 0, a->v, 0, p->rows,
		    a->kv_heads * a->width);
	a->k = c->k;
	a->v = c->v;
}

/* Rotary positions are put into what goes in: nobody else looks at that. */
static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	(void)err;
	for (int h = 0; h < l->held; h++) {
		struct attention a = attention_of(l, p, h);

		rotate(l, p, a.q, p->cache ? p->rows : l->sequence, false);
		if (p->cache)
			go_on(l, p, &a);
		device_attention_forward(p->dev, &a);
	}
	return OK;
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	(void)err;
	for (int h = 0; h < l->held && p->dx.data; h++) {
		struct attention a = attention_of(l, p, h);
		struct parts out = parts_of(l, p->dx, h);

		a.dout = view_at(p->dy, h * a.heads * a.width);
		a.dq = out.q;
		a.dk = out.k;
		a.dv = out.v;
		device_attention_backward(p->dev, &a);
		rotate(l, p, out.q, l->sequence, true);
	}
	return OK;
}

const struct layer_ops layer_attention = {
	.name = "attention",
	.describe = describe,
	.flops = flops,
	.reserve = reserve,
	.forward = forward,
	.backward_input = backward_input,
};
