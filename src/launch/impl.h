/* impl.h - what supervisor and rank share. Only for launch/. */
#ifndef KOLM_LAUNCH_IMPL_H
#define KOLM_LAUNCH_IMPL_H

#include "launch/board.h"
#include "launch/launch.h"
#include "launch/progress.h"

#include <signal.h>
#include <sys/types.h>

/* What the supervisor hands to a rank; all of it is borrowed. */
struct rank_start {
	const struct launch *launch;
	int number;
	pid_t supervisor;
	struct shm_memory *memory;
	const sigset_t *signals;	 /* the mask to run with */
	const struct progress *progress; /* the screen, or NULL */
	rank_fn *fn;
	void *arg;
};

/* The life of a rank that the supervisor has forked. */
_Noreturn void rank_run(const struct rank_start *start);

/* What a rank of either kind sets up: its cores, its environment, its backtrace. */
void rank_prepare(struct rank *r, int local, bool pin);

/* For handlers of signals: the board of this process's rank, or NULL. */
struct board_rank *rank_own_board(void);
/* Before the board's memory goes away: signals that come later don't touch it. */
void rank_forget_board(void);

/* Be a rank of the job that a launcher has started. */
enum status job_run(const struct launch *l, const struct launcher *by, rank_fn *fn, void *arg,
		    struct error *err);

struct child {
	pid_t pid;	/* 0: has ended */
	bool stopped;	/* by SIGSTOP or a debugger */
	uint64_t signs; /* of life, as last seen */
	double idle_ms; /* watched without a new one, and not waiting */
};

struct supervisor {
	const struct launch *launch;
	struct shm_memory *memory;
	int asked;		/* the signal after which the ranks are ending by themselves */
	double asked_at;	/* ms */
	struct child *children; /* (ranks) */
	int running;
	int lost; /* ranks that were killed, or hang */
	double last_poll;
	double still_ms; /* watched without a sign of life of anybody */
	sigset_t signals, before;
	struct sigaction actions[6]; /* of those we take, before */
	struct progress *progress;   /* the screen, or NULL */
};

/* report.c: say how a rank has failed, given its wait status, or that one hangs. */
enum status supervisor_failed(struct supervisor *s, int rank, int status, struct error *err);
enum status supervisor_hangs(struct supervisor *s, struct error *err);
/* Does a rank wait for others? That is no sign of a hang. */
bool supervisor_waits(struct supervisor *s, int rank);

#endif
