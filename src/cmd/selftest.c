/*
 * selftest.c - kolm selftest: does a device compute what the CPU's reference does? What
 * somebody with a GPU runs first.
 */
#include "base/file.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/util.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "cmd/gpus.h"
#include "cmd/selftest_report.h"
#include "device/gpus.h"
#include "launch/launch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

struct own {
	char device[128], report[PATH_MAX];
	int rounds;
	int64_t seed;
	bool kernels_only;
};

/* clang-format off */
static const struct option options[] = {
	{"device", .group = "Options", .type = OPTION_STRING, .offset = offsetof(struct own, device), .capacity = 128,
	 .initial = "auto", .meta = "D", .help = "as kolm train has it; auto: a GPU if there is one"},
	{"rounds", .group = "Options", .type = OPTION_INT, .offset = offsetof(struct own, rounds), .initial = "20",
	 .meta = "N", .min = 1, .max = 100000, .help = "random shapes for each kernel"},
	{"seed", .group = "Options", .type = OPTION_INT64, .offset = offsetof(struct own, seed), .initial = "1",
	 .meta = "N", .min = 0, .max = 1e15, .help = "of the shapes and values"},
	{"kernels-only", .group = "Options", .type = OPTION_FLAG, .offset = offsetof(struct own, kernels_only),
	 .initial = "false", .help = "no collectives, no training"},
	{"report", .group = "Options", .type = OPTION_STRING, .offset = offsetof(struct own, report), .capacity = PATH_MAX,
	 .initial = "", .meta = "FILE", .help = "write the table and what the machine is to a file, for a bug report"},
};

static const char *const examples[] = {
	"kolm selftest --device gpu",
	"kolm selftest --device opencl:0 --report selftest.txt",
	NULL,
};
/* clang-format on */

const struct option_table selftest_table = {
	.command = "selftest",
	.usage = "kolm selftest [options]",
	.summary =
		"Does a device compute what it should? Every kernel on random shapes against the "
		"CPU's plain reference, a collective of every kind, and trainings of 20 steps "
		"against the CPU. Exit code 1 if anything differs.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
};

void selftest_add(struct selftest_report *r, bool ok, const char *name, const char *fmt, ...)
{
	struct selftest_line *line = &r->lines[r->count];
	va_list args;

	if (r->count == SELFTEST_LINES)
		return;
	line->ok = ok;
	snprintf(line->name, sizeof(line->name), "%s", name);
	va_start(args, fmt);
	vsnprintf(line->detail, sizeof(line->detail), fmt, args);
	va_end(args);
	r->count++;
}

/* ---- what is said ---- */

static int failures_of(const struct selftest_report *r)
{
	int n = 0;

	for (int i = 0; i < r->count; i++)
		n += !r->lines[i].ok;
	return n;
}

static void add_table(struct text *t, const struct selftest_report *r, const struct own *own)
{
	int failed = failures_of(r);

	text_addf(t, "%s, seed %lld\n\n", *r->device ? r->device : own->device,
		  (long long)own->seed);
	for (int i = 0; i < r->count; i++) {
		const struct selftest_line *line = &r->lines[i];

		text_addf(t, "%-7s %-38s ", line->ok ? "ok" : "FAILED", line->name);
		text_add_printable(t, line->detail);
		text_add(t, "\n");
	}
	text_addf(t, "\n%d ok, %d failed\n", r->count - failed, failed);
}

/* What a reader elsewhere needs to know. */
static void add_machine(struct text *t, const struct gpus *gpus)
{
	struct utsname u;

	text_addf(t, "\nkolm %s", KOLM_VERSION);
	if (!uname(&u))
		text_addf(t, " on %s %s, %s", u.sysname, u.release, u.machine);
	text_add(t, "\n");
	for (int i = 0; i < gpus->count; i++) {
		const struct gpu_info *g = &gpus->all[i];

		text_addf(t,
			  "%s:%d  %s; %s; %llu bytes of memory, %llu at once, %llu of local "
			  "memory; groups of %d; %d units%s%s\n",
			  g->driver, g->number, g->name, g->version,
			  (unsigned long long)g->memory, (unsigned long long)g->largest,
			  (unsigned long long)g->local, g->group, g->units,
			  g->is_cpu ? "; a CPU" : "",
			  g->lacks_doubles ? "; no double precision" : "");
	}
	if (!gpus->count)
		text_addf(t, "no GPU: %s\n", gpus->why);
}

static enum status finish(const struct selftest_report *r, const struct own *own,
			  const struct gpus *gpus, struct error *err)
{
	enum status st = OK;
	struct text t;

	text_init(&t);
	add_table(&t, r, own);
	fputs(t.data, stdout);
	add_machine(&t, gpus);
	if (*own->report)
		TRY(file_write_whole(own->report, t.data, t.len, err));
	if (failures_of(r)) {
		st = FAIL(err, ERR_FAILED, "%d of %d things differ on %s", failures_of(r),
			  r->count, own->device);
		if (!*own->report)
			HINT(err, "write a report with --report FILE");
	}
out:
	text_release(&t);
	return st;
}

static enum status check_device(struct own *own, struct gpus *gpus, struct error *err)
{
	enum status st;

	gpus_ask(gpus);
	TRY(gpus_resolve(own->device, sizeof(own->device), true, err));
	if (!gpus_named(own->device) && strcmp(own->device, "cpu") &&
	    strcmp(own->device, "fenced")) {
		FAIL(err, ERR_USAGE, "'%s' computes nothing to be tested", own->device);
		st = HINT(err,
			  "use gpu, cuda:0, opencl:0 or cpu; kolm devices lists what there is");
	}
out:
	return st;
}

enum status cmd_selftest(int argc, char *const *argv, struct error *err)
{
	struct selftest_report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct own own = {0};
	struct option_values values;
	struct selftest_plan plan = {.device = own.device, .report = report};
	struct gpus gpus;
	sigset_t signals;
	enum status st;

	if (report == MAP_FAILED)
		return FAIL(err, ERR_MEMORY, "no memory for the results");
	signals_hold(&signals);
	options_init(&values, &selftest_table, &own);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&selftest_table, stdout);
		goto out;
	}
	TRY(check_device(&own, &gpus, err));
	plan.seed = (uint64_t)own.seed;
	plan.rounds = own.rounds;
	selftest_do_kernels(&plan);
	if (!own.kernels_only) {
		selftest_do_collectives(&plan);
		selftest_do_runs(&plan);
	}
	TRY(finish(report, &own, &gpus, err));
out:
	signals_let_go(&signals);
	munmap(report, sizeof(*report));
	return st;
}
