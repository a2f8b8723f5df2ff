/*
 * block.c - see block.h
 *
 * The shapes are the engine's. What is said here is how Megatron-LM and its like compute them:
 * numbers have 16 bits, masks of dropout a byte, and what is fused there is one kernel here.
 */
#include "plan/block.h"
#include "base/util.h"

#include <math.h>

/* Bytes that a kernel reads and writes of every element, and how many kernels it takes.
   Products and attention have shares of their own below. */
static const struct elementwise {
	double bytes;
	int kernels;
} elementwise[OPERATION_COUNT] = {
	[OPERATION_ACTIVATION] = {0, 0}, /* a bias behind a sum: with what comes next */
	[OPERATION_DERIVATIVE] = {6, 1},
	[OPERATION_ADD] = {6, 1},
	[OPERATION_DROPOUT] = {5, 1},
	[OPERATION_NORM] = {4, 1},
	[OPERATION_NORM_INPUT] = {6, 1},
	[OPERATION_NORM_WEIGHT] = {4, 1},
	[OPERATION_EMBED] = {4, 2},
	[OPERATION_EMBED_WEIGHT] = {6, 2},
	[OPERATION_POSITIONS] = {6, 1},
	[OPERATION_POSITIONS_WEIGHT] = {6, 1},
	[OPERATION_GATE] = {6, 1},
	[OPERATION_GATE_INPUT] = {10, 1},
	[OPERATION_ROTATION] = {4, 2},
	/* To 32 bits; the maximum, the exponentials, their sum, the quotients. */
	[OPERATION_CLASS_STATS] = {6 + 4 + 8 + 4 + 8, 8},
	[OPERATION_CLASS_LOSS] = {8 + 6, 3},
};

/* The activation of a product, its derivative, and the gradient of a bias, of every output. */
static const struct elementwise activation = {4, 1}, derivative = {6, 1},
				bias_gradient = {2, 1};

/* What is added to what dropout has left is read in the same kernel; a gradient is added where
   the norm's kernel has left it. */
static const struct elementwise fused_add = {2, 0}, gradient_add = {4, 1};

static void add_product(struct cost *p, const struct cluster *c, double m, double n, double k,
			double count)
{
	double time = cost_product(c, m, n, k, count);

	p->busy += time;
	p->products += time;
	p->flops += 2 * m * n * k * count;
	p->kernels++;
}

static void add_elementwise(struct cost *p, const struct cluster *c, struct elementwise e,
			    double elements)
{
	p->busy += cost_bytes(c, e.bytes * elements);
	p->kernels += e.kernels;
}

static void add_pass(struct cost *to, const struct cost *p)
{
	to->busy += p->busy;
	to->sums += p->sums;
	to->kernels += p->kernels;
	to->products += p->products;
	to->flops += p->flops;
}

/* ---- attention ---- */

struct heads {
	double count, length, width; /* of all samples */
	double scores;
	double elements; /* of the queries; and of the keys */
	double keys;
};

static struct heads heads_of(const struct operation *a, const struct setup *s)
{
	double rows = (double)s->micro_batch * a->rows;
	struct heads h = {.count = rows / a->length * a->heads,
			  .length = a->length,
			  .width = a->width,
			  .elements = rows * a->columns,
			  .keys = rows * a->kv_heads * a->width};

	h.scores = h.count * h.length * h.length;
	return h;
}

/* Scores that are written down: what selective recomputation repeats. Softmax reads and writes
   them, dropout too, and its mask. */
static void scores_forward(struct cost *p, const struct heads *h, const struct cluster *c)
{
	add_product(p, c, h->length, h->length, h->width, h->count);
	add_elementwise(p, c, (struct elementwise){4, 1}, h->scores);
	add_elementwise(p, c, (struct elementwise){5, 1}, h->scores);
	add_product(p, c, h->length, h->width, h->length, h->count);
}

static void scores_backward(struct cost *p, const struct heads *h, const struct cluster *c)
{
	for (int i = 0; i < 2; i++) { /* of both factors, of both products */
		add_product(p, c, h->length, h->length, h->width, h->count);
		add_product(p, c, h->length, h->width, h->length, h->count);
	}
	add_elementwise(p, c, (struct elementwise){5, 1}, h->scores);
	/* Softmax: its result and two gradients. */
	add_elementwise(p, c, (struct elementwise){6, 1}, h->scores);
}

/* Queries, keys, values and the result are put into order for such products. */
static void add_order(struct cost *p, const struct heads *h, const struct cluster *c)
{
	add_elementwise(p, c, (struct elementwise){4, 2}, 2 * h->elements);
	add_elementwise(p, c, (struct elementwise){4, 2}, 2 * h->keys);
}

/* One kernel that looks at half of the pairs, since none looks ahead: so many products, so many
   matrices as large as the queries, and as the keys, read and written. */
static void add_flash(struct cost *p, const struct heads *h, const struct cluster *c,
		      double products, double matrices)
{
	double flops = products * h->scores * h->width;
	double speed = c->constants[CLUSTER_PEAK] * 1e12 * c->constants[CLUSTER_FLASH_SHARE];
	double bytes = 2 * matrices * (h->elements + h->keys);
	double time = fmax(flops / speed, cost_bytes(c, bytes));

	p->busy += time;
	p->products += time;
	p->flops += flops;
	p->kernels++;
}

static void add_attention(struct cost *p, const struct operation *a, const struct setup *s,
			  const struct cluster *c)
{
	bool forward = a->kind == OPERATION_ATTENTION;
	struct heads h = heads_of(a, s);

	if (setup_is_flash(s)) {
		add_flash(p, &h, c, forward ? 2 : 5, forward ? 2 : 4);
		return;
	}
	add_order(p, &h, c);
	if (forward)
		scores_forward(p, &h, c);
	else
		scores_backward(p, &h, c);
}

/* ---- passes ---- */

/* y = x W' with W (columns, inner): y, the gradient of x, or that of W. */
static void add_linear(struct cost *p, const struct outline_operation *op, double rows,
		       const struct setup *s, const struct cluster *c)
{
	double out = op->is.columns, in = op->is.inner;
	/* A bias behind a sum is added to this rank's rows only. */
	double own = op->scattered ? rows / s->tp : rows;

	if (op->is.kind == OPERATION_PRODUCT)
		add_product(p, c, rows, out, in, 1);
	else if (op->is.kind == OPERATION_PRODUCT_INPUT)
		add_product(p, c, rows, in, out, 1);
	else
		add_product(p, c, out, in, rows, 1);
	if (op->is.kind == OPERATION_PRODUCT_WEIGHT && op->is.biased)
		add_elementwise(p, c, bias_gradient, own * out);
	if (op->is.kind == OPERATION_PRODUCT && op->is.act != ACT_NONE)
		add_elementwise(p, c, activation, rows * out);
	if (op->is.kind == OPERATION_PRODUCT_INPUT && op->is.act != ACT_NONE)
		add_elementwise(p, c, derivative, rows * out);
}

/* How a sum is taken depends on what is before it, and on the pass. */
static struct elementwise adding(const struct outline_pass *pass, int i, bool forward)
{
	if (!forward)
		return gradient_add;
	return i > 0 && pass->operations[i - 1].is.kind == OPERATION_DROPOUT
		       ? fused_add
		       : elementwise[OPERATION_ADD];
}

static void add_operation(struct cost *p, const struct outline_pass *pass, int i, bool forward,
			  const struct setup *s, const struct cluster *c)
{
	const struct outline_operation *op = &pass->operations[i];
	double rows = (double)s->micro_batch * op->is.rows;

	switch (op->is.kind) {
	case OPERATION_PRODUCT:
	case OPERATION_PRODUCT_INPUT:
	case OPERATION_PRODUCT_WEIGHT:
		add_linear(p, op, rows, s, c);
		return;
	case OPERATION_ATTENTION:
	case OPERATION_ATTENTION_INPUT:
		add_attention(p, &op->is, s, c);
		return;
	case OPERATION_ADD:
		add_elementwise(p, c, adding(pass, i, forward), rows * op->is.columns);
		return;
	case OPERATION_ACTIVATION:
	case OPERATION_DERIVATIVE:
	case OPERATION_DROPOUT:
	case OPERATION_NORM:
	case OPERATION_NORM_INPUT:
	case OPERATION_NORM_WEIGHT:
	case OPERATION_EMBED:
	case OPERATION_EMBED_WEIGHT:
	case OPERATION_POSITIONS:
	case OPERATION_POSITIONS_WEIGHT:
	case OPERATION_GATE:
	case OPERATION_GATE_INPUT:
	case OPERATION_ROTATION:
	case OPERATION_CLASS_STATS:
	case OPERATION_CLASS_LOSS:
		add_elementwise(p, c, elementwise[op->is.kind], rows * op->is.columns);
		return;
	}
}

/* A gathering, or a sum of which each rank gets its part, sends half of what a sum does. */
static void add_sums(struct cost *p, const struct outline_pass *pass, double shown,
		     const struct setup *s, const struct cluster *c)
{
	for (int i = 0; i < pass->sum_count; i++) {
		double bytes = s->micro_batch * pass->sums[i].bytes;

		p->sums +=
			shown * cost_sum(c, pass->sums[i].half ? bytes / 2 : bytes, s->tp, 1);
		p->kernels++;
	}
}

static void pass_cost(struct cost *p, const struct outline_pass *pass, bool forward,
		      const struct setup *s, const struct cluster *c)
{
	*p = (struct cost){0};
	for (int i = 0; i < pass->operation_count; i++)
		add_operation(p, pass, i, forward, s, c);
	add_sums(p, pass, forward ? 1 : 1 - c->constants[CLUSTER_SUM_OVERLAP], s, c);
}

static void layer_cost(struct both_ways *p, const struct outline_layer *l,
		       const struct setup *s, const struct cluster *c)
{
	pass_cost(&p->forward, &l->forward, true, s, c);
	pass_cost(&p->backward, &l->backward, false, s, c);
}

/* Its attention; a block has one. */
static struct heads block_heads(const struct outline *o, const struct setup *s)
{
	const struct outline_operation *op = o->block.forward.operations;

	while (op->is.kind != OPERATION_ATTENTION)
		op++;
	return heads_of(&op->is, s);
}

/* Where attention keeps no scores: every other product and all that is elementwise. */
static void half_again(struct both_ways *p, const struct heads *h, const struct cluster *c)
{
	const struct cost *f = &p->forward;
	struct cost attention = {0};
	double half;

	add_flash(&attention, h, c, 2, 2);
	half = (f->products - attention.products) / 2;
	p->backward.busy += f->busy - f->products + half;
	p->backward.products += half;
	p->backward.flops += (f->flops - attention.flops) / 2;
	p->backward.kernels += f->kernels - 3;
}

void block_cost(struct both_ways *p, const struct outline *o, const struct setup *s,
		const struct cluster *c)
{
	struct heads h = block_heads(o, s);

	layer_cost(p, &o->block, s, c);
	switch (s->recompute) {
	case SETUP_NONE:
		break;
	case SETUP_SELECTIVE:
		if (setup_is_flash(s))
			half_again(p, &h, c);
		else
			scores_forward(&p->backward, &h, c);
		break;
	case SETUP_FULL:
		add_pass(&p->backward, &p->forward);
		break;
	}
}

void embedding_cost(struct both_ways *p, const struct outline *o, const struct setup *s,
		    const struct cluster *c)
{
	layer_cost(p, &o->embedding, s, c);
}

void head_cost(struct both_ways *p, const struct outline *o, const struct setup *s,
	       const struct cluster *c)
{
	layer_cost(p, &o->head, s, c);
}
