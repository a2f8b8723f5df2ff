/* attentions.h - attention of random shapes for its tests: operands, windows of them, and the
   device that has room for them. */
#ifndef KOLM_TESTS_ATTENTIONS_H
#define KOLM_TESTS_ATTENTIONS_H

#include "operands.h"

enum { GRADIENTS = 3 };

struct shape {
	int sequences, queries, keys, first, heads, kv_heads, width;
	bool together; /* q, k and v, and so their gradients, are windows of one matrix */
	enum dtype type;
	double drop;
};

/* Columns of a matrix. */
struct window {
	struct operand *o;
	int column;
};

struct fixture {
	struct device *dev;
	struct attention a;
	struct operand *inputs, *grads; /* q, k, v and their gradients; or one of both */
	struct window q, k, v, dq, dk, dv;
	struct operand out, saved, dout;
};

static inline struct device *attention_device(const char *spec, const char *kernels,
					      int threads)
{
	struct device *dev = device_new(spec, kernels, threads);
	struct error err = {0};

	assert_int_equal(device_reserve_attention(dev, 20, 200, &err), OK);
	assert_int_equal(device_reserve_attention(dev, 300, 130, &err), OK);
	return dev;
}

/* As in training: every query is a key. */
static inline struct shape random_training(struct random *r, int most)
{
	struct shape s = {.type = (enum dtype)random_int(r, DTYPE_F32, DTYPE_BF16),
			  .together = random_int(r, 0, 1),
			  .drop = random_int(r, 0, 2)	? 0
				  : random_int(r, 0, 9) ? 0.1 * random_int(r, 1, 9)
							: 1};

	s.kv_heads = random_int(r, 1, 3);
	s.heads = s.kv_heads * random_int(r, 1, 3);
	s.width = random_int(r, 0, 3) ? random_int(r, 1, 40) : random_int(r, 1, 130);
	s.queries = s.keys = random_int(r, 0, 5) ? random_int(r, 1, most) : 1;
	s.sequences = random_int(r, 1, s.queries > 70 ? 1 : 3);
	return s;
}

static inline struct shape random_shape(struct random *r, int most)
{
	struct shape s = random_training(r, most);

	if (random_int(r, 0, 2))
		return s;
	s.together = false;
	s.queries = random_int(r, 1, s.keys);
	s.first = random_int(r, 0, s.keys - s.queries);
	return s;
}

static inline double of(const struct window *w, int row, int column)
{
	return value(w->o, row, w->column + column);
}

static inline struct view view_of(const struct window *w)
{
	return view_at(w->o->v, w->column);
}

static inline int kv_head(const struct attention *a, int head)
{
	return head / (a->heads / a->kv_heads);
}

/* Three matrices, or one that holds all. */
static inline struct operand *three_new(struct device *dev, struct random *r,
					const struct shape *s, struct window *q,
					struct window *k, struct window *v)
{
	struct operand *o = calloc(GRADIENTS, sizeof(*o));
	int wide = s->heads * s->width, kv_wide = s->kv_heads * s->width;
	int rows = s->sequences * s->queries, keys = s->sequences * s->keys;

	if (s->together) {
		o[0] = operand_new(dev, r, rows, wide + 2 * kv_wide, s->type);
		*q = (struct window){&o[0], 0};
		*k = (struct window){&o[0], wide};
		*v = (struct window){&o[0], wide + kv_wide};
		return o;
	}
	o[0] = operand_new(dev, r, rows, wide, s->type);
	o[1] = operand_new(dev, r, keys, kv_wide, s->type);
	o[2] = operand_new(dev, r, keys, kv_wide, s->type);
	*q = (struct window){&o[0], 0};
	*k = (struct window){&o[1], 0};
	*v = (struct window){&o[2], 0};
	return o;
}

static inline struct fixture fixture_new(struct device *dev, struct random *r,
					 const struct shape *s)
{
	struct fixture f = {.dev = dev};
	int rows = s->sequences * s->queries, wide = s->heads * s->width;

	f.inputs = three_new(dev, r, s, &f.q, &f.k, &f.v);
	f.grads = three_new(dev, r, s, &f.dq, &f.dk, &f.dv);
	f.out = operand_new(dev, r, rows, wide, s->type);
	f.dout = operand_new(dev, r, rows, wide, s->type);
	f.saved = operand_new(dev, r, rows, s->heads, DTYPE_F32);
	f.a = (struct attention){.sequences = s->sequences,
				 .queries = s->queries,
				 .keys = s->keys,
				 .first = s->first,
				 .heads = s->heads,
				 .kv_heads = s->kv_heads,
				 .width = s->width,
				 .scale = (float)(1 / sqrt(s->width)),
				 .q = view_of(&f.q),
				 .k = view_of(&f.k),
				 .v = view_of(&f.v),
				 .out = f.out.v,
				 .saved = f.saved.v,
				 .dout = f.dout.v,
				 .dq = view_of(&f.dq),
				 .dk = view_of(&f.dk),
				 .dv = view_of(&f.dv),
				 .drop = {.p = s->drop, .seed = r->seed, .stream = 7},
				 .first_row = random_int(r, 0, 1000)};
	f.a.first_head = random_int(r, 0, 3);
	f.a.all_heads = s->heads + f.a.first_head + random_int(r, 0, 3);
	return f;
}

static inline void fixture_free(struct fixture *f)
{
	for (int i = 0; i < GRADIENTS; i++) {
		operand_free(f->dev, &f->inputs[i]);
		operand_free(f->dev, &f->grads[i]);
	}
	operand_free(f->dev, &f->out);
	operand_free(f->dev, &f->dout);
	operand_free(f->dev, &f->saved);
	free(f->inputs);
	free(f->grads);
}

static inline void run_forward(struct fixture *f)
{
	device_attention_forward(f->dev, &f->a);
	operand_read(f->dev, &f->out);
	operand_read(f->dev, &f->saved);
}

static inline void run_backward(struct fixture *f)
{
	device_attention_backward(f->dev, &f->a);
	for (int i = 0; i < GRADIENTS; i++)
		if (f->grads[i].n)
			operand_read(f->dev, &f->grads[i]);
}

/* Of a call of several sequences, the one that begins at that row. */
static inline void only_rows_from(struct attention *a, int row)
{
	struct view *views[] = {&a->q,	  &a->k,  &a->v,  &a->out, &a->saved,
				&a->dout, &a->dq, &a->dk, &a->dv};

	for (size_t i = 0; i < ARRAY_SIZE(views); i++)
		*views[i] = view_from(*views[i], (size_t)row);
	a->first_row += row;
	a->sequences = 1;
}

static inline void close_to(double got, double want, double tolerance, const char *what)
{
	if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
		fail_msg("%s: %.9g, should be %.9g", what, got, want);
}

#endif
