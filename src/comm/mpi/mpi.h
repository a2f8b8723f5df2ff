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

/* Join the job; once per process. mpi_end leaves it in peace, mpi_abort takes all down. */
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
 * A world of the first ranks processes of the job; the others get NULL. KOLM_MPI_HOSTS=N
 * in the environment has the ranks of one machine behave as if they were on N (N,cyclic:
 * dealt out in turn), for tests. Where ranks of a machine fail together, err->reported
 * leaves it to one of them to say why.
 */
enum status mpi_open(struct comm **world, int ranks, struct mpi_place *place,
		     struct error *err);
/* The shared memory of the ranks on this machine, for their status. */
struct shm_memory *mpi_memory(struct comm *world);

/* The library's own operations over all processes, for comparison: a collective, and a
   message there and back with the neighbour (rank ^ 1). */
void mpi_own_collective(enum comm_op op, float *buf, size_t n);
void mpi_own_ping_pong(float *buf, size_t bytes);

#endif
