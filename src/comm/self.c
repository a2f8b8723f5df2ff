/* self.c - see self.h. A rank may send to itself: the receive takes the oldest send. */
#include "comm/self.h"
#include "comm/impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct piece {
	struct piece *next;
	void *memory;
};

struct self {
	struct piece *pieces; /* of comm_alloc, freed with the world */
	uint64_t sent[COMM_CHANNELS], received[COMM_CHANNELS];
};

static struct self *self_of(const struct comm *c)
{
	return c->world->state;
}

static enum status self_create(struct comm *c, struct error *err)
{
	(void)c;
	(void)err;
	return OK;
}

static void self_free(struct comm *c)
{
	struct self *self = self_of(c);

	if (c->world != c)
		return;
	while (self->pieces) {
		struct piece *piece = self->pieces;

		self->pieces = piece->next;
		free(piece->memory);
		free(piece);
	}
	free(self);
}

static enum status self_alloc(struct comm *world, size_t bytes, void **out, struct error *err)
{
	struct piece *piece = calloc(1, sizeof(*piece));
	size_t size = (bytes + 64) / 64 * 64;
	void *memory = aligned_alloc(64, size);

	if (!piece || !memory) {
		free(piece);
		free(memory);
		return FAIL(err, ERR_MEMORY, "no memory for a buffer of %zu bytes", bytes);
	}
	memset(memory, 0, size);
	piece->memory = *out = memory;
	piece->next = self_of(world)->pieces;
	self_of(world)->pieces = piece;
	return OK;
}

static void self_give_back(struct comm *world, void *memory)
{
	struct piece **p = &self_of(world)->pieces, *piece;

	while (*p && (*p)->memory != memory)
		p = &(*p)->next;
	piece = *p;
	assert(piece); /* given back twice, or not this world's */
	*p = piece->next;
	free(piece->memory);
	free(piece);
}

static void self_enter(struct comm_request *r)
{
	struct self *self = self_of(r->comm);

	if (r->kind == REQUEST_SEND)
		r->sequence = self->sent[r->channel]++;
	else if (r->kind == REQUEST_RECEIVE)
		r->sequence = self->received[r->channel]++;
}

/* The send that a receive waits for, among those under way. */
static struct comm_request *find_send(const struct comm_request *receive)
{
	struct comm_request *r = receive->comm->world->first;

	while (r && !(r->kind == REQUEST_SEND && !r->worked && r->channel == receive->channel &&
		      r->sequence == receive->sequence))
		r = r->next;
	return r;
}

static void self_advance(struct comm_request *r)
{
	struct comm_request *send;

	if (r->kind == REQUEST_COLLECTIVE) {
		r->done = true; /* with one member every collective changes nothing */
	} else if (r->kind == REQUEST_SEND) {
		r->done = r->worked;
	} else if ((send = find_send(r))) {
		assert(send->bytes == r->bytes);
		memcpy(r->data, send->data, r->bytes);
		send->worked = true;
		r->done = true;
	}
}

static enum status self_sleep(struct comm *world, const struct comm_request *r,
			      struct error *err)
{
	(void)world;
	/* The only rank waits for itself: a send without its receive, or the reverse. */
	return FAIL(err, ERR_FAILED, "a %s on channel %d has no partner",
		    r->kind == REQUEST_SEND ? "send" : "receive", r->channel);
}

static const struct comm_ops comm_self = {
	.name = "self",
	.create = self_create,
	.free = self_free,
	.alloc = self_alloc,
	.give_back = self_give_back,
	.enter = self_enter,
	.advance = self_advance,
	.sleep = self_sleep,
};

enum status comm_open_self(struct comm **world, struct error *err)
{
	static const int only[1] = {0};
	enum status st;
	struct comm *c;

	st = comm_new(&c, &comm_self, NULL, only, 1, 0, err);
	if (st != OK)
		return st;
	c->state = calloc(1, sizeof(struct self));
	if (!c->state) {
		free(c->members);
		free(c);
		return FAIL(err, ERR_MEMORY, "no memory for a world of one rank");
	}
	*world = c;
	return OK;
}
