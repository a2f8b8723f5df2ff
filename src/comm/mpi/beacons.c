/*
 * beacons.c - signs of life between machines; see mpi.h
 *
 * Each of those who tell keeps a receive from every other under way, and tells nobody anew
 * who has not taken the last news. All of it is done with the world's lock held, and put
 * off while somebody else keeps that: two threads must not be in MPI at once.
 */
#include "comm/impl.h"
#include "comm/mpi/mpi.h"
#include "comm/mpi/world.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_MS = 10, TAG = 0 };

struct message {
	struct mpi_sign sign;
	int bye; /* there comes no other */
};

/* What we exchange with one of the others. */
struct line {
	int peer; /* number in comm */
	struct message in, out;
	MPI_Request receive, send;
	bool told, ended; /* we have said bye; it has */
};

struct mpi_beacons {
	struct comm *world;
	MPI_Comm comm;	       /* of those who tell */
	int n;		       /* others */
	struct line *lines;    /* (n), by rank; and what came of it: */
	struct mpi_beacon *is; /* (n) */
	double since_ms;       /* we last told */
	bool failed;	       /* and of a failure */
};

/* The checker knows MPI_Wait only, and here nothing ever waits.
   NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

static void listen(struct mpi_beacons *b, struct line *l)
{
	MPI_Irecv(&l->in, (int)sizeof(l->in), MPI_BYTE, l->peer, TAG, b->comm, &l->receive);
}

static void take_news(struct mpi_beacons *b, int i)
{
	struct line *l = &b->lines[i];
	int through = 1;

	while (!l->ended) {
		MPI_Test(&l->receive, &through, MPI_STATUS_IGNORE);
		if (!through)
			return;
		b->is[i].last = l->in.sign;
		b->is[i].silent_ms = 0;
		l->ended = l->in.bye;
		if (!l->ended)
			listen(b, l);
	}
}

static bool tell(struct mpi_beacons *b, struct line *l, const struct message *news)
{
	int through;

	MPI_Test(&l->send, &through, MPI_STATUS_IGNORE);
	if (!through)
		return false;
	l->out = *news;
	MPI_Isend(&l->out, (int)sizeof(l->out), MPI_BYTE, l->peer, TAG, b->comm, &l->send);
	return true;
}

static bool take_lock(struct mpi_beacons *b)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += LOCK_MS * 1000 * 1000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return !pthread_mutex_timedlock(b->world->lock, &until);
}

int mpi_beacons_look(struct mpi_beacons *b, const struct mpi_sign *own, double elapsed_ms,
		     double every_ms, const struct mpi_beacon **out)
{
	struct message news = {.sign = *own};
	bool due;

	*out = b ? b->is : NULL;
	if (!b)
		return 0;
	b->since_ms += elapsed_ms;
	if (!take_lock(b))
		return b->n;
	due = b->since_ms > every_ms || (own->failed && !b->failed);
	for (int i = 0; i < b->n; i++) {
		b->is[i].silent_ms += elapsed_ms;
		take_news(b, i);
		if (due)
			tell(b, &b->lines[i], &news);
	}
	b->failed = b->failed || (due && own->failed);
	if (due)
		b->since_ms = 0;
	pthread_mutex_unlock(b->world->lock);
	return b->n;
}

/* Every receive has its send: the last one says so. */
static bool part_from(struct mpi_beacons *b, int i)
{
	const struct message bye = {.bye = 1};
	struct line *l = &b->lines[i];
	int through;

	take_news(b, i);
	l->told = l->told || tell(b, l, &bye);
	MPI_Test(&l->send, &through, MPI_STATUS_IGNORE);
	return l->told && through && l->ended;
}

static void release(struct mpi_beacons *b)
{
	if (b->comm != MPI_COMM_NULL)
		MPI_Comm_free(&b->comm);
	free(b->lines);
	free(b->is);
	free(b);
}

void mpi_beacons_close(struct mpi_beacons *b)
{
	struct timespec pause = {.tv_nsec = 1000 * 1000};
	bool parted = !b;

	while (!parted) {
		parted = true;
		pthread_mutex_lock(b->world->lock);
		for (int i = 0; i < b->n; i++)
			parted = part_from(b, i) && parted;
		pthread_mutex_unlock(b->world->lock);
		if (!parted)
			nanosleep(&pause, NULL);
	}
	if (b)
		release(b);
}

/* Who they are, and where. */
static enum status meet(struct mpi_beacons *b, int size, struct error *err)
{
	struct mpi_beacon own = {.rank = comm_rank(b->world)}, *all;
	int me, n = 0;

	b->lines = calloc((size_t)size, sizeof(*b->lines));
	b->is = calloc((size_t)size, sizeof(*b->is));
	all = calloc((size_t)size, sizeof(*all));
	if (!b->lines || !b->is || !all) {
		free(all);
		return FAIL(err, ERR_MEMORY, "no memory to watch %d machines", size);
	}
	gethostname(own.host, sizeof(own.host) - 1);
	MPI_Comm_rank(b->comm, &me);
	MPI_Allgather(&own, (int)sizeof(own), MPI_BYTE, all, (int)sizeof(own), MPI_BYTE,
		      b->comm);
	for (int i = 0; i < size; i++) {
		if (i == me)
			continue;
		b->is[n] = all[i];
		b->lines[n] = (struct line){
			.peer = i, .receive = MPI_REQUEST_NULL, .send = MPI_REQUEST_NULL};
		listen(b, &b->lines[n++]);
	}
	b->n = n;
	free(all);
	return OK;
}

enum status mpi_beacons_open(struct mpi_beacons **out, struct comm *world, bool tells,
			     struct error *err)
{
	enum status st = OK;
	struct mpi_beacons *b;
	int size = 1;

	*out = NULL;
	if (!mpi_has_threads())
		return OK; /* then there is nobody to watch meanwhile */
	b = calloc(1, sizeof(*b));
	if (!b)
		return FAIL(err, ERR_MEMORY, "no memory to watch other machines");
	b->world = world;
	pthread_mutex_lock(world->lock);
	MPI_Comm_split(world_of(world)->all, tells ? 0 : MPI_UNDEFINED, comm_rank(world),
		       &b->comm);
	if (b->comm != MPI_COMM_NULL)
		MPI_Comm_size(b->comm, &size);
	if (size > 1) {
		TRY(meet(b, size, err));
		*out = b;
		b = NULL; /* the caller's now */
	}
out:
	pthread_mutex_unlock(world->lock);
	if (b)
		release(b);
	return st;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
