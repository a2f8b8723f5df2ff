/* none.c - a build without MPI; see mpi.h */
#include "comm/mpi/mpi.h"

#include <stdlib.h>

const char *mpi_library(void)
{
	return NULL;
}

static enum status missing(struct error *err)
{
	FAIL(err, ERR_USAGE, "this kolm was built without MPI");
	return HINT(err,
		    "install libopenmpi-dev or libmpich-dev and build again, or start kolm "
		    "without mpirun or srun");
}

enum status mpi_start(int *rank, int *ranks, struct error *err)
{
	(void)rank;
	(void)ranks;
	return missing(err);
}

void mpi_end(void)
{
}

bool mpi_has_threads(void)
{
	return false;
}

_Noreturn void mpi_abort(int exit_code)
{
	exit(exit_code);
}

enum status mpi_open(struct comm **world, int ranks, struct mpi_place *place, struct error *err)
{
	(void)world;
	(void)ranks;
	(void)place;
	return missing(err);
}

struct shm_memory *mpi_memory(struct comm *world)
{
	(void)world;
	return NULL;
}

void mpi_own_collective(enum comm_op op, float *buf, size_t n)
{
	(void)op;
	(void)buf;
	(void)n;
}

void mpi_own_ping_pong(float *buf, size_t bytes)
{
	(void)buf;
	(void)bytes;
}
