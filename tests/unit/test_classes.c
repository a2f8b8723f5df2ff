/*
 * test_classes.c - cross-entropy of slices of the classes, or of all in one, of every table
 * against the definition in double. All slices have the same loss, to the bit.
 */
#include "tokens.h"

enum { MOST_SLICES = 4, MOST_ROWS = 40 };

/* The classes of some rows, cut in slices. */
struct fixture {
	struct device *dev;
	int rows, classes, slices;
	int first[MOST_SLICES + 1];
	int32_t labels[MOST_ROWS];
	struct class_slice slice[MOST_SLICES];
	struct operand y[MOST_SLICES], dy[MOST_SLICES];
	float *stats;
	double *numbers; /* of every slice: its loss, and its count of correct rows */
	double results[MOST_SLICES][2];
};
#include "same_bits.h"

/* Random cuts; every slice has a class at least. */
static void cut(struct fixture *f, struct random *r)
{
	f->first[f->slices] = f->classes;
	for (int s = f->slices - 1; s > 0; s--)
		f->first[s] = random_int(r, s, f->first[s + 1] - 1);
}

static struct operand values_new(struct fixture *f, struct random *r, int columns,
				 enum dtype type, float spread)
{
	struct operand o = operand_new(f->dev, r, f->rows, columns, type);

	for (size_t i = 0; i < o.n; i++)
		o.values[i] = o.values[i] * spread;
	operand_write(f->dev, &o);
	return o;
}

static struct fixture fixture_new(struct device *dev, struct random *r, int rows, int classes,
				  int slices)
{
	struct fixture f = {.dev = dev, .rows = rows, .classes = classes, .slices = slices};
	enum dtype type = any_type(r), gradient_type = random_int(r, 0, 1) ? type : DTYPE_F32;
	bool in_place = type == gradient_type && random_int(r, 0, 1);
	float spread = random_int(r, 0, 3) ? 4 : 300; /* must not overflow */
	int32_t *labels;

	cut(&f, r);
	for (int i = 0; i < rows; i++)
		f.labels[i] = random_int(r, 0, classes - 1);
	labels = integers_new(dev, f.labels, rows);
	f.stats = memory_new(dev, (size_t)(slices * rows * 3) * sizeof(float));
	f.numbers = memory_new(dev, sizeof(f.results));
	for (int s = 0; s < slices; s++) {
		int columns = f.first[s + 1] - f.first[s];

		f.y[s] = values_new(&f, r, columns, type, spread);
		f.dy[s] = in_place ? operand_copy(dev, &f.y[s])
				   : operand_new(dev, r, rows, columns, gradient_type);
		f.slice[s] = (struct class_slice){.rows = rows,
						  .columns = columns,
						  .first = f.first[s],
						  .y = in_place ? f.dy[s].v : f.y[s].v,
						  .dy = f.dy[s].v,
						  .labels = labels,
						  .stats = f.stats,
						  .slices = slices,
						  .slice = s,
						  .scale = 0.3f};
	}
	return f;
}

static void fixture_run(struct fixture *f)
{
	device_clear(f->dev, f->numbers, 2 * MOST_SLICES);
	for (int s = 0; s < f->slices; s++)
		device_class_stats(f->dev, &f->slice[s]);
	for (int s = 0; s < f->slices; s++)
		device_class_loss(f->dev, &f->slice[s], f->numbers + (ptrdiff_t)(2 * s),
				  f->numbers + (ptrdiff_t)(2 * s + 1));
	device_numbers(f->dev, f->numbers, 2 * MOST_SLICES, f->results[0]);
	for (int s = 0; s < f->slices; s++)
		operand_read(f->dev, &f->dy[s]);
}

static void fixture_free(struct fixture *f)
{
	device_free(f->dev, (void *)(uintptr_t)f->slice[0].labels);
	for (int s = 0; s < f->slices; s++) {
		operand_free(f->dev, &f->y[s]);
		operand_free(f->dev, &f->dy[s]);
	}
	device_free(f->dev, f->stats);
	device_free(f->dev, f->numbers);
}

/* ---- the definition ---- */

static void close_to(double got, double want, double tolerance, const char *what)
{
	if (!(fabs(got - want) <= tolerance * (1 + fabs(want))))
		fail_msg("%s: %.9g, should be %.9g", what, got, want);
}

/* The loss of a row; its gradient is checked. */
static double check_row(const struct fixture *f, int r, bool *correct)
{
	double top = -INFINITY, sum = 0, label = 0;

	for (int s = 0; s < f->slices; s++)
		for (int c = 0; c < f->y[s].columns; c++) {
			top = fmax(top, value(&f->y[s], r, c));
			if (f->first[s] + c == f->labels[r])
				label = value(&f->y[s], r, c);
		}
	for (int s = 0; s < f->slices; s++)
		for (int c = 0; c < f->y[s].columns; c++)
			sum += exp(value(&f->y[s], r, c) - top);
	for (int s = 0; s < f->slices; s++)
		for (int c = 0; c < f->y[s].columns; c++) {
			double share = exp(value(&f->y[s], r, c) - top) / sum;
			double want = 0.3 * (share - (f->first[s] + c == f->labels[r]));

			close_to(value(&f->dy[s], r, c), want,
				 1e-6 + rounding(f->dy[s].v.type) * fabs(want), "gradient");
		}
	*correct = !(label < top);
	return log(sum) - (label - top);
}

static double check_rows(const struct fixture *f, double *count)
{
	double loss = 0;

	*count = 0;
	for (int r = 0; r < f->rows; r++) {
		bool correct;

		loss += check_row(f, r, &correct);
		*count += correct;
	}
	return loss;
}

static void check(const struct fixture *f)
{
	double count, loss = check_rows(f, &count);

	for (int s = 0; s < f->slices; s++) {
		close_to(f->results[s][0], loss, 1e-6, "loss");
		assert_true(f->results[s][1] == count);
		assert_memory_equal(&f->results[s][0], &f->results[0][0], sizeof(double));
	}
}

static void check_classes(struct device *dev, struct random *r, int rows, int classes,
			  int slices)
{
	struct fixture f = fixture_new(dev, r, rows, classes, slices);

	fixture_run(&f);
	check(&f);
	fixture_free(&f);
}

static void slices_are_as_defined(void **state)
{
	struct random r = random_start("slices");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = wide_device("cpu", (*k)->name, 2, 64);

		for (int i = 0; i < 60; i++) {
			int classes = i < 2 ? 60000 : random_int(&r, MOST_SLICES, 400);

			check_classes(dev, &r, i < 2 ? 3 : random_int(&r, 1, MOST_ROWS),
				      classes, i == 0 ? 1 : random_int(&r, 1, MOST_SLICES));
		}
		device_close(dev);
	}
}

/* Longer ones than any scratch memory too. */
static void rows_may_be_of_any_length(void **state)
{
	struct random r = random_start("long rows");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++) {
		struct device *dev = wide_device("cpu", (*k)->name, 2, 64);

		for (int i = 0; i < 6; i++)
			check_classes(dev, &r, 2, random_int(&r, 50000, 80000), 1);
		for (int i = 0; i < 30; i++)
			check_classes(dev, &r, random_int(&r, 1, MOST_ROWS),
				      random_int(&r, 1, 200), 1);
		device_close(dev);
	}
}

/* A rank's stats are of its slice alone, and say where the label is. */
static void labels_of_others_are_far_away(void **state)
{
	struct random r = random_start("labels");
	struct device *dev = wide_device("cpu", "", 1, 64);
	struct fixture f = fixture_new(dev, &r, MOST_ROWS, 50, 3);
	float stats[3 * MOST_ROWS * 3];
	(void)state;

	fixture_run(&f);
	device_read(dev, f.stats, DTYPE_F32, ARRAY_SIZE(stats), stats);
	for (int s = 0; s < 3; s++)
		for (int i = 0; i < MOST_ROWS; i++) {
			int at = f.labels[i] - f.first[s];
			float label = stats[(s * MOST_ROWS + i) * 3 + 2];

			if (at >= 0 && at < f.y[s].columns)
				assert_true((double)label == value(&f.y[s], i, at));
			else
				assert_true(isinf(label) && label < 0);
		}
	fixture_free(&f);
	device_close(dev);
}

/* What is not a number shows in the loss. */
static void losses_keep_nan(void **state)
{
	struct random r = random_start("not a number");
	(void)state;

	for (const struct kernels *const *k = kernels_available(); *k; k++)
		for (int slices = 1; slices < 3; slices++) {
			struct device *dev = wide_device("cpu", (*k)->name, 1, 64);
			struct fixture f = fixture_new(dev, &r, 2, 70, slices);

			for (int s = 0; s < slices; s++) {
				struct operand o = f.y[s];

				o.v = f.slice[s].y;
				for (size_t i = 0; i < o.v.stride; i++)
					o.values[i] = NAN;
				device_write(dev, o.v.data, o.v.type, o.n, o.values);
			}
			device_clear(dev, f.numbers, 2);
			for (int s = 0; s < slices; s++)
				device_class_stats(dev, &f.slice[s]);
			for (int s = 0; s < slices; s++) {
				device_class_loss(dev, &f.slice[s], f.numbers, NULL);
				device_numbers(dev, f.numbers, 1, f.results[0]);
				assert_true(isnan(f.results[0][0]));
			}
			fixture_free(&f);
			device_close(dev);
		}
}

static struct fixture three_slices(struct device *dev, struct random *r, int i)
{
	return fixture_new(dev, r, 17, i ? 90 : 9000, 3);
}

static void same(const struct fixture *a, const struct fixture *b)
{
	assert_memory_equal(a->results, b->results, sizeof(a->results));
	for (int s = 0; s < a->slices; s++)
		same_rows(&a->dy[s], &b->dy[s]);
}

static void threads_do_not_change_a_bit(void **state)
{
	(void)state;
	want_same_bits(
		&(struct same_bits){three_slices, fixture_run, same, fixture_free, 10, 10});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_as_defined),
		cmocka_unit_test(rows_may_be_of_any_length),
		cmocka_unit_test(labels_of_others_are_far_away),
		cmocka_unit_test(losses_keep_nan),
		cmocka_unit_test(threads_do_not_change_a_bit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
