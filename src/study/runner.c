/* runner.c - see runner.h */
#include "study/runner.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "trace/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FULL_BYTES = 64 << 10 };

enum status runner_folder(const char *folder, const struct run_case *c, int rep,
			  char path[PATH_MAX], struct error *err)
{
	char name[sizeof(c->name) + 32];

	snprintf(name, sizeof(name), "runs/%s-%d", c->name, rep + 1);
	return file_path(path, folder, name, err);
}

/* The command of a run as a line; up to its folder, it is what makes a run the same. */
static enum status command_line(const struct runner *r, const struct run_case *c, int rep,
				bool without_folder, struct text *out, struct error *err)
{
	char folder[PATH_MAX];
	struct case_args args = {.argc = 0};
	enum status st;

	TRY(runner_folder(r->folder, c, rep, folder, err));
	TRY(case_args_init(&args, c, folder, err));
	case_args_format(&args, without_folder, out);
	case_args_release(&args);
out:
	return st;
}

enum status runner_write_commands(const struct runner *r, struct error *err)
{
	struct text lines;
	char path[PATH_MAX];
	enum status st;

	text_init(&lines);
	for (int rep = 0; rep < r->plan->reps; rep++)
		for (int i = 0; i < r->plan->count; i++) {
			if (rep >= plan_runs_of(r->plan, &r->plan->cases[i]))
				continue;
			TRY(command_line(r, &r->plan->cases[i], rep, false, &lines, err));
			text_add(&lines, "\n");
		}
	TRY(file_path(path, r->folder, "commands.txt", err));
	if (lines.failed)
		st = FAIL(err, ERR_MEMORY, "no memory for the commands");
	else
		st = file_write_whole(path, lines.data, lines.len, err);
out:
	text_release(&lines);
	return st;
}

/* Has this very run been finished before? Then here is what it left. */
static json_t *finished(const struct runner *r, const struct run_case *c, int rep)
{
	char folder[PATH_MAX], path[PATH_MAX], *recorded = NULL;
	struct text wanted;
	json_t *document = NULL;
	size_t size;

	text_init(&wanted);
	if (!r->fresh && runner_folder(r->folder, c, rep, folder, NULL) == OK &&
	    file_path(path, folder, "command.txt", NULL) == OK &&
	    file_read(path, STUDY_FILE_MAX, &recorded, &size, NULL) == OK &&
	    command_line(r, c, rep, true, &wanted, NULL) == OK && !wanted.failed &&
	    !strncmp(recorded, wanted.data, wanted.len) &&
	    (!strncmp(recorded + wanted.len, " --run-dir ", 11) ||
	     recorded[wanted.len] == '\n'))
		document = evidence_read(folder, c->command);
	/* It may have been killed after its last file. */
	if (document && file_check_below(folder, r->folder, NULL) == OK)
		run_tidy(folder);
	text_release(&wanted);
	free(recorded);
	return document;
}

/* Of a command that leaves no files: what it printed, and the command. */
static enum status keep_output(const struct runner *r, const struct run_case *c, int rep,
			       const char *folder, const struct text *output, struct error *err)
{
	struct text line;
	char path[PATH_MAX];
	enum status st;

	text_init(&line);
	TRY(file_make_folder(folder, err));
	TRY(command_line(r, c, rep, true, &line, err));
	text_add(&line, "\n");
	TRY(file_path(path, folder, "command.txt", err));
	TRY(file_write_whole(path, line.data, line.len, err));
	TRY(file_path(path, folder, "output.json", err));
	TRY(file_write_whole(path, output->data, output->len, err));
out:
	text_release(&line);
	return st;
}

static void note_failure(struct runner *r, int index, const char *reason)
{
	free(r->evidence->failed[index]);
	r->evidence->failed[index] = strdup(reason);
}

static enum status check_disk(const struct runner *r, const char *reason, struct error *err)
{
	struct statvfs disk;

	if (!strstr(reason, "No space left") &&
	    (statvfs(r->folder, &disk) || disk.f_bavail * disk.f_frsize > FULL_BYTES))
		return OK;
	FAIL(err, ERR_FAILED, "the disk of %s is full: %d of %d runs are kept", r->folder,
	     evidence_runs(r->evidence, r->plan), plan_runs(r->plan));
	return HINT(err, "free some space and give the same command again");
}

static enum status run_one(struct runner *r, int index, int rep, double *ms, struct error *err)
{
	const struct run_case *c = &r->plan->cases[index];
	json_t *document;
	struct case_args args = {.argc = 0};
	struct child_result result = {.ok = false};
	char folder[PATH_MAX];
	enum status st;

	text_init(&result.output);
	TRY(runner_folder(r->folder, c, rep, folder, err));
	TRY(file_check_below(folder, r->folder, err));
	TRY(case_args_init(&args, c, folder, err));
	TRY(child_run((const char *const *)args.argv, r->signals, &result, err));
	*ms = result.ms;
	if (r->signals->stopped)
		goto out;
	if (result.ok && strcmp(c->command, "train"))
		TRY(keep_output(r, c, rep, folder, &result.output, err));
	document = result.ok ? evidence_read(folder, c->command) : NULL;
	evidence_put(r->evidence, r->plan, index, rep, document);
	if (document)
		goto out;
	note_failure(r, index, result.ok ? "it left no summary.json" : result.reason);
	TRY(check_disk(r, r->evidence->failed[index] ? r->evidence->failed[index] : "", err));
out:
	case_args_release(&args);
	child_result_release(&result);
	return st;
}

/* What is known about the time that runs take. */
struct timing {
	double *ms; /* (cases) of the last run of each, NAN: none yet */
	double total;
	int count;
	int shown; /* runs so far, those that were there already included */
};

static bool has_failed(const struct runner *r, int index)
{
	return r->evidence->failed[index] != NULL;
}

/* Time that the runs take which are left after this one. */
static double time_left_s(const struct runner *r, const struct timing *p, int rep, int index)
{
	double left = 0;

	for (int k = rep; k < r->plan->reps && p->count; k++)
		for (int i = k == rep ? index + 1 : 0; i < r->plan->count; i++)
			if (!r->evidence->documents[i * r->plan->reps + k] && !has_failed(r, i))
				left += isnan(p->ms[i]) ? p->total / p->count : p->ms[i];
	return left / 1e3;
}

static void show(const struct runner *r, struct timing *p, int rep, int index)
{
	const struct run_case *c = &r->plan->cases[index];
	const json_t *document = r->evidence->documents[index * r->plan->reps + rep];
	const json_t *step = json_object_get(json_object_get(document, "step_ms"), "median");
	char what[480], left[48];

	if (!document)
		snprintf(what, sizeof(what), "failed: %s", r->evidence->failed[index]);
	else if (step)
		snprintf(what, sizeof(what), "%.3f ms a step", json_number_value(step));
	else
		snprintf(what, sizeof(what), "done");
	snprintf(left, sizeof(left), "%.0f s left", time_left_s(r, p, rep, index));
	log_info("%s %d/%d: %s, repetition %d: %s; %s", r->study->name, ++p->shown,
		 plan_runs(r->plan), c->name, rep + 1, what, left);
}

static enum status run_all(struct runner *r, struct timing *p, struct error *err)
{
	enum status st = OK;

	for (int rep = 0; rep < r->plan->reps; rep++)
		for (int i = 0; i < r->plan->count && !r->signals->stopped; i++) {
			/* What fails once fails again, in all likelihood. */
			if (r->evidence->documents[i * r->plan->reps + rep] || has_failed(r, i))
				continue;
			TRY(run_one(r, i, rep, &p->ms[i], err));
			p->total += p->ms[i];
			p->count++;
			if (!r->signals->stopped)
				show(r, p, rep, i);
		}
out:
	return st;
}

enum status runner_run(struct runner *r, struct error *err)
{
	struct timing p = {.ms = calloc((size_t)r->plan->count, sizeof(*p.ms))};
	enum status st;

	if (!p.ms)
		return FAIL(err, ERR_MEMORY, "no memory for %d cases", r->plan->count);
	for (int i = 0; i < r->plan->count; i++) {
		p.ms[i] = NAN;
		for (int rep = 0; rep < plan_runs_of(r->plan, &r->plan->cases[i]); rep++)
			evidence_put(r->evidence, r->plan, i, rep,
				     finished(r, &r->plan->cases[i], rep));
	}
	p.shown = evidence_runs(r->evidence, r->plan);
	log_info("%s: %d cases, %d runs; they go to %s/runs", r->study->name, r->plan->count,
		 plan_runs(r->plan), r->folder);
	if (p.shown)
		log_info("%s: %d of %d runs are there already and are kept", r->study->name,
			 p.shown, plan_runs(r->plan));
	TRY(run_all(r, &p, err));
out:
	free(p.ms);
	return st;
}
