/*
 * test_gate.c - act(gate) * up and its gradients, of every table and activation, against the
 * definition in double; and the same bits on any number of threads. Copies too.
 */
#include "tokens.h"

#include "device/cpu/activation.h"

/* All operands of a gate, on a device. */
struct fixture {
	struct device *dev;
	struct gate gate;
	struct operand x, dx, y, dy;
};
#include "same_bits.h"

static struct fixture fixture_new(struct device *dev, struct random *r, int i)
{
	struct fixture f = {.dev = dev};
	int rows = random_int(r, 1, 30), columns = i == 0 ? 5000 : random_int(r, 1, 90);
	enum dtype type = any_type(r), y_type = i % 4 ? type : any_type(r);

	f.x = operand_new(dev, r, rows, 2 * columns, type);
	f.dx = operand_copy(dev, &f.x);
	f.y = operand_new(dev, r, rows, columns, y_type);
	f.dy = operand_new(dev, r, rows, columns, y_type);
	f.gate = (struct gate){.rows = rows,
			       .columns = columns,
			       .act = (enum activation)random_int(r, 0, ACT_COUNT - 1),
			       .x = i % 2 ? f.dx.v : f.x.v, /* the gradient in its place */
			       .dx = f.dx.v,
			       .y = f.y.v,
			       .dy = f.dy.v};
	return f;
}

static void fixture_run(struct fixture *f)
{
	device_gate(f->dev, &f->gate);
	device_gate_gradient(f->dev, &f->gate);
	operand_read(f->dev, &f->y);
	operand_read(f->dev, &f->dx);
}

static void fixture_free(struct fixture *f)
{
	operand_free(f->dev, &f->x);
	operand_free(f->dev, &f->dx);
	operand_free(f->dev, &f->y);
	operand_free(f->dev, &f->dy);
}

/* terms: how large what was added up may be. */
static void close_to(double got, double want, double terms, enum dtype type, const char *what)
{
	if (!(fabs(got - want) <=
	      1e-6 * fabs(terms) + rounding(type) * fmax(fabs(want), 0x1p-14)))
		fail_msg("%s: %.9g, should be %.9g", what, got, want);
}

static void check(const struct fixture *f)
{
	enum activation act = f->gate.act;

	for (int r = 0; r < f->gate.rows; r++)
		for (int c = 0; c < f->gate.columns; c++) {
			double z = value(&f->x, r, c),
			       up = value(&f->x, r, f->gate.columns + c);
			double act_z = act_value(z, act), dy = value(&f->dy, r, c);
			double from = activation_saves(act) == ACT_SAVES_OUTPUT ? act_z : z;

			close_to(value(&f->y, r, c), act_z * up, z * up, f->y.v.type, "y");
			close_to(value(&f->dx, r, c), dy * up * act_slope(from, act), dy * up,
				 f->dx.v.type, "gradient of the gate");
			close_to(value(&f->dx, r, f->gate.columns + c), dy * act_z, dy * z,
				 f->dx.v.type, "gradient of what it lets through");
		}
}

static void gates_are_as_defined(void **state)
{
	struct random r = random_start("gates");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = wide_device("cpu", (*k)->name, 2, 64);

		for (int i = 0; i < 60; i++) {
			struct fixture f = fixture_new(dev, &r, i);

			fixture_run(&f);
			check(&f);
			fixture_free(&f);
		}
		device_close(dev);
	}
}

static void same(const struct fixture *a, const struct fixture *b)
{
	same_rows(&a->y, &b->y);
	same_rows(&a->dx, &b->dx);
}

static void threads_do_not_change_a_bit(void **state)
{
	(void)state;
	want_same_bits(
		&(struct same_bits){fixture_new, fixture_run, same, fixture_free, 10, 10});
}

/* Small and large ones, of few and of many rows, on any number of threads. */
static void copies_are_equal(void **state)
{
	struct random r = random_start("copies");
	(void)state;

	for (int d = 0; d < SAME_DEVICES; d++) {
		struct device *dev = same_device(d, "", 64);

		for (int i = 0; i < 20; i++) {
			int rows = i % 2 ? random_int(&r, 1, 3) : random_int(&r, 1, 300);
			int columns = random_int(&r, 1, i % 2 ? 90000 : 900);
			int at = random_int(&r, 0, columns - 1), n = columns - at;
			enum dtype type = any_type(&r);
			struct operand from = operand_new(dev, &r, rows, columns, type);
			struct operand to = operand_new(dev, &r, rows, n, type);

			device_copy(dev, to.v, 0, from.v, at, rows, n);
			operand_read(dev, &to);
			for (int row = 0; row < rows; row++)
				assert_memory_equal(to.values + (size_t)row * to.v.stride,
						    from.values + (size_t)row * from.v.stride +
							    at,
						    (size_t)n * sizeof(float));
			operand_free(dev, &from);
			operand_free(dev, &to);
		}
		device_close(dev);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gates_are_as_defined),
		cmocka_unit_test(threads_do_not_change_a_bit),
		cmocka_unit_test(copies_are_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
