/* test_answer_texts.c - what no study may say, whatever its results are. */
#include "answers.h"

#include "base/file.h"

#include <ctype.h>
#include <limits.h>

/* ---- observations ---- */

static void every_row_has_an_observation_that_fits_a_cell(void **state)
{
	static const struct {
		const char *group, *column;
	} tables[] = {{"variants", "observed"}, {"accumulation", "observation"}};
	static make_fn *const weathers[] = {make_straddling, make_half, make_underflow};
	(void)state;

	for (size_t n = 0; n < ARRAY_SIZE(weathers); n++) {
		w = (struct world){.make = weathers[n], .cores = 8, .reps = 3};
		world_open(&w, "accum-amp");
		for (int i = 0; i < w.tables.by_case.count; i++)
			for (size_t k = 0; k < ARRAY_SIZE(tables); k++) {
				const struct row *row = &w.tables.by_case.rows[i];
				const char *text =
					row_cell(&w.tables.by_case, row, tables[k].column)
						->text;

				if (strcmp(row->run_case->group, tables[k].group))
					continue;
				assert_true(text && *text && strlen(text) <= 60);
			}
		world_close(&w);
	}
}

/* ---- 6, 7, 8: what no study may say at all ---- */

/* Nothing is measured on devices that compute nothing. */
static void check_sentences(const char *text, const char *where)
{
	while (*text) {
		const char *end = strstr(text, ". "), *gap = strstr(text, "\n\n");
		char sentence[4096];
		size_t n = strlen(text);

		if (end && (size_t)(end - text) + 2 < n)
			n = (size_t)(end - text) + 2;
		if (gap && (size_t)(gap - text) + 2 < n)
			n = (size_t)(gap - text) + 2;
		snprintf(sentence, sizeof(sentence), "%.*s", (int)n, text);
		if ((strstr(sentence, "irtual") || strstr(sentence, "imulated")) &&
		    strstr(sentence, "easured"))
			fail_msg("%s calls it measured: '%s'", where, sentence);
		text += n;
	}
}

static void nothing_virtual_is_measured(void **state)
{
	static const char *const files[] = {"README.md", "docs/studies.md"};
	struct text reading;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[PATH_MAX], *bytes;
		struct error err = {0};
		size_t size;

		snprintf(path, sizeof(path), "%s/../%s", TESTS_DIR, files[i]);
		assert_int_equal(file_read(path, 1 << 20, &bytes, &size, fresh(&err)), OK);
		check_sentences(bytes, files[i]);
		free(bytes);
	}
	/* What is said of all tables. */
	w = (struct world){.make = make_half, .cores = 2, .reps = 3};
	world_open(&w, "strong-scaling");
	for (int i = 0; i < w.plan.count; i++)
		snprintf(
			w.plan.cases[i].device, sizeof(w.plan.cases[i].device),
			"virtual:gflops=111,bandwidth=19.67GB/s,link=9.442GB/s,latency=0.35us");
	text_init(&reading);
	tables_add_reading(&w.tables, &reading);
	check_sentences(reading.data, "reading");
	says(reading.data,
	     "Median of 3 runs, ± half of their range. Simulated devices compute "
	     "nothing; they take the time that an operation costs, the same in "
	     "every run: products at 111 GFLOP/s, memory at 19.7 GB/s, messages at "
	     "9.4 GB/s and 0.35 µs each.");
	text_release(&reading);
	world_close(&w);
}

/* A page has room for so many columns. */
static void tables_are_not_too_wide(void **state)
{
	(void)state;
	for (size_t i = 0; i < study_builtin_count; i++) {
		json_t *root = json_loadb((const char *)study_builtins[i].bytes,
					  study_builtins[i].size, 0, NULL);
		const json_t *tables = json_object_get(root, "tables");

		for (size_t k = 0; k < json_array_size(tables); k++)
			assert_true(json_array_size(json_object_get(json_array_get(tables, k),
								    "columns")) <= 10);
		json_decref(root);
	}
}

static void scan(const json_t *tree, const char *study)
{
	static const char *const never[] = {"while the backward", "would take as long",
					    "bound by arithmetic", "hidden behind"};
	const char *key, *text = json_string_value(tree);
	json_t *value;

	json_object_foreach((json_t *)tree, key, value)
	{
		/* What may be the largest is named in the middle of sentences. */
		if (!strcmp(key, "largest") && json_is_object(value))
			assert_true(islower(*json_object_iter_key(json_object_iter(value))));
		scan(value, study);
	}
	for (size_t i = 0; i < json_array_size(tree); i++)
		scan(json_array_get(tree, i), study);
	for (size_t i = 0; text && i < ARRAY_SIZE(never); i++)
		if (strstr(text, never[i]))
			fail_msg("%s says '%s'", study, text);
	if (text)
		check_sentences(text, study);
}

static void studies_do_not_say_what_they_do_not_look_at(void **state)
{
	(void)state;
	for (size_t i = 0; i < study_builtin_count; i++) {
		json_t *root = json_loadb((const char *)study_builtins[i].bytes,
					  study_builtins[i].size, 0, NULL);

		assert_non_null(root);
		scan(root, study_builtins[i].name);
		json_decref(root);
	}
}

/* Every layer has a bucket of its own, so that sums can overlap. */
static void buckets_are_small_enough_for_the_model(void **state)
{
	static const char *const studies[] = {"strong-scaling", "comm-vs-compute", "dp-vs-ddp",
					      "delay",		"batch-scaling",   "imbalance"};
	(void)state;

	for (int quick = 0; quick < 2; quick++)
		for (size_t i = 0; i < ARRAY_SIZE(studies); i++) {
			w = (struct world){
				.make = make_half, .cores = 8, .reps = 1, .quick = quick};
			world_open(&w, studies[i]);
			for (int k = 0; k < w.plan.count; k++) {
				const struct run_case *c = &w.plan.cases[k];
				double dim = made_option(c, "dim", 1024);

				assert_true(made_option(c, "bucket-mb", 25) * (1 << 20) <=
					    4 * dim * dim + (1 << 20));
			}
			world_close(&w);
		}
}

/* ---- 9: a quick study says what it did ---- */

static void texts_name_the_values_of_the_plan(void **state)
{
	const char *about;
	struct text text;
	(void)state;

	for (int quick = 0; quick < 2; quick++) {
		w = (struct world){.make = make_half, .cores = 8, .reps = 1, .quick = quick};
		world_open(&w, "schedules");
		about = w.study.about;
		text_init(&text);
		plan_add_text(&w.plan, about, &text);
		says(text.data,
		     quick ? "with 4 and 8 micro-batches" : "with 4, 8 and 16 micro-batches");
		assert_null(strchr(text.data, '{'));
		text_release(&text);
		world_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_an_observation_that_fits_a_cell),
		cmocka_unit_test(nothing_virtual_is_measured),
		cmocka_unit_test(tables_are_not_too_wide),
		cmocka_unit_test(studies_do_not_say_what_they_do_not_look_at),
		cmocka_unit_test(buckets_are_small_enough_for_the_model),
		cmocka_unit_test(texts_name_the_values_of_the_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
