/* main.c - the table of commands; the only place that prints errors and exits. */
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "base/util.h"
#include "base/version.h"
#include "cmd/cmd.h"
#include "config/config.h"
#include "launch/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct command {
	const char *name;
	enum status (*run)(int argc, char *const *argv, struct error *err);
	const char *help;
	bool parallel; /* every rank that mpirun has started runs it, not only the first */
};

static const struct command commands[] = {
	{"train", cmd_train, "train a model and write what was measured", true},
	{"top", cmd_top, "watch the ranks of a run that is under way", false},
	{"verify", cmd_verify, "is a grid's run the same as one rank's?", false},
	{"max-batch", cmd_max_batch, "the largest batch that fits a memory limit", false},
	{"bench", cmd_bench, "this machine's peaks, and kernels and communication against them",
	 true},
	{"grid", cmd_grid, "which rank has which part of the model, and the groups", false},
	{"schedule", cmd_schedule, "draw a pipeline schedule and predict its bubble", false},
	{"plan", cmd_plan, "how long a step would take on machines you do not have", false},
	{"trace", cmd_trace, "what the ranks did in a step of a run, against the prediction",
	 false},
	{"study", cmd_study, "run an experiment: tables, charts and answers from many runs",
	 false},
	{"report", cmd_report, "studies and runs as a PDF file and an HTML page", false},
	{"predict", cmd_predict, "what a trained model says of a file", false},
	{"eval", cmd_eval, "how well a trained model does on a file", false},
	{"generate", cmd_generate, "have a trained model continue a text", true},
	{"tokenizer", cmd_tokenizer, "learn tokens from text; text to tokens and back", false},
	{"export", cmd_export, "a trained model for Hugging Face's transformers", false},
	{"import", cmd_import, "one of transformers' models as a checkpoint", false},
	{"info", cmd_info, "what is in a checkpoint; are two the same?", false},
	{"doctor", cmd_doctor, "what this machine offers, what would go wrong, and the remedy",
	 false},
	{"devices", cmd_devices, "what there is to compute on", false},
	{"selftest", cmd_selftest, "does a device compute what the CPU does?", false},
};

/* clang-format off */
static const struct option_table *const tables[] = {
	&config_table,
	&verify_table,
	&max_batch_table,
	&grid_table,
	&schedule_table,
	&plan_table,
	&top_table,
	&trace_table,
	&bench_table,
	&studies_table,
	&report_table,
	&predict_table,
	&eval_table,
	&generate_table,
	&tokenizer_table,
	&export_table,
	&import_table,
	&info_table,
	&doctor_table,
	&devices_table,
	&selftest_table,
};
/* clang-format on */

static void print_help(FILE *out)
{
	fprintf(out,
		"kolm %s - a parallel training engine\n\nusage: kolm COMMAND [options]\n\n",
		KOLM_VERSION);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].help);
	fprintf(out, "  %-11s %s\n  %-11s %s\n", "man", "print the manual page (for man -l -)",
		"completion", "print the completion script for bash");
	fprintf(out, "\n'kolm COMMAND --help' lists a command's options.\n"
		     "\nExamples:\n"
		     "  kolm train --dim 1024 --depth 8 --batch 64\n"
		     "  kolm grid --dp 2 --pp 2 --mp 2\n"
		     "  kolm schedule --schedule 1f1b --pp 4 --micro-batches 8\n"
		     "  kolm study strong-scaling --quick\n"
		     "  kolm bench gemm\n");
}

static enum status unknown_command(const char *name, struct error *err)
{
	const char *names[ARRAY_SIZE(commands)];
	const char *nearest;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
	nearest = name_nearest(name, names, ARRAY_SIZE(names));
	FAIL(err, ERR_USAGE, "unknown command '%.64s'", name);
	if (nearest)
		return HINT(err, "did you mean 'kolm %s'?", nearest);
	return HINT(err, "'kolm --help' lists the commands");
}

static bool is_parallel(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].parallel;
	return false;
}

static enum status dispatch(int argc, char **argv, bool first, struct error *err)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (!first && !is_parallel(name))
		return OK; /* the first rank does it for all */

	if (!strcmp(name, "--version") || !strcmp(name, "version")) {
		printf("kolm %s\n", KOLM_VERSION);
		return OK;
	}
	for (size_t i = 0; i < ARRAY_SIZE(tables) && argc == 3 && !strcmp(name, "help"); i++)
		if (!strcmp(tables[i]->command, argv[2])) {
			options_print_help(tables[i], stdout);
			return OK;
		}
	if (!strcmp(name, "help") && argc > 2)
		return unknown_command(argv[2], err);
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		print_help(stdout);
		return OK;
	}
	if (!strcmp(name, "man")) {
		options_print_man(tables, ARRAY_SIZE(tables), stdout);
		return OK;
	}
	if (!strcmp(name, "completion")) {
		options_print_completion(tables, ARRAY_SIZE(tables), stdout);
		return OK;
	}
	if (!*name) {
		print_help(stderr);
		return FAIL(err, ERR_USAGE, "no command given");
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].run(argc - 2, argv + 2, err);
	return unknown_command(name, err);
}

/* A file that we open must never get the number of a closed standard stream. What is written
   to one fails as it did: results that go nowhere are no success. */
static void fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct error err = {.code = OK};
	struct launcher by = {.rank = 0};
	enum status st;

	launcher_detect(&by);
	fill_standard_streams();
	/* A reader that has gone away or a file that is too large is an error that we
	   report after cleaning up, not a sudden death. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	st = dispatch(argc, argv, by.rank == 0, &err);

	if (st == OK)
		st = log_flush_results(&err);
	/* A mistake in the command is the same for all ranks of a job: said once. The others
	   wait for that: mpirun ends a job with the first rank that fails. */
	if (st != OK && by.rank == 0)
		error_print(&err);
	else if (st != OK && !err.reported)
		sleep(1);
	return st != OK && err.exit_code ? err.exit_code : error_exit_code(st);
}
