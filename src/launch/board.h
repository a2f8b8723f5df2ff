/* board.h - the status board: what each rank says of itself, in shared memory. */
#ifndef KOLM_LAUNCH_BOARD_H
#define KOLM_LAUNCH_BOARD_H

#include "base/error.h"
#include "comm/shm/shm.h"
#include "launch/launch.h"

#include <stdatomic.h>

enum { BOARD_FRAMES = 32 };

struct board_rank {
	_Atomic int number, pid; /* of the rank, in the world */
	_Atomic uint64_t beats;	 /* grows with every rank_at */
	_Atomic int stop;	 /* the signal that asks for an orderly end */
	_Atomic bool asked;	 /* SIGUSR1 asks for a checkpoint */
	_Atomic bool stopped;	 /* by SIGSTOP: its neighbour in a job has seen that */
	_Atomic bool lost;	 /* its device has failed */
	char at[96];		 /* where it is */
	struct pulse pulse;	 /* how its training goes */
	struct error error;	 /* how it failed, if it could say */
	_Atomic int frames;	 /* of a fatal signal */
	void *backtrace[BOARD_FRAMES];
};

/* A rank's board, in the memory of the ranks of this machine. */
struct board_rank *board_of(struct shm_memory *memory, int rank);

/* "rank 5 of 8 (dp1 pp0 mp1) on HOST"; host may be NULL: this one */
void board_name(const struct launch *l, int rank, const char *host, char *buf, size_t size);

/* What a rank was doing: where, and what it waits for. */
void board_describe(const struct board_rank *b, const struct comm_status *s, char *buf,
		    size_t size);

#endif
