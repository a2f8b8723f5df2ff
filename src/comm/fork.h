/*
 * fork.h - a world of processes that this one forks, for a program that wants ranks on its
 * own machine and nothing else: no supervisor, no signal handlers, no output, and nothing of
 * the environment. launch/ is for commands.
 */
#ifndef KOLM_COMM_FORK_H
#define KOLM_COMM_FORK_H

#include "comm/comm.h"

/* What each rank runs. The world is freed when it returns; what it allocates and changes
   elsewhere is its process's own. */
typedef enum status comm_fork_fn(struct comm *world, void *arg, struct error *err);

/*
 * Run fn as so many ranks and wait for all of them. The first that fails or is killed is what
 * err tells, in its own words if it had any; waits of the others fail then, and those that
 * have not ended a second later are killed. Ranks are killed when this process ends, and
 * they end by _exit. Called with no other thread running.
 */
enum status comm_fork(int ranks, comm_fork_fn *fn, void *arg, struct error *err);

#endif
