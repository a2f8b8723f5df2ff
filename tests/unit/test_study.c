/* test_study.c - a study's file and its cases. */
#include "testing.h"

#include "cmd/cmd.h"
#include "study/answer.h"
#include "study/calibrate.h"

static struct error err;

static enum status read_text(struct study *s, const char *text)
{
	err = (struct error){.code = OK};
	return study_load(s, study_commands(), text, strlen(text), "test.json", fresh(&err));
}

#define TABLE "\"tables\": [{\"id\": \"t\", \"title\": \"T\", \"columns\": [\"step_ms\"]}]"
#define HEAD  "{\"name\": \"n\", \"title\": \"T\", "

static void every_built_in_study_can_be_read(void **state)
{
	static const char *const requirements[] = {
		"A3", "A4", "A5", "A6", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "C1",
		"C2", "C3", "C4", "D1", "D2", "D3", "D4", "D5", "E1", "E2", "E3"};
	bool found[ARRAY_SIZE(requirements)] = {false};
	(void)state;

	for (size_t i = 0; i < study_builtin_count; i++) {
		const struct builtin *b = &study_builtins[i];
		struct study s;
		const json_t *list;

		if (study_load(&s, study_commands(), (const char *)b->bytes, b->size, b->name,
			       &err) != OK)
			fail_msg("%s", err.msg);
		assert_string_equal(s.name, b->name);
		list = json_object_get(s.root, "requirements");
		for (size_t k = 0; k < ARRAY_SIZE(requirements); k++)
			for (size_t j = 0; j < json_array_size(list); j++)
				found[k] = found[k] ||
					   !strcmp(json_string_value(json_array_get(list, j)),
						   requirements[k]);
		for (int quick = 0; quick < 2; quick++) {
			struct plan p;

			assert_int_equal(
				plan_init(&p, &s,
					  &(struct plan_options){.quick = quick, .cores = 2},
					  &err),
				OK);
			assert_true(p.count >= 1 && p.reps >= 1);
			plan_release(&p);
		}
		study_unload(&s);
	}
	for (size_t k = 0; k < ARRAY_SIZE(requirements); k++)
		if (!found[k])
			fail_msg("no study is about %s", requirements[k]);
}

/* The questions of the course, but for the conclusion, which is the report's, and the studies
   that the course's list names for each: P.2 has two. */
static const struct {
	const char *id, *studies;
} course[] = {
	{"1.1.1", "strong-scaling"},
	{"1.1.2", "strong-scaling"},
	{"1.2.1", "strong-scaling"},
	{"1.2.2", "strong-scaling"},
	{"1.2.3", "strong-scaling"},
	{"1.3.1", "comm-vs-compute"},
	{"1.3.2", "comm-vs-compute"},
	{"1.3.3", "comm-vs-compute"},
	{"1.4.1", "dp-vs-ddp"},
	{"1.4.2", "dp-vs-ddp"},
	{"1.4.3", "dp-vs-ddp"},
	{"1.5.A1", "delay"},
	{"1.5.A2", "delay"},
	{"1.5.A3", "delay"},
	{"1.5.B1", "batch-scaling"},
	{"1.5.B2", "batch-scaling"},
	{"1.5.C1", "imbalance"},
	{"1.5.C2", "imbalance"},
	{"2.1", "accum-amp"},
	{"2.2", "accum-amp"},
	{"2.3.1", "accum-amp"},
	{"2.3.2", "accum-amp"},
	{"2.3.3", "accum-amp"},
	{"3.1.1", "placement"},
	{"3.1.2", "placement"},
	{"3.2", "depth"},
	{"3.3", "placement"},
	{"3.4", "placement"},
	{"3.5", "transfers"},
	{"P.1", "grid"},
	{"P.2", "engine-vs-base schedules"},
	{"P.3", "accum-amp"},
	{"P.4", "engine-vs-base"},
	/* And those of language models, which are our own. */
	{"L.1", "gpt-scaling"},
	{"L.2", "gpt-scaling"},
	{"L.3", "gpt-grids"},
	{"L.4", "gpt-grids"},
	{"L.5", "gpt-grids"},
	{"L.6", "gpt-memory"},
	{"L.7", "gpt-memory"},
};

/* Is a question with this id asked by this study? Each at most once. */
static int times_asked(const char *study, const char *id)
{
	const struct builtin *b = study_find_builtin(study);
	json_t *root = json_loadb((const char *)b->bytes, b->size, 0, NULL);
	const json_t *questions = json_object_get(root, "questions");
	int times = 0;

	for (size_t k = 0; k < json_array_size(questions); k++)
		times += !strcmp(
			json_string_value(json_object_get(json_array_get(questions, k), "id")),
			id);
	json_decref(root);
	return times;
}

static void every_question_is_asked_where_the_course_has_it(void **state)
{
	size_t wanted = 0, asked = 0;
	(void)state;

	for (size_t n = 0; n < ARRAY_SIZE(course); n++)
		for (size_t i = 0; i < study_builtin_count; i++) {
			const char *study = study_builtins[i].name;
			const char *at = strstr(course[n].studies, study);
			int once = at && (at == course[n].studies || at[-1] == ' ');

			if (times_asked(study, course[n].id) != once)
				fail_msg("%s asks %s %d times", study, course[n].id,
					 times_asked(study, course[n].id));
			wanted += (size_t)once;
		}
	/* And none that the course does not have. */
	for (size_t i = 0; i < study_builtin_count; i++) {
		json_t *root = json_loadb((const char *)study_builtins[i].bytes,
					  study_builtins[i].size, 0, NULL);

		asked += json_array_size(json_object_get(root, "questions"));
		json_decref(root);
	}
	assert_int_equal(asked, wanted);
}

static void mistakes_are_told(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "not valid JSON"},
		{"[]", "must be an object"},
		{HEAD "\"tabels\": []}", "unknown member 'tabels'"},
		{HEAD "\"base\": {}}", "'tables' is missing"},
		{HEAD TABLE ", \"base\": {\"dimm\": 3}}", "unknown option '--dimm'"},
		{HEAD TABLE ", \"base\": {\"dim\": -3}}", "--dim -3 is out of range"},
		{HEAD TABLE ", \"base\": {\"run-dir\": \"x\"}}", "a study can't set --run-dir"},
		{HEAD TABLE ", \"axes\": [{\"name\": \"a\", \"values\": [1]}]}",
		 "without an option"},
		{HEAD TABLE
		 ", \"axes\": [{\"name\": \"a\", \"option\": \"dp\", \"values\": []}]}",
		 "'values' is empty"},
		{HEAD TABLE ", \"axes\": [{\"name\": \"device\", \"option\": \"dp\", "
			    "\"values\": [1]}]}",
		 "every study has a 'device' already"},
		{HEAD TABLE
		 ", \"columns\": [{\"key\": \"c\", \"formula\": \"step_ms[ranks=1,]\"}]}",
		 "nothing is called step_ms[ranks=1,]"},
		{HEAD TABLE ", \"command\": \"rm\"}", "'rm' can't be the command"},
		{HEAD TABLE ", \"devices\": \"gpu\"}", "devices 'gpu'"},
		{HEAD
		 "\"tables\": [{\"id\": \"../t\", \"title\": \"T\", \"columns\": [\"step_ms\"]}]}",
		 "can't be a name"},
		{HEAD
		 "\"tables\": [{\"id\": \"t\", \"title\": \"T\", \"columns\": [\"stepms\"]}]}",
		 "there is no column 'stepms'"},
		{HEAD TABLE ", \"columns\": [{\"key\": \"c\", \"formula\": \"1 +\"}]}",
		 "expected at"},
		{HEAD TABLE ", \"columns\": [{\"key\": \"c\", \"formula\": \"nothing\"}]}",
		 "nothing is called nothing"},
		{HEAD TABLE ", \"columns\": [{\"key\": \"c\", \"formula\": \"step_ms[x=1]\"}]}",
		 "nothing is called step_ms[x=1]"},
		{HEAD TABLE ", \"columns\": [{\"key\": \"c\", \"formula\": \"c\"}]}",
		 "nothing is called c"},
		{HEAD TABLE
		 ", \"questions\": [{\"id\": \"1\", \"question\": \"?\", \"verdict\": \"{magic}\"}]}",
		 "nothing is called magic"},
		{HEAD TABLE
		 ", \"charts\": [{\"id\": \"c\", \"table\": \"x\", \"kind\": \"bar\", "
		 "\"title\": \"\", \"x\": \"ranks\", \"y\": [\"step_ms\"]}]}",
		 "there is no table 'x'"},
		{"{\"name\": \"a/b\", \"title\": \"T\", " TABLE "}", "can't be a name"},
		{HEAD TABLE ", \"repetitions\": 1.5}",
		 "'repetitions' must be a whole number from 1 to 32"},
		{HEAD TABLE ", \"repetitions\": 2.0}", "whole number"},
		{HEAD TABLE ", \"repetitions\": \"3\"}", "whole number"},
		{HEAD TABLE ", \"repetitions\": 0}", "from 1 to 32"},
		{HEAD TABLE ", \"repetitions\": 33}", "from 1 to 32"},
		{HEAD TABLE ", \"repetitions\": 1e99}", "whole number"},
		{HEAD TABLE ", \"repetitions\": 1e999}", "not valid JSON"},
		{HEAD TABLE ", \"quick\": {\"repetitions\": -1}}", "from 1 to 32"},
		{HEAD TABLE
		 ", \"columns\": [{\"key\": \"c\", \"formula\": \"1\", \"digits\": 1.5}]}",
		 "'digits' must be a whole number from -1 to 12"},
		{HEAD TABLE
		 ", \"columns\": [{\"key\": \"c\", \"formula\": \"1\", \"digits\": 13}]}",
		 "from -1 to 12"},
		{HEAD TABLE ", \"axes\": [{\"name\": \"a\", \"option\": \"dp\", "
			    "\"values\": [1, 1.5]}]}",
		 "--dp 1.5"},
		{HEAD TABLE ", \"axes\": [{\"name\": \"a\", \"option\": \"dp\", "
			    "\"values\": [1], \"quick\": [-1]}]}",
		 "--dp -1 is out of range"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct study s;

		assert_int_equal(read_text(&s, bad[i].text), ERR_USAGE);
		if (!strstr(err.msg, bad[i].says))
			fail_msg("'%s' should say '%s'", err.msg, bad[i].says);
	}
}

/* Whatever steps the command line asks for: the warm-up of the study gives way. */
static void a_warmup_fits_the_steps(void **state)
{
	(void)state;

	for (size_t i = 0; i < study_builtin_count; i++) {
		const struct builtin *b = &study_builtins[i];
		struct study s;

		assert_int_equal(study_load(&s, study_commands(), (const char *)b->bytes,
					    b->size, b->name, fresh(&err)),
				 OK);
		for (int steps = 1; steps < 8; steps++) {
			struct plan_options o = {
				.quick = steps % 2, .cores = 2, .steps = steps};
			struct plan p;

			assert_int_equal(plan_init(&p, &s, &o, fresh(&err)), OK);
			for (int k = 0; k < p.count; k++) {
				json_t *options = p.cases[k].options;
				json_t *warmup = json_object_get(options, "warmup");

				if (strcmp(p.cases[k].command, "train"))
					continue;
				assert_int_equal(
					json_integer_value(json_object_get(options, "steps")),
					steps);
				assert_true(json_integer_value(warmup) < steps);
			}
			plan_release(&p);
		}
		study_unload(&s);
	}
}

static void calibration_is_checked(void **state)
{
#define LINKS "\"link_latency_us\": 0, \"link_gb_per_s\": 8.5, \"memory_gb_per_s\": 20"
	static const struct {
		const char *text, *says; /* NULL: nothing is wrong */
	} files[] = {
		{"{}", NULL},
		{"{" LINKS ", \"gflops_fp32_1024\": 90}", NULL},
		{"{\"gflops_fp16_64\": 1e2}", NULL},
		{"", "is not a JSON object"},
		{"{", "is not a JSON object"},
		{"[1, 2]", "is not a JSON object"},
		{"{" LINKS ", " LINKS "}", "is not a JSON object"},
		{"{\"link_gb_per_s\": 8}", "lacks one of link_latency_us"},
		{"{" LINKS ", \"gflops_fp32_64\": \"fast\"}",
		 "'gflops_fp32_64' is not a speed"},
		{"{" LINKS ", \"gflops_fp32_64\": -3}", "'gflops_fp32_64' is not a speed"},
		{"{" LINKS ", \"gflops_fp32_64\": 0}", "'gflops_fp32_64' is not a speed"},
		{"{" LINKS ", \"gflops_fp32_64\": 1e300}", "'gflops_fp32_64' is not a speed"},
		{"{" LINKS ", \"gflops_fp32_64\": null}", "'gflops_fp32_64' is not a speed"},
		{"{" LINKS ", \"gflop_fp32_64\": 3}", "'gflop_fp32_64' is not a speed"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		json_t *known;
		enum status st = calibrate_parse(files[i].text, strlen(files[i].text), "c.json",
						 &known, fresh(&err));

		assert_int_equal(st, files[i].says ? ERR_USAGE : OK);
		if (files[i].says && (!strstr(err.msg, files[i].says) || !*err.hint))
			fail_msg("'%s' should say '%s'", err.msg, files[i].says);
		assert_true(files[i].says || known);
		json_decref(known);
	}
#undef LINKS
}

static const char sweep[] = HEAD TABLE
	", \"base\": {\"dim\": 8, \"steps\": 9}, \"repetitions\": 4,"
	"\"quick\": {\"base\": {\"dim\": 4}, \"repetitions\": 2},"
	"\"axes\": [{\"name\": \"v\", \"values\": [{\"name\": \"plain\"},"
	"{\"name\": \"amp\", \"set\": {\"precision\": \"fp16\", \"steps\": null}}]},"
	"{\"name\": \"ranks\", \"option\": \"dp\", \"values\": [1, 4], \"quick\": [2]}]}";

static void axes_make_cases(void **state)
{
	struct plan_options o = {.cores = 2};
	struct case_args args;
	struct study s;
	struct plan p;
	struct text line;
	(void)state;

	assert_int_equal(read_text(&s, sweep), OK);
	assert_int_equal(plan_init(&p, &s, &o, fresh(&err)), OK);
	/* Four combinations; 4 ranks on 2 cores want virtual devices as well. */
	assert_int_equal(p.count, 8);
	assert_int_equal(p.reps, 4);
	assert_string_equal(p.cases[0].name, "plain-ranks1-real");
	assert_string_equal(p.cases[3].name, "amp-ranks4-real");
	assert_string_equal(p.cases[7].name, "amp-ranks4-simulated");
	assert_int_equal(p.cases[3].ranks, 4);
	text_init(&line);
	assert_int_equal(case_args_init(&args, &p.cases[3], "f/o", fresh(&err)), OK);
	case_args_format(&args, false, &line);
	assert_string_equal(line.data,
			    "kolm train --dim 8 --precision fp16 --dp 4 --quiet --run-dir f/o "
			    "--overwrite");
	case_args_release(&args);
	text_release(&line);
	plan_release(&p);

	o.cores = 4;
	assert_int_equal(plan_init(&p, &s, &o, fresh(&err)), OK);
	assert_int_equal(p.count, 4); /* every rank has a core */
	plan_release(&p);
	o = (struct plan_options){.cores = 2, .quick = true, .steps = 3, .reps = 7};
	assert_int_equal(plan_init(&p, &s, &o, fresh(&err)), OK);
	assert_int_equal(p.count, 2);
	assert_int_equal(p.reps, 7);
	assert_int_equal(json_integer_value(json_object_get(p.cases[1].options, "dim")), 4);
	assert_int_equal(json_integer_value(json_object_get(p.cases[1].options, "steps")), 3);
	plan_release(&p);
	o = (struct plan_options){.cores = 4, .without_real = true};
	assert_int_equal(plan_init(&p, &s, &o, fresh(&err)), ERR_USAGE); /* nothing is left */
	study_unload(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_built_in_study_can_be_read),
		cmocka_unit_test(every_question_is_asked_where_the_course_has_it),
		cmocka_unit_test(mistakes_are_told),
		cmocka_unit_test(a_warmup_fits_the_steps),
		cmocka_unit_test(calibration_is_checked),
		cmocka_unit_test(axes_make_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
