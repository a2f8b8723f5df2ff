/* test_rotary.c - rotary positions of every table against their definition in double. */
#include "operands.h"

static struct rotary random_rotary(struct random *r)
{
	struct rotary rotary = {.rows = random_int(r, 1, 60),
				.heads = random_int(r, 1, 4),
				.width = 2 * random_int(r, 1, 70),
				.length = random_int(r, 1, 40),
				.first = random_int(r, 0, 1) ? random_int(r, 0, 100000) : 0,
				.theta = random_int(r, 0, 1) ? 10000 : 500000,
				.back = random_int(r, 0, 1)};

	if (!random_int(r, 0, 9))
		rotary.heads = 5000 / rotary.width; /* more than a piece */
	return rotary;
}

static void close_to(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.9g, should be %.9g", got, want);
}

/* Element c of row r, before. */
static double plain(const struct rotary *rotary, const struct operand *x, int r, int c)
{
	int half = rotary->width / 2, i = c % rotary->width % half;
	bool upper = c % rotary->width >= half;
	double angle = (rotary->first + r % rotary->length) *
		       pow((double)rotary->theta, -2.0 * i / rotary->width);
	double other = value(x, r, upper ? c - half : c + half);

	if (rotary->back)
		angle = -angle;
	return value(x, r, c) * cos(angle) + (upper ? other : -other) * sin(angle);
}

static void rotation_is_as_defined(void **state)
{
	struct random r = random_start("definition");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = device_new("cpu", (*k)->name, 2);

		for (int i = 0; i < 100; i++) {
			struct rotary rotary = random_rotary(&r);
			enum dtype type = (enum dtype)random_int(&r, DTYPE_F32, DTYPE_BF16);
			struct operand x = operand_new(dev, &r, rotary.rows,
						       rotary.heads * rotary.width, type);
			struct operand before = operand_copy(dev, &x);

			rotary.x = x.v;
			device_rotate(dev, &rotary);
			operand_read(dev, &x);
			for (int row = 0; row < x.rows; row++)
				for (int c = 0; c < x.columns; c++)
					close_to(value(&x, row, c),
						 plain(&rotary, &before, row, c),
						 1e-6 + rounding(type));
			rotary.back = !rotary.back;
			device_rotate(dev, &rotary);
			operand_read(dev, &x);
			for (int row = 0; row < x.rows; row++)
				for (int c = 0; c < x.columns; c++)
					close_to(value(&x, row, c), value(&before, row, c),
						 1e-6 + 2 * rounding(type));
			operand_free(dev, &x);
			operand_free(dev, &before);
		}
		device_close(dev);
	}
}

/* Nor does it matter how rows are cut in calls. */
static void threads_do_not_change_a_bit(void **state)
{
	struct random r = random_start("threads");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0; i < 10; i++) {
			struct device *dev[2] = {device_new("cpu", (*k)->name, 1),
						 device_new("cpu", (*k)->name, 3)};
			struct rotary rotary = random_rotary(&r);
			struct operand x[2];

			x[0] = operand_new(dev[0], &r, rotary.rows, rotary.heads * rotary.width,
					   DTYPE_F32);
			x[1] = operand_copy(dev[1], &x[0]);
			rotary.x = x[0].v;
			device_rotate(dev[0], &rotary);
			for (int row = 0, rows = rotary.rows; row < rows; row++) {
				struct rotary one = rotary;

				one.rows = one.length = 1;
				one.first += row % rotary.length;
				one.x = view_from(x[1].v, (size_t)row);
				if (i % 2)
					device_rotate(dev[1], &one);
			}
			rotary.x = x[1].v;
			if (i % 2 == 0)
				device_rotate(dev[1], &rotary);
			for (int d = 0; d < 2; d++)
				operand_read(dev[d], &x[d]);
			assert_memory_equal(x[0].values, x[1].values, x[0].n * sizeof(float));
			for (int d = 0; d < 2; d++) {
				operand_free(dev[d], &x[d]);
				device_close(dev[d]);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rotation_is_as_defined),
		cmocka_unit_test(threads_do_not_change_a_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
