/* world.c - see include/kolm.h */
#include "comm/fork.h"
#include "comm/mpi/mpi.h"
#include "comm/self.h"
#include "lib/impl.h"

#include <stdlib.h>

static enum status wrap(struct comm *comm, int locals, struct kolm_world **out,
			struct error *err)
{
	struct kolm_world *w = calloc(1, sizeof(*w));

	if (!w)
		return FAIL(err, ERR_MEMORY, "no memory for a world");
	*w = (struct kolm_world){comm, locals};
	*out = w;
	return OK;
}

enum kolm_status kolm_world_alone(struct kolm_world **out, struct kolm_error *err)
{
	struct error own = {0};
	struct comm *comm = NULL;

	if (comm_open_self(&comm, &own) == OK && wrap(comm, 1, out, &own) == OK)
		return KOLM_OK;
	comm_free(comm);
	return lib_error_out(&own, err);
}

struct forked {
	kolm_rank_fn *fn;
	void *arg;
};

static enum status run_rank(struct comm *comm, void *arg, struct error *err)
{
	const struct forked *f = arg;
	struct kolm_world world = {comm, comm_size(comm)};
	struct kolm_error own = {0};

	if (f->fn(&world, f->arg, &own) == KOLM_OK)
		return OK;
	return lib_error_in(&own, err);
}

enum kolm_status kolm_world_fork(int ranks, kolm_rank_fn *fn, void *arg, struct kolm_error *err)
{
	struct error own = {0};
	struct forked f = {fn, arg};

	if (comm_fork(ranks, run_rank, &f, &own) == OK)
		return KOLM_OK;
	return lib_error_out(&own, err);
}

enum kolm_status kolm_world_mpi(struct kolm_world **out, const void *communicator,
				struct kolm_error *err)
{
	struct error own = {0};
	struct mpi_place place;
	struct comm *comm = NULL;

	if (mpi_join(&comm, communicator, NULL, &place, &own) == OK &&
	    wrap(comm, place.locals, out, &own) == OK)
		return KOLM_OK;
	comm_free(comm);
	return lib_error_out(&own, err);
}

int kolm_world_rank(const struct kolm_world *world)
{
	return comm_rank(world->comm);
}

int kolm_world_size(const struct kolm_world *world)
{
	return comm_size(world->comm);
}

void kolm_world_free(struct kolm_world *world)
{
	if (!world)
		return;
	comm_free(world->comm);
	free(world);
}
