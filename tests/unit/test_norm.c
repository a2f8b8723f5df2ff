/*
 * test_norm.c - layer norm and rms norm of every table against their definition in double,
 * and their gradients against differences of that.
 */
#include "operands.h"

/* All operands of a norm, on a device. */
struct fixture {
	struct device *dev;
	struct norm norm;
	struct operand x, y, dy, dx, saved, weight, bias, dweight, dbias;
};

static struct fixture fixture_new(struct device *dev, struct random *r, int rows, int columns)
{
	struct fixture f = {.dev = dev};
	enum dtype type = (enum dtype)random_int(r, DTYPE_F32, DTYPE_BF16);
	enum dtype weights = random_int(r, 0, 1) ? type : DTYPE_F32;
	enum dtype grads = random_int(r, 0, 1) ? type : DTYPE_F32;

	f.x = operand_new(dev, r, rows, columns, type);
	f.y = operand_new(dev, r, rows, columns, type);
	f.dy = operand_new(dev, r, rows, columns, type);
	f.dx = operand_new(dev, r, rows, columns, type);
	f.saved = operand_new(dev, r, rows, 2, DTYPE_F32);
	f.weight = operand_new(dev, r, 1, columns, weights);
	f.bias = operand_new(dev, r, 1, columns, weights);
	f.dweight = operand_new(dev, r, 1, columns, grads);
	f.dbias = operand_new(dev, r, 1, columns, grads);
	f.norm = (struct norm){.kind = random_int(r, 0, 1) ? NORM_LAYER : NORM_RMS,
			       .rows = rows,
			       .columns = columns,
			       .x = f.x.v,
			       .y = f.y.v,
			       .dx = f.dx.v,
			       .saved = f.saved.v,
			       .weight = f.weight.v.data,
			       .dweight = f.dweight.v.data,
			       .dbias = f.dbias.v.data,
			       .type = weights,
			       .grad_type = grads,
			       .eps = 1e-5f,
			       .accumulate = random_int(r, 0, 1)};
	if (f.norm.kind == NORM_LAYER)
		f.norm.bias = f.bias.v.data;
	return f;
}

static void fixture_free(struct fixture *f)
{
	struct operand *all[] = {&f->x,	     &f->y,    &f->dy,	    &f->dx,   &f->saved,
				 &f->weight, &f->bias, &f->dweight, &f->dbias};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		operand_free(f->dev, all[i]);
}

static void run_backward(struct fixture *f)
{
	struct norm n = f->norm;

	n.y = f->dy.v;
	device_norm_backward_weight(f->dev, &n);
	device_norm_backward_input(f->dev, &n);
	operand_read(f->dev, &f->dx);
	operand_read(f->dev, &f->dweight);
	operand_read(f->dev, &f->dbias);
}

/* ---- the definition ---- */

static void plain_measure(const struct fixture *f, int r, double *mean, double *factor)
{
	const struct norm *n = &f->norm;
	double variance = 0;

	*mean = 0;
	for (int c = 0; c < n->columns && n->kind == NORM_LAYER; c++)
		*mean += value(&f->x, r, c) / n->columns;
	for (int c = 0; c < n->columns; c++)
		variance += pow(value(&f->x, r, c) - *mean, 2) / n->columns;
	*factor = 1 / sqrt(variance + (double)n->eps);
}

static double plain_y(const struct fixture *f, int c, double x, double mean, double factor)
{
	return (x - mean) * factor * value(&f->weight, 0, c) +
	       (f->norm.bias ? value(&f->bias, 0, c) : 0);
}

static void close_to(double got, double want, double tolerance, const char *what)
{
	if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
		fail_msg("%s: %.9g, should be %.9g", what, got, want);
}

static void check_forward(struct fixture *f)
{
	device_norm_forward(f->dev, &f->norm);
	operand_read(f->dev, &f->y);
	operand_read(f->dev, &f->saved);
	for (int r = 0; r < f->norm.rows; r++) {
		double mean, factor;

		plain_measure(f, r, &mean, &factor);
		close_to(value(&f->saved, r, 0), mean, 1e-6, "mean");
		close_to(value(&f->saved, r, 1), factor, 1e-5, "factor");
		for (int c = 0; c < f->norm.columns; c++)
			close_to(value(&f->y, r, c),
				 plain_y(f, c, value(&f->x, r, c), mean, factor),
				 1e-5 + rounding(f->y.v.type), "y");
	}
}

/* Columns summed as the definition says, in double, with what was there before. */
static void check_column(const struct fixture *f, int c, double old_weight, double old_bias)
{
	double weight = f->norm.accumulate ? old_weight : 0;
	double bias = f->norm.accumulate ? old_bias : 0;
	double tolerance = 2e-5 + 1e-6 * f->norm.rows + rounding(f->dweight.v.type);

	for (int r = 0; r < f->norm.rows; r++) {
		double mean, factor;

		plain_measure(f, r, &mean, &factor);
		weight += value(&f->dy, r, c) * (value(&f->x, r, c) - mean) * factor;
		bias += value(&f->dy, r, c);
	}
	close_to(value(&f->dweight, 0, c), weight, tolerance, "dweight");
	close_to(value(&f->dbias, 0, c), bias, tolerance, "dbias");
}

/* The sum of dy * y over a row, with one input moved: dx is its derivative. */
static double moved_sum(struct fixture *f, int r, int c, double by)
{
	double mean = 0, factor = 0, sum = 0;
	double *x = malloc((size_t)f->norm.columns * sizeof(*x));

	for (int i = 0; i < f->norm.columns; i++) {
		x[i] = value(&f->x, r, i) + (i == c ? by : 0);
		mean += f->norm.kind == NORM_LAYER ? x[i] / f->norm.columns : 0;
	}
	for (int i = 0; i < f->norm.columns; i++)
		factor += pow(x[i] - mean, 2) / f->norm.columns;
	factor = 1 / sqrt(factor + (double)f->norm.eps);
	for (int i = 0; i < f->norm.columns; i++)
		sum += value(&f->dy, r, i) * plain_y(f, i, x[i], mean, factor);
	free(x);
	return sum;
}

static void check_gradients(struct fixture *f, struct random *random)
{
	const double h = 1e-5;
	float *weight = malloc(f->dweight.n * sizeof(float));
	float *bias = malloc(f->dbias.n * sizeof(float));

	memcpy(weight, f->dweight.values, f->dweight.n * sizeof(float));
	memcpy(bias, f->dbias.values, f->dbias.n * sizeof(float));
	run_backward(f);
	for (int i = 0; i < 20; i++) {
		int r = random_int(random, 0, f->norm.rows - 1);
		int c = random_int(random, 0, f->norm.columns - 1);
		double mean, factor, slope;

		check_column(f, c, weight[c], bias[c]);
		plain_measure(f, r, &mean, &factor);
		slope = (moved_sum(f, r, c, h) - moved_sum(f, r, c, -h)) / h / 2;
		close_to(value(&f->dx, r, c) / factor, slope / factor,
			 2e-5 + rounding(f->dx.v.type) + 1e-6 * f->norm.columns, "dx");
	}
	free(weight);
	free(bias);
}

static void norms_are_as_defined(void **state)
{
	struct random r = random_start("norms");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = device_new("cpu", (*k)->name, 2);

		for (int i = 0; i < 60; i++) {
			int columns = i == 0   ? 9000 /* more than a piece */
				      : i < 30 ? random_int(&r, 2, 40)
					       : random_int(&r, 2, 600);
			struct fixture f =
				fixture_new(dev, &r, random_int(&r, 1, 300), columns);

			check_forward(&f);
			check_gradients(&f, &r);
			fixture_free(&f);
		}
		device_close(dev);
	}
}

/* A mean that is large beside the deviation: what sums in float alone would lose. */
static void large_means_are_kept(void **state)
{
	struct random r = random_start("large means");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = device_new("cpu", (*k)->name, 1);
		struct operand x = operand_new(dev, &r, 1, 4000, DTYPE_F32);
		struct operand y = operand_copy(dev, &x);
		struct operand saved = operand_new(dev, &r, 1, 2, DTYPE_F32);
		struct operand one = operand_new(dev, &r, 1, 4000, DTYPE_F32);
		double mean = 0, variance = 0;

		for (size_t i = 0; i < 4000; i++) {
			x.values[i] += 1000;
			one.values[i] = 1;
		}
		operand_write(dev, &x);
		operand_write(dev, &one);
		device_norm_forward(dev, &(struct norm){.kind = NORM_LAYER,
							.rows = 1,
							.columns = 4000,
							.x = x.v,
							.y = y.v,
							.saved = saved.v,
							.weight = one.v.data,
							.eps = 1e-5f});
		operand_read(dev, &y);
		for (int i = 0; i < 4000; i++)
			mean += value(&x, 0, i) / 4000;
		for (int i = 0; i < 4000; i++)
			variance += pow(value(&x, 0, i) - mean, 2) / 4000;
		for (int i = 0; i < 4000; i++)
			close_to(value(&y, 0, i),
				 (value(&x, 0, i) - mean) / sqrt(variance + 1e-5), 1.5e-4, "y");
		operand_free(dev, &x);
		operand_free(dev, &y);
		operand_free(dev, &saved);
		operand_free(dev, &one);
		device_close(dev);
	}
}

/* The same bits, however many threads take part; and dx may be dy. */
static void threads_do_not_change_a_bit(void **state)
{
	struct random r = random_start("threads");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int i = 0; i < 15; i++) {
			struct random again = r;
			struct fixture f[3];
			int rows = 0, columns = 0;

			for (int t = 0; t < 3; t++) {
				struct device *dev = device_new("cpu", (*k)->name, t + 1);

				r = again;
				rows = random_int(&r, 1, 300);
				columns = random_int(&r, 2, 300);
				f[t] = fixture_new(dev, &r, rows, columns);
				device_norm_forward(dev, &f[t].norm);
				operand_read(dev, &f[t].y);
				if (t == 2) {
					operand_free(dev, &f[t].dx);
					f[t].dx = operand_copy(dev, &f[t].dy);
					operand_free(dev, &f[t].dy);
					f[t].dy = f[t].dx;
					f[t].norm.dx = f[t].dx.v;
				}
				run_backward(&f[t]);
			}
			for (int t = 1; t < 3; t++) {
				size_t bytes = (size_t)columns * sizeof(float);

				for (int row = 0; row < rows; row++) {
					size_t at = (size_t)row * f[0].y.v.stride;

					assert_memory_equal(f[0].y.values + at,
							    f[t].y.values + at, bytes);
					assert_memory_equal(
						f[0].dx.values + (size_t)row * f[0].dx.v.stride,
						f[t].dx.values + (size_t)row * f[t].dx.v.stride,
						bytes);
				}
				assert_memory_equal(f[0].dweight.values, f[t].dweight.values,
						    bytes);
				assert_memory_equal(f[0].dbias.values, f[t].dbias.values,
						    bytes);
			}
			for (int t = 0; t < 3; t++) {
				struct device *dev = f[t].dev;

				if (t == 2)
					f[t].dy = operand_copy(dev, &f[t].dx);
				fixture_free(&f[t]);
				device_close(dev);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(norms_are_as_defined),
		cmocka_unit_test(large_means_are_kept),
		cmocka_unit_test(threads_do_not_change_a_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
