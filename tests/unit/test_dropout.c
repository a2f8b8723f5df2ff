/* test_dropout.c - dropout as its definition says, however a matrix is cut; and sums. */
#include "operands.h"

static struct dropout random_dropout(struct random *r, int64_t columns)
{
	static const double shares[] = {0, 0.1, 0.5, 0.9, 1};
	/* Beyond 32 bit too: of the element, the seed and the stream. */
	int shift = random_int(r, 0, 1) ? 33 : 0;

	return (struct dropout){.p = shares[random_int(r, 0, 4)],
				.seed = (uint64_t)random_int(r, 0, 1000) << shift,
				.stream = (uint64_t)random_int(r, 0, 1000) << shift,
				.row = (int64_t)random_int(r, 0, 99) << shift,
				.column = random_int(r, 0, 9),
				.columns = columns + 19};
}

static void check_one(struct device *dev, struct random *r, int rows, int columns)
{
	enum dtype type = (enum dtype)random_int(r, DTYPE_F32, DTYPE_BF16);
	struct operand from = operand_new(dev, r, rows, columns, type);
	struct operand to = operand_new(dev, r, rows, columns, type);
	struct dropout d = random_dropout(r, columns);
	bool in_place = random_int(r, 0, 1);
	struct operand *got = in_place ? &from : &to;
	float *was = malloc(from.n * sizeof(float));

	memcpy(was, from.values, from.n * sizeof(float));
	device_dropout(dev, got->v, from.v, rows, columns, &d);
	operand_read(dev, got);
	for (int i = 0; i < rows * columns; i++) {
		int row = i / columns, column = i % columns;
		float want = was[(size_t)row * from.v.stride + (size_t)column];
		float there;

		want = dropout_keeps(&d, d.row + row, d.column + column)
			       ? want * (float)(1 / (1 - d.p))
			       : 0;
		float_to(&there, 0, type, want);
		if (value(got, row, column) != (double)float_from(&there, 0, type))
			fail_msg("p %g, element %d,%d: %g, should be %g", d.p, row, column,
				 value(got, row, column), (double)want);
	}
	operand_free(dev, &from);
	operand_free(dev, &to);
	free(was);
}

static void dropout_is_as_defined(void **state)
{
	struct random r = random_start("dropout");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = device_new("cpu", (*k)->name, 2);

		check_one(dev, &r, 2, 9001); /* more than a piece */
		for (int i = 0; i < 150; i++)
			check_one(dev, &r, random_int(&r, 1, 20), random_int(&r, 1, 200));
		device_close(dev);
	}
}

/* A window of the whole matrix gets the mask of its place. */
static void cuts_do_not_change_the_mask(void **state)
{
	enum { ROWS = 37, COLUMNS = 211 };
	struct random r = random_start("cuts");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = device_new("cpu", (*k)->name, 3);
		struct operand x = operand_new(dev, &r, ROWS, COLUMNS, DTYPE_F32);
		struct operand whole = operand_copy(dev, &x), cut = operand_copy(dev, &x);
		struct dropout d = {.p = 0.3, .seed = 5, .stream = 6, .columns = COLUMNS};
		int middle = random_int(&r, 1, COLUMNS - 1);

		device_dropout(dev, whole.v, x.v, ROWS, COLUMNS, &d);
		for (int row = 0, n; row < ROWS; row += n) {
			n = random_int(&r, 1, ROWS - row);
			for (int half = 0; half < 2; half++) {
				d.row = row;
				d.column = half ? middle : 0;
				device_dropout(
					dev,
					view_at(view_from(cut.v, (size_t)row), (int)d.column),
					view_at(view_from(x.v, (size_t)row), (int)d.column), n,
					half ? COLUMNS - middle : middle, &d);
			}
		}
		operand_read(dev, &whole);
		operand_read(dev, &cut);
		for (int i = 0; i < ROWS * COLUMNS; i++)
			assert_true(value(&whole, i / COLUMNS, i % COLUMNS) ==
				    value(&cut, i / COLUMNS, i % COLUMNS));
		operand_free(dev, &x);
		operand_free(dev, &whole);
		operand_free(dev, &cut);
		device_close(dev);
	}
}

/* The share that is kept is 1 - p, and another stream keeps others. */
static void so_many_are_kept(void **state)
{
	(void)state;
	for (double p = 0; p <= 1; p += 0.125) {
		struct dropout d = {.p = p, .seed = 3, .stream = 1, .columns = 1000};
		struct dropout other = {.p = p, .seed = 3, .stream = 2, .columns = 1000};
		double kept = 0, both = 0, n = 200 * 1000;

		for (int i = 0; i < 200 * 1000; i++) {
			kept += dropout_keeps(&d, i / 1000, i % 1000);
			both += dropout_keeps(&d, i / 1000, i % 1000) &&
				dropout_keeps(&other, i / 1000, i % 1000);
		}
		assert_true(fabs(kept / n - (1 - p)) < 0.006);
		assert_true(fabs(both / n - (1 - p) * (1 - p)) < 0.006);
	}
}

static void sums_are_sums(void **state)
{
	struct random r = random_start("sums");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = device_new("cpu", (*k)->name, 2);

		for (int i = 0; i < 60; i++) {
			enum dtype type = (enum dtype)(i % 3);
			int rows = random_int(&r, 1, 9);
			int columns = i ? random_int(&r, 1, 90) : 9001;
			struct operand to = operand_new(dev, &r, rows, columns, type);
			struct operand from = operand_new(dev, &r, rows, columns, type);
			struct operand was = operand_copy(dev, &to);

			device_add(dev, to.v, from.v, rows, columns);
			operand_read(dev, &to);
			for (int j = 0; j < rows * columns; j++) {
				int row = j / columns, column = j % columns;
				float want = (float)value(&was, row, column) +
					     (float)value(&from, row, column);

				float_to(&want, 0, type, want);
				assert_true(value(&to, row, column) ==
					    (double)float_from(&want, 0, type));
			}
			operand_free(dev, &to);
			operand_free(dev, &from);
			operand_free(dev, &was);
		}
		device_close(dev);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropout_is_as_defined),
		cmocka_unit_test(cuts_do_not_change_the_mask),
		cmocka_unit_test(so_many_are_kept),
		cmocka_unit_test(sums_are_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
