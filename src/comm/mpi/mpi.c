/* mpi.c - the world over MPI: machines, groups, the thread that keeps things going. */
#include "comm/mpi/mpi.h"
#include "base/util.h"
#include "comm/mpi/across.h"
#include "comm/mpi/cards.h"
#include "comm/mpi/hosts.h"
#include "comm/mpi/messages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
	SLEEP_NS = 200 * 1000 * 1000,
	POLL_FIRST_NS = 10 * 1000, /* between looks at MPI, growing */
	POLL_MOST_NS = 1000 * 1000,
	STALL_NS = 500 * 1000 * 1000, /* without anything completed: is something wrong? */
};

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
	MPI_Comm all;
	struct messages messages;
	struct cards cards;
	int *host_of;  /* (size) the machine of each rank: the number of its first one */
	int *local_of; /* (size) number on its machine */
	long poll_ns;  /* to sleep before the next look at MPI */
	uint64_t seen; /* requests completed when we last slept */
	int64_t since; /* ns: when we first saw so many */
	/* the thread that moves requests on while the rank computes */
	pthread_t thread;
	pthread_mutex_t lock;
	bool threaded, quit;
};

static struct mpi_world *world_of(const struct comm *c)
{
	return c->world->state;
}

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
	pthread_mutex_lock(&w->lock);
	remote = world->remotes > 0;
	if (now - w->since > STALL_NS)
		cards_exchange(&w->cards, world, w->host_of);
	pthread_mutex_unlock(&w->lock);
	w->poll_ns = w->poll_ns < POLL_MOST_NS / 2 ? w->poll_ns * 2 : POLL_MOST_NS;
	return host_sleep(&w->host, r, remote ? w->poll_ns : SLEEP_NS, err);
}

/* ---- the thread ---- */

static void *keep_going(void *arg)
{
	struct comm *world = arg;
	struct mpi_world *w = world->state;
	long pause_ns = POLL_FIRST_NS;

	prctl(PR_SET_TIMERSLACK, 1000);
	pthread_mutex_lock(&w->lock);
	while (!w->quit) {
		struct timespec pause;

		if (!world->remotes) {
			pthread_cond_wait(&world->started, &w->lock);
			pause_ns = POLL_FIRST_NS;
			continue;
		}
		if (!world->waiting && comm_progress(world))
			pause_ns = POLL_FIRST_NS;
		pthread_mutex_unlock(&w->lock);
		pause_ns = pause_ns < POLL_MOST_NS / 2 ? pause_ns * 2 : POLL_MOST_NS;
		pause = (struct timespec){.tv_nsec = pause_ns};
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
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

/* Are the members on several machines? */
static bool is_spread(const struct comm *c)
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

	if (!is_spread(c))
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
static enum status open_group(struct comm *c, struct mpi_group *g, struct error *err)
{
	struct mpi_world *w = world_of(c);
	enum status st;
	MPI_Comm comm = MPI_COMM_NULL;
	int color = c->size ? c->members[0] : MPI_UNDEFINED;

	for (int i = 1; i < c->size; i++)
		color = imin(color, c->members[i]);
	if (is_spread(c->world))
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
	if (is_spread(c->world))
		TRY(meet(c->world, err));
	TRY(open_group(c, g, err));
	c->state = g;
	g = NULL; /* the group's now */
out:
	if (g)
		host_group_close(&g->local);
	free(g);
	return st;
}

static void stop_thread(struct comm *world)
{
	struct mpi_world *w = world->state;

	if (!w->threaded)
		return;
	pthread_mutex_lock(&w->lock);
	w->quit = true;
	pthread_cond_signal(&world->started);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}

static void release_world(struct mpi_world *w)
{
	across_free(w->group.across);
	host_group_close(&w->group.local);
	host_release(&w->host);
	shm_release(w->memory);
	messages_release(&w->messages);
	MPI_Comm_free(&w->all);
	free(w->host_of);
	free(w->local_of);
}

static void mpi_free(struct comm *c)
{
	struct mpi_group *g = c->state;

	if (c->world == c) {
		stop_thread(c);
		release_world(c->state);
	} else {
		world_of(c)->cards.groups[g->local.seat] = NULL;
		across_free(g->across);
		host_group_close(&g->local);
	}
	free(c->state);
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

static const struct comm_ops comm_mpi = {
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

static enum status start_thread(struct comm *c, struct mpi_world *w, struct error *err)
{
	pthread_cond_init(&c->started, NULL);
	c->lock = &w->lock;
	if (!mpi_has_threads())
		return OK;
	if (pthread_create(&w->thread, NULL, keep_going, c))
		return FAIL(err, ERR_MEMORY, "can't start a thread");
	w->threaded = true;
	return OK;
}

static enum status allocate(struct mpi_world *w, int ranks, struct error *err)
{
	w->host_of = calloc((size_t)ranks, sizeof(int));
	w->local_of = calloc((size_t)ranks, sizeof(int));
	if (!w->host_of || !w->local_of)
		return FAIL(err, ERR_MEMORY, "no memory for a world of %d ranks", ranks);
	return messages_init(&w->messages, w->all, ranks, err);
}

enum status mpi_open(struct comm **world, int ranks, struct mpi_place *place, struct error *err)
{
	enum status st;
	static int worlds;
	struct mpi_world *w = calloc(1, sizeof(*w));
	struct comm *c = NULL;
	MPI_Comm all, local = MPI_COMM_NULL;
	int rank, *members = calloc((size_t)ranks, sizeof(int));

	*world = NULL;
	worlds++;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &all);
	if (all == MPI_COMM_NULL || !w || !members) {
		free(w);
		free(members);
		return all == MPI_COMM_NULL ? OK : FAIL(err, ERR_MEMORY, "no memory to start");
	}
	for (int i = 0; i < ranks; i++)
		members[i] = i;
	w->all = all;
	w->poll_ns = POLL_FIRST_NS;
	w->cards.world = worlds;
	pthread_mutex_init(&w->lock, NULL);
	TRY(allocate(w, ranks, err));
	hosts_split(all, &local);
	hosts_share_places(all, local, w->host_of, w->local_of);
	hosts_look_at_cores(local, place);
	TRY(hosts_share_memory(&w->memory, local, place, err));
	TRY(comm_new(&c, &comm_mpi, NULL, members, ranks, rank, err));
	c->state = w;
	TRY(host_init(&w->host, w->memory, place->local, rank, err));
	TRY(open_group(c, &w->group, err));
	c->spin = place->locals <= place->cores;
	c->status = shm_status(w->memory, place->local);
	prctl(PR_SET_TIMERSLACK, 1000); /* or a short sleep would last 50 us longer */
	TRY(start_thread(c, w, err));
	*world = c;
	w = NULL; /* the world's now */
	c = NULL;
out:
	if (local != MPI_COMM_NULL)
		MPI_Comm_free(&local);
	if (w)
		release_world(w);
	if (c)
		free(c->members);
	free(c);
	free(w);
	free(members);
	return st;
}
