/*
 * child.h - this same program as a child: one command, its output, and why it failed.
 *
 * Between child_signals_take and child_signals_release, Ctrl-C, SIGTERM and SIGHUP come
 * to us alone; they are handed to the child, which ends by itself.
 */
#ifndef KOLM_STUDY_CHILD_H
#define KOLM_STUDY_CHILD_H

#include "base/error.h"
#include "base/text.h"

#include <signal.h>

struct child_signals {
	sigset_t taken, before;
	struct sigaction actions[4];
	int stopped; /* the signal that asked us to stop, or 0 */
};

void child_signals_take(struct child_signals *s);
void child_signals_release(struct child_signals *s);

struct child_result {
	bool ok;
	char reason[400]; /* if not ok: what it said last */
	struct text output;
	double ms;
};

/*
 * Run "kolm ARGV..." (NULL at the end) and wait for it. That it failed is a result, not an
 * error; s->stopped tells whether it was us who ended it.
 */
enum status child_run(const char *const *argv, struct child_signals *s, struct child_result *r,
		      struct error *err);
void child_result_release(struct child_result *r);

#endif
