/* study.c - kolm study: run experiments that are data, list and show them. */
#include "cmd/cmd.h"
#include "base/machine.h"
#include "base/file.h"
#include "base/log.h"
#include "base/util.h"
#include "config/config.h"
#include "launch/launch.h"
#include "study/perform.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ONLY_NOTHING, ONLY_REAL, ONLY_VIRTUAL };

struct options {
	bool quick, fresh, quiet;
	int reps, steps, only;
	char out[PATH_MAX];
};

#define AT(member) .offset = offsetof(struct options, member)

static const char *const only_names[] = {"all", "real", "virtual", NULL};

/* clang-format off */
static const struct option options[] = {
	{"quick", .group = "Options", .type = OPTION_FLAG, AT(quick), .initial = "false",
	 .help = "the short version: fewer and smaller runs"},
	{"out", .group = "Options", .type = OPTION_STRING, AT(out), .capacity = PATH_MAX,
	 .reserved = true, .initial = "studies-out", .meta = "DIR",
	 .help = "results go to a folder of the study's name in here"},
	{"reps", .group = "Options", .type = OPTION_INT, AT(reps), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = STUDY_REPS_MAX, .help = "repetitions of every case; auto: as the study says"},
	{"steps", .group = "Options", .type = OPTION_INT, AT(steps), .initial = "auto", .zero = "auto",
	 .meta = "N", .min = 1, .max = 1 << 20, .help = "steps of every run, with a warm-up that fits; auto: as the study says"},
	{"only", .group = "Options", .type = OPTION_CHOICE, AT(only), .choices = only_names, .initial = "all",
	 .help = "real: no virtual devices; virtual: nothing else"},
	{"fresh", .group = "Options", .type = OPTION_FLAG, AT(fresh), .initial = "false",
	 .help = "make finished runs again instead of keeping them"},
	{"quiet", .group = "Options", .type = OPTION_FLAG, AT(quiet), .initial = "false",
	 .help = "no progress"},
};
/* clang-format on */

static const char *const examples[] = {
	"kolm study list",
	"kolm study strong-scaling --quick",
	"kolm study delay --only virtual --reps 5",
	"kolm study all --quick                      # every built-in study",
	"kolm study show imbalance > mine.json       # copy one, change it,",
	"kolm study mine.json                        # and run it",
	NULL,
};

static const char *builtin_name(size_t i)
{
	return i < study_builtin_count ? study_builtins[i].name : NULL;
}

const struct option_table studies_table = {
	.command = "study",
	.usage = "kolm study NAME|FILE.json|all|list|show NAME [options]",
	.summary =
		"Run an experiment: every combination of its axes, several times and in turn; then write "
		"tables, charts and answers to DIR/NAME. A study that is stopped goes on where it was when "
		"the same command is given again. A case that fails is reported in its row, and the others go "
		"on; if all of them fail, so does the study (exit code 1).",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 2,
	.arguments = "NAME|FILE.json|all|list|show NAME",
	.name = builtin_name,
};

const struct study_command *study_commands(void)
{
	static const struct study_command commands[] = {
		{"train", {&config_table}},
		{"max-batch", {&max_batch_table, &config_table}},
		{"schedule", {&schedule_table}},
		{NULL, {NULL}},
	};

	return commands;
}

static enum status unknown_study(const char *name, struct error *err)
{
	const char *names[64], *nearest;
	size_t n = 0;

	for (; n < study_builtin_count && n < ARRAY_SIZE(names); n++)
		names[n] = study_builtins[n].name;
	nearest = name_nearest(name, names, n);
	FAIL(err, ERR_USAGE, "there is no study '%.64s'", name);
	if (nearest)
		return HINT(err, "did you mean 'kolm study %s'?", nearest);
	return HINT(err, "'kolm study list' lists them; a file's name ends in .json");
}

static enum status list(struct error *err)
{
	enum status st = OK;

	for (size_t i = 0; i < study_builtin_count; i++) {
		const struct builtin *b = &study_builtins[i];
		struct study s;

		TRY(study_load(&s, study_commands(), (const char *)b->bytes, b->size, b->name,
			       err));
		printf("%-16s %s\n", s.name, s.title);
		study_unload(&s);
	}
out:
	return st;
}

static enum status show(const char *name, struct error *err)
{
	const struct builtin *b = study_find_builtin(name);

	if (!b)
		return unknown_study(name, err);
	fwrite(b->bytes, 1, b->size, stdout);
	return OK;
}

/* A study that has something to show is done, whatever of it failed; one that has nothing
   is not: *nothing. */
static enum status perform(const char *bytes, size_t size, const char *where,
			   const struct study_options *o, bool *nothing, struct error *err)
{
	struct study_outcome outcome = {.cases = 0};
	struct study s;
	enum status st;

	*nothing = false;
	TRY(study_load(&s, study_commands(), bytes, size, where, err));
	st = study_perform(&s, o, &outcome, err);
	*nothing = outcome.failed && outcome.failed == outcome.cases;
	if (*nothing)
		st = FAIL(err, ERR_FAILED, "%s: all %d cases failed; the first, %.400s", s.name,
			  outcome.cases, outcome.first);
	else if (outcome.failed)
		log_warn("%s: %d of %d cases failed; the first, %s", s.name, outcome.failed,
			 outcome.cases, outcome.first);
	study_unload(&s);
out:
	return st;
}

static enum status run_builtin(const struct builtin *b, const struct study_options *o,
			       bool *nothing, struct error *err)
{
	return perform((const char *)b->bytes, b->size, b->name, o, nothing, err);
}

static enum status run_file(const char *path, const struct study_options *o, struct error *err)
{
	char *bytes = NULL;
	bool nothing;
	size_t size;
	enum status st;

	TRY(file_read(path, STUDY_FILE_MAX, &bytes, &size, err));
	TRY(perform(bytes, size, path, o, &nothing, err));
out:
	free(bytes);
	return st;
}

static bool is_file(const char *name)
{
	size_t n = strlen(name);

	return strchr(name, '/') || (n > 5 && !strcmp(name + n - 5, ".json"));
}

/* One after the other; one that has nothing to show does not keep the others from it. */
static enum status run_all(const struct study_options *o, struct error *err)
{
	int failed = 0;

	for (size_t i = 0; i < study_builtin_count; i++) {
		bool nothing;
		enum status st = run_builtin(&study_builtins[i], o, &nothing, err);

		if (st != OK && !nothing)
			return st;
		if (nothing)
			error_print(err);
		failed += nothing;
	}
	if (failed)
		return FAIL(err, ERR_FAILED, "%d of %zu studies have nothing to show", failed,
			    study_builtin_count);
	return OK;
}

static enum status run(const char *name, const struct study_options *o, struct error *err)
{
	const struct builtin *b = study_find_builtin(name);
	bool nothing;

	if (is_file(name))
		return run_file(name, o, err);
	if (!strcmp(name, "all"))
		return run_all(o, err);
	return b ? run_builtin(b, o, &nothing, err) : unknown_study(name, err);
}

static enum status check_launcher(struct error *err)
{
	struct launcher by;

	if (!launcher_detect(&by) || by.ranks < 2)
		return OK;
	FAIL(err, ERR_USAGE, "kolm study was started by %s", by.name);
	return HINT(err, "start it on its own: it starts its runs itself");
}

enum status cmd_study(int argc, char *const *argv, struct error *err)
{
	struct options o = {0};
	struct study_options run_options;
	struct option_values values;
	const char *name;
	enum status st;

	options_init(&values, &studies_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&studies_table, stdout);
		goto out;
	}
	if (!values.positionals) {
		FAIL(err, ERR_USAGE, "which study?");
		return HINT(err, "'kolm study list' lists them");
	}
	name = values.positional[0];
	if (!strcmp(name, "list"))
		return list(err);
	if (!strcmp(name, "show"))
		return values.positionals > 1 ? show(values.positional[1], err)
					      : FAIL(err, ERR_USAGE, "show which study?");
	if (values.positionals > 1)
		return FAIL(err, ERR_USAGE, "one study at a time, or all");
	TRY(check_launcher(err));
	log_set_level(o.quiet ? LOG_QUIET : LOG_NORMAL);
	run_options = (struct study_options){.plan = {.quick = o.quick,
						      .reps = o.reps,
						      .steps = o.steps,
						      .cores = machine_cores(),
						      .without_real = o.only == ONLY_VIRTUAL,
						      .without_virtual = o.only == ONLY_REAL},
					     .out = o.out,
					     .fresh = o.fresh};
	st = run(name, &run_options, err);
out:
	return st;
}
