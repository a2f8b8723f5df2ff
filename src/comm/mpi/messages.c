/* messages.c - see messages.h */
#include "comm/mpi/messages.h"

#include <stdlib.h>

enum { PART_BYTES = 1 << 30 }; /* of a message: counts are ints in MPI 3.1 */

enum status messages_init(struct messages *m, MPI_Comm comm, int ranks, struct error *err)
{
	size_t channels = (size_t)ranks * COMM_CHANNELS;

	m->comm = comm;
	m->sent = calloc(channels, sizeof(*m->sent));
	m->received = calloc(channels, sizeof(*m->received));
	m->sent_posted = calloc(channels, sizeof(*m->sent_posted));
	m->received_posted = calloc(channels, sizeof(*m->received_posted));
	if (!m->sent || !m->received || !m->sent_posted || !m->received_posted)
		return FAIL(err, ERR_MEMORY, "no memory for the messages of %d ranks", ranks);
	return OK;
}

void messages_release(struct messages *m)
{
	free(m->sent);
	free(m->received);
	free(m->sent_posted);
	free(m->received_posted);
}

static int peer_of(const struct comm_request *r)
{
	return comm_world_rank(r->comm, r->peer);
}

static size_t place_of(const struct comm_request *r)
{
	return (size_t)peer_of(r) * COMM_CHANNELS + (size_t)r->channel;
}

void messages_enter(struct messages *m, struct comm_request *r)
{
	r->sequence = (r->kind == REQUEST_SEND ? m->sent : m->received)[place_of(r)]++;
}

/* MPI's handle lives in the request's first word, where only MPI looks at it. */
static MPI_Request *handle_of(struct comm_request *r)
{
	_Static_assert(sizeof(MPI_Request) <= sizeof(r->transport[0]), "it has one word");
	return (MPI_Request *)&r->transport[0];
}

/* Bytes that are with MPI: the second word. */
static size_t posted_bytes(const struct comm_request *r)
{
	return (size_t)r->transport[1];
}

/* The checker knows MPI_Wait only, and here nothing ever waits.
   NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

/* Hand the next part of a message to MPI; the next message may follow the last part. */
static void post_part(const struct messages *m, struct comm_request *r, uint64_t *posted)
{
	size_t from = posted_bytes(r), left = r->bytes - from;
	int bytes = (int)(left < PART_BYTES ? left : PART_BYTES);
	char *data = (char *)r->data + from;

	if (r->kind == REQUEST_SEND)
		MPI_Isend(data, bytes, MPI_BYTE, peer_of(r), r->channel, m->comm, handle_of(r));
	else
		MPI_Irecv(data, bytes, MPI_BYTE, peer_of(r), r->channel, m->comm, handle_of(r));
	r->transport[1] = from + (size_t)bytes;
	*posted += posted_bytes(r) == r->bytes;
}

/* Parts of a message follow each other without another's in between. */
void messages_advance(struct messages *m, struct comm_request *r)
{
	uint64_t *posted =
		&(r->kind == REQUEST_SEND ? m->sent_posted : m->received_posted)[place_of(r)];
	int through;

	if (!r->arrived) {
		if (*posted != r->sequence)
			return;
		post_part(m, r, posted);
		r->arrived = true;
	}
	MPI_Test(handle_of(r), &through, MPI_STATUS_IGNORE);
	if (!through)
		return;
	if (posted_bytes(r) < r->bytes)
		post_part(m, r, posted);
	else
		r->done = true;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
