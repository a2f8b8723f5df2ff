/*
 * cards.c - see cards.h
 *
 * A card may arrive when nobody waits any more, or when its world is gone. So cards are
 * sent on a communicator and from memory that outlive worlds, and name theirs.
 */
#include "comm/mpi/cards.h"
#include "base/clock.h"

#include <mpi.h>
#include <string.h>

enum {
	TAG = 100,  /* nobody else sends such messages over all processes */
	CARDS = 16, /* under way */
};

static const int64_t AGAIN_NS = 500 * 1000 * 1000;

/* The last collectives of a group: number i is at i % GROUP_SLOTS. */
struct card {
	int64_t world;
	uint64_t group;	  /* its number */
	uint64_t arrived; /* how many there were */
	uint64_t kind[GROUP_SLOTS];
	char place[GROUP_SLOTS][COMM_PLACE];
};

static struct {
	struct card card;
	MPI_Request sent;
	bool used;
} out[CARDS];

static int sent_to[RANKS_MAX], received;

/* The checker wants a wait for every send beside it.
   NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

static bool receive(struct card *in, int *from)
{
	MPI_Status status;
	int there;

	MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status);
	if (!there)
		return false;
	*from = status.MPI_SOURCE;
	MPI_Recv(in, sizeof(*in), MPI_BYTE, *from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	received++;
	return true;
}

/* To one rank, if there is room for it: there is a next time. */
static void send(const struct card *card, int to)
{
	for (int i = 0; i < CARDS; i++) {
		int through = 1;

		if (out[i].used)
			MPI_Test(&out[i].sent, &through, MPI_STATUS_IGNORE);
		if (!through)
			continue;
		out[i].used = true;
		sent_to[to]++;
		out[i].card = *card;
		MPI_Isend(&out[i].card, sizeof(*card), MPI_BYTE, to, TAG, MPI_COMM_WORLD,
			  &out[i].sent);
		return;
	}
}

void cards_end(void)
{
	struct card in;
	int ranks, due = 0;

	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks > RANKS_MAX)
		return; /* no run of so many has begun */
	MPI_Reduce_scatter_block(sent_to, &due, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (; received < due; received++)
		MPI_Recv(&in, sizeof(in), MPI_BYTE, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	for (int i = 0; i < CARDS; i++)
		if (out[i].used)
			MPI_Wait(&out[i].sent, MPI_STATUS_IGNORE);
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

static void tell(const struct cards *c, const struct comm *group, const int *host_of)
{
	const struct host_group *g = group->state; /* the first part of it */
	const struct member *me = host_member(g, g->me);
	struct card card = {.world = c->world, .group = g->number, .arrived = me->arrived};

	memcpy(card.kind, me->kind, sizeof(card.kind));
	memcpy(card.place, me->place, sizeof(card.place));
	for (int i = 0; i < group->size; i++)
		if (host_of[group->members[i]] != host_of[group->world->rank] &&
		    is_first_there(group, host_of, i))
			send(&card, group->members[i]);
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
	struct comm *group = in->world == c->world ? find_group(c, in->group) : NULL;
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

	while (receive(&in, &from))
		compare(c, &in, from);
	if (now < c->next)
		return;
	c->next = now + AGAIN_NS;
	for (const struct comm_request *r = world->first; r; r = r->next)
		if (r->kind == REQUEST_COLLECTIVE)
			tell(c, r->comm, host_of);
}
