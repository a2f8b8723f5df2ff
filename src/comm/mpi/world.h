/* world.h - what a world over MPI keeps. Only for comm/mpi/. */
#ifndef KOLM_COMM_MPI_WORLD_H
#define KOLM_COMM_MPI_WORLD_H

#include "comm/mpi/across.h"
#include "comm/mpi/cards.h"
#include "comm/mpi/messages.h"

/* A group, the world included: its members here, and what crosses machines or NULL. */
struct mpi_group {
	struct host_group local;
	struct across *across;
};

/* The world is its own first group, so it keeps both. */
struct mpi_world {
	struct mpi_group group; /* first: c->state of any comm is a struct mpi_group */
	struct host host;
	struct shm_memory *memory;
	MPI_Comm all; /* ours alone */
	struct messages messages;
	struct cards cards;
	int *host_of;  /* (size) the machine of each rank: the number of its first one */
	int *local_of; /* (size) number on its machine */
	long poll_ns;  /* to sleep before the next look at MPI */
	uint64_t seen; /* requests completed when we last slept */
	int64_t since; /* ns: when we first saw so many */
	/* the thread that moves requests on while the rank computes */
	pthread_t thread;
	bool threaded, quit;
};

static inline struct mpi_world *world_of(const struct comm *c)
{
	return c->world->state;
}

/* mpi.c: the transport; both parts of a group, the world's own included. */
extern const struct comm_ops comm_mpi;
enum status mpi_open_group(struct comm *c, struct mpi_group *g, struct error *err);
/* Are the members on several machines? */
bool mpi_is_spread(const struct comm *c);

/* open.c: the end of a world. */
void mpi_close_world(struct comm *c);

/* ns between looks at MPI, growing. */
enum { POLL_FIRST_NS = 10 * 1000, POLL_MOST_NS = 1000 * 1000 };

#endif
