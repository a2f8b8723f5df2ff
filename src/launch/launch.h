/*
 * launch.h - run a function as several ranks, watch them, and tell the truth when one of
 * them fails.
 *
 * On its own, the calling process is the supervisor: it starts the ranks by fork, over
 * the shared-memory transport; they end when it ends, however that happens. The first
 * rank that fails is the root cause: its message, place and signal are reported, and the
 * others are stopped within a second.
 *
 * In a process that mpirun or srun has started, it is a rank itself and joins the others
 * through MPI. A rank that fails says so and takes the job down.
 */
#ifndef KOLM_LAUNCH_LAUNCH_H
#define KOLM_LAUNCH_LAUNCH_H

#include "base/error.h"
#include "comm/comm.h"
#include "grid/grid.h"

#include <stdatomic.h>

struct board_rank; /* see board.h */
struct shm_memory; /* see comm/shm/shm.h */

/*
 * What a rank shows of its training while it goes on, on the status board: the progress
 * screen and kolm top read it. Times are of the last step that is over, in ms.
 */
struct pulse {
	_Atomic int step, steps; /* over, of how many */
	_Atomic int skipped;	 /* steps without an update so far */
	_Atomic bool simulated;	 /* nothing is computed: there is no loss */
	_Atomic double loss, loss_scale;
	_Atomic bool scheduled,
		evaluated; /* the learning rate varies; there was an evaluation */
	_Atomic double lr, held_out_loss;
	_Atomic double step_ms, samples_per_s, gflops;
	_Atomic int tokens; /* of a sample of a language model; 0: there are none */
	/* Where the time of the step went: computing, messages that nothing hid, waiting for
	   other ranks; the rest is neither. */
	_Atomic double compute_ms, comm_ms, lost_ms;
	_Atomic uint64_t now_bytes, peak_bytes; /* of the device's memory */
	/* As device_measure has it; NAN: unknown. */
	_Atomic bool measured;
	_Atomic double gpu_busy, gpu_bytes, gpu_celsius, gpu_watts;
	_Atomic double peak_gflops; /* what its cores could do, measured; 0: not known */
	_Atomic int peak_type;	    /* enum dtype: multiply-adds of what */
};

/* A rank's own view of the run. */
struct rank {
	int number, ranks;
	int host;	     /* the number of the first rank on this machine */
	int locals;	     /* ranks on this machine */
	const int *hosts;    /* (ranks) the host of each; NULL: all are on this one */
	int host_cores;	     /* that they may use together */
	int cores;	     /* that this one should use: its share */
	bool oversubscribed; /* more ranks than cores here */
	bool hurried;	     /* who has started us kills us a second after a signal */
	int ended_by;	     /* set by its function: the signal that the run ended with, or 0 */
	struct comm *world;
	struct shm_memory *memory; /* where the board is */
	struct board_rank *board;
	struct pulse *pulse;	 /* to be filled in; on the board */
	struct pace pace;	 /* its time: the machine's, unless a device makes it virtual */
	const _Atomic int *stop; /* see rank_stop */
};

/* Say where this rank is: "step 12 forward". Also a sign of life. */
void rank_at(struct rank *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The signal after which the run should come to an orderly end, or 0. Ranks may see it at
   different times: they have to agree. */
int rank_stop(const struct rank *r);

/* Has SIGUSR1 asked this rank for a checkpoint? Until it says that it will do it. */
bool rank_asked(const struct rank *r);
void rank_answered(struct rank *r);

typedef enum status rank_fn(struct rank *r, void *arg, struct error *err);

enum launch_screen {
	SCREEN_NONE,
	SCREEN_RUN,   /* a few lines about the run */
	SCREEN_RANKS, /* and one for each rank */
};

struct launch {
	int ranks;
	double timeout_ms; /* a rank without a sign of life for so long hangs; 0: never */
	bool graceful;	   /* ranks look at rank_stop: the first signal lets them end */
	bool pin;	   /* give each rank cores of its own, where there are enough */
	size_t shared; /* bytes that the ranks will take of comm_alloc, by shm_room, if known */
	/* Where a rank is in it, for reports; or NULL. */
	const struct grid *grid;
	/* Standard error is a terminal: draw there how the ranks' pulses go. */
	enum launch_screen screen;
	/*
	 * Where rank->hurried is set and the end is not there soon after a signal: called in
	 * another thread of rank 0 while its function goes on, to leave what there is and fill
	 * err as that would have. The process ends with it.
	 */
	enum status (*hurry)(void *arg, int signal, struct error *err);
	/*
	 * Likewise, when a rank has failed and the job is being ended: leave nothing that is
	 * not whole. May be NULL.
	 */
	void (*abandon)(void *arg);
	int *lost; /* takes how many ranks were killed, hung or had a device that failed, all
		      others being well; may be NULL */
};

/* Called by the main thread, with no other thread running. err names the root cause;
 * err->exit_code is the failing rank's own, or 128 + signal. */
enum status launch_run(const struct launch *l, rank_fn *fn, void *arg, struct error *err);

/* Has mpirun, mpiexec or srun started this process, as one of how many? */
struct launcher {
	const char *name;
	int rank, ranks;
	bool hurries; /* see rank->hurried */
};
bool launcher_detect(struct launcher *l);

#endif
