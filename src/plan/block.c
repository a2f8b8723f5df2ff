/*
 * block.c - see block.h
 *
 * Bytes are counted per element of 16 bits, as kernels of Megatron read and write them: what is
 * fused there is one kernel here. Masks of dropout have a byte.
 */
#include "plan/block.h"
#include "base/util.h"

#include <math.h>

/* Sizes of a micro-batch that everything below is made of. */
struct sizes {
	double rows, hidden, sequence, width; /* width: of a head */
	double tp, heads;		      /* heads of the micro-batch on this rank */
	double whole;  /* elements of a row-by-hidden matrix, where it is whole on all ranks */
	double normed; /* the same where norms and dropout see it: cut with sequence parallel */
	double scores;
	double keys;   /* heads of keys and values, as a share of those of queries */
	double inside; /* width inside of the feed-forward, on this rank */
	bool plain;    /* attention writes scores down; there are biases and dropout */
	bool gated;
};

static struct sizes sizes_of(const struct setup *s)
{
	struct sizes z = {.rows = (double)s->micro_batch * s->context,
			  .hidden = s->hidden,
			  .sequence = s->context,
			  .width = (double)s->hidden / s->heads,
			  .tp = s->tp,
			  .heads = (double)s->micro_batch * s->heads / s->tp,
			  .keys = (double)setup_kv_heads(s) / s->heads,
			  .inside = (double)setup_ffn(s) / s->tp,
			  .plain = !setup_is_flash(s),
			  .gated = s->model == SETUP_LLAMA};

	z.whole = z.rows * z.hidden;
	z.normed = s->sequence_parallel ? z.whole / z.tp : z.whole;
	z.scores = z.heads * z.sequence * z.sequence;
	return z;
}

static void add_product(struct cost *p, const struct cluster *c, double m, double n, double k,
			double count)
{
	double time = cost_product(c, m, n, k, count);

	p->busy += time;
	p->products += time;
	p->flops += 2 * m * n * k * count;
	p->kernels++;
}

static void add_bytes(struct cost *p, const struct cluster *c, double bytes, int kernels)
{
	p->busy += cost_bytes(c, bytes);
	p->kernels += kernels;
}

/* An output of 16-bit numbers summed over the tp ranks, of which a share is hidden. Sequence
   parallel sends as much in two halves. */
static void add_sum(struct cost *p, const struct setup *s, const struct cluster *c,
		    double elements, double hidden)
{
	if (s->tp == 1)
		return;
	p->sums += (1 - hidden) * cost_sum(c, 2 * elements, s->tp, 1);
	if (s->sequence_parallel)
		p->sums += (1 - hidden) * cost_sum(c, 0, s->tp, 1);
	p->kernels += s->sequence_parallel ? 2 : 1;
}

static void add_pass(struct cost *to, const struct cost *p)
{
	to->busy += p->busy;
	to->sums += p->sums;
	to->kernels += p->kernels;
	to->products += p->products;
	to->flops += p->flops;
}

/* y = x W' with W (out, in): gradients of x and of W. */
static void add_gradients(struct cost *p, const struct cluster *c, double rows, double out,
			  double in)
{
	add_product(p, c, rows, in, out, 1);
	add_product(p, c, out, in, rows, 1);
}

/* What selective recomputation repeats: scores, softmax with the mask, dropout, their product
   with the values. */
static void attention_forward(struct cost *p, const struct sizes *z, const struct cluster *c)
{
	add_product(p, c, z->sequence, z->sequence, z->width, z->heads);
	add_bytes(p, c, 4 * z->scores, 1); /* softmax: read, written */
	add_bytes(p, c, 5 * z->scores, 1); /* dropout: and its mask */
	add_product(p, c, z->sequence, z->width, z->sequence, z->heads);
}

static void attention_backward(struct cost *p, const struct sizes *z, const struct cluster *c)
{
	for (int i = 0; i < 2; i++) { /* of both factors, of both products */
		add_product(p, c, z->sequence, z->sequence, z->width, z->heads);
		add_product(p, c, z->sequence, z->width, z->sequence, z->heads);
	}
	add_bytes(p, c, 5 * z->scores, 1);
	add_bytes(p, c, 6 * z->scores, 1); /* softmax: its result and two gradients */
}

/* One kernel that looks at half of the pairs, since none looks ahead: so many products, so many
   matrices as large as the queries, or as the keys and values, read and written. */
static void add_flash(struct cost *p, const struct sizes *z, const struct cluster *c,
		      double products, double matrices)
{
	double flops = products * z->scores * z->width;
	double speed = c->constants[CLUSTER_PEAK] * 1e12 * c->constants[CLUSTER_FLASH_SHARE];
	double bytes = 2 * matrices * (1 + z->keys) * z->whole / z->tp;
	double time = fmax(flops / speed, cost_bytes(c, bytes));

	p->busy += time;
	p->products += time;
	p->flops += flops;
	p->kernels++;
}

/* Queries, keys, values and the result put into order; flash takes them as they are, but llama
   turns queries and keys by their positions. */
static void add_order(struct cost *p, const struct sizes *z, const struct cluster *c)
{
	if (z->plain)
		add_bytes(p, c, 16 * z->whole / z->tp, 4);
	else if (z->gated)
		add_bytes(p, c, 4 * (1 + z->keys) * z->whole / z->tp, 2);
}

static void forward(struct cost *p, const struct setup *s, const struct cluster *c)
{
	struct sizes z = sizes_of(s);
	double h = z.hidden, part = h / z.tp, inside = z.rows * z.inside;

	add_bytes(p, c, 2 * 4 * z.normed, 2); /* norms */
	add_product(p, c, z.rows, (1 + 2 * z.keys) * part, h, 1);
	add_order(p, &z, c);
	if (z.plain)
		attention_forward(p, &z, c);
	else
		add_flash(p, &z, c, 2, 2);
	add_product(p, c, z.rows, h, part, 1);
	add_product(p, c, z.rows, (z.gated ? 2 : 1) * z.inside, h, 1);
	add_bytes(p, c, (z.gated ? 6 : 4) * inside, 1); /* gelu, with the bias; or the gate */
	add_product(p, c, z.rows, h, z.inside, 1);
	/* Bias, dropout, sum with the input; or the sum alone. */
	add_bytes(p, c, 2 * (z.plain ? 7 : 6) * z.normed, 2);
	for (int i = 0; i < 2; i++)
		add_sum(p, s, c, z.whole, 0);
}

/* Of what is elementwise. */
static void backward_bytes(struct cost *p, const struct sizes *z, const struct cluster *c)
{
	double inside = z->rows * z->inside;

	add_bytes(p, c, 2 * 14 * z->normed, 6); /* norms: input, weights, sum of the branches */
	if (z->plain) {
		add_bytes(p, c, 2 * 7 * z->normed, 4); /* dropout, gradient of the bias */
		add_bytes(p, c, 8 * inside, 2);	       /* gelu, gradient of its bias */
		add_bytes(p, c, (16 + 6) * z->whole / z->tp, 5);
	} else {
		add_bytes(p, c, (z->gated ? 10 : 6) * inside, 1);
		add_order(p, z, c);
	}
}

static void backward(struct cost *p, const struct setup *s, const struct cluster *c)
{
	struct sizes z = sizes_of(s);
	double h = z.hidden, part = h / z.tp, hidden = c->constants[CLUSTER_SUM_OVERLAP];

	backward_bytes(p, &z, c);
	add_gradients(p, c, z.rows, h, z.inside);
	add_gradients(p, c, z.rows, (z.gated ? 2 : 1) * z.inside, h);
	add_gradients(p, c, z.rows, h, part);
	if (z.plain)
		attention_backward(p, &z, c);
	else
		add_flash(p, &z, c, 5, 4);
	add_gradients(p, c, z.rows, (1 + 2 * z.keys) * part, h);
	for (int i = 0; i < 2; i++)
		add_sum(p, s, c, z.whole, hidden);
	if (s->sequence_parallel) /* inputs gathered again for the gradients of both weights */
		for (int i = 0; i < 2; i++)
			add_sum(p, s, c, z.whole / 2, hidden);
}

/* Where attention keeps no scores: every other product and all that is elementwise. */
static void half_again(struct both_ways *p, const struct sizes *z, const struct cluster *c)
{
	const struct cost *f = &p->forward;
	struct cost attention = {0};
	double half;

	add_flash(&attention, z, c, 2, 2);
	half = (f->products - attention.products) / 2;
	p->backward.busy += f->busy - f->products + half;
	p->backward.products += half;
	p->backward.flops += (f->flops - attention.flops) / 2;
	p->backward.kernels += f->kernels - 3;
}

void block_cost(struct both_ways *p, const struct setup *s, const struct cluster *c)
{
	struct sizes z = sizes_of(s);

	*p = (struct both_ways){0};
	forward(&p->forward, s, c);
	backward(&p->backward, s, c);
	switch (s->recompute) {
	case SETUP_NONE:
		break;
	case SETUP_SELECTIVE:
		if (z.plain)
			attention_forward(&p->backward, &z, c);
		else
			half_again(p, &z, c);
		break;
	case SETUP_FULL:
		add_pass(&p->backward, &p->forward);
		break;
	}
}

void embedding_cost(struct both_ways *p, const struct setup *s, const struct cluster *c)
{
	struct sizes z = sizes_of(s);

	*p = (struct both_ways){0};
	add_bytes(&p->forward, c, (4 + 6) * z.whole + 5 * z.normed, 4);
	add_sum(&p->forward, s, c, z.whole, 0);
	add_bytes(&p->backward, c, (6 + 6) * z.whole + 5 * z.normed, 4);
}

void head_cost(struct both_ways *p, const struct setup *s, const struct cluster *c)
{
	struct sizes z = sizes_of(s);
	double classes = (double)ceil_div(s->vocab, s->tp), logits = z.rows * classes;

	*p = (struct both_ways){0};
	add_bytes(&p->forward, c, 4 * z.normed, 1);
	add_product(&p->forward, c, z.rows, classes, z.hidden, 1);
	/* To 32 bits; the maximum, the exponentials, their sum, the quotients. */
	add_bytes(&p->forward, c, (6 + 4 + 8 + 4 + 8) * logits, 8);
	add_bytes(&p->backward, c, (8 + 6) * logits + 14 * z.normed, 6);
	add_gradients(&p->backward, c, z.rows, classes, z.hidden);
	add_sum(&p->backward, s, c, z.whole, c->constants[CLUSTER_SUM_OVERLAP]);
}
