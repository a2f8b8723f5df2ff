/* test_trace.c - timeline.json of real runs against the format and the schedule. */
#include "own_folder.h"
#include "timeline_format.h"

#include "cmd/cmd.h"
#include "trace/compare.h"

#include <signal.h>
#include <sys/wait.h>

static struct error err;
/* ---- runs ---- */

struct run_case {
	const char *name, *options;
	struct grid grid;
	enum schedule_kind schedule;
	int micro_batches, chunks;
	int first_step, last_step;
};

#define VIRTUAL \
	"--device virtual:gflops=20,link=200MB/s,latency=250us --dim 512 --depth 16 --batch 64 "

/* clang-format off */
static const struct run_case cases[] = {
	{"alone", "--dim 64 --depth 3 --batch 32 --steps 3 --warmup 0",
	 {1, 1, 1}, SCHEDULE_1F1B, 1, 1, 0, 2},
	{"2x2x2", "--dim 64 --depth 4 --batch 32 --dp 2 --pp 2 --mp 2 --micro-batches 4 --steps 12",
	 {2, 2, 2}, SCHEDULE_1F1B, 4, 1, 4, 11},
	{"fp16 zero", "--amp --zero 1 --dim 64 --depth 3 --batch 32 --dp 2 --micro-batches 2 --steps 4 --warmup 0 --trace 3",
	 {2, 1, 1}, SCHEDULE_1F1B, 2, 1, 1, 3},
	{"clipped adamw", "--optimizer adamw --clip-grad 1 --dim 64 --depth 4 --batch 32 --pp 2 --dp 2 --micro-batches 2 --steps 4 --warmup 0",
	 {2, 2, 1}, SCHEDULE_1F1B, 2, 1, 0, 3},
	{"master", "--grad-sync master --dim 64 --depth 3 --batch 36 --dp 3 --micro-batches 2 --steps 4 --warmup 0",
	 {3, 1, 1}, SCHEDULE_1F1B, 2, 1, 0, 3},
	{"base", "--engine base --dim 64 --depth 4 --batch 32 --pp 2 --dp 2 --micro-batches 2 --steps 4 --warmup 0",
	 {2, 2, 1}, SCHEDULE_NAIVE, 2, 1, 0, 3},
	{"pauses", "--inject at=forward,sleep=1ms --dim 64 --depth 4 --batch 32 --pp 2 --micro-batches 2 --steps 3 --warmup 0",
	 {1, 2, 1}, SCHEDULE_1F1B, 2, 1, 0, 2},
	{"csv", "--data csv:DATA --dim 16 --depth 4 --batch 32 --pp 2 --micro-batches 2 --steps 3 --warmup 0",
	 {1, 2, 1}, SCHEDULE_1F1B, 2, 1, 0, 2},
	{"naive", VIRTUAL "--pp 4 --micro-batches 8 --steps 3 --warmup 0 --schedule naive",
	 {1, 4, 1}, SCHEDULE_NAIVE, 8, 1, 0, 2},
	{"gpipe", VIRTUAL "--pp 4 --micro-batches 8 --steps 3 --warmup 0 --schedule gpipe",
	 {1, 4, 1}, SCHEDULE_GPIPE, 8, 1, 0, 2},
	{"1f1b", VIRTUAL "--pp 4 --dp 2 --micro-batches 8 --steps 3 --warmup 0",
	 {2, 4, 1}, SCHEDULE_1F1B, 8, 1, 0, 2},
	{"interleaved", VIRTUAL "--pp 4 --micro-batches 8 --steps 3 --warmup 0 --schedule interleaved",
	 {1, 4, 1}, SCHEDULE_INTERLEAVED, 8, 2, 0, 2},
	{"two stages", VIRTUAL "--pp 2 --micro-batches 4 --steps 3 --warmup 0 --schedule interleaved --chunks 3",
	 {1, 2, 1}, SCHEDULE_INTERLEAVED, 4, 3, 0, 2},
	{"zb-h1", VIRTUAL "--pp 4 --micro-batches 8 --steps 3 --warmup 0 --schedule zb-h1",
	 {1, 4, 1}, SCHEDULE_ZB_H1, 8, 1, 0, 2},
	{"slow link", "--device virtual:gflops=20,link=4MB/s,latency=5ms --dim 512 --depth 16 --batch 64 --pp 4 --micro-batches 8 --steps 3 --warmup 0 --schedule gpipe",
	 {1, 4, 1}, SCHEDULE_GPIPE, 8, 1, 0, 2},
	{"base, virtual", VIRTUAL "--engine base --pp 4 --micro-batches 8 --steps 3 --warmup 0",
	 {1, 4, 1}, SCHEDULE_NAIVE, 8, 1, 0, 2},
};
/* clang-format on */

static enum status train(const char *text, const char *run)
{
	char copy[2048], *argv[64];
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s --quiet --overwrite --run-dir %s", text, run);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	return cmd_train(argc, argv, fresh(&err));
}

static void write_csv(char *path, size_t size)
{
	FILE *f;

	snprintf(path, size, "%s/data.csv", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	for (int i = 0; i < 60; i++)
		fprintf(f, "%d,%d,%d\n", i, i * i % 7, i % 3);
	fclose(f);
}

/* Train a case; returns the folder of its run. */
static const char *run_case(const struct run_case *c)
{
	static char run[512];
	char options[1024], csv[512];
	const char *data = strstr(c->options, "DATA");

	snprintf(options, sizeof(options), "%s", c->options);
	if (data) {
		write_csv(csv, sizeof(csv));
		snprintf(options, sizeof(options), "%.*s%s%s", (int)(data - c->options),
			 c->options, csv, data + 4);
	}
	snprintf(run, sizeof(run), "%s/run", folder);
	if (train(options, run) != OK)
		fail_msg("%s: %s", c->name, err.msg);
	return run;
}

/* How often a rank has something of a category in a step; of a micro-batch and chunk unless
   these are -1, and under a name that begins so. */
static int count(const struct slices *s, int rank, int step, const char *category,
		 const char *name, int micro_batch, int chunk)
{
	int n = 0;

	for (int i = 0; i < s->count; i++) {
		const json_t *e = s->all[i].event, *args = json_object_get(e, "args");

		n += s->all[i].pid == rank && s->all[i].step == step &&
		     !strcmp(format_text(e, "cat"), category) &&
		     !strncmp(format_text(e, "name"), name, strlen(name)) &&
		     (micro_batch < 0 ||
		      (json_integer_value(json_object_get(args, "micro_batch")) ==
			       micro_batch &&
		       json_integer_value(json_object_get(args, "chunk")) == chunk));
	}
	return n;
}

/* Every action of the schedule is there once: operations and both ends of messages. */
static void check_actions(const struct run_case *c, const struct format *f,
			  const struct slices *s)
{
	static const struct {
		const char *category, *name;
	} of[] = {[ACTION_F] = {"forward", "forward"},
		  [ACTION_B] = {"backward", "backward"},
		  [ACTION_I] = {"input", "input"},
		  [ACTION_W] = {"weight", "weight"},
		  [ACTION_SEND_F] = {"send", "activations"},
		  [ACTION_RECV_F] = {"receive", "activations"},
		  [ACTION_SEND_B] = {"send", "gradients"},
		  [ACTION_RECV_B] = {"receive", "gradients"}};
	struct schedule schedule;

	assert_int_equal(schedule_init(&schedule, c->schedule, c->grid.pp, c->micro_batches,
				       c->chunks, fresh(&err)),
			 OK);
	for (int rank = 0; rank < grid_size(&c->grid); rank++)
		for (int step = f->first_step; step <= f->last_step; step++) {
			const struct order *o =
				&schedule.orders[grid_coords(&c->grid, rank).pp];

			for (int i = 0; i < o->count; i++) {
				struct action a = o->actions[i];
				char text[ACTION_TEXT_MAX];

				if (a.kind <= ACTION_RECV_B)
					expect(f,
					       count(s, rank, step, of[a.kind].category,
						     of[a.kind].name, a.micro_batch,
						     a.chunk) == 1,
					       "%s: rank %d, step %d: not one %s", c->name,
					       rank, step, action_format(a, text));
			}
			assert_int_equal(count(s, rank, step, "optimizer", "", -1, 0), 1);
		}
	schedule_release(&schedule);
}

static int messages_of(const struct run_case *c)
{
	struct schedule s;
	int n = 0;

	assert_int_equal(schedule_init(&s, c->schedule, c->grid.pp, c->micro_batches, c->chunks,
				       fresh(&err)),
			 OK);
	for (int i = 0; i < c->grid.pp; i++)
		n += schedule_messages(&s.orders[i]) * c->grid.dp * c->grid.mp;
	schedule_release(&s);
	/* DataParallel: inputs, outputs and their gradients of every micro-batch. */
	if (!strcmp(c->name, "master"))
		n = 3 * (c->grid.dp - 1) * c->micro_batches;
	return n * (c->last_step - c->first_step + 1);
}

static void check_timeline(const struct run_case *c, const char *run)
{
	char path[600];
	struct format f;
	struct slices s;

	snprintf(path, sizeof(path), "%s/timeline.json", run);
	s = format_open(&f, path);
	assert_memory_equal(&f.grid, &c->grid, sizeof(f.grid));
	assert_int_equal(f.first_step, c->first_step);
	assert_int_equal(f.last_step, c->last_step);
	if (f.flows != messages_of(c))
		fail_msg("%s: %d messages, not %d", c->name, f.flows, messages_of(c));
	check_actions(c, &f, &s);
	format_close(&f, &s);
}

/* What is read again adds up, and a virtual machine does what the simulator says. */
static void check_comparison(const struct run_case *c, const char *run)
{
	struct trace t;
	struct comparison made;
	double sum, least = INFINITY, lost = INFINITY;

	assert_int_equal(trace_load(&t, run, fresh(&err)), OK);
	for (int step = t.first_step; step <= t.last_step; step++) {
		if (compare_step(&made, &t, step, step % 2, fresh(&err)) != OK)
			fail_msg("%s: %s", c->name, err.msg);
		sum = made.took.compute + made.took.messages + made.took.waiting +
		      made.took.pause + made.took.other;
		assert_true(fabs(sum - made.took.total) < 1e-9);
		sum = made.expected.compute + made.expected.messages + made.expected.waiting +
		      made.expected.pause + made.expected.other;
		assert_true(fabs(sum - made.expected.total) < 1e-9);
		lost = fmin(lost, fabs(made.took.other) / made.took.total);
		if (step > 0)
			least = fmin(least, made.took.total / made.expected.total);
		comparison_release(&made);
	}
	/* A rank that the machine wakes late loses time, and begins its step late: not in every
	 * step. */
	if (lost >= 0.5)
		fail_msg("%s: of every step at least %g is lost", c->name, lost);
	if (t.linked && c->grid.dp == 1 && fabs(least - 1) > 0.01)
		fail_msg("%s: steps take %g times what is expected, or more", c->name, least);
	trace_release(&t);
}

static void timelines_follow_the_format_and_the_schedule(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *run = run_case(&cases[i]);

		printf("%s\n", cases[i].name);
		check_timeline(&cases[i], run);
		check_comparison(&cases[i], run);
	}
}

static void without_tracing_there_is_no_timeline(void **state)
{
	char run[512], path[600];
	(void)state;

	snprintf(run, sizeof(run), "%s/run", folder);
	snprintf(path, sizeof(path), "%s/timeline.json", run);
	assert_int_equal(train("--dim 16 --depth 2 --batch 8 --steps 2 --warmup 0", run), OK);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(
		train("--dim 16 --depth 2 --batch 8 --steps 2 --warmup 0 --trace off", run),
		OK);
	assert_int_not_equal(access(path, F_OK), 0); /* nor that of the run before */
	assert_int_equal(trace_load(&(struct trace){0}, run, fresh(&err)), ERR_USAGE);
}

/* Ctrl-C after some steps: the last ones are there. */
static void an_interrupted_run_leaves_its_timeline(void **state)
{
	char run[512], path[600];
	struct format f;
	struct slices s;
	int status;
	pid_t child;
	(void)state;

	snprintf(run, sizeof(run), "%s/interrupted", folder);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		enum status st =
			train("--dim 64 --depth 4 --batch 32 --dp 2 --pp 2 --micro-batches 2 "
			      "--steps 1000000",
			      run);
		_exit(error_exit_code(st));
	}
	snprintf(path, sizeof(path), "%s/metrics.jsonl", run);
	for (int i = 0; i < 200; i++) {
		FILE *file = fopen(path, "r");
		char line[4096];
		int lines = 0;

		while (file && fgets(line, sizeof(line), file))
			lines++;
		if (file)
			fclose(file);
		if (lines > 12)
			break;
		usleep(50000);
	}
	assert_int_equal(kill(child, SIGINT), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 130);
	snprintf(path, sizeof(path), "%s/timeline.json", run);
	s = format_open(&f, path);
	assert_int_equal(f.last_step - f.first_step + 1, 8);
	assert_int_equal(f.flows, 8 * 2 * 2 * 2);
	format_close(&f, &s);
}

/* Files of other runs: are they of the format? */
static char **files;

static void files_follow_the_format(void **state)
{
	(void)state;
	for (char **file = files; *file; file++) {
		struct format f;
		struct slices s = format_open(&f, *file);

		assert_true(s.count > 0);
		format_close(&f, &s);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest given[] = {cmocka_unit_test(files_follow_the_format)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timelines_follow_the_format_and_the_schedule),
		cmocka_unit_test(without_tracing_there_is_no_timeline),
		cmocka_unit_test(an_interrupted_run_leaves_its_timeline),
	};

	files = argv + 1;
	if (argc > 1)
		return cmocka_run_group_tests(given, NULL, NULL);
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
