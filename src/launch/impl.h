/* impl.h - what supervisor and rank share. Only for files below launch/. */
#ifndef KOLM_LAUNCH_IMPL_H
#define KOLM_LAUNCH_IMPL_H

#include "launch/board.h"
#include "launch/launch.h"

#include <signal.h>
#include <sys/types.h>

/* What the supervisor hands to a rank; all of it is borrowed. */
struct rank_start {
	int number, ranks;
	pid_t supervisor;
	struct shm_memory *memory;
	struct board_rank *board;
	const sigset_t *signals; /* the mask to run with */
	rank_fn *fn;
	void *arg;
};

/* The life of a rank, in its own process. */
_Noreturn void rank_run(const struct rank_start *start);

#endif
