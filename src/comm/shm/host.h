/*
 * host.h - what ranks of one machine do together in shared memory: messages, and the
 * meetings of a group. Ranks are numbered within the machine here. Only for comm/.
 *
 * A message is a pointer: the receiver copies straight from the sender's buffer. In a
 * collective everyone arrives with a buffer, does its share directly on the buffers of
 * the others, and departs. How much of a meeting that is depends on who needs whom:
 *   sums, all-gather	all arrive before the first share, all depart before anyone goes on
 *   barrier		all arrive
 *   broadcast,		each member needs the root to arrive, copies from or to its buffer
 *   scatter, gather	and goes on; the root departs after all members
 * Only who can go on because of it is rung: by the root as it arrives, by the last one
 * of those who must all have arrived or departed.
 *
 * Requests are advanced in the order in which they were started, but peers go on in
 * between: what the first of a channel or group did not see yet may be there for the
 * second. So each step also asks whether it is this request's turn.
 */
#ifndef KOLM_COMM_SHM_HOST_H
#define KOLM_COMM_SHM_HOST_H

#include "comm/impl.h"
#include "comm/shm/blocks.h"
#include "comm/shm/memory.h"

/* What one of the rank's places in shared memory is taken by. */
struct seat {
	bool open; /* false: closed here, and maybe not everywhere */
	uint64_t group;
	int count, *ranks; /* (count) of the members; NULL: it is free */
};

/* A rank's own counters. */
struct host {
	struct shm_memory *memory; /* borrowed */
	struct blocks blocks;	   /* of it, this rank's */
	int me, rank;		   /* on this machine, and in the world */
	uint64_t groups;	   /* calls of host_group_open so far */
	struct seat seats[GROUPS_MAX];
	struct {
		uint64_t sent[COMM_CHANNELS], received[COMM_CHANNELS];
	} * peers; /* (ranks) messages to and from each */
};

enum status host_init(struct host *h, struct shm_memory *memory, int me, int rank,
		      struct error *err);
void host_release(struct host *h);

/* The members of a group on this machine. */
struct host_group {
	struct host *host;
	uint64_t number; /* the how manieth that was opened */
	int seat;	 /* of this rank */
	int me, count;
	int *ranks;		 /* (count) of the members */
	struct member **members; /* (count) NULL: not found yet */
	uint64_t started;	 /* collectives of this rank */
};

/* Every rank of the machine calls it the same number of times; count may be 0. It waits only
   where so many groups were closed here and not by their other members that there is no place
   left; requests of the world (NULL: there are none yet) go on meanwhile. */
enum status host_group_open(struct host_group *g, struct host *h, struct comm *world,
			    const int *ranks, int count, struct error *err);
void host_group_close(struct host_group *g);
/* What a member shows; NULL: it has not opened the group yet. */
struct member *host_find_member(const struct host_group *g, int i);
static inline struct member *host_member(const struct host_group *g, int i)
{
	return g->members[i] ? g->members[i] : host_find_member(g, i);
}

/* Peers may have memory that this process has not mapped yet: false if it can't have it, and
   then nothing goes on any more. */
bool host_can_reach(const struct host *h, const struct comm_request *r);

/* Give a message to or from a rank its number, and move it on. */
void host_enter_message(struct host *h, int peer, struct comm_request *r);
void host_send(struct host *h, int peer, struct comm_request *r);
void host_receive(struct host *h, int peer, struct comm_request *r);

/* Give a collective its number. */
void host_enter_collective(struct host_group *g, struct comm_request *r);
/* What a member has brought to the collective of that number, which is not long ago. */
struct offer host_offer(const struct host_group *g, int member, uint64_t sequence);
/* Arrive if it is our turn; true when all have, and this rank's share is to be done. */
bool host_arrive(struct host_group *g, struct comm_request *r);
/* The buffer that a member has brought. */
void *host_buffer(const struct host_group *g, const struct comm_request *r, int member);
/* Our share is done; and: has everybody done theirs? */
void host_depart(struct host_group *g, struct comm_request *r);
bool host_over(const struct host_group *g, const struct comm_request *r);

/* This rank's share of a collective whose members are all on this machine. */
void host_work(const struct host_group *g, struct comm_request *r);

/* Something has changed for a rank: wake it if it sleeps. */
void host_ring(struct host *h, int rank);
/* Sleep until somebody rings, at most so long. Fails on stop. */
enum status host_sleep(struct host *h, const struct comm_request *r, long ns,
		       struct error *err);

#endif
