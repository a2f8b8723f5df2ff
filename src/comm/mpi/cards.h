/*
 * cards.h - finding out that machines do not match in a collective. Only for comm/mpi/.
 *
 * Ranks of one machine see what each of them brings. Between machines, pieces that do not
 * belong together just never meet (see across.h). So a rank that has waited for long tells
 * one member on each other machine, now and then, what its last collectives were: it sends
 * a card. Who gets one compares. While a run goes on, no card is sent, and nobody looks for
 * one.
 */
#ifndef KOLM_COMM_MPI_CARDS_H
#define KOLM_COMM_MPI_CARDS_H

#include "comm/shm/host.h"

#include <mpi.h>

enum { CARDS_MAX = 16 }; /* under way */

/* The last collectives of a group: number i is at i % GROUP_SLOTS. */
struct card {
	uint64_t group;	  /* its number */
	uint64_t arrived; /* how many there were */
	uint64_t kind[GROUP_SLOTS];
	char place[GROUP_SLOTS][COMM_PLACE];
};

struct cards {
	MPI_Comm comm; /* all ranks of the world; borrowed */
	struct {
		struct card card;
		MPI_Request sent;
	} out[CARDS_MAX];
	int *sent_to; /* (ranks) cards so far */
	int received;
	struct comm *groups[GROUPS_MAX]; /* by seat; borrowed; NULL: none there */
	int64_t next;			 /* ns: when to send again */
};

enum status cards_init(struct cards *c, MPI_Comm comm, int ranks, struct error *err);
void cards_release(struct cards *c);

/* Nothing has gone on for a while: tell the others, as host_of has them, and compare what
   they tell. What does not match breaks the world. */
void cards_exchange(struct cards *c, const struct comm *world, const int *host_of);

/* All ranks of the world, at its end: a card may be on its way to one that waits no more. The
   lock is let go while there is nothing to do. */
void cards_end(struct cards *c, pthread_mutex_t *lock);

#endif
