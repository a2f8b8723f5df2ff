/* own.c - the MPI library's own operations, to compare with; see mpi.h */
#include "comm/impl.h"
#include "comm/mpi/mpi.h"
#include "comm/mpi/world.h"

#include <mpi.h>

static void collective(MPI_Comm all, enum comm_op op, float *buf, size_t n)
{
	int rank, size, part;
	float *own;

	MPI_Comm_rank(all, &rank);
	MPI_Comm_size(all, &size);
	part = (int)n / size;
	own = buf + (size_t)rank * (size_t)part;
	switch (op) {
	case COMM_BARRIER:
		MPI_Barrier(all);
		break;
	case COMM_ALLREDUCE:
		MPI_Allreduce(MPI_IN_PLACE, buf, (int)n, MPI_FLOAT, MPI_SUM, all);
		break;
	case COMM_REDUCE_SCATTER:
		MPI_Reduce_scatter_block(MPI_IN_PLACE, buf, part, MPI_FLOAT, MPI_SUM, all);
		break;
	case COMM_ALLGATHER:
		MPI_Allgather(MPI_IN_PLACE, 0, MPI_FLOAT, buf, part, MPI_FLOAT, all);
		break;
	case COMM_BROADCAST:
		MPI_Bcast(buf, (int)n, MPI_FLOAT, 0, all);
		break;
	case COMM_SCATTER:
		if (rank == 0)
			MPI_Scatter(buf, part, MPI_FLOAT, MPI_IN_PLACE, part, MPI_FLOAT, 0,
				    all);
		else
			MPI_Scatter(NULL, part, MPI_FLOAT, own, part, MPI_FLOAT, 0, all);
		break;
	case COMM_GATHER:
		if (rank == 0)
			MPI_Gather(MPI_IN_PLACE, part, MPI_FLOAT, buf, part, MPI_FLOAT, 0, all);
		else
			MPI_Gather(own, part, MPI_FLOAT, NULL, part, MPI_FLOAT, 0, all);
		break;
	}
}

void mpi_own_collective(struct comm *world, enum comm_op op, float *buf, size_t n)
{
	pthread_mutex_lock(world->lock);
	collective(world_of(world)->all, op, buf, n);
	pthread_mutex_unlock(world->lock);
}

static void ping_pong(MPI_Comm all, float *buf, size_t bytes)
{
	int rank, size, peer;

	MPI_Comm_rank(all, &rank);
	MPI_Comm_size(all, &size);
	peer = rank ^ 1;
	if (peer >= size)
		return;
	if (rank < peer) {
		MPI_Send(buf, (int)bytes, MPI_BYTE, peer, 0, all);
		MPI_Recv(buf, (int)bytes, MPI_BYTE, peer, 0, all, MPI_STATUS_IGNORE);
	} else {
		MPI_Recv(buf, (int)bytes, MPI_BYTE, peer, 0, all, MPI_STATUS_IGNORE);
		MPI_Send(buf, (int)bytes, MPI_BYTE, peer, 0, all);
	}
}

void mpi_own_ping_pong(struct comm *world, float *buf, size_t bytes)
{
	pthread_mutex_lock(world->lock);
	ping_pong(world_of(world)->all, buf, bytes);
	pthread_mutex_unlock(world->lock);
}
