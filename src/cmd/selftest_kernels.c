/* selftest_kernels.c - cases of kolm selftest: products, and what is done row by row. */
#include "cmd/selftest.h"
#include "base/util.h"

enum { TWO_TILES = 33 }; /* of the smallest tiles that products are cut in */

static int draw_rows(struct selftest *t)
{
	return draw(t, 1, t->most_rows);
}

static enum activation draw_act(struct selftest *t)
{
	return (enum activation)draw(t, 0, ACT_COUNT - 1);
}

/* ---- linear layers ---- */

struct layer {
	struct linear l[SIDES];
	struct twin *x, *y, *saved, *weight, *bias;
};

/* Gradients may be of another type than what they are of; products of bf16 are of both. */
static void take_layer(struct selftest *t, struct layer *layer, enum dtype type,
		       enum dtype weight_type, bool has_saved)
{
	int least = t->tiny ? TWO_TILES : 1, most = t->tiny ? TWO_TILES + 2 : t->most_rows;
	int rows = draw(t, least, most), out = draw(t, least, most), in = draw(t, least, most);
	bool has_bias = draw(t, 0, 1), accumulate = draw(t, 0, 1);
	enum activation act = draw_act(t);

	layer->x = twin_matrix(t, "x", rows, in, type);
	layer->y = twin_matrix(t, "y", rows, out, type);
	layer->saved = twin_matrix(t, "saved", rows, out, type);
	layer->weight = twin_weights(t, "weight", out, in, weight_type);
	layer->bias = twin_array(t, "bias", (size_t)out, weight_type);
	for (int i = 0; i < SIDES; i++)
		layer->l[i] = (struct linear){.rows = rows,
					      .out = out,
					      .in = in,
					      .weight = layer->weight->memory[i],
					      .bias = has_bias ? layer->bias->memory[i] : NULL,
					      .x = view_on(layer->x, i),
					      .y = view_on(layer->y, i),
					      .saved = has_saved ? view_on(layer->saved, i)
								 : (struct view){0},
					      .act = act,
					      .type = weight_type,
					      .accumulate = accumulate};
}

static void test_forward(struct selftest *t)
{
	enum dtype type = draw_type(t);
	struct layer layer;

	take_layer(t, &layer, type, draw(t, 0, 3) ? type : DTYPE_F32, draw(t, 0, 1));
	for (int i = 0; i < SIDES; i++)
		device_forward(t->dev[i], &layer.l[i]);
	compare(t, layer.y, 1e-5);
	compare(t, layer.saved, 1e-5);
}

static void test_backward_input(struct selftest *t)
{
	enum dtype type = draw_type(t);
	struct layer layer;

	take_layer(t, &layer, type, draw(t, 0, 3) ? type : DTYPE_F32, true);
	for (int i = 0; i < SIDES; i++)
		device_backward_input(t->dev[i], &layer.l[i]);
	compare(t, layer.y, 1e-5);
	/* What is rounded on the way to it may have been rounded the other way. */
	compare(t, layer.x, type == DTYPE_F32 ? 1e-5 : type == DTYPE_F16 ? 0x1p-9 : 0x1p-6);
}

static void test_backward_weight(struct selftest *t)
{
	enum dtype type = draw_type(t);
	struct layer layer;

	take_layer(t, &layer, type, draw(t, 0, 1) ? type : DTYPE_F32, false);
	for (int i = 0; i < SIDES; i++)
		device_backward_weight(t->dev[i], &layer.l[i]);
	compare(t, layer.weight, 1e-5);
	compare(t, layer.bias, 1e-5);
}

const struct selftest_case selftest_linear[] = {
	{"product, forward", test_forward},
	{"product, input gradient", test_backward_input},
	{"product, weight gradient", test_backward_weight},
	{0},
};

/* ---- row by row ---- */

static void test_copy(struct selftest *t)
{
	int rows = draw_rows(t), columns = draw_rows(t), at = draw(t, 0, 9),
	    from = draw(t, 0, 9);
	enum dtype type = draw_type(t);
	struct twin *a = twin_matrix(t, "to", rows, columns + 9, type);
	struct twin *b = twin_matrix(t, "from", rows, columns + 9, type);

	for (int i = 0; i < SIDES; i++)
		device_copy(t->dev[i], view_on(a, i), at, view_on(b, i), from, rows, columns);
	compare(t, a, 0);
}

static void test_activate(struct selftest *t)
{
	int rows = draw_rows(t), columns = draw_rows(t);
	enum dtype type = draw_type(t);
	enum activation act = draw_act(t);
	struct twin *y = twin_matrix(t, "y", rows, columns, type);
	struct twin *before = twin_matrix(t, "before", rows, columns, type);
	struct twin *bias = twin_matrix(t, "bias", 1, columns, type);
	bool keeps = draw(t, 0, 1);

	for (int i = 0; i < SIDES; i++)
		device_activate(t->dev[i], view_on(y, i), view_on(bias, i),
				keeps ? view_on(before, i) : (struct view){0}, rows, columns,
				act);
	compare(t, y, 1e-6);
	compare(t, before, 1e-6);
}

static void test_derive(struct selftest *t)
{
	int rows = draw_rows(t), columns = draw_rows(t);
	enum dtype type = draw_type(t);
	enum activation act = draw_act(t);
	struct twin *dy = twin_matrix(t, "dy", rows, columns, type);
	struct twin *saved = twin_matrix(t, "saved", rows, columns, type);

	for (int i = 0; i < SIDES; i++)
		device_derive(t->dev[i], view_on(dy, i), view_on(saved, i), rows, columns, act);
	compare(t, dy, 1e-6);
}

static void test_add(struct selftest *t)
{
	int rows = draw_rows(t), columns = draw_rows(t);
	enum dtype type = draw_type(t);
	struct twin *to = twin_matrix(t, "to", rows, columns, type);
	struct twin *from = twin_matrix(t, "from", rows, columns, type);

	for (int i = 0; i < SIDES; i++)
		device_add(t->dev[i], view_on(to, i), view_on(from, i), rows, columns);
	compare(t, to, 0);
}

static void test_dropout(struct selftest *t)
{
	int rows = draw_rows(t), columns = draw_rows(t);
	enum dtype type = draw_type(t);
	struct dropout d = {.p = draw(t, 0, 9) / 10.0,
			    .seed = (uint64_t)draw(t, 0, 1 << 20) << 20,
			    .stream = (uint64_t)draw(t, 0, 1 << 20) << 20,
			    .row = (int64_t)draw(t, 0, 1 << 20) << 12,
			    .column = draw(t, 0, 99),
			    .columns = columns + 99};
	struct twin *to = twin_matrix(t, "to", rows, columns, type);
	struct twin *from = twin_matrix(t, "from", rows, columns, type);

	for (int i = 0; i < SIDES; i++)
		device_dropout(t->dev[i], view_on(to, i), view_on(from, i), rows, columns, &d);
	compare(t, to, 0);
}

static void test_gate(struct selftest *t)
{
	int rows = draw_rows(t), columns = draw_rows(t);
	enum dtype type = draw_type(t);
	struct gate g = {.rows = rows, .columns = columns, .act = draw_act(t)};
	struct twin *x = twin_matrix(t, "x", rows, 2 * columns, type);
	struct twin *dx = twin_matrix(t, "dx", rows, 2 * columns, type);
	struct twin *y = twin_matrix(t, "y", rows, columns, type);
	struct twin *dy = twin_matrix(t, "dy", rows, columns, type);
	bool in_place = draw(t, 0, 1);

	for (int i = 0; i < SIDES; i++) {
		g.x = view_on(x, i);
		g.dx = in_place ? g.x : view_on(dx, i);
		g.y = view_on(y, i);
		g.dy = view_on(dy, i);
		device_gate(t->dev[i], &g);
		device_gate_gradient(t->dev[i], &g);
	}
	compare(t, y, 1e-6);
	compare(t, in_place ? x : dx, 1e-6);
}

static void test_rotate(struct selftest *t)
{
	struct rotary r = {.rows = draw_rows(t),
			   .heads = draw(t, 1, 4),
			   .width = 2 * draw(t, 1, 40),
			   .length = draw_rows(t),
			   .first = draw(t, 0, 5000),
			   .theta = draw(t, 0, 1) ? 10000.0f : 500000.0f,
			   .back = draw(t, 0, 1)};
	struct twin *x = twin_matrix(t, "x", r.rows, r.heads * r.width, draw_type(t));

	for (int i = 0; i < SIDES; i++) {
		r.x = view_on(x, i);
		device_rotate(t->dev[i], &r);
	}
	compare(t, x, 1e-6);
}

/* ---- norms ---- */

static void test_norm(struct selftest *t)
{
	int rows = draw_rows(t), columns = draw(t, 1, 2 * t->most_rows);
	enum dtype type = draw_type(t), grad_type = draw(t, 0, 1) ? type : DTYPE_F32;
	struct norm n = {.kind = t->tiny || draw(t, 0, 1) ? NORM_LAYER : NORM_RMS,
			 .rows = rows,
			 .columns = columns,
			 .type = type,
			 .grad_type = grad_type,
			 .eps = 1e-5f,
			 .accumulate = draw(t, 0, 1)};
	struct twin *x = twin_matrix(t, "x", rows, columns, type);
	struct twin *y = twin_matrix(t, "y", rows, columns, type);
	struct twin *dx = twin_matrix(t, "dx", rows, columns, type);
	struct twin *dy = twin_matrix(t, "dy", rows, columns, type);
	struct twin *saved = twin_matrix(t, "saved", rows, 2, DTYPE_F32);
	struct twin *weight = twin_array(t, "weight", (size_t)columns, type);
	struct twin *bias = twin_array(t, "bias", (size_t)columns, type);
	struct twin *dweight = twin_array(t, "dweight", (size_t)columns, grad_type);
	struct twin *dbias = twin_array(t, "dbias", (size_t)columns, grad_type);
	bool has_bias = draw(t, 0, 1), in_place = draw(t, 0, 1);

	for (int i = 0; i < SIDES; i++) {
		n.x = view_on(x, i);
		n.y = view_on(y, i);
		n.saved = view_on(saved, i);
		n.weight = weight->memory[i];
		n.bias = has_bias ? bias->memory[i] : NULL;
		device_norm_forward(t->dev[i], &n);
		n.y = view_on(dy, i);
		n.dx = in_place ? n.y : view_on(dx, i);
		n.dweight = dweight->memory[i];
		n.dbias = has_bias ? dbias->memory[i] : NULL;
		device_norm_backward_weight(t->dev[i], &n);
		device_norm_backward_input(t->dev[i], &n);
	}
	compare(t, y, 4e-6);
	compare(t, saved, 4e-6);
	compare(t, dweight, 1e-5);
	compare(t, dbias, 1e-5);
	/* Of one or two columns nothing is left of it but rounding. */
	compare(t, in_place ? dy : dx, columns > 4 ? 2e-5 : 1);
}

const struct selftest_case selftest_rows[] = {
	{"copy", test_copy},
	{"activation", test_activate},
	{"derivative", test_derive},
	{"sum of matrices", test_add},
	{"dropout", test_dropout},
	{"gate and its gradient", test_gate},
	{"rotary positions", test_rotate},
	{"norm and its gradients", test_norm},
	{0},
};
