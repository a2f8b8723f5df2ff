/* mpi.c - the transport over MPI: its requests and its groups; worlds are made in open.c. */
#include "comm/mpi/mpi.h"
#include "base/util.h"
#include "comm/mpi/world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	SLEEP_NS = 200 * 1000 * 1000,
	STALL_NS = 500 * 1000 * 1000, /* without anything completed: is something wrong? */
};

static bool is_remote(const struct comm_request *r)
{
	const struct mpi_world *w = world_of(r->comm);
	const struct mpi_group *g = r->comm->state;

	if (r->kind == REQUEST_COLLECTIVE)
		return g->across != NULL;
	return w->host_of[r->comm->members[r->peer]] != w->host_of[r->comm->world->rank];
}

/* ---- requests ---- */

static void mpi_enter(struct comm_request *r)
{
	struct mpi_world *w = world_of(r->comm);
	struct mpi_group *g = r->comm->state;

	r->remote = is_remote(r);
	if (r->kind == REQUEST_COLLECTIVE)
		host_enter_collective(&g->local, r);
	else if (r->remote)
		messages_enter(&w->messages, r);
	else
		host_enter_message(&w->host, w->local_of[r->comm->members[r->peer]], r);
}

static void advance_collective(struct mpi_group *g, struct comm_request *r)
{
	if (host_arrive(&g->local, r)) {
		if (!g->across)
			host_work(&g->local, r);
		if (!g->across || across_work(g->across, &g->local, r))
			host_depart(&g->local, r);
	}
	r->done = host_over(&g->local, r);
}

static void mpi_advance(struct comm_request *r)
{
	struct mpi_world *w = world_of(r->comm);

	if (r->kind == REQUEST_COLLECTIVE)
		advance_collective(r->comm->state, r);
	else if (r->remote)
		messages_advance(&w->messages, r);
	else if (r->kind == REQUEST_SEND)
		host_send(&w->host, w->local_of[r->comm->members[r->peer]], r);
	else
		host_receive(&w->host, w->local_of[r->comm->members[r->peer]], r);
}

/* Nobody rings for what comes from another machine: look again soon, then less often. */
static enum status mpi_sleep(struct comm *world, const struct comm_request *r,
			     struct error *err)
{
	struct mpi_world *w = world->state;
	int64_t now = clock_ns();
	bool remote;

	if (w->seen != world->status->completed) {
		w->poll_ns = POLL_FIRST_NS;
		w->since = now;
	}
	w->seen = world->status->completed;
	pthread_mutex_lock(world->lock);
	remote = world->remotes > 0;
	if (now - w->since > STALL_NS)
		cards_exchange(&w->cards, world, w->host_of);
	pthread_mutex_unlock(world->lock);
	w->poll_ns = w->poll_ns < POLL_MOST_NS / 2 ? w->poll_ns * 2 : POLL_MOST_NS;
	return host_sleep(&w->host, r, remote ? w->poll_ns : SLEEP_NS, err);
}

/* ---- groups and worlds ---- */

static enum status open_local(struct comm *c, struct mpi_group *g, struct error *err)
{
	struct mpi_world *w = world_of(c);
	int ranks[RANKS_MAX], n = 0;

	for (int i = 0; i < c->size; i++)
		if (w->host_of[c->members[i]] == w->host_of[c->world->rank])
			ranks[n++] = w->local_of[c->members[i]];
	return host_group_open(g ? &g->local : NULL, &w->host, c->world, ranks, n, err);
}

bool mpi_is_spread(const struct comm *c)
{
	const int *host_of = world_of(c)->host_of;

	for (int i = 1; i < c->size; i++)
		if (host_of[c->members[i]] != host_of[c->members[0]])
			return true;
	return false;
}

static enum status open_across(struct comm *c, struct mpi_group *g, MPI_Comm *comm,
			       struct error *err)
{
	struct mpi_world *w = world_of(c);
	int *hosts;
	enum status st = OK;

	if (!mpi_is_spread(c))
		return OK;
	hosts = calloc((size_t)imax(c->size, 1), sizeof(int));
	if (!hosts)
		return FAIL(err, ERR_MEMORY, "no memory for a group of %d ranks", c->size);
	for (int i = 0; i < c->size; i++)
		hosts[i] = w->host_of[c->members[i]];
	TRY(across_create(&g->across, *comm, hosts, c->size, c->rank, err));
	*comm = MPI_COMM_NULL; /* the across's now */
out:
	free(hosts);
	return st;
}

/*
 * Both parts of a group. MPI's split counts every rank's call, as comm_create does. On one
 * machine nothing is asked of MPI: its ranks yield while they wait, and on a busy machine
 * each yield costs a slice of the scheduler's, some dozen of them in a split.
 */
enum status mpi_open_group(struct comm *c, struct mpi_group *g, struct error *err)
{
	struct mpi_world *w = world_of(c);
	enum status st;
	MPI_Comm comm = MPI_COMM_NULL;
	int color = c->size ? c->members[0] : MPI_UNDEFINED;

	for (int i = 1; i < c->size; i++)
		color = imin(color, c->members[i]);
	if (mpi_is_spread(c->world))
		MPI_Comm_split(w->all, color, c->rank, &comm);
	TRY(open_local(c, g, err));
	if (!g)
		goto out;
	TRY(open_across(c, g, &comm, err));
	w->cards.groups[g->local.seat] = c;
out:
	if (comm != MPI_COMM_NULL)
		MPI_Comm_free(&comm);
	return st;
}

/* MPI's split would wait for all ranks with the lock held; where they have met before, and
   could be seen to wait for that, it does not. */
static enum status meet(struct comm *world, struct error *err)
{
	enum status st;

	pthread_mutex_unlock(world->lock);
	st = comm_run(world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err);
	pthread_mutex_lock(world->lock);
	return st;
}

static enum status mpi_create(struct comm *c, struct error *err)
{
	enum status st;
	struct mpi_group *g = c->size ? calloc(1, sizeof(*g)) : NULL;

	if (c->size && !g)
		return FAIL(err, ERR_MEMORY, "no memory for a group of %d ranks", c->size);
	if (mpi_is_spread(c->world))
		TRY(meet(c->world, err));
	TRY(mpi_open_group(c, g, err));
	c->state = g;
	g = NULL; /* the group's now */
out:
	if (g)
		host_group_close(&g->local);
	free(g);
	return st;
}

static void mpi_free(struct comm *c)
{
	struct mpi_group *g = c->state;

	if (c->world == c) {
		mpi_close_world(c);
		return;
	}
	world_of(c)->cards.groups[g->local.seat] = NULL;
	across_free(g->across);
	host_group_close(&g->local);
	free(g);
}

static enum status mpi_alloc(struct comm *world, size_t bytes, void **out, struct error *err)
{
	struct mpi_world *w = world_of(world);

	return blocks_take(&w->host.blocks, w->memory, bytes, out, err);
}

static void mpi_give_back(struct comm *world, void *memory)
{
	struct mpi_world *w = world_of(world);

	blocks_give_back(&w->host.blocks, w->memory, memory);
}

const struct comm_ops comm_mpi = {
	.name = "mpi",
	.create = mpi_create,
	.free = mpi_free,
	.alloc = mpi_alloc,
	.give_back = mpi_give_back,
	.enter = mpi_enter,
	.advance = mpi_advance,
	.sleep = mpi_sleep,
};

struct shm_memory *mpi_memory(struct comm *world)
{
	return world_of(world)->memory;
}

const int *mpi_hosts(struct comm *world)
{
	return world_of(world)->host_of;
}
