/* impl.h - what supervisor and rank share. Only for files below launch/. */
#ifndef KOLM_LAUNCH_IMPL_H
#define KOLM_LAUNCH_IMPL_H

#include "launch/board.h"
#include "launch/launch.h"

#include <signal.h>
#include <sys/types.h>

/* What the supervisor hands to a rank; all of it is borrowed. */
struct rank_start {
	const struct launch *launch;
	int number;
	pid_t supervisor;
	struct shm_memory *memory;
	const sigset_t *signals; /* the mask to run with */
	rank_fn *fn;
	void *arg;
};

/* The life of a rank that the supervisor has forked. */
_Noreturn void rank_run(const struct rank_start *start);

/* What a rank of either kind sets up: its cores, its environment, its backtrace. */
void rank_prepare(struct rank *r, int local, bool pin);

/* Before the board's memory goes away: signals that come later don't touch it. */
void rank_forget_board(void);

/* Be a rank of the job that a launcher has started. */
enum status job_run(const struct launch *l, const struct launcher *by, rank_fn *fn, void *arg,
		    struct error *err);

#endif
