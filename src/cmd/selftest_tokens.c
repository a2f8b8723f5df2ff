/* selftest_tokens.c - cases of kolm selftest: tokens, attention, losses and flat arrays. */
#include "cmd/selftest.h"
#include "base/util.h"

#include <math.h>

/* ---- tables ---- */

/* Looks y up in a table, or adds to that, which is a gradient, what is in y. */
typedef void use_table(struct device *dev, int side, void *kernel, void *table, struct view y,
		       bool backward);

static void compare_tables(struct selftest *t, struct twin *table, struct twin *gradient,
			   struct twin *y, struct twin *dy, use_table *use, void *kernel)
{
	for (int i = 0; i < SIDES; i++) {
		use(t->dev[i], i, kernel, table->memory[i], view_on(y, i), false);
		use(t->dev[i], i, kernel, gradient->memory[i], view_on(dy, i), true);
	}
	compare(t, y, 0);
	compare(t, gradient, 1e-6);
}

struct embedding_twin {
	struct embedding e;
	struct twin *tokens;
};

static void use_embedding(struct device *dev, int side, void *kernel, void *table,
			  struct view y, bool backward)
{
	struct embedding_twin *twin = kernel;
	struct embedding e = twin->e;

	e.tokens = twin->tokens->memory[side];
	e.table = table;
	e.y = y;
	(backward ? device_embed_gradient : device_embed)(dev, &e);
}

static void test_embedding(struct selftest *t)
{
	enum dtype type = draw_type(t);
	struct embedding e = {.rows = draw(t, 1, t->most_rows),
			      .columns = draw(t, 1, t->most_rows),
			      .first = draw(t, 0, 20),
			      .count = draw(t, 1, 40),
			      .type = type,
			      .accumulate = draw(t, 0, 1)};
	/* Some are below what is here, some above. */
	struct embedding_twin twin = {e,
				      twin_ints(t, "tokens", e.rows, 0, e.first + e.count + 5)};
	struct twin *table = twin_weights(t, "table", e.count, e.columns, type);
	struct twin *gradient = twin_weights(t, "gradient", e.count, e.columns, type);
	struct twin *y = twin_matrix(t, "y", e.rows, e.columns, type);
	struct twin *dy = twin_matrix(t, "dy", e.rows, e.columns, type);

	compare_tables(t, table, gradient, y, dy, use_embedding, &twin);
}

static void use_positions(struct device *dev, int side, void *kernel, void *table,
			  struct view y, bool backward)
{
	struct positions p = *(const struct positions *)kernel;

	(void)side;
	p.table = table;
	p.y = y;
	(backward ? device_positions_gradient : device_add_positions)(dev, &p);
}

static void test_positions(struct selftest *t)
{
	enum dtype type = draw_type(t);
	struct positions p = {.rows = draw(t, 1, t->most_rows),
			      .columns = draw(t, 1, t->most_rows),
			      .length = draw(t, 1, 60),
			      .first = (int64_t)draw(t, 0, 1 << 20) << 12,
			      .type = type,
			      .accumulate = draw(t, 0, 1)};
	size_t n = (size_t)p.length * (size_t)p.columns;
	struct twin *table = twin_array(t, "table", n, type);
	struct twin *gradient = twin_array(t, "gradient", n, type);
	struct twin *y = twin_matrix(t, "y", p.rows, p.columns, type);
	struct twin *dy = twin_matrix(t, "dy", p.rows, p.columns, type);

	compare_tables(t, table, gradient, y, dy, use_positions, &p);
}

/* ---- attention ---- */

/* Most is of the widths that models have; whatever it is, blocks end anywhere. */
static struct attention draw_attention(struct selftest *t, bool forward)
{
	struct attention a = {.sequences = draw(t, 1, 2),
			      .queries = draw(t, 1, t->most_rows / 2),
			      .kv_heads = draw(t, 1, 2),
			      .width = draw(t, 0, 1) ? 8 * draw(t, 1, 10) : draw(t, 1, 140),
			      .first_row = (int64_t)draw(t, 0, 1 << 20) << 6};

	if (t->tiny) { /* two blocks of queries, keys and columns; gradients have dropout */
		a.sequences = a.kv_heads = 1;
		a.queries = 33;
		a.width = draw(t, 33, 34);
	}
	a.heads = a.kv_heads * draw(t, 1, 2);
	a.first = forward && !t->tiny ? draw(t, 0, 1) * draw(t, 0, 40) : 0;
	a.keys = a.first + a.queries + (forward ? draw(t, 0, 1) * draw(t, 0, 20) : 0);
	a.scale = 1 / sqrtf((float)a.width);
	a.all_heads = a.heads + 2;
	a.first_head = 1;
	a.drop = (struct dropout){
		.p = (t->tiny ? !forward : draw(t, 0, 1)) * 0.3, .seed = 77, .stream = 5};
	return a;
}

static void test_attention(struct selftest *t)
{
	enum dtype type = draw_type(t);
	struct attention a = draw_attention(t, true);
	int queries = a.sequences * a.queries, keys = a.sequences * a.keys;
	int kv_wide = a.kv_heads * a.width, wide = a.heads * a.width;
	struct twin *q = twin_matrix(t, "q", queries, wide, type);
	struct twin *kv = twin_matrix(t, "kv", keys, 2 * kv_wide, type);
	struct twin *out = twin_matrix(t, "out", queries, wide, type);
	struct twin *saved = twin_matrix(t, "saved", queries, a.heads, DTYPE_F32);

	for (int i = 0; i < SIDES; i++) {
		a.q = view_on(q, i);
		a.k = view_on(kv, i);
		a.v = view_at(a.k, kv_wide);
		a.out = view_on(out, i);
		a.saved = view_on(saved, i);
		device_attention_forward(t->dev[i], &a);
	}
	compare(t, out, 1e-5);
	compare(t, saved, 1e-5);
}

static void test_attention_gradient(struct selftest *t)
{
	enum dtype type = draw_type(t);
	struct attention a = draw_attention(t, false);
	int rows = a.sequences * a.queries, wide = a.heads * a.width;
	int kv_wide = a.kv_heads * a.width, all = wide + 2 * kv_wide;
	struct twin *qkv = twin_matrix(t, "q|k|v", rows, all, type);
	struct twin *gradient = twin_matrix(t, "dq|dk|dv", rows, all, type);
	struct twin *out = twin_matrix(t, "out", rows, wide, type);
	struct twin *dout = twin_matrix(t, "dout", rows, wide, type);
	struct twin *saved = twin_matrix(t, "saved", rows, a.heads, DTYPE_F32);

	for (int i = 0; i < SIDES; i++) {
		a.q = view_on(qkv, i);
		a.k = view_at(a.q, wide);
		a.v = view_at(a.q, wide + kv_wide);
		a.out = view_on(out, i);
		a.saved = view_on(saved, i);
		a.dout = view_on(dout, i);
		a.dq = view_on(gradient, i);
		a.dk = view_at(a.dq, wide);
		a.dv = view_at(a.dq, wide + kv_wide);
		device_attention_forward(t->dev[i], &a);
		device_attention_backward(t->dev[i], &a);
	}
	/* It is taken of what forward has rounded. */
	compare(t, gradient, type == DTYPE_F32 ? 2e-5 : type == DTYPE_F16 ? 0x1p-9 : 0x1p-6);
}

const struct selftest_case selftest_tokens[] = {
	{"embedding and its gradient", test_embedding},
	{"positions and their gradient", test_positions},
	{"attention", test_attention},
	{"attention, gradients", test_attention_gradient},
	{0},
};

/* ---- losses ---- */

static void test_mse(struct selftest *t)
{
	int rows = draw(t, 1, t->most_rows), columns = draw(t, 1, 2 * t->most_rows);
	enum dtype type = draw_type(t);
	struct twin *y = twin_matrix(t, "y", rows, columns, type);
	struct twin *target = twin_matrix(t, "target", rows, columns, DTYPE_F32);
	struct twin *dy = twin_matrix(t, "dy", rows, columns, type);
	const double *sums[SIDES];

	for (int i = 0; i < SIDES; i++) {
		double *sum = twin_numbers(t, i, 1);

		device_mse(t->dev[i], view_on(y, i), view_on(target, i), view_on(dy, i), rows,
			   columns, 0.01f, sum);
		sums[i] = sum;
	}
	compare(t, dy, 1e-6);
	compare_numbers(t, "sum", sums, 1, 1e-6);
}

static void test_classes(struct selftest *t)
{
	int rows = draw(t, 1, t->most_rows), columns = draw(t, 1, t->most_rows);
	int slices = draw(t, 1, 3);
	enum dtype type = draw_type(t);
	struct twin *y = twin_matrix(t, "y", rows, columns * slices, type);
	struct twin *dy = twin_matrix(t, "dy", rows, columns, type);
	struct twin *labels = twin_ints(t, "labels", rows, 0, columns * slices - 1);
	struct twin *stats =
		twin_array(t, "stats", (size_t)(slices * rows * CLASS_STATS), DTYPE_F32);
	bool in_place = draw(t, 0, 1);
	const double *sums[SIDES];

	for (int i = 0; i < SIDES; i++) {
		struct class_slice c = {.rows = rows,
					.columns = columns,
					.dy = view_on(dy, i),
					.labels = labels->memory[i],
					.stats = stats->memory[i],
					.slices = slices,
					.scale = 0.5f};
		double *sum = twin_numbers(t, i, 2);

		for (c.slice = 0; c.slice < slices; c.slice++) {
			c.first = c.slice * columns;
			c.y = view_at(view_on(y, i), c.first);
			device_class_stats(t->dev[i], &c);
		}
		c.slice = slices - 1;
		if (in_place)
			c.dy = c.y;
		device_class_loss(t->dev[i], &c, sum, sum + 1);
		sums[i] = sum;
	}
	compare(t, stats, 1e-6);
	compare(t, in_place ? y : dy, 2e-6);
	compare_numbers(t, "sum, or right ones", sums, 2, 1e-6);
}

/* ---- flat arrays ---- */

static void test_update(struct selftest *t)
{
	size_t n = (size_t)draw(t, 1, 40 * t->most_rows);
	enum dtype type = draw_type(t), grad_type = draw(t, 0, 1) ? type : DTYPE_F32;
	struct twin *param = twin_array(t, "param", n, DTYPE_F32);
	struct twin *grad = twin_array(t, "grad", n, grad_type);
	struct twin *working = twin_array(t, "working", n, type);
	struct twin *m = twin_array(t, "m", n, DTYPE_F32);
	struct twin *v = twin_squares(t, "v", n);
	struct update u = {.kind = (enum optimizer)draw(t, 0, OPT_COUNT - 1),
			   .lr = 0.01f,
			   .momentum = 0.9f,
			   .beta1 = 0.9f,
			   .beta2 = 0.99f,
			   .eps = 1e-8f,
			   .weight_decay = 0.1f,
			   .grad_scale = 0.25f,
			   .correction1 = 0.19f,
			   .correction2 = 0.02f,
			   .grad_type = grad_type,
			   .working_type = type};
	const double *sums[SIDES];

	for (int i = 0; i < SIDES; i++) {
		double *sum = twin_numbers(t, i, 1);

		u.param = param->memory[i];
		u.grad = grad->memory[i];
		u.working = type == DTYPE_F32 ? NULL : working->memory[i];
		u.m = m->memory[i];
		u.v = v->memory[i];
		device_update(t->dev[i], &u, n, sum);
		sums[i] = sum;
	}
	compare(t, param, 1e-6);
	compare(t, m, 1e-6);
	compare(t, v, 1e-6);
	compare(t, working, 1e-6);
	compare_numbers(t, "squares", sums, 1, 1e-6);
}

static void test_flat(struct selftest *t)
{
	size_t n = (size_t)draw(t, 1, 40 * t->most_rows);
	enum dtype type = draw(t, 0, 1) ? DTYPE_F16 : DTYPE_BF16;
	struct twin *wide = twin_array(t, "wide", n, DTYPE_F32);
	struct twin *narrow = twin_array(t, "narrow", n, type);
	struct twin *again = twin_array(t, "again", n, DTYPE_F32);
	const double *sums[SIDES];

	for (int i = 0; i < SIDES; i++) {
		double *sum = twin_numbers(t, i, 2);

		device_cast(t->dev[i], wide->memory[i], DTYPE_F32, narrow->memory[i], type, n);
		device_cast(t->dev[i], narrow->memory[i], type, again->memory[i], DTYPE_F32, n);
		device_sum_squares(t->dev[i], wide->memory[i], DTYPE_F32, n, 0.5, sum);
		device_sum_squares(t->dev[i], narrow->memory[i], type, n, 2, sum + 1);
		sums[i] = sum;
	}
	compare(t, again, 0);
	compare(t, narrow, 0);
	compare_numbers(t, "squares", sums, 2, 1e-6);
}

const struct selftest_case selftest_sums[] = {
	{"mean squared error", test_mse},
	{"cross-entropy, right answers", test_classes},
	{"optimizer step", test_update},
	{"conversions, sums of squares", test_flat},
	{0},
};
