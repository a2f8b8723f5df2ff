/*
 * test_matrix16.c - matrix products with operands in 16 bit against the plain reference:
 * all in one type, fp32 inputs into 16-bit weights as the first layer has them, and
 * gradients in fp32 of 16-bit operands; random shapes, edge shapes, cut in parts.
 */
#include "matrices.h"

#include "base/half.h"

enum { BEHIND = 64 }; /* elements behind every operand that must stay as they are */

/* An operand with rows further apart than they are long. */
struct operand {
	struct view v; /* as the kernels take it */
	size_t n;
};

static struct operand operand_new(struct random *r, int rows, int columns, enum dtype type)
{
	struct operand o = {.v.type = type};
	float value;

	o.v.stride = (size_t)(columns + random_int(r, 0, 9));
	o.n = (size_t)rows * o.v.stride;
	o.v.data = malloc((o.n + BEHIND) * sizeof(float));
	for (size_t i = 0; i < o.n + BEHIND; i++) {
		random_fill(r, &value, 1);
		float_to(o.v.data, i, type, value);
	}
	return o;
}

/* Weights beyond the matrix are zero, as the layout promises. */
static struct operand weights_new(struct random *r, int out, int in, enum dtype type)
{
	struct operand o = {.v.type = type, .n = layout_size(out, in)};
	float value;

	o.v.data = calloc(o.n + BEHIND, sizeof(float));
	for (int i = 0; i < out * in; i++) {
		random_fill(r, &value, 1);
		float_to(o.v.data, layout_index(out, in, i / in, i % in), type, value);
	}
	return o;
}

static struct operand operand_copy(struct operand from)
{
	struct operand o = from;
	size_t bytes = (from.n + BEHIND) * dtype_size(from.v.type);

	o.v.data = malloc(bytes);
	memcpy(o.v.data, from.v.data, bytes);
	return o;
}

/* Apart by a rounding at most, and the same behind the end. */
static void operand_check(struct operand got, struct operand want, double scale,
			  const char *what)
{
	enum dtype type = want.v.type;
	double step = type == DTYPE_F16 ? 0x1p-10 : type == DTYPE_BF16 ? 0x1p-7 : 0;

	for (size_t i = 0; i < got.n + BEHIND; i++) {
		double a = float_from(got.v.data, i, type),
		       b = float_from(want.v.data, i, type);

		if (i >= got.n && !(a == b))
			fail_msg("%s wrote beyond its end", what);
		if (!(fabs(a - b) <= step * fabs(b) + 1e-5 * scale))
			fail_msg("%s, %s, element %zu: %g, should be %g", what,
				 dtype_name(type), i, a, b);
	}
}

/* What a layer's operands are of. */
struct types {
	enum dtype weight, input, gradient;
};

static void check_forward(const struct kernels *k, struct random *r, struct types t, int rows,
			  int out, int in)
{
	struct operand x = operand_new(r, rows, in, t.input);
	struct operand w = weights_new(r, out, in, t.weight);
	struct operand bias = operand_new(r, 1, out, t.weight);
	struct operand y = operand_new(r, rows, out, t.weight), y2 = operand_copy(y);
	struct operand before = operand_new(r, rows, out, t.weight);
	struct operand before2 = operand_copy(before);
	struct linear l = {.rows = rows,
			   .out = out,
			   .in = in,
			   .type = t.weight,
			   .weight = w.v.data,
			   .bias = random_int(r, 0, 3) ? bias.v.data : NULL,
			   .x = x.v,
			   .act = (enum activation)random_int(r, 0, ACT_COUNT - 1)};
	bool keep = activation_saves(l.act) == ACT_SAVES_INPUT;

	l.y = y.v;
	l.saved = keep ? before.v : (struct view){0};
	run_panels(k->forward, &l, r);
	l.y = y2.v;
	l.saved = keep ? before2.v : (struct view){0};
	run_panels(kernels_reference.forward, &l, r);
	operand_check(y, y2, in, "forward");
	operand_check(before, before2, in, "forward's value before the activation");
	free(x.v.data);
	free(w.v.data);
	free(bias.v.data);
	free(y.v.data);
	free(y2.v.data);
	free(before.v.data);
	free(before2.v.data);
}

static void check_backward_input(const struct kernels *k, struct random *r, struct types t,
				 int rows, int out, int in)
{
	struct operand dy = operand_new(r, rows, out, t.weight), dy2 = operand_copy(dy);
	struct operand w = weights_new(r, out, in, t.weight);
	struct operand saved = operand_new(r, rows, out, t.weight);
	struct operand dx = operand_new(r, rows, in, t.weight), dx2 = operand_copy(dx);
	struct linear l = {.rows = rows,
			   .out = out,
			   .in = in,
			   .type = t.weight,
			   .weight = w.v.data,
			   .y = dy.v,
			   .saved = saved.v,
			   .act = (enum activation)random_int(r, 0, ACT_COUNT - 1)};

	l.x = dx.v;
	run_backward_input(k, &l, r);
	l.x = dx2.v;
	l.y = dy2.v;
	run_backward_input(&kernels_reference, &l, r);
	operand_check(dy, dy2, 1, "gradient before the activation");
	/* One of these may be rounded the other way: dx is held against what was made of it. */
	l.y = dy.v;
	l.act = ACT_NONE;
	run_backward_input(&kernels_reference, &l, r);
	operand_check(dx, dx2, out, "input gradient");
	free(dy.v.data);
	free(dy2.v.data);
	free(w.v.data);
	free(saved.v.data);
	free(dx.v.data);
	free(dx2.v.data);
}

static void check_backward_weight(const struct kernels *k, struct random *r, struct types t,
				  int rows, int out, int in)
{
	struct operand x = operand_new(r, rows, in, t.input);
	struct operand dy = operand_new(r, rows, out, t.weight);
	struct operand dw = weights_new(r, out, in, t.gradient), dw2 = operand_copy(dw);
	struct operand db = operand_new(r, 1, out, t.gradient), db2 = operand_copy(db);
	struct linear l = {.rows = rows,
			   .out = out,
			   .in = in,
			   .type = t.gradient,
			   .x = x.v,
			   .y = dy.v,
			   .accumulate = random_int(r, 0, 1)};

	l.weight = dw.v.data;
	l.bias = db.v.data;
	run_panels(k->backward_weight, &l, r);
	l.weight = dw2.v.data;
	l.bias = db2.v.data;
	run_panels(kernels_reference.backward_weight, &l, r);
	operand_check(dw, dw2, rows, "weight gradient");
	operand_check(db, db2, rows, "bias gradient");
	free(x.v.data);
	free(dy.v.data);
	free(dw.v.data);
	free(dw2.v.data);
	free(db.v.data);
	free(db2.v.data);
}

static void check_shape(const struct kernels *k, struct random *r, enum dtype type, int rows,
			int out, int in)
{
	struct types t = {type, random_int(r, 0, 3) ? type : DTYPE_F32,
			  random_int(r, 0, 2) ? type : DTYPE_F32};

	check_forward(k, r, t, rows, out, in);
	check_backward_input(k, r, t, rows, out, in);
	check_backward_weight(k, r, t, rows, out, in);
}

static void products_in_16_bit_agree(void **state)
{
	struct random r = random_start("16-bit products");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (enum dtype type = DTYPE_F16; type <= DTYPE_BF16; type++) {
			if (*k == &kernels_reference)
				continue;
			for (int i = 0; i < 25; i++)
				check_shape(*k, &r, type, random_int(&r, 1, 40),
					    random_int(&r, 1, 200), random_int(&r, 1, 300));
			for (int i = 0; i < 25; i++)
				check_shape(*k, &r, type, imin(edge(&r), ROWS_MAX), edge(&r),
					    edge(&r));
			/* Many groups of panels, several slabs and blocks. */
			check_shape(*k, &r, type, 8, 1100, 530);
			check_shape(*k, &r, type, 3, 2 * SPAN + 33, 70);
			check_shape(*k, &r, type, ROWS_MAX, 600, 260);
			check_shape(*k, &r, type, 45, 280, 1056);
			check_shape(*k, &r, type, 33, 330, 1055);
		}
}

/* A part gives the same bits whoever computes it. */
static void parts_in_16_bit_do_not_change_a_bit(void **state)
{
	struct random r = random_start("parts in 16 bit");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0; i < 20; i++) {
			enum dtype type = i % 2 ? DTYPE_F16 : DTYPE_BF16;
			int rows = random_int(&r, 1, 40) + i / 2 % 2 * MANY_ROWS;
			int in = edge(&r) + (i == 5 ? 1000 : 0);
			/* Spans too; the reference rounds its sums between them. */
			int out = edge(&r) + (i < 4 && *k != &kernels_reference ? SPAN : 0);
			struct operand x = operand_new(&r, rows, in, type),
				       x2 = operand_copy(x);
			struct operand y = operand_new(&r, rows, out, type),
				       y2 = operand_copy(y);
			struct operand w = weights_new(&r, out, in, type), w2 = operand_copy(w);
			struct linear a = {.rows = rows,
					   .out = out,
					   .in = in,
					   .weight = w.v.data,
					   .x = x.v,
					   .y = y.v,
					   .type = type};
			struct linear b = a;

			b.weight = w2.v.data;
			b.x = x2.v;
			b.y = y2.v;
			run_panels((*k)->forward, &a, &r);
			run_panels((*k)->forward, &b, &r);
			assert_memory_equal(y.v.data, y2.v.data, y.n * sizeof(uint16_t));
			run_backward_input(*k, &a, &r);
			run_backward_input(*k, &b, &r);
			assert_memory_equal(x.v.data, x2.v.data, x.n * sizeof(uint16_t));
			run_panels((*k)->backward_weight, &a, &r);
			run_panels((*k)->backward_weight, &b, &r);
			assert_memory_equal(w.v.data, w2.v.data, w.n * sizeof(uint16_t));
			free(x.v.data);
			free(x2.v.data);
			free(y.v.data);
			free(y2.v.data);
			free(w.v.data);
			free(w2.v.data);
		}
}

/* Factors and sums below the smallest normal number may count as nothing, never as more; and
   what is not a number shows. */
static void the_smallest_are_lost_at_most(void **state)
{
	struct random r = random_start("the smallest");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0; i < 50; i++) {
			int in = random_int(&r, 1, 200), at = random_int(&r, 0, in - 1);
			struct operand x = operand_new(&r, 1, in, DTYPE_BF16);
			struct operand w = weights_new(&r, 1, in, DTYPE_BF16);
			struct operand y = operand_new(&r, 1, 1, DTYPE_F32), y2;
			struct linear l = {.rows = 1,
					   .out = 1,
					   .in = in,
					   .weight = w.v.data,
					   .x = x.v,
					   .y = y.v,
					   .type = DTYPE_BF16};

			for (int j = 0; j < in; j++)
				float_to(x.v.data, (size_t)j, DTYPE_BF16,
					 ldexpf(float_from(x.v.data, (size_t)j, DTYPE_BF16),
						random_int(&r, -133, -120)));
			y2 = operand_copy(y);
			run_panels((*k)->forward, &l, &r);
			l.y = y2.v;
			run_panels(kernels_reference.forward, &l, &r);
			if (!(fabs(float_from(y.v.data, 0, DTYPE_F32) -
				   float_from(y2.v.data, 0, DTYPE_F32)) <= 2 * in * 0x1p-126))
				fail_msg("%s: %g, should be %g", (*k)->name,
					 float_from(y.v.data, 0, DTYPE_F32),
					 float_from(y2.v.data, 0, DTYPE_F32));
			float_to(x.v.data, (size_t)at, DTYPE_BF16, NAN);
			run_panels((*k)->forward, &l, &r);
			assert_true(isnan(float_from(y2.v.data, 0, DTYPE_F32)));
			free(x.v.data);
			free(w.v.data);
			free(y.v.data);
			free(y2.v.data);
		}
}

/* What stands for instructions on CPUs without them has their bits where there are some. */
static void emulation_has_the_bits_of_the_instructions(void **state)
{
	static const char *const pairs[][2] = {{"avx512bf16", "emulated"},
					       {"amx", "emulated-amx"}};
	struct random r = random_start("emulation");
	(void)state;

	for (size_t p = 0; p < ARRAY_SIZE(pairs); p++) {
		const struct kernels *real = kernels_select(pairs[p][0]);
		const struct kernels *emulated = kernels_select(pairs[p][1]);

		for (int i = 0; i < 20 && real && emulated; i++) {
			/* The last ones have several blocks. */
			int rows = random_int(&r, 1, 70), out = edge(&r) + (i == 19 ? 800 : 0);
			int in = edge(&r) + (i == 18 ? 1000 : 0);
			struct operand x = operand_new(&r, rows, in, DTYPE_BF16);
			struct operand y = operand_new(&r, rows, out, DTYPE_F32);
			struct operand y2 = operand_copy(y);
			struct operand dy = operand_new(&r, rows, out, DTYPE_BF16);
			struct operand dx = operand_new(&r, rows, in, DTYPE_F32);
			struct operand dx2 = operand_copy(dx);
			struct operand w = weights_new(&r, out, in, DTYPE_BF16);
			struct operand dw = weights_new(&r, out, in, DTYPE_F32);
			struct operand dw2 = operand_copy(dw);
			struct linear l = {
				.rows = rows, .out = out, .in = in, .type = DTYPE_BF16};

			l.weight = w.v.data;
			l.x = x.v;
			l.y = y.v;
			run_panels(real->forward, &l, &r);
			l.y = y2.v;
			run_panels(emulated->forward, &l, &r);
			assert_memory_equal(y.v.data, y2.v.data, y.n * sizeof(float));
			l.y = dy.v;
			l.x = dx.v;
			run_backward_input(real, &l, &r);
			l.x = dx2.v;
			run_backward_input(emulated, &l, &r);
			assert_memory_equal(dx.v.data, dx2.v.data, dx.n * sizeof(float));
			l.x = x.v;
			l.type = DTYPE_F32;
			l.weight = dw.v.data;
			run_panels(real->backward_weight, &l, &r);
			l.weight = dw2.v.data;
			run_panels(emulated->backward_weight, &l, &r);
			assert_memory_equal(dw.v.data, dw2.v.data, dw.n * sizeof(float));
			free(x.v.data);
			free(y.v.data);
			free(y2.v.data);
			free(dy.v.data);
			free(dx.v.data);
			free(dx2.v.data);
			free(w.v.data);
			free(dw.v.data);
			free(dw2.v.data);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_in_16_bit_agree),
		cmocka_unit_test(parts_in_16_bit_do_not_change_a_bit),
		cmocka_unit_test(the_smallest_are_lost_at_most),
		cmocka_unit_test(emulation_has_the_bits_of_the_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
