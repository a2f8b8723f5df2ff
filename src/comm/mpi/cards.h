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

struct cards {
	int world;			 /* the how manieth of this process */
	struct comm *groups[GROUPS_MAX]; /* by seat; borrowed; NULL: none there */
	int64_t next;			 /* ns: when to send again */
};

/* Nothing has gone on for a while: tell the others, as host_of has them, and compare what
   they tell. What does not match breaks the world. */
void cards_exchange(struct cards *c, const struct comm *world, const int *host_of);

/* All processes of the job, before they leave MPI: what was sent is received. */
void cards_end(void);

#endif
