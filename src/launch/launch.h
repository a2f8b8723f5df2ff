/*
 * launch.h - run a function as several ranks on this machine, watch them, and tell the
 * truth when one of them fails.
 *
 * The calling process is the supervisor. It starts the ranks by fork, over the
 * shared-memory transport; they end when it ends, however that happens. The first rank
 * that fails is the root cause: its message, place and signal are reported, and the
 * others are stopped within a second.
 */
#ifndef KOLM_LAUNCH_LAUNCH_H
#define KOLM_LAUNCH_LAUNCH_H

#include "base/error.h"
#include "comm/comm.h"

struct board_rank; /* see board.h */

/* A rank's own view of the run. */
struct rank {
	int number, ranks;
	struct comm *world;
	struct board_rank *board;
};

/* Say where this rank is: "step 12 forward". Also a sign of life. */
void rank_at(struct rank *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

typedef enum status rank_fn(struct rank *r, void *arg, struct error *err);

struct launch {
	int ranks;
	double timeout_ms; /* a rank without a sign of life for so long hangs; 0: never */
};

/* Called by the main thread, with no other thread running. err names the root cause;
 * err->exit_code is the failing rank's own, or 128 + signal. */
enum status launch_run(const struct launch *l, rank_fn *fn, void *arg, struct error *err);

#endif
