/* test_config.c - options from the command line and from files, and how they combine. */
#include "testing.h"

#include "base/file.h"
#include "base/text.h"
#include "config/config.h"
#include "data/data.h"
#include "engine/sync.h"
#include "optim/lr.h"
#include "schedule/schedule.h"

static struct config config;
static struct error err;

/* Read a command line given as one string. */
static enum status read_line(const char *line)
{
	static char copy[2048];
	char *argv[64];
	int argc = 0;

	err.code = OK;
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	if (config_read(&config, argc, argv, &err) != OK || config.values.help)
		return err.code;
	return config_resolve_batch(&config, &err);
}

static void defaults_are_those_of_the_contract(void **state)
{
	(void)state;
	assert_int_equal(read_line(""), OK);
	assert_int_equal(config.dim, 1024);
	assert_int_equal(config.depth, 8);
	assert_int_equal(config.batch, 64);
	assert_int_equal(config.micro_batches, 1);
	assert_int_equal(config.micro_batch_size, 64);
	assert_int_equal(config.steps, 35);
	assert_int_equal(config.warmup, 5);
	assert_int_equal(config.seed, 0);
	assert_true(config.lr == 1e-3);
	assert_string_equal(config.data, "synthetic");
}

static void names_take_dashes_underscores_equals_and_aliases(void **state)
{
	static const char *const lines[] = {"--micro-batches 4", "--micro_batches=4",
					    "--accum-steps 4", "--accum_steps=4"};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(read_line(lines[i]), OK);
		assert_int_equal(config.micro_batches, 4);
		assert_int_equal(config.micro_batch_size, 16);
	}
}

/* Every name of a list is the member of its enum in the same place. */
static void expect_choices(const char *option, const char *const *names, const int *value)
{
	char line[128];
	int n = 0;

	for (; names[n]; n++) {
		snprintf(line, sizeof(line), "--%s %s", option, names[n]);
		assert_int_equal(read_line(line), OK);
		assert_int_equal(*value, n);
	}
	assert_true(n > 1);
}

static void names_are_those_of_their_enums(void **state)
{
	(void)state;
	expect_choices("schedule", schedule_names, &config.schedule);
	expect_choices("activation", activation_names, &config.activation);
	expect_choices("optimizer", optimizer_names, &config.optimizer);
	expect_choices("precision", config_precision_names, &config.precision);
	expect_choices("grad-sync", grad_sync_names, &config.grad_sync);
	expect_choices("loss", data_task_names, &config.loss);
	expect_choices("engine", engine_names, &config.engine);
	assert_string_equal(schedule_names[SCHEDULE_ZB_H1], "zb-h1");
	assert_string_equal(activation_names[ACT_GELU], "gelu");
	assert_string_equal(optimizer_names[OPT_ADAMW], "adamw");
	assert_string_equal(precision_names[DTYPE_BF16], "bf16");
	assert_string_equal(dtype_name(DTYPE_I32), "I32");
	assert_string_equal(grad_sync_names[SYNC_MASTER], "master");
	assert_string_equal(data_task_names[TASK_CLASSIFICATION], "cross-entropy");
	assert_string_equal(engine_names[ENGINE_BASE], "base");
}

static void derivatives_are_taken_from_what_is_saved(void **state)
{
	(void)state;
	assert_int_equal(activation_saves(ACT_NONE), ACT_SAVES_NOTHING);
	assert_int_equal(activation_saves(ACT_RELU), ACT_SAVES_OUTPUT);
	assert_int_equal(activation_saves(ACT_GELU), ACT_SAVES_INPUT);
}

/* Every schedule of the learning rate takes its options, and no others. */
static void rates_take_their_own_options(void **state)
{
	static const struct {
		const char *options;
		bool taken[NAMES_COUNT(LR_KINDS)]; /* constant, cosine, linear, step, wsd */
	} cases[] = {
		{"", {true, true, true, false, true}},
		{"--lr-warmup 5", {true, true, true, false, true}},
		{"--lr-min 1e-5", {false, true, true, false, true}},
		{"--lr-step 3", {false, false, false, true, false}},
		{"--lr-step 3 --lr-min 0", {false, false, false, true, false}},
		{"--lr-step 3 --lr-gamma 0.9", {false, false, false, true, false}},
		{"--lr-decay 10", {false, false, false, false, true}},
	};
	struct lr_schedule s;
	char line[128];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int kind = 0; lr_kind_names[kind]; kind++) {
			snprintf(line, sizeof(line), "--lr-schedule %s %s", lr_kind_names[kind],
				 cases[i].options);
			assert_int_equal(read_line(line),
					 cases[i].taken[kind] ? OK : ERR_USAGE);
			assert_int_equal(config.lr_schedule, kind);
		}
	assert_int_equal(read_line("--lr-schedule wsd --steps 200"), OK);
	assert_int_equal(config_lr_schedule(&config, &s, &err), OK);
	assert_int_equal(s.decay, 40);
	assert_int_equal(read_line("--lr-schedule wsd --steps 200 --lr-decay 1"), OK);
	assert_int_equal(config_lr_schedule(&config, &s, &err), OK);
	assert_int_equal(s.decay, 200);
	assert_int_equal(read_line("--lr-schedule wsd --steps 200 --lr-decay 150"), OK);
	assert_int_equal(config_lr_schedule(&config, &s, &err), OK);
	assert_int_equal(s.decay, 150);
	assert_int_equal(read_line("--lr-schedule wsd --lr-decay 0"), ERR_USAGE);
	assert_int_equal(read_line("--lr-schedule wsd --lr-decay -1"), ERR_USAGE);
	assert_int_equal(read_line("--lr-schedule wsd --lr-decay nan"), ERR_USAGE);
}

/* A schedule says itself how many chunks it takes. */
static void chunks_are_for_schedules_that_have_them(void **state)
{
	char line[128];
	(void)state;

	for (int kind = 0; kind < SCHEDULE_KIND_COUNT; kind++) {
		bool takes = schedule_chunks((enum schedule_kind)kind, 2) == 2;

		snprintf(line, sizeof(line), "--pp 2 --chunks 2 --schedule %s",
			 schedule_names[kind]);
		assert_int_equal(read_line(line), takes ? OK : ERR_USAGE);
		if (!takes)
			assert_non_null(strstr(err.hint, "interleaved"));
	}
}

/* For all batches and two of the three numbers the third follows, or it is an error. */
static void two_of_three_batch_numbers_give_the_third(void **state)
{
	char line[128];
	(void)state;

	for (int m = 1; m <= 12; m++)
		for (int s = 1; s <= 12; s++) {
			snprintf(line, sizeof(line), "--micro-batches %d --micro-batch-size %d",
				 m, s);
			assert_int_equal(read_line(line), OK);
			assert_int_equal(config.batch, m * s);
			snprintf(line, sizeof(line), "--batch %d --micro-batch-size %d", m * s,
				 s);
			assert_int_equal(read_line(line), OK);
			assert_int_equal(config.micro_batches, m);
			snprintf(line, sizeof(line), "--batch %d --micro-batches %d", s, m);
			assert_int_equal(read_line(line), s % m ? ERR_USAGE : OK);
			snprintf(line, sizeof(line),
				 "--batch %d --micro-batches %d --micro-batch-size %d",
				 m * s + 1, m, s);
			assert_int_equal(read_line(line), ERR_USAGE);
		}
}

static void errors_name_values_and_what_would_fit(void **state)
{
	static const struct {
		const char *line, *in_message, *in_hint;
	} cases[] = {
		{"--batch 10 --micro-batches 3", "10", "9 or 12"},
		{"--dim 0", "--dim 0", "1 to"},
		{"--dim 1.5", "--dim 1.5", "default 1024"},
		{"--depht 4", "--depht", "--depth"},
		{"--lr abc", "abc", "learning rate"},
		{"--optimizer rmsprop", "rmsprop", "sgd, momentum, adamw"},
		{"--warmup 10 --steps 10", "10", "--warmup 9"},
		{"--dump-check /tmp/x --steps 21", "21", "--steps 20"},
		{"--device-memory lots", "lots", "default unlimited"},
		{"--quiet --verbose", "--quiet", "leave one"},
		{"--steps", "--steps needs a value", "optimizer steps"},
		{"--run-dir --quiet", "--run-dir needs a value", "DIR"},
		{"--dump-check=", "--dump-check needs a value", "DIR"},
		{"--data csv:\xff", "not valid UTF-8", "rename"},
		{"--device-memory 0.9B", "0.9B", "default unlimited"},
		{"stray", "stray", "two dashes"},
		{"--config /nonexistent.json", "/nonexistent.json", "check the name"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_line(cases[i].line), ERR_USAGE);
		if (!strstr(err.msg, cases[i].in_message) ||
		    !strstr(err.hint, cases[i].in_hint))
			fail_msg("%s gave: %s; %s", cases[i].line, err.msg, err.hint);
	}
}

static void a_short_run_keeps_a_measured_step(void **state)
{
	(void)state;
	assert_int_equal(read_line("--steps 3"), OK);
	assert_int_equal(config.warmup, 2);
}

/* Read a command line with a configuration file of that content. */
static enum status read_with_file(const char *json, const char *line)
{
	char folder[256], path[512], whole[1024];
	enum status st;

	test_folder(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/c.json", folder);
	assert_int_equal(file_write_whole(path, json, strlen(json), &err), OK);
	snprintf(whole, sizeof(whole), "--config %s %s", path, line);
	st = read_line(whole);
	test_folder_remove(folder);
	return st;
}

static void the_command_line_beats_the_file(void **state)
{
	(void)state;
	assert_int_equal(
		read_with_file("{\"dim\": 32, \"lr\": 0.5, \"data\": \"noise\"}", "--dim 16"),
		OK);
	assert_int_equal(config.dim, 16);
	assert_true(config.lr == 0.5);
	assert_string_equal(config.data, "noise");
	/* A whole config.json has all three batch numbers; changing one must work. */
	assert_int_equal(read_with_file("{\"batch\": 64, \"micro_batches\": 4, "
					"\"micro_batch_size\": 16}",
					"--batch 128"),
			 OK);
	assert_int_equal(config.micro_batches, 4);
	assert_int_equal(config.micro_batch_size, 32);
	assert_int_equal(read_with_file("{\"batch\": 64, \"micro_batches\": 4, "
					"\"micro_batch_size\": 16}",
					"--micro-batch-size 8"),
			 OK);
	assert_int_equal(config.micro_batches, 8);
	assert_int_equal(config.batch, 64);
	assert_int_equal(read_with_file("{\"batch\": 64, \"micro_batches\": 4, "
					"\"micro_batch_size\": 16}",
					"--micro-batches 2"),
			 OK);
	assert_int_equal(config.micro_batch_size, 32);
	/* Two on the command line give the third, whatever the file says of it. */
	assert_int_equal(read_with_file("{\"batch\": 64, \"micro_batches\": 4, "
					"\"micro_batch_size\": 16}",
					"--micro-batches 2 --micro-batch-size 16"),
			 OK);
	assert_int_equal(config.batch, 32);
	assert_int_equal(
		read_with_file("{\"batch\": 64, \"micro_batch_size\": 16}", "--batch 128"), OK);
	assert_int_equal(config.micro_batches, 8);
	assert_int_equal(read_with_file("{\"steps\": 35, \"warmup\": 5}", "--steps 4"), OK);
	assert_int_equal(config.warmup, 3);
}

static void bad_files_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"{",
		"[]",
		"5",
		"{\"dim\": 32, \"dim\": 16}",
		"{\"dim\": null}",
		"{\"dim\": [1]}",
		"{\"dim\": \"x\"}",
		"{\"dim\": 0}",
		"{\"dims\": 4}",
		"{\"dim\": 1e99}",
		"{\"quiet\": true}",
		"{\"data\": \"a\\u0000b\"}",
		"{\"config\": \"x\"}",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (read_with_file(bad[i], "") != ERR_USAGE)
			fail_msg("accepted: %s", bad[i]);
	/* Hidden by the command line, but still checked. */
	assert_int_equal(read_with_file("{\"dim\": \"x\"}", "--dim 4"), ERR_USAGE);
}

/* config.json fed back gives the same configuration. */
static void written_options_read_back_the_same(void **state)
{
	static const char *const lines[] = {
		"",
		"--dim 77 --depth 3 --activation gelu --batch 96 --micro-batches 3",
		"--optimizer adamw --lr 0.00123 --beta2 0.95 --seed 12345678901",
		"--device-memory 2GiB --threads 3 --holdout 0.25 --data csv:x.csv",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct json first, second;

		assert_int_equal(read_line(lines[i]), OK);
		json_init(&first, true);
		json_begin_object(&first, NULL);
		options_write_json(&config.values, &first);
		json_end_object(&first);
		assert_int_equal(read_with_file(first.text.data, ""), OK);
		json_init(&second, true);
		json_begin_object(&second, NULL);
		options_write_json(&config.values, &second);
		json_end_object(&second);
		assert_string_equal(first.text.data, second.text.data);
		json_release(&first);
		json_release(&second);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_contract),
		cmocka_unit_test(names_take_dashes_underscores_equals_and_aliases),
		cmocka_unit_test(names_are_those_of_their_enums),
		cmocka_unit_test(derivatives_are_taken_from_what_is_saved),
		cmocka_unit_test(rates_take_their_own_options),
		cmocka_unit_test(chunks_are_for_schedules_that_have_them),
		cmocka_unit_test(two_of_three_batch_numbers_give_the_third),
		cmocka_unit_test(errors_name_values_and_what_would_fit),
		cmocka_unit_test(a_short_run_keeps_a_measured_step),
		cmocka_unit_test(the_command_line_beats_the_file),
		cmocka_unit_test(bad_files_are_refused),
		cmocka_unit_test(written_options_read_back_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
