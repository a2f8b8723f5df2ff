/* run_result.c - see run_result.h */
#include "report/run_result.h"
#include "base/file.h"
#include "base/util.h"
#include "report/fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUMMARY_MAX = 64 << 20, METRICS_MAX = 512 << 20, COMMAND_MAX = 1 << 20 };

static void check(struct run_result *r, struct fields *f)
{
	const char *schema = field_string(f, r->root, "schema", NULL);
	const json_t *grid = field_object(f, r->root, "grid");
	double dp = field_number(f, grid, "dp", 1), pp = field_number(f, grid, "pp", 1),
	       mp = field_number(f, grid, "mp", 1);

	if (f->status == OK && strcmp(schema, "kolm.summary/1"))
		fields_fail(f, "schema", "is '%.40s', not kolm.summary/1", schema);
	if (!(dp >= 1 && pp >= 1 && mp >= 1 && dp * pp * mp <= RANKS_MAX)) {
		fields_fail(f, "grid", "is no grid of 1 to %d ranks", RANKS_MAX);
		return;
	}
	r->grid = (struct grid){(int)dp, (int)pp, (int)mp};
}

static double number_or_nan(const json_t *o, const char *name)
{
	const json_t *value = json_object_get(o, name);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* A run that was killed may have left half a line: what can't be read is left out. */
static enum status read_steps(struct run_result *r, const char *text, struct error *err)
{
	size_t lines = 1;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	r->steps = calloc(lines, sizeof(*r->steps));
	if (!r->steps)
		return FAIL(err, ERR_MEMORY, "no memory for the steps of %s", r->where);
	while (*text) {
		const char *end = strchrnul(text, '\n');
		json_t *line = json_loadb(text, (size_t)(end - text), 0, NULL);

		if (json_is_object(line) && json_is_number(json_object_get(line, "step")))
			r->steps[r->step_count++] = (struct run_step){
				.step = number_or_nan(line, "step"),
				.loss = number_or_nan(line, "loss"),
				.held_out_loss = number_or_nan(
					json_object_get(line, "held_out"), "loss"),
				.lr = number_or_nan(line, "lr"),
				.loss_scale = number_or_nan(line, "loss_scale"),
				.ms = number_or_nan(line, "step_ms"),
			};
		json_decref(line);
		text = *end ? end + 1 : end;
	}
	return OK;
}

enum status run_result_parse(struct run_result *r, const char *summary, size_t size,
			     const char *metrics, const char *where, struct error *err)
{
	struct fields f;

	*r = (struct run_result){.root = NULL};
	snprintf(r->where, sizeof(r->where), "%s", where);
	f = (struct fields){.where = r->where, .err = err};
	r->root = fields_parse(&f, summary, size);
	if (r->root)
		check(r, &f);
	if (f.status == OK)
		f.status = read_steps(r, metrics, err);
	if (f.status != OK)
		run_result_release(r);
	return f.status;
}

enum status run_result_read(struct run_result *r, const char *folder, struct error *err)
{
	enum status st;
	char path[PATH_MAX], other[PATH_MAX], *summary = NULL, *metrics = NULL;
	size_t size, ignored;

	*r = (struct run_result){.root = NULL};
	TRY(file_path(path, folder, "summary.json", err));
	TRY(file_read(path, SUMMARY_MAX, &summary, &size, err));
	TRY(file_path(other, folder, "metrics.jsonl", err));
	/* The summary alone says enough for most of it. */
	file_read(other, METRICS_MAX, &metrics, &ignored, NULL);
	TRY(run_result_parse(r, summary, size, metrics ? metrics : "", path, err));
	snprintf(r->folder, sizeof(r->folder), "%s", folder);
	TRY(file_path(other, folder, "command.txt", err));
	file_read(other, COMMAND_MAX, &r->command, &ignored, NULL);
out:
	free(summary);
	free(metrics);
	return st;
}

void run_result_release(struct run_result *r)
{
	json_decref(r->root);
	free(r->command);
	free(r->steps);
	*r = (struct run_result){.root = NULL};
}

const char *run_result_name(const struct run_result *r)
{
	const char *slash = strrchr(r->folder, '/');

	return slash && slash[1] ? slash + 1 : *r->folder ? r->folder : "run";
}
