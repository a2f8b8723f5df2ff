/* hosts.c - which ranks share a machine, and the memory that they share; see hosts.h */
#include "comm/mpi/hosts.h"
#include "base/util.h"
#include "comm/shm/shm.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ranks that share a machine; text pretends that there are several. */
void hosts_split(MPI_Comm all, const char *text, MPI_Comm *local)
{
	int hosts = text ? atoi(text) : 1, rank, size, host;
	MPI_Comm real;

	MPI_Comm_rank(all, &rank);
	MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &real);
	MPI_Comm_rank(real, &rank);
	MPI_Comm_size(real, &size);
	hosts = imax(1, imin(hosts, size));
	host = text && strstr(text, "cyclic") ? rank % hosts : rank * hosts / size;
	MPI_Comm_split(real, host, rank, local);
	MPI_Comm_free(&real);
}

/* Who is where, as every rank sees it. */
void hosts_share_places(MPI_Comm all, MPI_Comm local, int *host_of, int *local_of)
{
	int world_rank, first, rank;

	MPI_Comm_rank(all, &world_rank);
	MPI_Comm_rank(local, &rank);
	first = world_rank;
	MPI_Bcast(&first, 1, MPI_INT, 0, local);
	MPI_Allgather(&first, 1, MPI_INT, host_of, 1, MPI_INT, all);
	MPI_Allgather(&rank, 1, MPI_INT, local_of, 1, MPI_INT, all);
}

/* Who is first on this machine, and which cores its ranks may use, together and each. */
void hosts_look_at_cores(MPI_Comm all, MPI_Comm local, struct mpi_place *place)
{
	cpu_set_t mine, any, each;

	MPI_Comm_rank(local, &place->local);
	MPI_Comm_size(local, &place->locals);
	MPI_Comm_rank(all, &place->host);
	MPI_Bcast(&place->host, 1, MPI_INT, 0, local);
	CPU_ZERO(&mine);
	sched_getaffinity(0, sizeof(mine), &mine);
	MPI_Allreduce(&mine, &any, (int)sizeof(mine), MPI_BYTE, MPI_BOR, local);
	MPI_Allreduce(&mine, &each, (int)sizeof(mine), MPI_BYTE, MPI_BAND, local);
	place->cores_shared = CPU_EQUAL(&any, &each);
	place->cores = CPU_COUNT(&any);
}

/* At one of the places, if that is free in all processes; *first is the first rank that could
   not do its own part, or the number of all. */
static enum status share_at(struct shm_memory **memory, MPI_Comm local,
			    const struct mpi_place *place, int at, int *first,
			    struct error *err)
{
	bool spin = place->locals <= place->cores;
	int where[2] = {getpid(), -1}, failed = place->locals;
	enum status st = OK;

	if (place->local == 0) {
		st = shm_prepare(memory, place->locals, spin, 0, at, err);
		if (st == OK)
			where[1] = shm_fd(*memory);
	}
	MPI_Bcast(where, 2, MPI_INT, 0, local);
	if (place->local > 0)
		st = where[1] < 0 ? FAIL(err, ERR_FAILED, "no shared memory")
				  : shm_attach(memory, place->locals, spin, at, where[0],
					       where[1], err);
	if (st != OK && (place->local == 0 || where[1] >= 0))
		failed = place->local;
	MPI_Allreduce(&failed, first, 1, MPI_INT, MPI_MIN, local);
	if (*first == place->locals || st != OK)
		return st;
	shm_release(*memory);
	*memory = NULL;
	return FAIL(err, ERR_MEMORY, "another rank can't map the shared memory");
}

/*
 * The first rank of the machine makes the memory, the others map it, all at the same
 * address; if that is taken in some process, all try the next one. If that fails, the first
 * rank that could not do its own part says why.
 */
enum status hosts_share_memory(struct shm_memory **memory, MPI_Comm local,
			       const struct mpi_place *place, struct error *err)
{
	struct error why = {0};
	int first;

	for (int i = 0; i < SHM_PLACES; i++) {
		error_clear(&why);
		if (share_at(memory, local, place, i, &first, &why) == OK)
			return OK;
		why.reported = place->local != first;
	}
	return error_copy(err, &why);
}
