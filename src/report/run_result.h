/* run_result.h - the folder of a training run, and its part of a report. */
#ifndef KOLM_REPORT_RUN_RESULT_H
#define KOLM_REPORT_RUN_RESULT_H

#include "base/error.h"
#include "grid/grid.h"
#include "report/document.h"
#include "report/figures.h"

#include <limits.h>

struct run_step {
	double step, loss, held_out_loss, lr, loss_scale, ms; /* NAN: not known */
};

struct run_result {
	char folder[PATH_MAX], where[PATH_MAX]; /* its summary.json */
	struct json_t *root;
	char *command; /* of command.txt, or NULL */
	struct run_step *steps;
	int step_count;
	struct grid grid;
	struct section section; /* when it is in a document */
};

enum status run_result_read(struct run_result *r, const char *folder, struct error *err);
/* The text of summary.json and metrics.jsonl. */
enum status run_result_parse(struct run_result *r, const char *summary, size_t size,
			     const char *metrics, const char *where, struct error *err);
void run_result_release(struct run_result *r);

/* Its heading and everything below it. */
void run_result_add(struct run_result *r, struct document *d, timeline_reader reader);

/* run_curves.c, a part of it: the losses and the learning rate of its steps, and their times.
 */
void run_result_add_curves(const struct run_result *r, struct document *d);

/* A table with a row per run. */
struct table *run_result_compare(const struct run_result *runs, int n, struct document *d);

/* The last part of a folder's path. */
const char *run_result_name(const struct run_result *r);

#endif
