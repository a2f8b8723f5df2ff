/*
 * test_products.c - the products of a layer through the device: however many threads share
 * rows or columns, the bits are the same. test_matrix.c has what they are.
 */
#include "tokens.h"

/* All operands of a layer, on a device. */
struct fixture {
	struct device *dev;
	struct linear l;
	struct operand x, y, saved, bias, weight;
};
#include "same_bits.h"

static struct fixture fixture_new(struct device *dev, struct random *r, int number)
{
	struct fixture f = {.dev = dev};
	int rows = random_int(r, 0, 3) ? random_int(r, 1, 800) : 128 * random_int(r, 1, 5);
	int out = random_int(r, 1, 200), in = random_int(r, 1, 300);
	enum dtype type = any_type(r), weights = random_int(r, 0, 1) ? type : DTYPE_F32;
	struct error err = {0};
	int size = (int)device_matrix_size(dev, out, in);
	float *values = malloc((size_t)(out * in) * sizeof(*values));

	(void)number; /* all are drawn */
	assert_int_equal(device_reserve(dev, rows, imax(out, in), &err), OK);
	f.x = operand_new(dev, r, rows, in, type);
	f.y = operand_new(dev, r, rows, out, type);
	f.saved = operand_new(dev, r, rows, out, type);
	f.bias = operand_new(dev, r, 1, out, weights);
	f.weight = operand_new(dev, r, 1, size, weights);
	random_fill(r, values, (size_t)(out * in));
	device_clear(dev, f.weight.v.data, (size_t)size * dtype_size(weights) / 8);
	device_matrix_write(dev, f.weight.v.data, weights, out, in, 0, out, values);
	free(values);
	f.l = (struct linear){.rows = rows,
			      .out = out,
			      .in = in,
			      .weight = f.weight.v.data,
			      .bias = f.bias.v.data,
			      .x = f.x.v,
			      .y = f.y.v,
			      .act = (enum activation)random_int(r, 0, ACT_COUNT - 1),
			      .type = weights,
			      .accumulate = random_int(r, 0, 1)};
	if (activation_saves(f.l.act) == ACT_SAVES_INPUT)
		f.l.saved = f.saved.v;
	return f;
}

static void fixture_free(struct fixture *f)
{
	operand_free(f->dev, &f->x);
	operand_free(f->dev, &f->y);
	operand_free(f->dev, &f->saved);
	operand_free(f->dev, &f->bias);
	operand_free(f->dev, &f->weight);
}

/* The result takes the place of the gradient, which is as good as any other. */
static void run(struct fixture *f)
{
	struct linear l = f->l;

	device_forward(f->dev, &l);
	l.saved = f->saved.v;
	device_backward_input(f->dev, &l);
	device_backward_weight(f->dev, &l);
	operand_read(f->dev, &f->x);
	operand_read(f->dev, &f->y);
	operand_read(f->dev, &f->saved);
	operand_read(f->dev, &f->bias);
	device_read(f->dev, f->weight.v.data, f->weight.v.type, (size_t)f->weight.columns,
		    f->weight.values);
}

static void same(const struct fixture *a, const struct fixture *b)
{
	same_rows(&a->x, &b->x);
	same_rows(&a->y, &b->y);
	same_rows(&a->saved, &b->saved);
	same_rows(&a->bias, &b->bias);
	same_rows(&a->weight, &b->weight);
}

static void threads_do_not_change_a_bit(void **state)
{
	(void)state;
	want_same_bits(&(struct same_bits){fixture_new, run, same, fixture_free, 12, 3});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_do_not_change_a_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
