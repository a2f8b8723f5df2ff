/* runner.h - the runs of a plan, in turn, so that all cases see the same ups and downs. */
#ifndef KOLM_STUDY_RUNNER_H
#define KOLM_STUDY_RUNNER_H

#include "study/child.h"
#include "study/results.h"

struct runner {
	const struct study *study;
	const struct plan *plan;
	const char *folder; /* the study's */
	bool fresh;
	struct child_signals *signals;
	struct evidence *evidence; /* filled */
};

/* Repetition 1 of every case, then repetition 2, and so on; those that have been finished
   by the same command are kept. A failing case is noted, and the others go on. */
enum status runner_run(struct runner *r, struct error *err);

/* The folder of a run, below the study's: runs/CASE-REP. */
enum status runner_folder(const char *folder, const struct run_case *c, int rep,
			  char path[4096], struct error *err);

/* Every command of the plan, in order, a line each. */
enum status runner_write_commands(const struct runner *r, struct error *err);

#endif
