/* open.c - worlds over MPI: making and freeing them, and the thread that keeps them going. */
#include "comm/mpi/hosts.h"
#include "comm/mpi/world.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

/* One for all worlds of this process: MPI_THREAD_SERIALIZED means one thread at a time. */
static pthread_mutex_t mpi_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the thread ---- */

static void *keep_going(void *arg)
{
	struct comm *world = arg;
	struct mpi_world *w = world->state;
	long pause_ns = POLL_FIRST_NS;

	prctl(PR_SET_TIMERSLACK, 1000);
	pthread_mutex_lock(world->lock);
	while (!w->quit) {
		struct timespec pause;

		if (!world->remotes) {
			pthread_cond_wait(&world->started, world->lock);
			pause_ns = POLL_FIRST_NS;
			continue;
		}
		if (!world->waiting && comm_progress(world))
			pause_ns = POLL_FIRST_NS;
		pthread_mutex_unlock(world->lock);
		pause_ns = pause_ns < POLL_MOST_NS / 2 ? pause_ns * 2 : POLL_MOST_NS;
		pause = (struct timespec){.tv_nsec = pause_ns};
		nanosleep(&pause, NULL);
		pthread_mutex_lock(world->lock);
	}
	pthread_mutex_unlock(world->lock);
	return NULL;
}

/* Where nothing crosses machines there is nothing to do for it. */
static enum status start_thread(struct comm *c, struct mpi_world *w, struct error *err)
{
	if (!mpi_has_threads() || !mpi_is_spread(c))
		return OK;
	if (pthread_create(&w->thread, NULL, keep_going, c))
		return FAIL(err, ERR_MEMORY, "can't start a thread");
	w->threaded = true;
	return OK;
}

static void stop_thread(struct comm *world)
{
	struct mpi_world *w = world->state;

	if (!w->threaded)
		return;
	pthread_mutex_lock(world->lock);
	w->quit = true;
	pthread_cond_signal(&world->started);
	pthread_mutex_unlock(world->lock);
	pthread_join(w->thread, NULL);
}

/* ---- worlds ---- */

/* With the lock held; w may be incomplete. */
static void release(struct mpi_world *w)
{
	cards_release(&w->cards);
	across_free(w->group.across);
	host_group_close(&w->group.local);
	host_release(&w->host);
	shm_release(w->memory);
	messages_release(&w->messages);
	MPI_Comm_free(&w->all);
	free(w->host_of);
	free(w->local_of);
	free(w);
}

void mpi_close_world(struct comm *c)
{
	struct mpi_world *w = c->state;

	stop_thread(c);
	pthread_mutex_lock(c->lock);
	if (mpi_is_spread(c))
		cards_end(&w->cards, c->lock);
	release(w);
	pthread_mutex_unlock(c->lock);
	pthread_cond_destroy(&c->started);
}

static enum status allocate(struct mpi_world *w, int ranks, struct error *err)
{
	enum status st;

	w->host_of = calloc((size_t)ranks, sizeof(int));
	w->local_of = calloc((size_t)ranks, sizeof(int));
	if (!w->host_of || !w->local_of)
		return FAIL(err, ERR_MEMORY, "no memory for a world of %d ranks", ranks);
	TRY(cards_init(&w->cards, w->all, ranks, err));
	TRY(messages_init(&w->messages, w->all, ranks, err));
out:
	return st;
}

/* All that asks the other ranks, in this order on all of them. */
static enum status meet(struct mpi_world *w, const char *hosts, struct mpi_place *place,
			struct error *err)
{
	MPI_Comm local;
	enum status st;
	int failed, any;

	hosts_split(w->all, hosts, &local);
	hosts_share_places(w->all, local, w->host_of, w->local_of);
	hosts_look_at_cores(w->all, local, place);
	st = hosts_share_memory(&w->memory, local, place, err);
	MPI_Comm_free(&local);
	failed = st != OK;
	MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, w->all);
	if (st == OK && any) {
		st = FAIL(err, ERR_MEMORY, "ranks of another machine can't share memory");
		err->reported = true; /* by one of them */
	}
	return st;
}

static enum status describe(struct comm **out, struct mpi_world *w, int rank, int ranks,
			    struct error *err)
{
	int *members = calloc((size_t)ranks, sizeof(*members));
	enum status st;

	if (!members)
		return FAIL(err, ERR_MEMORY, "no memory for a world of %d ranks", ranks);
	for (int i = 0; i < ranks; i++)
		members[i] = i;
	st = comm_new(out, &comm_mpi, NULL, members, ranks, rank, err);
	if (st == OK)
		(*out)->state = w;
	free(members);
	return st;
}

/* Of all processes of a communicator, which is the world's from now on. */
static enum status open_world(struct comm **world, MPI_Comm all, const char *hosts,
			      struct mpi_place *place, struct error *err)
{
	enum status st;
	struct mpi_world *w = calloc(1, sizeof(*w));
	struct comm *c = NULL;
	int rank, ranks;

	MPI_Comm_rank(all, &rank);
	MPI_Comm_size(all, &ranks);
	if (!w) {
		MPI_Comm_free(&all);
		return FAIL(err, ERR_MEMORY, "no memory for a world of %d ranks", ranks);
	}
	w->all = all;
	w->poll_ns = POLL_FIRST_NS;
	TRY(allocate(w, ranks, err));
	TRY(meet(w, hosts, place, err));
	TRY(describe(&c, w, rank, ranks, err));
	TRY(host_init(&w->host, w->memory, place->local, rank, err));
	TRY(mpi_open_group(c, &w->group, err));
	c->spin = place->locals <= place->cores;
	c->status = shm_status(w->memory, place->local);
	c->lock = &mpi_lock;
	pthread_cond_init(&c->started, NULL);
	prctl(PR_SET_TIMERSLACK, 1000); /* or a short sleep would last 50 us longer */
	TRY(start_thread(c, w, err));
	*world = c;
	w = NULL; /* the world's now */
	c = NULL;
out:
	if (w)
		release(w);
	if (c)
		free(c->members);
	free(c);
	return st;
}

enum status mpi_open(struct comm **world, int ranks, const char *hosts, struct mpi_place *place,
		     struct error *err)
{
	enum status st = OK;
	MPI_Comm all;
	int rank;

	*world = NULL;
	pthread_mutex_lock(&mpi_lock);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &all);
	if (all != MPI_COMM_NULL)
		st = open_world(world, all, hosts, place, err);
	pthread_mutex_unlock(&mpi_lock);
	return st;
}

enum status mpi_join(struct comm **world, const void *communicator, const char *hosts,
		     struct mpi_place *place, struct error *err)
{
	enum status st = OK;
	int begun, ended, ranks;
	MPI_Comm all;

	*world = NULL;
	MPI_Initialized(&begun);
	MPI_Finalized(&ended);
	if (!begun || ended) {
		FAIL(err, ERR_USAGE, "MPI %s", ended ? "has ended" : "has not been started");
		return HINT(err, "call MPI_Init_thread before, and MPI_Finalize after it");
	}
	MPI_Comm_size(*(const MPI_Comm *)communicator, &ranks);
	if (ranks > RANKS_MAX) {
		FAIL(err, ERR_USAGE, "%d ranks are too many", ranks);
		return HINT(err, "at most %d", RANKS_MAX);
	}
	pthread_mutex_lock(&mpi_lock);
	MPI_Comm_dup(*(const MPI_Comm *)communicator, &all);
	st = open_world(world, all, hosts, place, err);
	pthread_mutex_unlock(&mpi_lock);
	return st;
}
