/*
 * mpi.h - the transport among ranks on several machines, for processes that mpirun or
 * srun has started. Ranks of one machine use shared memory among themselves; only what
 * crosses machines goes through MPI, and goes on while the rank computes.
 *
 * In a build without MPI, mpi_library() is NULL and the other functions fail.
 */
#ifndef KOLM_COMM_MPI_MPI_H
#define KOLM_COMM_MPI_MPI_H

#include "comm/comm.h"

/* The library that this build uses, such as "Open MPI v4.1.4"; NULL: none. */
const char *mpi_library(void);

/* Join the job that a launcher has started; once per process. mpi_end leaves it in peace,
   mpi_abort takes all down. */
enum status mpi_start(int *rank, int *ranks, struct error *err);
void mpi_end(void);
_Noreturn void mpi_abort(int exit_code);

/* May several threads use MPI, one at a time? Then transfers go on while a rank computes. */
bool mpi_has_threads(void);

/* Where a rank of the job is. */
struct mpi_place {
	int host;	   /* the number of the first rank of its machine */
	int local, locals; /* its number among the ranks of its machine, and how many */
	int cores;	   /* that these may use together */
	bool cores_shared; /* all of them the same: nobody has bound them */
};

/*
 * A world of the first ranks processes of the job; the others get NULL. hosts is NULL, or for
 * tests a text: "N" has the ranks of one machine behave as if they were on N, "N,cyclic" with
 * the ranks dealt out in turn. Where ranks of a machine fail together, err->reported leaves it
 * to one of them to say why.
 */
enum status mpi_open(struct comm **world, int ranks, const char *hosts, struct mpi_place *place,
		     struct error *err);
/*
 * A world of the processes of a communicator (an MPI_Comm *), in a program that has started
 * MPI by itself; called by all of them. The communicator is duplicated, and the duplicate
 * freed with the world, before MPI_Finalize; MPI is neither started nor ended. Ranks are
 * those of the communicator. There may be several worlds, one after the other or at a time,
 * and freeing one is collective too. Transfers go on while a rank computes where MPI allows
 * MPI_THREAD_SERIALIZED or more; unless that is MPI_THREAD_MULTIPLE, the program makes no
 * calls of MPI of its own while requests of a world are under way.
 */
enum status mpi_join(struct comm **world, const void *communicator, const char *hosts,
		     struct mpi_place *place, struct error *err);
/* The shared memory of the ranks on this machine, for their status. */
struct shm_memory *mpi_memory(struct comm *world);
/* Of each rank of the world, the number of the first rank of its machine. */
const int *mpi_hosts(struct comm *world);

/* The library's own operations over all ranks of a world, for comparison: a collective, and a
   message there and back with the neighbour (rank ^ 1). Nobody else uses MPI meanwhile. */
void mpi_own_collective(struct comm *world, enum comm_op op, float *buf, size_t n);
void mpi_own_ping_pong(struct comm *world, float *buf, size_t bytes);

/*
 * Signs of life between machines, for whoever watches over a job in a thread of its own: one
 * process of each machine tells the others how its ranks go on.
 */
struct mpi_sign {
	uint64_t signs; /* counts on while somebody there is alive */
	int waits;	/* everybody there waits for others */
	int failed;	/* somebody there has said why the job is about to end */
};
struct mpi_beacon {
	int rank; /* that tells */
	char host[64];
	struct mpi_sign last;
	double silent_ms; /* that we have listened in vain */
};
struct mpi_beacons; /* opaque */

/* Open and close are called by all ranks of the world. *out is NULL for those who don't
   tell, where nobody else does, and where MPI can't be used by several threads. */
enum status mpi_beacons_open(struct mpi_beacons **out, struct comm *world, bool tells,
			     struct error *err);
void mpi_beacons_close(struct mpi_beacons *b);
/* Tell (every so often, and of a failure at once) and listen; elapsed_ms since the last look.
   Returns how many others there are, by rank, in *out. */
int mpi_beacons_look(struct mpi_beacons *b, const struct mpi_sign *own, double elapsed_ms,
		     double every_ms, const struct mpi_beacon **out);

#endif
