/*
 * top.c - kolm top: watch the ranks of a run that is under way on this machine, as top
 * shows processes.
 */
#include "cmd/cmd.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/util.h"
#include "launch/attach.h"
#include "launch/frame.h"
#include "launch/screen.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

struct options {
	bool as_json, once;
	double interval; /* s */
};

#define AT(member) .group = "Options", .offset = offsetof(struct options, member)

/* clang-format off */
static const struct option options[] = {
	{"interval", .type = OPTION_SECONDS, AT(interval), .initial = "0.5", .meta = "SECONDS",
	 .min = 0.1, .max = 3600, .help = "time between two looks"},
	{"once", .type = OPTION_FLAG, AT(once), .initial = "false",
	 .help = "print one table and end; so it is where standard output is no terminal"},
	{"json", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document and end"},
};

static const char *const examples[] = {
	"kolm top                    # the newest run below runs/ that is running",
	"kolm top runs/big --interval 2",
	"kolm top runs/big --json    # for programs",
	NULL,
};
/* clang-format on */

const struct option_table top_table = {
	.command = "top",
	.usage = "kolm top [RUN] [options]",
	.summary =
		"Watch the ranks of a run on this machine: what each does, how busy it is, its memory. "
		"busy: share of the step in which it computes; waits: in which it waits for other "
		"ranks. q ends it; the run goes on.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 1,
	.arguments = "RUN",
};

static void put_rank(struct json *j, const struct survey_rank *r)
{
	json_begin_object(j, NULL);
	json_put_int(j, "rank", r->number);
	json_put_int(j, "dp", r->at.dp);
	json_put_int(j, "pp", r->at.pp);
	json_put_int(j, "mp", r->at.mp);
	json_put_int(j, "pid", r->pid);
	json_put_string(j, "at", r->where);
	json_put_string(j, "waiting", r->waiting);
	json_begin_array(j, "waits_for");
	for (int i = 0; i < RANKS_MAX; i++)
		if (survey_waits_for(r, i))
			json_put_int(j, NULL, i);
	json_end_array(j);
	json_put_double(j, "utilization", r->compute);
	json_put_double(j, "messages", r->comm);
	json_put_double(j, "waits", r->lost);
	json_put_int(j, "bytes", (int64_t)r->now_bytes);
	json_put_int(j, "peak_bytes", (int64_t)r->peak_bytes);
	if (r->measured) {
		json_put_double(j, "gpu_utilization", r->gpu_busy);
		if (!isnan(r->gpu_bytes))
			json_put_int(j, "gpu_bytes", (int64_t)r->gpu_bytes);
		json_put_double(j, "gpu_celsius", r->gpu_celsius);
		json_put_double(j, "gpu_watts", r->gpu_watts);
	}
	json_end_object(j);
}

static void put_survey(struct json *j, const struct attachment *a, const struct survey *s)
{
	const struct survey_rank *slowest = survey_slowest(s);

	json_begin_object(j, NULL);
	json_put_string(j, "schema", "kolm.top/1");
	json_put_string(j, "run", a->folder);
	json_put_int(j, "ranks", grid_size(&s->grid));
	json_put_int(j, "step", s->step);
	json_put_int(j, "steps", s->steps);
	json_put_double(j, "loss", s->loss);
	json_put_double(j, "loss_scale", s->loss_scale);
	json_put_int(j, "skipped_steps", s->skipped);
	json_put_double(j, "step_ms", s->step_ms);
	json_put_double(j, "samples_per_s", s->samples_per_s);
	if (s->tokens)
		json_put_double(j, "tokens_per_s", s->samples_per_s * s->tokens);
	json_put_double(j, "gflops", s->gflops);
	json_put_double(j, "peak_gflops", s->peak_gflops);
	if (s->peak_type >= 0 && s->peak_type < PRECISION_COUNT)
		json_put_string(j, "peak_dtype", precision_names[s->peak_type]);
	json_put_double(j, "left_s", s->left_ms / 1e3);
	json_put_int(j, "slowest", slowest ? slowest->number : -1);
	json_begin_array(j, "per_rank");
	for (int i = 0; i < s->count; i++)
		put_rank(j, &s->ranks[i]);
	json_end_array(j);
	json_end_object(j);
}

/* "runs/x: 8 ranks, dp 2 x pp 2 x mp 2", and what is not here. */
static void format_title(const struct attachment *a, char *buf, size_t size)
{
	int ranks = grid_size(&a->grid), n;
	char folder[PATH_MAX];

	text_printable(folder, sizeof(folder), a->folder);
	n = snprintf(buf, size, "%s: %d rank%s, dp %d x pp %d x mp %d", folder, ranks,
		     ranks == 1 ? "" : "s", a->grid.dp, a->grid.pp, a->grid.mp);

	if (a->locals < ranks && n > 0 && (size_t)n < size)
		snprintf(buf + n, size - (size_t)n, "; %d of them on this machine", a->locals);
}

static void draw(const struct attachment *a, const struct survey *s, struct frame f,
		 struct text *out)
{
	char title[PATH_MAX + 128];

	format_title(a, title, sizeof(title));
	f.title = title;
	f.table = f.pids = true;
	frame_draw(&f, s, out);
}

static enum status print_once(const struct attachment *a, const struct survey *s, bool as_json,
			      struct error *err)
{
	struct frame f = {.columns = 121, .utf8 = false};
	struct screen screen;
	struct json j;
	enum status st = OK;

	json_init(&j, true);
	screen_init(&screen, STDOUT_FILENO);
	if (isatty(STDOUT_FILENO)) {
		screen_size(&screen, &f.columns, &f.lines);
		f.lines = 0;
		f.utf8 = screen.utf8;
	}
	if (as_json)
		put_survey(&j, a, s);
	else
		draw(a, s, f, &j.text);
	if (j.text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory to show the ranks");
	else
		fputs(j.text.data, stdout);
	screen_release(&screen);
	json_release(&j);
	return st;
}

/* The terminal while kolm top watches: keys come at once and are not shown. */
struct keyboard {
	bool raw;
	struct termios before;
	sigset_t mask;
};

static volatile sig_atomic_t caught, resumed;

static void on_signal(int number)
{
	if (number == SIGCONT)
		resumed = 1;
	else if (number != SIGWINCH) /* which only wakes us */
		caught = number;
}

static void keyboard_set(struct keyboard *k)
{
	struct termios raw = k->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	if (k->raw && screen_in_front(STDIN_FILENO))
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static void keyboard_open(struct keyboard *k)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH};
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t block;

	/* They come while we wait, not between looking at caught and waiting. */
	sigemptyset(&block);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		sigaction(numbers[i], &action, NULL);
		sigaddset(&block, numbers[i]);
	}
	sigprocmask(SIG_BLOCK, &block, &k->mask);
	k->raw = !tcgetattr(STDIN_FILENO, &k->before);
	keyboard_set(k);
}

static void keyboard_close(struct keyboard *k)
{
	if (k->raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &k->before);
	sigprocmask(SIG_SETMASK, &k->mask, NULL);
}

/* Wait for a key or the next look. True: the user wants to leave. */
static bool keyboard_wait(struct keyboard *k, struct screen *screen, double ms)
{
	struct timespec time = {.tv_sec = (time_t)(ms / 1e3),
				.tv_nsec = (long)(fmod(ms, 1e3) * 1e6)};
	struct pollfd keys = {.fd = k->raw ? STDIN_FILENO : -1, .events = POLLIN};
	int n = ppoll(&keys, 1, &time, &k->mask);
	char key;

	if (resumed) {
		/* Meanwhile the shell has written below, and set its modes. */
		resumed = 0;
		screen_leave(screen);
		keyboard_set(k);
	}
	if (n <= 0 || read(STDIN_FILENO, &key, 1) != 1)
		return false;
	return key == 'q' || key == 'Q';
}

static enum status watch(struct attachment *a, struct survey *s, double interval_ms,
			 struct error *err)
{
	struct keyboard keys;
	struct screen screen;
	struct text out;
	bool leave = false;
	enum status st = OK;

	text_init(&out);
	screen_init(&screen, STDOUT_FILENO);
	keyboard_open(&keys);
	while (!leave && !caught && attach_alive(a)) {
		struct frame f = {.utf8 = screen.utf8, .colour = screen.colour};

		st = attach_look(a, err);
		if (st != OK)
			break;
		survey_take(s, a->memory, clock_ms());
		screen_size(&screen, &f.columns, &f.lines);
		out.len = 0;
		draw(a, s, f, &out);
		if (!out.failed && screen_is_ours(&screen))
			screen_show(&screen, "", out.data);
		leave = keyboard_wait(&keys, &screen, interval_ms);
	}
	keyboard_close(&keys);
	screen_release(&screen);
	text_release(&out);
	if (st != OK && attach_alive(a))
		return st;
	error_clear(err); /* it could not be read because it has ended */
	st = OK;
	if (caught) {
		const char *name;

		st = error_of_signal(caught, &name);
		return FAIL(err, st, "stopped by %s; the run goes on", name);
	}
	if (!leave) {
		char folder[PATH_MAX];

		text_printable(folder, sizeof(folder), a->folder);
		printf("%s has ended\n", folder);
	}
	return st;
}

enum status cmd_top(int argc, char *const *argv, struct error *err)
{
	struct options o = {.once = false};
	struct option_values values;
	struct attachment a = {.memory = NULL};
	struct survey *s = NULL;
	enum status st;

	options_init(&values, &top_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&top_table, stdout);
		goto out;
	}
	if (values.positionals)
		TRY(attach_open(&a, values.positional[0], err));
	else
		TRY(attach_newest(&a, "runs", err));
	TRY(survey_create(&s, &a.grid, a.locals, clock_ms(), err));
	survey_take(s, a.memory, clock_ms());
	if (o.once || o.as_json || !screen_possible(STDOUT_FILENO))
		TRY(print_once(&a, s, o.as_json, err));
	else
		TRY(watch(&a, s, o.interval * 1e3, err));
out:
	survey_free(s);
	attach_close(&a);
	return st;
}
