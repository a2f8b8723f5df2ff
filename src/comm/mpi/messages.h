/* messages.h - messages between ranks of different machines. Only for comm/mpi/. */
#ifndef KOLM_COMM_MPI_MESSAGES_H
#define KOLM_COMM_MPI_MESSAGES_H

#include "comm/comm.h"

#include <mpi.h>

/* How many messages went each way, for each (rank of the world, channel). */
struct messages {
	MPI_Comm comm;				 /* all ranks of the world; borrowed */
	uint64_t *sent, *received;		 /* numbered */
	uint64_t *sent_posted, *received_posted; /* handed to MPI */
};

enum status messages_init(struct messages *m, MPI_Comm comm, int ranks, struct error *err);
void messages_release(struct messages *m);

/* Give a message its number, and move it on. */
void messages_enter(struct messages *m, struct comm_request *r);
void messages_advance(struct messages *m, struct comm_request *r);

#endif
