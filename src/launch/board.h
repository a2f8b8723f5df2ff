/* board.h - the status board: what each rank says of itself, in shared memory. */
#ifndef KOLM_LAUNCH_BOARD_H
#define KOLM_LAUNCH_BOARD_H

#include "base/error.h"
#include "comm/shm/shm.h"

#include <stdatomic.h>

enum { BOARD_FRAMES = 32 };

struct board_rank {
	_Alignas(64) _Atomic uint64_t beats; /* grows with every rank_at */
	char at[96];			     /* where it is */
	struct error error;		     /* how it failed, if it could say */
	_Atomic int frames;		     /* of a fatal signal */
	void *backtrace[BOARD_FRAMES];
};

/* One line on what a rank was doing: where, and what it waits for. */
void board_describe(const struct board_rank *b, const struct comm_status *s, char *buf,
		    size_t size);

#endif
