/*
 * test_train.c - kolm train as a user starts it, from the prediction to the summary, on all
 * grids of up to 12 ranks, with as many layers as stages to three times as many and one,
 * tiny and usual buckets, all schedules, made-up data and files; norms, bridges, dropout and
 * uneven widths, language models; in 16 bit, with sharded optimizer state, on virtual devices
 * and more now and then. Each run ends well, its files fit the grid and each other, kolm trace
 * reads its timeline, the board shows its ranks while it runs, its losses are those of one
 * rank, and nothing is left behind.
 *
 * By default a few runs of each grid; KOLM_GRIDS=all: the whole product, KOLM_PART=I/N:
 * every N-th of it. What fails is printed as a command.
 */
#include "train_check.h"

#include "base/clock.h"
#include "launch/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { RANKS = 12, PER_GRID = 3, LIMIT_MS = 120 * 1000 };

static struct random source; /* the seed of everything */
static int runs, failures, watched;
static double widest; /* tolerance of a comparison */

/* ---- running ---- */

/* kolm with the words of a command, its output in a file. */
static pid_t start(const char *command, const char *output)
{
	char words[COMMAND], *argv[128] = {(char *)"kolm"}, *rest = words;
	int n = 1;
	pid_t pid;

	strcpy(words, command);
	while (n < 127 && (argv[n] = strtok_r(rest, " ", &rest)))
		n++;
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	dup2(open(output, O_CREAT | O_TRUNC | O_WRONLY, 0600), STDOUT_FILENO);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	execv(getenv("KOLM"), argv);
	_exit(127);
}

/* What the board says of a run that is under way; false: nothing yet, or no longer. */
static bool look_at_board(const struct train_case *c, struct verdict *v)
{
	struct attachment a;
	struct survey *s = NULL;
	struct error err = {0};
	bool seen = false;

	if (attach_open(&a, "run", &err) != OK)
		return false;
	assert_int_equal(survey_create(&s, &a.grid, a.locals, clock_ms(), &err), OK);
	survey_take(s, a.memory, clock_ms());
	seen = s->steps == STEPS; /* from then on it is filled in */
	if (memcmp(&a.grid, &c->grid, sizeof(a.grid)) || s->count != grid_size(&c->grid) ||
	    s->step > STEPS)
		snprintf(v->why, sizeof(v->why), "the board shows %d ranks, step %d of %d",
			 s->count, s->step, s->steps);
	for (int i = 0; i < s->count && seen; i++) {
		struct coords at = grid_coords(&c->grid, i);

		if (s->ranks[i].number != i || memcmp(&s->ranks[i].at, &at, sizeof(at)))
			snprintf(v->why, sizeof(v->why), "the board shows rank %d as %d", i,
				 s->ranks[i].number);
	}
	survey_free(s);
	attach_close(&a);
	return seen;
}

static bool read_output(const char *path, struct verdict *v)
{
	char *text = NULL;
	size_t size;
	struct error err = {0};

	WANT(file_read(path, 1 << 20, &text, &size, &err) == OK, "%s", err.msg);
	if (size)
		snprintf(v->why, sizeof(v->why), "it says: %.1500s", text);
	free(text);
	return !size;
}

/* Until it has ended: with 0, without a word, with nobody left. c: and watch its board. */
static bool finish(pid_t pid, const struct train_case *c, struct verdict *v)
{
	double begin = clock_ms();
	bool seen = !c;
	int status;

	v->why[0] = '\0';
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (!seen && look_at_board(c, v)) {
			seen = true;
			watched += grid_size(&c->grid) > 1;
		}
		if (clock_ms() - begin > LIMIT_MS)
			kill(pid, SIGKILL);
		usleep(2000);
	}
	if (v->why[0])
		return false;
	WANT(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "processes are left");
	WANT(!WIFSIGNALED(status), "signal %d after %.1f s", WTERMSIG(status),
	     (clock_ms() - begin) / 1e3);
	if (!read_output("output.txt", v))
		return false;
	WANT(WEXITSTATUS(status) == 0, "it exited with %d", WEXITSTATUS(status));
	return true;
}

/* The folder is new for every run and gone afterwards. */
static bool train(const char *model, const struct train_case *c, struct numbers *out,
		  struct verdict *v)
{
	char command[COMMAND + 32];

	snprintf(command, sizeof(command), "%s --run-dir run", model);
	return finish(start(command, "output.txt"), c, v) && check_run(c, out, v);
}

static bool check_trace(struct verdict *v)
{
	json_t *trace;
	int status;
	pid_t pid = start("trace run --json", "trace.json");

	waitpid(pid, &status, 0);
	trace = json_load_file("trace.json", 0, NULL);
	WANT(WIFEXITED(status) && !WEXITSTATUS(status) && trace, "kolm trace exited with %d",
	     WEXITSTATUS(status));
	status = (int)number_of(trace, "last_step");
	json_decref(trace);
	WANT(status == STEPS - 1, "the timeline ends with step %d", status);
	return true;
}

/* ---- comparing ---- */

/* The same run on one rank; equal ones are run once. */
static bool run_alone(const struct train_case *c, struct numbers *out, struct verdict *v)
{
	static struct known {
		char model[COMMAND];
		struct numbers numbers;
		struct known *next;
	} * known;
	struct train_case alone = *c;
	struct known *k;
	char model[COMMAND];
	bool ok;

	train_case_model(c, model);
	for (k = known; k; k = k->next)
		if (!strcmp(k->model, model)) {
			*out = k->numbers;
			return true;
		}
	alone.grid = (struct grid){1, 1, 1};
	alone.is_virtual = false;
	ok = train(model, &alone, out, v);
	test_folder_remove("run");
	if (!ok)
		return false;
	k = calloc(1, sizeof(*k));
	assert_non_null(k);
	memcpy(k->model, model, sizeof(model));
	k->numbers = *out;
	k->next = known;
	known = k;
	return true;
}

/* How far apart two runs are, at most, as a share: of the largest loss, since that of a few
   samples which are met well is what is left of larger numbers. */
static double distance(const struct train_case *c, const struct numbers *a,
		       const struct numbers *b)
{
	double most = c->csv ? difference(a->held_out, b->held_out) : 0;
	double largest = 0;

	for (int i = 0; i < STEPS; i++)
		largest = fmax(largest, fmax(fabs(a->losses[i]), fabs(b->losses[i])));
	for (int i = 0; i < STEPS; i++)
		if (a->losses[i] != b->losses[i])
			most = fmax(most, isfinite(a->losses[i]) && isfinite(b->losses[i])
						  ? fabs(a->losses[i] - b->losses[i]) / largest
						  : INFINITY);
	return most;
}

/*
 * In fp32 losses are those of one rank to 1e-5. In 16 bit every sum rounds, and deep stacks
 * amplify it: a few times as far as rounding takes one rank from fp32.
 */
static bool compare(const struct train_case *c, const struct numbers *got, struct verdict *v)
{
	struct train_case exact = *c;
	struct numbers alone, exact_alone;
	double tolerance = 1e-5, apart;

	exact.precision = "fp32";
	if (!run_alone(c, &alone, v) || !run_alone(&exact, &exact_alone, v))
		return false;
	if (strcmp(c->precision, "fp32"))
		tolerance = 0.01 + 4 * distance(c, &alone, &exact_alone);
	apart = distance(c, got, &alone);
	widest = fmax(widest, tolerance);
	WANT(apart <= tolerance, "the losses are %g from those of one rank, %g allowed", apart,
	     tolerance);
	return true;
}

static void run_case(const struct train_case *c, int number)
{
	static const char *const own[] = {NULL};
	struct numbers numbers;
	struct verdict v;
	char command[COMMAND];
	bool ok;

	train_case_command(c, command);
	ok = train(command, c, &numbers, &v) && check_trace(&v) &&
	     check_folder("temporary", own, &v);
	test_folder_remove("run");
	ok = ok && (c->is_virtual || compare(c, &numbers, &v));
	runs++;
	failures += !ok;
	if (!ok)
		printf("case %d: kolm %s\n    %s\n", number, command, v.why);
}

/* ---- the product ---- */

static bool wanted_part(int number)
{
	const char *part = getenv("KOLM_PART");
	int i = 0, n = 1;

	return !part || (sscanf(part, "%d/%d", &i, &n) == 2 && n > 0 && number % n == i % n);
}

/* Call run_case for those of a grid's cases that pick has, or for all; returns how many
   there are. number counts all cases of all grids. */
static int go_through(struct grid grid, int *number, const int *pick, bool run)
{
	int n = 0;

	for (int depth = grid.pp; depth <= 3 * grid.pp + 1; depth++)
		for (size_t s = 0; s < SCHEDULE_KIND_COUNT; s++)
			for (int tiny = 0; tiny <= (grid.dp > 1); tiny++)
				for (int csv = 0; csv < 2; csv++, n++) {
					struct train_case c = {.grid = grid,
							       .depth = depth,
							       .schedule = schedule_names[s],
							       .tiny = tiny,
							       .csv = csv};
					bool picked = !pick;

					for (int i = 0; pick && i < PER_GRID; i++)
						picked = picked || pick[i] == n;
					++*number;
					if (!run || !picked || !train_case_possible(&c) ||
					    !wanted_part(*number))
						continue;
					train_case_season(&c, source.seed, *number);
					run_case(&c, *number);
				}
	return n;
}

static void every_grid_trains(void **state)
{
	bool all = getenv("KOLM_GRIDS") && !strcmp(getenv("KOLM_GRIDS"), "all");
	int number = 0;
	(void)state;

	for (int dp = 1; dp <= RANKS; dp++)
		for (int pp = 1; dp * pp <= RANKS; pp++)
			for (int mp = 1; dp * pp * mp <= RANKS; mp++) {
				struct grid grid = {dp, pp, mp};
				int pick[PER_GRID], skip = 0;
				int n = go_through(grid, &skip, NULL, false);

				for (int i = 0; i < PER_GRID; i++)
					pick[i] = random_int(&source, 0, n - 1);
				go_through(grid, &number, all ? NULL : pick, true);
			}
	printf("%d runs of %d cases, %d failed; losses compared to %.2g at least; the board of "
	       "%d seen\n",
	       runs, number, failures, widest, watched);
	assert_int_equal(failures, 0);
	assert_true(watched > 0);
}

static char folder[PATH_MAX];

/* A folder with data; temporary files go where we see them. */
static int set_up(void **state)
{
	char path[64];
	(void)state;

	test_folder(folder, sizeof(folder));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir("temporary", 0700), 0);
	setenv("TMPDIR", "temporary", 1);
	setenv("XDG_CACHE_HOME", folder, 1);
	train_case_write_text("text.txt");
	train_case_write_csv("targets.csv", 0);
	for (int mp = 1; mp <= RANKS; mp++) {
		snprintf(path, sizeof(path), "classes-%d.csv", mp);
		train_case_write_csv(path, 2 * mp);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* who is left behind becomes ours */
	source = random_start("train");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_folder_remove(folder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_grid_trains),
	};

	if (!getenv("KOLM")) {
		printf("skipped: set KOLM to the binary\n");
		return 77;
	}
	setlinebuf(stdout);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
