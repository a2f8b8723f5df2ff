/* cards.c - see cards.h */
#include "comm/mpi/cards.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 100 }; /* messages of ranks have their channels */

static const int64_t AGAIN_NS = 500 * 1000 * 1000;

enum status cards_init(struct cards *c, MPI_Comm comm, int ranks, struct error *err)
{
	c->comm = comm;
	for (int i = 0; i < CARDS_MAX; i++)
		c->out[i].sent = MPI_REQUEST_NULL;
	c->sent_to = calloc((size_t)ranks, sizeof(*c->sent_to));
	return c->sent_to ? OK : FAIL(err, ERR_MEMORY, "no memory for %d ranks", ranks);
}

void cards_release(struct cards *c)
{
	free(c->sent_to);
}

/* The checker wants a wait for every send beside it.
   NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

static bool receive(struct cards *c, struct card *in, int *from)
{
	MPI_Status status;
	int there;

	MPI_Iprobe(MPI_ANY_SOURCE, TAG, c->comm, &there, &status);
	if (!there)
		return false;
	*from = status.MPI_SOURCE;
	MPI_Recv(in, sizeof(*in), MPI_BYTE, *from, TAG, c->comm, MPI_STATUS_IGNORE);
	c->received++;
	return true;
}

/* To one rank, if there is room for it: there is a next time. */
static void send(struct cards *c, const struct card *card, int to)
{
	for (int i = 0; i < CARDS_MAX; i++) {
		int through;

		MPI_Test(&c->out[i].sent, &through, MPI_STATUS_IGNORE);
		if (!through)
			continue;
		c->sent_to[to]++;
		c->out[i].card = *card;
		MPI_Isend(&c->out[i].card, sizeof(*card), MPI_BYTE, to, TAG, c->comm,
			  &c->out[i].sent);
		return;
	}
}

static void pause_without(pthread_mutex_t *lock)
{
	struct timespec pause = {.tv_nsec = 100 * 1000};

	pthread_mutex_unlock(lock);
	nanosleep(&pause, NULL);
	pthread_mutex_lock(lock);
}

static void wait_for(MPI_Request *request, pthread_mutex_t *lock)
{
	int through = 0;

	while (!through) {
		MPI_Test(request, &through, MPI_STATUS_IGNORE);
		if (!through)
			pause_without(lock);
	}
}

void cards_end(struct cards *c, pthread_mutex_t *lock)
{
	MPI_Request counted;
	struct card in;
	int due = 0, from;

	MPI_Ireduce_scatter_block(c->sent_to, &due, 1, MPI_INT, MPI_SUM, c->comm, &counted);
	wait_for(&counted, lock);
	while (c->received < due)
		if (!receive(c, &in, &from))
			pause_without(lock);
	for (int i = 0; i < CARDS_MAX; i++)
		wait_for(&c->out[i].sent, lock);
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

/* The first member on its machine? There all members match, or they know already. */
static bool is_first_there(const struct comm *c, const int *host_of, int member)
{
	for (int i = 0; i < member; i++)
		if (host_of[c->members[i]] == host_of[c->members[member]])
			return false;
	return true;
}

static void tell(struct cards *c, const struct comm *group, const int *host_of)
{
	const struct host_group *g = group->state; /* the first part of it */
	const struct member *me = host_member(g, g->me);
	struct card card = {.group = g->number, .arrived = me->arrived};

	memcpy(card.kind, me->kind, sizeof(card.kind));
	memcpy(card.place, me->place, sizeof(card.place));
	for (int i = 0; i < group->size; i++)
		if (host_of[group->members[i]] != host_of[group->world->rank] &&
		    is_first_there(group, host_of, i))
			send(c, &card, group->members[i]);
}

/* The group of that number, if this rank is in it. */
static struct comm *find_group(const struct cards *c, uint64_t number)
{
	for (int i = 0; i < GROUPS_MAX; i++) {
		const struct host_group *g = c->groups[i] ? c->groups[i]->state : NULL;

		if (g && g->number == number)
			return c->groups[i];
	}
	return NULL;
}

/* The first that differs, of those that both sides still know. */
static void compare(const struct cards *c, const struct card *in, int from)
{
	struct comm *group = find_group(c, in->group);
	const struct host_group *g = group ? group->state : NULL;
	uint64_t ours = g ? host_member(g, g->me)->arrived : 0;
	uint64_t most = ours > in->arrived ? ours : in->arrived;

	for (uint64_t i = most < GROUP_SLOTS ? 0 : most - GROUP_SLOTS;
	     i < ours && i < in->arrived; i++) {
		struct offer own = host_offer(g, g->me, i);
		struct offer other = {.rank = from,
				      .kind = in->kind[i % GROUP_SLOTS],
				      .place = in->place[i % GROUP_SLOTS]};

		if (own.kind != other.kind) {
			comm_collectives_differ(group, own, other);
			return;
		}
	}
}

void cards_exchange(struct cards *c, const struct comm *world, const int *host_of)
{
	int64_t now = clock_ns();
	struct card in;
	int from;

	while (receive(c, &in, &from))
		compare(c, &in, from);
	if (now < c->next)
		return;
	c->next = now + AGAIN_NS;
	for (const struct comm_request *r = world->first; r; r = r->next)
		if (r->kind == REQUEST_COLLECTIVE)
			tell(c, r->comm, host_of);
}
