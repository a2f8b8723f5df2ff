/* test_data.c - CSV and IDX readers, and how batches are drawn. */
#include "testing.h"

#include "data/data.h"
#include "data/table.h"

static struct error err;

static enum status csv(struct table *t, const char *text)
{
	return table_parse_csv(t, text, strlen(text), "x.csv", fresh(&err));
}

static void csv_finds_headings_separators_and_labels(void **state)
{
	static const struct {
		const char *text;
		int samples, features, classes;
	} cases[] = {
		{"1,2,0\n3,4,1\n", 2, 2, 2},
		{"a,b,c\n1,2,0\n3,4,2", 2, 2, 3},
		{"1;2;0.5\r\n3;4;1\r\n\r\n", 2, 2, 0},
		{"1\t-2e3\t7\n", 1, 2, 8},
		{"\n\n 1 , 2 , -1 \n", 1, 2, 0},
		{"\xef\xbb\xbf"
		 "1,2,0\n3,4,1\n",
		 2, 2, 2},
		{"1,0\n2,0\n", 2, 1, 0}, /* one class alone is no classification */
		/* pandas: columns without names, and with some */
		{"0,1,2\n5,6,1\n7,8,0\n", 2, 2, 2},
		{"0;1;2;3\r\n5;6;1;0\r\n", 1, 3, 0},
		{"0,1,label\n5,6,1\n7,8,0\n", 2, 2, 2},
		/* and with its index, whatever that holds */
		{",0,1,2\n0,5,6,1\n1,7,8,0\n", 2, 2, 2},
		{",a,b,label\n17,5,6,1\n4,7,8,0\n", 2, 2, 2},
		{",0,label\nrow 1,5,1\nrow 2,7,0\n", 2, 1, 2},
		{",x,y\n,5,1\n,6,0\n", 2, 1, 2},
		/* these are samples */
		{"0,1\n1,0\n", 2, 1, 2},
		{"0,1,2.5\n1,2,3\n", 2, 2, 0},
		{"0,1,02\n1,2,3\n", 2, 2, 4},
		{"0.0,1.0,2.0\n1,2,3\n", 2, 2, 4},
		{"0,1,3\n1,2,3\n", 2, 2, 4},
		{"1,2,3\n1,2,3\n", 2, 2, 4},
		/* a name is missing, and it is not that of an index */
		{",,c\n1,2,0\n3,4,1\n", 2, 2, 2},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table t;

		assert_int_equal(csv(&t, cases[i].text), OK);
		assert_int_equal(t.samples, cases[i].samples);
		assert_int_equal(t.features, cases[i].features);
		assert_int_equal(t.classes, cases[i].classes);
		table_release(&t);
	}
}

/* Cells below an index are not the sample's; those behind it all are. */
static void an_index_is_left_out(void **state)
{
	struct table t;
	(void)state;

	assert_int_equal(csv(&t, ",0,1,2\n9,5,6,1\n8,7,8,0\n"), OK);
	assert_true(t.indexed && t.counted);
	assert_true(t.values[0] == 5 && t.values[1] == 6 && t.values[2] == 7 &&
		    t.values[3] == 8);
	assert_true(t.labels[0] == 1 && t.labels[1] == 0);
	table_release(&t);
	assert_int_equal(csv(&t, "0,1\n1,0\n"), OK);
	assert_false(t.indexed || t.counted);
	table_release(&t);
}

static void csv_errors_say_where(void **state)
{
	static const struct {
		const char *text, *in_message;
	} cases[] = {
		{"", "empty"},
		{"\n \n", "empty"},
		{"a,b\n", "no samples"},
		{"0,1,2\n", "no samples"},
		{"0,x\n1,2\n", "line 1, column 2: 'x'"},
		{"x,1\n1,2\n", "line 1, column 1: 'x'"},
		{"0,1,x,3\n1,2,3,4\n", "line 1, column 3: 'x'"},
		{",0\n1,2\n", "line 1, column 1: ''"},
		{",0,1\n0,5,y\n", "line 2, column 3: 'y'"},
		{",0,1\n5,6\n", "line 2 has 2 columns, the first has 3"},
		{"1\n", "one column"},
		{"1,2\n3\n", "line 2 has 1 columns"},
		{"1,2\n3,x\n", "line 2, column 2: 'x'"},
		{"1,2\n3,nan\n", "line 2, column 2: 'nan' is not finite"},
		{"1,2\ninf,4\n", "line 2, column 1: 'inf' is not finite"},
		{"1,2\n3,\n", "line 2, column 2: '' is not a number"},
		{"1,0x10\n", "column 2: '0x10'"},
		{"1,1e99\n", "not finite"},
		{"1\t2\t3\n\t\t\n", "line 2, column 1: '' is not a number"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table t;

		assert_int_equal(csv(&t, cases[i].text), ERR_USAGE);
		if (!strstr(err.msg, cases[i].in_message))
			fail_msg("'%s' gave: %s", cases[i].text, err.msg);
	}
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
	assert_int_equal(t.classes, 5);
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
	static const unsigned char gzip[] = {0x1f, 0x8b, 8, 0};
	static const unsigned char floats[] = {0, 0, 0x0d, 1, 0, 0, 0, 1, 0, 0, 0, 0};
	static const unsigned char zero[] = {0, 0, 8, 1, 0, 0, 0, 0};
	static const unsigned char huge[] = {0,	  0,   8,   3,	 255, 255, 255, 255,
					     255, 255, 255, 255, 255, 255, 255, 255};
	struct table t;
	(void)state;

	assert_int_equal(table_parse_idx(&t, gzip, 4, gzip, 4, "x", fresh(&err)), ERR_USAGE);
	assert_non_null(strstr(err.hint, "gunzip"));
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
	assert_int_equal(data_open(&d, spec, TASK_AUTO, 0, 0, 5, 0.25, fresh(&err)), OK);
	assert_int_equal(d.train, 30);
	assert_int_equal(d.held_out, 10);
	for (int epoch = 0; epoch < 3; epoch++) {
		int seen[SAMPLES] = {0};

		for (int s = 0; s < 30 / BATCH; s++) {
			data_batch(&d, NULL, epoch * (30 / BATCH) + s, BATCH, 0, BATCH, &b);
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
	assert_int_equal(data_open(&d, spec, TASK_AUTO, 0, 0, 0, 0.2, fresh(&err)), OK);
	assert_false(d.labelled);
	for (int64_t i = 0; i < d.train; i++) {
		float *row = d.table.values + (int64_t)d.order[i] * 2;

		sum += row[0];
		squares += row[0] * row[0];
		assert_true(row[1] == 0); /* a constant says nothing */
	}
	assert_true(fabs(sum / 80) < 1e-5 && fabs(squares / 80 - 1) < 1e-4);
	data_close(&d);
	assert_int_equal(data_open(&d, spec, TASK_CLASSIFICATION, 0, 0, 0, 0.2, fresh(&err)),
			 ERR_USAGE);
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
		assert_int_equal(data_open(&d, bad[i], TASK_AUTO, 4, 4, 0, 0.1, fresh(&err)),
				 ERR_USAGE);
	assert_int_equal(data_open(&d, "noise", TASK_CLASSIFICATION, 4, 4, 0, 0.1, fresh(&err)),
			 ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv_finds_headings_separators_and_labels),
		cmocka_unit_test(an_index_is_left_out),
		cmocka_unit_test(csv_errors_say_where),
		cmocka_unit_test(idx_reads_images_and_labels),
		cmocka_unit_test(idx_refuses_what_it_does_not_know),
		cmocka_unit_test(epochs_visit_every_sample_once),
		cmocka_unit_test(features_are_standardised_over_the_training_part),
		cmocka_unit_test(bad_specifications_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
