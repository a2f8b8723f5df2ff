/*
 * across.h - the part of a collective that crosses machines. Only for comm/mpi/.
 *
 * The buffers are cut into the members' slices and those into pieces. On every machine
 * one member is in charge of a slice: it reads and writes the buffers of all members
 * there, through shared memory, and exchanges pieces with those in charge elsewhere. So
 * each machine sends and receives the data once, however many ranks it has.
 *
 * Sums are taken in the order of the ranks: a piece's partial sum, in fp32, travels from
 * machine to machine in that order, and the result goes to all. The sum is bit for bit
 * what one machine would compute. Several pieces are under way at any time.
 *
 * Where a group adds up in a tree, every machine sends the largest nodes of it that it has all
 * leaves of to that of the slice's owner, which adds these up in the tree: on machines with a
 * power of two of ranks each, in their order, that is one node per machine. Whatever the
 * placement, the nodes are the same numbers.
 *
 * As far as MPI has tags for it, those of a piece also say of what collective it is, and
 * which were before: where machines bring different ones, their pieces don't meet, and
 * nothing is taken for something else. What then does not go on is found by cards.h.
 */
#ifndef KOLM_COMM_MPI_ACROSS_H
#define KOLM_COMM_MPI_ACROSS_H

#include "comm/shm/host.h"

#include <mpi.h>

struct across; /* opaque */

/* For a group with members on several machines: hosts[i] numbers that of member i. comm
   has the members in this order, and is freed with it. */
enum status across_create(struct across **out, MPI_Comm comm, const int *hosts, int size,
			  int rank, struct error *err);
void across_free(struct across *a);

/* Move a collective on whose members of this machine have all arrived; true: our share of
   it is done. Collectives of a group come one after the other. */
bool across_work(struct across *a, const struct host_group *g, const struct comm_request *r);

#endif
