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

enum status mpi_open(struct comm **world, int ranks, const char *hosts, struct mpi_place *place,
		     struct error *err)
{
	(void)world;
	(void)ranks;
	(void)hosts;
	(void)place;
	return missing(err);
}

enum status mpi_join(struct comm **world, const void *communicator, const char *hosts,
		     struct mpi_place *place, struct error *err)
{
	(void)world;
	(void)communicator;
	(void)hosts;
	(void)place;
	return missing(err);
}

struct shm_memory *mpi_memory(struct comm *world)
{
	(void)world;
	return NULL;
}

const int *mpi_hosts(struct comm *world)
{
	(void)world;
	return NULL;
}

void mpi_own_collective(struct comm *world, enum comm_op op, float *buf, size_t n)
{
	(void)world;
	(void)op;
	(void)buf;
	(void)n;
}

void mpi_own_ping_pong(struct comm *world, float *buf, size_t bytes)
{
	(void)world;
	(void)buf;
	(void)bytes;
}

enum status mpi_beacons_open(struct mpi_beacons **out, struct comm *world, bool tells,
			     struct error *err)
{
	(void)out;
	(void)world;
	(void)tells;
	return missing(err);
}

void mpi_beacons_close(struct mpi_beacons *b)
{
	(void)b;
}

int mpi_beacons_look(struct mpi_beacons *b, const struct mpi_sign *own, double elapsed_ms,
		     double every_ms, const struct mpi_beacon **out)
{
	(void)b;
	(void)own;
	(void)elapsed_ms;
	(void)every_ms;
	*out = NULL;
	return 0;
}
