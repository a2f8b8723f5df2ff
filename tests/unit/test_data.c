/* test_data.c - the IDX reader, and how batches are drawn; CSV: test_tables.c */
#include "testing.h"

#include "data/data.h"
#include "data/table.h"

static struct error err;

static enum status open_file(struct data *d, const char *spec, enum data_task task,
			     uint64_t seed, double holdout)
{
	struct data_options o = {
		.spec = spec, .table = {.task = task}, .seed = seed, .holdout = holdout};

	return data_open(d, &o, fresh(&err));
}

static void idx_reads_images_and_labels(void **state)
{
	static const unsigned char images[] = {0, 0, 8, 3, 0, 0, 0, 2,	 0,  0,
					       0, 1, 0, 0, 0, 2, 0, 255, 51, 102};
	static const unsigned char labels[] = {0, 0, 8, 1, 0, 0, 0, 2, 1, 4};
	struct table t;
	(void)state;

	assert_int_equal(table_parse_idx(&t, images, sizeof(images), labels, sizeof(labels),
					 "x", fresh(&err)),
			 OK);
	assert_int_equal(t.samples, 2);
	assert_int_equal(t.features, 2);
	assert_int_equal(t.outputs, 5);
	assert_true(t.values[1] == 1 && t.values[0] == 0);
	assert_int_equal(t.labels[1], 4);
	table_release(&t);
	/* Every cut of either file is refused, and swapped files too. */
	for (size_t n = 0; n < sizeof(images); n++)
		assert_int_equal(table_parse_idx(&t, images, n, labels, sizeof(labels), "x",
						 fresh(&err)),
				 ERR_USAGE);
	for (size_t n = 0; n < sizeof(labels); n++)
		assert_int_equal(table_parse_idx(&t, images, sizeof(images), labels, n, "x",
						 fresh(&err)),
				 ERR_USAGE);
	assert_int_equal(table_parse_idx(&t, labels, sizeof(labels), images, sizeof(images),
					 "x", fresh(&err)),
			 ERR_USAGE);
}

static void idx_refuses_what_it_does_not_know(void **state)
{
	static const unsigned char floats[] = {0, 0, 0x0d, 1, 0, 0, 0, 1, 0, 0, 0, 0};
	static const unsigned char zero[] = {0, 0, 8, 1, 0, 0, 0, 0};
	static const unsigned char huge[] = {0,	  0,   8,   3,	 255, 255, 255, 255,
					     255, 255, 255, 255, 255, 255, 255, 255};
	struct table t;
	(void)state;

	assert_int_equal(table_parse_idx(&t, floats, 12, floats, 12, "x", fresh(&err)),
			 ERR_USAGE);
	assert_int_equal(table_parse_idx(&t, zero, 8, zero, 8, "x", fresh(&err)), ERR_USAGE);
	assert_int_equal(table_parse_idx(&t, huge, 16, huge, 16, "x", fresh(&err)), ERR_USAGE);
}

/* Each epoch visits every training sample once, and never a held-out one. */
static void epochs_visit_every_sample_once(void **state)
{
	enum { SAMPLES = 40, BATCH = 6 };
	char text[1024], path[512], folder[256], spec[600];
	float x[BATCH];
	int32_t labels[BATCH];
	struct batch b = {.x = {.data = x, .stride = 1}, .labels = labels};
	struct data d;
	int at = 0;
	FILE *f;
	(void)state;

	/* The label names the sample. */
	for (int i = 0; i < SAMPLES; i++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%d,%d\n", i * 3, i);
	test_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/d.csv", folder);
	f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
	snprintf(spec, sizeof(spec), "csv:%s", path);
	assert_int_equal(open_file(&d, spec, TASK_CLASSIFICATION, 5, 0.25), OK);
	assert_int_equal(d.train, 30);
	assert_int_equal(d.held_out, 10);
	for (int epoch = 0; epoch < 3; epoch++) {
		int seen[SAMPLES] = {0};

		for (int s = 0; s < 30 / BATCH; s++) {
			data_batch(&d, NULL, (epoch * (30 / BATCH) + s) * BATCH, BATCH, &b);
			for (int r = 0; r < BATCH; r++)
				seen[labels[r]]++;
		}
		for (int first = 0; first < 10; first += 5) {
			data_held_out(&d, first, 5, &b);
			for (int r = 0; r < 5; r++)
				seen[labels[r]] += 10;
		}
		at = 0;
		for (int i = 0; i < SAMPLES; i++) {
			assert_true(seen[i] == 1 || seen[i] == 10);
			at += seen[i] == 10;
		}
		assert_int_equal(at, 10);
	}
	data_close(&d);
	test_folder_remove(folder);
}

static void features_are_standardised_over_the_training_part(void **state)
{
	char folder[256], path[512], spec[600];
	struct data d;
	double sum = 0, squares = 0;
	FILE *f;
	(void)state;

	test_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/d.csv", folder);
	f = fopen(path, "w");
	for (int i = 0; i < 100; i++)
		fprintf(f, "%d,5,%g\n", i * i, i * 0.5);
	fclose(f);
	snprintf(spec, sizeof(spec), "csv:%s", path);
	assert_int_equal(open_file(&d, spec, TASK_AUTO, 0, 0.2), OK);
	assert_false(d.labelled);
	for (int64_t i = 0; i < d.train; i++) {
		float *row = d.table.values + (int64_t)d.order[i] * 2;

		sum += row[0];
		squares += row[0] * row[0];
		assert_true(row[1] == 0); /* a constant says nothing */
	}
	assert_true(fabs(sum / 80) < 1e-5 && fabs(squares / 80 - 1) < 1e-4);
	data_close(&d);
	assert_int_equal(open_file(&d, spec, TASK_CLASSIFICATION, 0, 0.2), ERR_USAGE);
	test_folder_remove(folder);
}

static void bad_specifications_are_refused(void **state)
{
	static const char *const bad[] = {
		"",	 "nonsense", "csv:",   "csv:/nonexistent",
		"idx:a", "idx:,b",   "idx:a,", "idx:/nonexistent,/nonexistent"};
	struct data d;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(open_file(&d, bad[i], TASK_AUTO, 0, 0.1), ERR_USAGE);
	assert_int_equal(open_file(&d, "noise", TASK_CLASSIFICATION, 0, 0.1), ERR_USAGE);
}

/* However the sequence is cut into batches. */
static void a_sample_depends_on_its_number_only(void **state)
{
	static const char *const specs[] = {"synthetic", "noise"};
	enum { N = 24, IN = 5, OUT = 3 };
	struct random random = random_start("samples");
	struct device *dev;
	(void)state;

	assert_int_equal(
		device_open(&dev, "cpu", &(struct device_options){.threads = 2}, fresh(&err)),
		OK);
	for (size_t k = 0; k < ARRAY_SIZE(specs); k++) {
		float x[N * IN], y[N * OUT], one_x[N * IN], one_y[N * OUT];
		struct batch b = {.x = {.data = x, .stride = IN},
				  .target = {.data = y, .stride = OUT}};
		struct data d;

		assert_int_equal(
			data_open(&d,
				  &(struct data_options){
					  .spec = specs[k], .in = IN, .out = OUT, .seed = 9},
				  fresh(&err)),
			OK);
		assert_int_equal(data_form(&d)->source, SOURCE_IS_MADE_UP);
		data_batch(&d, dev, 1000, N, &b);
		for (int first = 0, rows; first < N; first += rows) {
			struct batch part = {
				.x = {.data = one_x + first * IN, .stride = IN},
				.target = {.data = one_y + first * OUT, .stride = OUT}};

			rows = imin(random_int(&random, 1, 7), N - first);
			data_batch(&d, dev, 1000 + first, rows, &part);
		}
		assert_memory_equal(x, one_x, sizeof(x));
		assert_memory_equal(y, one_y, sizeof(y));
		data_close(&d);
	}
	device_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idx_reads_images_and_labels),
		cmocka_unit_test(idx_refuses_what_it_does_not_know),
		cmocka_unit_test(epochs_visit_every_sample_once),
		cmocka_unit_test(features_are_standardised_over_the_training_part),
		cmocka_unit_test(bad_specifications_are_refused),
		cmocka_unit_test(a_sample_depends_on_its_number_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
