/* start.c - joining and leaving the job; see mpi.h */
#include "comm/mpi/mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool mpi_has_threads(void)
{
	int allowed;

	MPI_Query_thread(&allowed);
	return allowed >= MPI_THREAD_SERIALIZED;
}

const char *mpi_library(void)
{
	static char name[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;

	MPI_Get_library_version(name, &length);
	if (!strncmp(name, "MPICH", 5)) { /* "MPICH Version:\t4.0.2\n..." */
		char version[32];

		if (sscanf(name, "MPICH Version: %31s", version) == 1)
			snprintf(name, sizeof(name), "MPICH %s", version);
	}
	name[strcspn(name, ",\n")] = '\0'; /* "Open MPI v4.1.4, package: ..." */
	return name;
}

enum status mpi_start(int *rank, int *ranks, struct error *err)
{
	int provided;

	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided))
		return FAIL(err, ERR_FAILED, "MPI can't start");
	MPI_Comm_rank(MPI_COMM_WORLD, rank);
	MPI_Comm_size(MPI_COMM_WORLD, ranks);
	return OK;
}

void mpi_end(void)
{
	MPI_Finalize();
}

/* A launcher that hears of the end at once drops what it has not passed on yet, such as our
   last word: MPICH's does so. */
_Noreturn void mpi_abort(int exit_code)
{
	struct timespec moment = {.tv_nsec = 300 * 1000 * 1000};

	fflush(NULL);
	nanosleep(&moment, NULL);
	MPI_Abort(MPI_COMM_WORLD, exit_code);
	_exit(exit_code);
}
