/*
 * guard.h - a thread that watches a rank of a job which mpirun or srun has started: there
 * is no supervisor there. Only for launch/.
 *
 * A rank that shows no sign of life while it waits for nobody reports itself. One that is
 * stopped can't: its neighbour on the machine does. The first ranks of the machines tell
 * each other how theirs go on, and name one of which nothing is heard. Waiting as such is
 * innocent, unless everybody does. Time counts only while the thread watches: a job that
 * was stopped as a whole and goes on does not hang.
 */
#ifndef KOLM_LAUNCH_GUARD_H
#define KOLM_LAUNCH_GUARD_H

#include "comm/mpi/mpi.h"
#include "launch/impl.h"

#include <pthread.h>

struct guard {
	const struct launch *launch;
	const struct rank *rank;
	void *arg;		     /* for launch->hurry and abandon */
	int local;		     /* number on this machine */
	struct mpi_beacons *beacons; /* or NULL */
	_Atomic bool said;	     /* how the run has ended: somebody prints that */
	pthread_t thread;
	_Atomic bool end;
	/* the thread's own */
	double last;				   /* ms: when it looked last */
	uint64_t own_signs, next_signs, all_signs; /* of life, as last seen */
	double own_ms, next_ms, all_ms;		   /* without a new one */
	double asked_at;			   /* ms: a signal asks for the end; or 0 */
	bool abandoned;				   /* the files of rank 0 */
};

/* The fields before thread are set; collective over the job. */
enum status guard_start(struct guard *g, struct error *err);
/* Rank 0 has files that it will not finish. */
void guard_abandon(struct guard *g);
/* The run is over in peace: collective too. */
void guard_end(struct guard *g);

#endif
