/* test_form.c - how a file was read, written down and used for other files; scaling; gzip. */
#include "own_folder.h"

#include "base/file.h"
#include "data/data.h"
#include "data/gunzip.h"

#include <jansson.h>

static struct error err;
/* A file of the folder, as a specification that is valid until the next call. */
static const char *put(const char *name, const char *text)
{
	static char spec[4][600];
	static int turn;
	char *s = spec[turn++ % 4];

	snprintf(s, sizeof(spec[0]), "csv:%s/%s", folder, name);
	assert_int_equal(file_write_whole(s + 4, text, strlen(text), fresh(&err)), OK);
	return s;
}

static void opened(struct data *d, struct data_options o)
{
	if (data_open(d, &o, fresh(&err)) != OK)
		fail_msg("%s", err.msg);
}

static const char flowers[] = "width,id,kind,height\n"
			      "1,100,rose,2\n2,101,tulip,4\n3,102,rose,6\n"
			      "4,103,tulip,NA\n5,104,rose,7\n6,105,tulip,1\n";

static void open_flowers(struct data *d)
{
	opened(d, (struct data_options){.spec = put("flowers.csv", flowers),
					.table = {.target = "kind",
						  .ignore = "id",
						  .missing = MISSING_IS_MEAN}});
}

static json_t *written(const struct data_form *f)
{
	struct json j;
	json_t *root;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	data_form_write(f, &j);
	json_end_object(&j);
	root = json_loads(j.text.data, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	json_release(&j);
	return root;
}

static void a_form_comes_back(void **state)
{
	struct data d;
	struct data_form g;
	const struct data_form *f;
	json_t *root;
	(void)state;

	open_flowers(&d);
	f = data_form(&d);
	assert_int_equal(f->source, SOURCE_IS_CSV);
	assert_int_equal(f->n_features, 2);
	assert_true(f->features[1].mean == 4); /* of 2, 4, 6, 7 and 1 */
	root = written(f);
	assert_int_equal(data_form_read(&g, root, fresh(&err)), OK);
	assert_int_equal(g.missing, f->missing);
	assert_true(g.labelled && g.named);
	assert_int_equal(g.columns, 4);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(g.features[i].name, f->features[i].name);
		assert_int_equal(g.features[i].number, f->features[i].number);
		assert_true(g.features[i].mean == f->features[i].mean);
		assert_true(g.features[i].deviation == f->features[i].deviation);
		assert_string_equal(g.classes[i], f->classes[i]);
	}
	assert_int_equal(g.targets[0].number, 3);
	data_form_release(&g);
	json_decref(root);
	data_close(&d);
}

static void made_up_data_says_so(void **state)
{
	struct data_form f = {0}, g;
	struct data d;
	json_t *root = written(&f);
	(void)state;

	assert_int_equal(data_form_read(&g, root, fresh(&err)), OK);
	assert_int_equal(g.source, SOURCE_IS_MADE_UP);
	assert_int_equal(data_open_like(&d, "csv:x", &g, fresh(&err)), ERR_USAGE);
	assert_non_null(strstr(err.msg, "made-up"));
	json_decref(root);
}

/* Of text there is the tokenizer's name, and how many tokens it has. */
static void text_is_known_by_its_tokenizer(void **state)
{
	struct data_form f = {.source = SOURCE_IS_TEXT, .vocabulary = 65}, g;
	json_t *root;
	(void)state;

	memset(f.tokenizer_sha256, 'a', SHA256_TEXT - 1);
	root = written(&f);
	assert_int_equal(data_form_read(&g, root, fresh(&err)), OK);
	assert_int_equal(g.source, SOURCE_IS_TEXT);
	assert_int_equal(g.vocabulary, 65);
	assert_string_equal(g.tokenizer_sha256, f.tokenizer_sha256);
	json_object_set_new(root, "vocabulary", json_integer(0));
	assert_int_equal(data_form_read(&g, root, fresh(&err)), ERR_USAGE);
	json_object_set_new(root, "vocabulary", json_integer(1));
	json_object_set_new(root, "tokenizer_sha256", json_string("AA"));
	assert_int_equal(data_form_read(&g, root, fresh(&err)), ERR_USAGE);
	json_object_set_new(root, "tokenizer_sha256", json_string("")); /* not known */
	assert_int_equal(data_form_read(&g, root, fresh(&err)), OK);
	assert_string_equal(g.tokenizer_sha256, "");
	json_object_del(root, "tokenizer_sha256");
	assert_int_equal(data_form_read(&g, root, fresh(&err)), ERR_USAGE);
	json_decref(root);
}

/* Any member that is missing or of another kind is refused. */
static void a_broken_form_is_refused(void **state)
{
	static const char *const members[] = {"source",	  "missing", "columns",
					      "features", "targets", "classes"};
	static const char *const parts[] = {"numbers", "names", "means", "deviations"};
	struct data d;
	struct data_form g;
	(void)state;

	open_flowers(&d);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		for (int way = 0; way < 2; way++) {
			json_t *root = written(data_form(&d));

			if (way)
				json_object_set_new(root, members[i], json_real(0.5));
			else
				json_object_del(root, members[i]);
			assert_int_equal(data_form_read(&g, root, fresh(&err)), ERR_USAGE);
			assert_null(g.features);
			json_decref(root);
		}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (int way = 0; way < 3; way++) {
			json_t *root = written(data_form(&d));
			json_t *of = json_object_get(root, way == 2 ? "targets" : "features");

			if (way)
				json_array_append_new(json_object_get(of, parts[i]),
						      json_integer(1));
			else
				json_array_set_new(json_object_get(of, parts[i]), 0,
						   json_null());
			assert_int_equal(data_form_read(&g, root, fresh(&err)), ERR_USAGE);
			json_decref(root);
		}
	assert_int_equal(data_form_read(&g, NULL, fresh(&err)), ERR_USAGE);
	data_close(&d);
}

/* The same samples in another order of columns, without the label, without a heading. */
static void another_file_is_read_as_the_first(void **state)
{
	static const struct {
		const char *text;
		bool labels;
	} files[] = {
		{"kind,height,more,width\ntulip,4,9,2\nrose,6,9,3\n", true},
		{"height,width\n4,2\n6,3\n", false},
		{"2,0,tulip,4\n3,0,rose,6\n", true},
		{"2,4\n3,6\n", false},
	};
	float x[4];
	int32_t labels[2];
	struct batch b = {.x = {.data = x, .stride = 2}, .labels = labels};
	struct data d, other;
	(void)state;

	open_flowers(&d);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (data_open_like(&other, put("other.csv", files[i].text), data_form(&d),
				   fresh(&err)) != OK)
			fail_msg("%s", err.msg);
		assert_int_equal(other.table.samples, 2);
		assert_int_equal(other.out, 2);
		assert_int_equal(other.has_targets, files[i].labels);
		labels[0] = 1, labels[1] = 0;
		data_rows(&other, 0, 2, &b);
		for (int k = 0; k < 2; k++)
			for (int f = 0; f < 2; f++)
				assert_true(x[k * 2 + f] == d.table.values[(1 + k) * 2 + f]);
		assert_true(labels[0] == 1 && labels[1] == 0);
		data_close(&other);
	}
	data_close(&d);
}

static void another_file_that_does_not_fit(void **state)
{
	static const struct {
		const char *text, *in_message;
	} cases[] = {
		{"width,kind\n1,rose\n", "has no column 'height'"},
		{"1,2,3\n", "has 3 columns, the data that was trained with 4"},
		{"1,2,lily,3\n", "line 1, column 3: 'lily' is none of the classes"},
		{"1,x\n", "not a number"},
	};
	struct data d, other;
	(void)state;

	open_flowers(&d);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(data_open_like(&other, put("bad.csv", cases[i].text),
						data_form(&d), fresh(&err)),
				 ERR_USAGE);
		if (!strstr(err.msg, cases[i].in_message))
			fail_msg("'%s' gave: %s", cases[i].text, err.msg);
	}
	assert_int_equal(data_open_like(&other, "idx:a,b", data_form(&d), fresh(&err)),
			 ERR_USAGE);
	data_close(&d);
}

static void missing_values_are_the_mean(void **state)
{
	struct data d;
	(void)state;

	open_flowers(&d);
	assert_true(d.table.values[3 * 2 + 1] == 0);
	assert_int_equal(d.table.missing, 1);
	data_close(&d);
}

static void targets_are_scaled_and_the_form_goes_back(void **state)
{
	struct data d, plain;
	struct data_options o = {.spec = put("targets.csv", "1,10.5,7\n2,20.5,9\n3,40.5,4\n"),
				 .table = {.target = "2,3"}};
	(void)state;

	opened(&plain, o);
	o.scale_target = true;
	opened(&d, o);
	assert_int_equal(d.out, 2);
	for (int k = 0; k < 2; k++) {
		double sum = 0, squares = 0;
		const struct form_column *c = &data_form(&d)->targets[k];

		for (int i = 0; i < 3; i++) {
			double v = d.table.targets[i * 2 + k];

			sum += v;
			squares += v * v;
			assert_true(fabs(v * c->deviation + c->mean -
					 plain.table.targets[i * 2 + k]) < 1e-5);
		}
		assert_true(fabs(sum) < 1e-6 && fabs(squares / 3 - 1) < 1e-6);
	}
	data_close(&d);
	data_close(&plain);
	o = (struct data_options){.spec = put("c.csv", "1,a\n2,b\n"), .scale_target = true};
	assert_int_equal(data_open(&d, &o, fresh(&err)), ERR_USAGE);
	assert_non_null(strstr(err.msg, "labels have no scale"));
}

static void a_test_file_is_what_is_held_out(void **state)
{
	struct data d;
	struct data_options o = {.spec = put("train.csv", "a,b\n1,x\n2,y\n3,x\n"),
				 .test = put("test.csv", "b,a\ny,2\nx,8\n")};
	float x[2];
	int32_t labels[2];
	struct batch b = {.x = {.data = x, .stride = 1}, .labels = labels};
	(void)state;

	opened(&d, o);
	assert_int_equal(d.train, 3);
	assert_int_equal(d.held_out, 2);
	data_held_out(&d, 0, 2, &b);
	assert_true(labels[0] == 1 && labels[1] == 0);
	assert_true(x[0] == 0 && x[1] > 7 && x[1] < 7.4f); /* 6 / sqrt(2 / 3) */
	data_close(&d);
	o.test = put("test.csv", "a\n2\n8\n");
	assert_int_equal(data_open(&d, &o, fresh(&err)), ERR_USAGE);
	assert_non_null(strstr(err.msg, "no column of targets"));
	o.test = put("test.csv", "a,b\n2,z\n");
	assert_int_equal(data_open(&d, &o, fresh(&err)), ERR_USAGE);
	assert_non_null(strstr(err.msg, "'z'"));
}

static void compressed_files_are_read(void **state)
{
	struct data d;
	struct data_options o = {.spec = put("packed.csv", flowers),
				 .table = {.target = "kind", .missing = MISSING_IS_DROP}};
	char command[700], spec[700];
	(void)state;

	if (!gunzip_library())
		skip();
	/* Two members, one behind the other. */
	snprintf(command, sizeof(command),
		 "cd '%s' && head -c 40 packed.csv | gzip >a.gz && tail -c +41 packed.csv | "
		 "gzip >>a.gz",
		 folder);
	assert_int_equal(system(command), 0);
	snprintf(spec, sizeof(spec), "csv:%s/a.gz", folder);
	o.spec = spec;
	opened(&d, o);
	assert_int_equal(d.train, 5);
	assert_int_equal(d.table.dropped, 1);
	data_close(&d);
	for (int size = 2; size < 60; size += 7) {
		snprintf(command, sizeof(command), "cd '%s' && head -c %d a.gz >cut.gz", folder,
			 size);
		assert_int_equal(system(command), 0);
		snprintf(spec, sizeof(spec), "csv:%s/cut.gz", folder);
		assert_int_equal(data_open(&d, &o, fresh(&err)), ERR_USAGE);
	}
	/* A bomb. */
	snprintf(command, sizeof(command), "head -c 80000000 /dev/zero | gzip >'%s/bomb.gz'",
		 folder);
	assert_int_equal(system(command), 0);
	snprintf(spec, sizeof(spec), "csv:%s/bomb.gz", folder);
	assert_int_equal(data_open(&d, &o, fresh(&err)), ERR_USAGE);
	assert_non_null(strstr(err.msg, "holds more than"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_form_comes_back),
		cmocka_unit_test(made_up_data_says_so),
		cmocka_unit_test(text_is_known_by_its_tokenizer),
		cmocka_unit_test(a_broken_form_is_refused),
		cmocka_unit_test(another_file_is_read_as_the_first),
		cmocka_unit_test(another_file_that_does_not_fit),
		cmocka_unit_test(missing_values_are_the_mean),
		cmocka_unit_test(targets_are_scaled_and_the_form_goes_back),
		cmocka_unit_test(a_test_file_is_what_is_held_out),
		cmocka_unit_test(compressed_files_are_read),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
