/* alone.c - see alone.h */
#include "comm/alone.h"
#include "comm/impl.h"

#include <stdlib.h>

struct piece {
	struct piece *next;
	void *memory;
};

static enum status alone_create(struct comm *c, struct error *err)
{
	(void)c, (void)err;
	return OK;
}

static void alone_free(struct comm *c)
{
	if (c->world != c)
		return;
	while (c->state) {
		struct piece *piece = c->state;

		c->state = piece->next;
		free(piece->memory);
		free(piece);
	}
}

static enum status alone_alloc(struct comm *world, size_t bytes, void **out, struct error *err)
{
	struct piece *piece = calloc(1, sizeof(*piece));

	*out = calloc(1, bytes + 1);
	if (!piece || !*out) {
		free(piece);
		free(*out);
		return FAIL(err, ERR_MEMORY, "no memory for a buffer of %zu bytes", bytes);
	}
	*piece = (struct piece){.next = world->state, .memory = *out};
	world->state = piece;
	return OK;
}

/* With the world: an engine that is looked at lives for a moment. */
static void alone_give_back(struct comm *world, void *memory)
{
	(void)world, (void)memory;
}

static void alone_enter(struct comm_request *r)
{
	(void)r;
}

static void alone_advance(struct comm_request *r)
{
	r->ready = r->posted;
	if (r->kind == REQUEST_COLLECTIVE && r->comm->links && r->comm->size > 1)
		r->carried = links_carry_round(r);
	r->done = true;
}

static enum status alone_sleep(struct comm *world, const struct comm_request *r,
			       struct error *err)
{
	(void)world, (void)r;
	return FAIL(err, ERR_FAILED, "a rank that is alone waits for another");
}

static const struct comm_ops comm_alone = {
	.name = "alone",
	.create = alone_create,
	.free = alone_free,
	.alloc = alone_alloc,
	.give_back = alone_give_back,
	.enter = alone_enter,
	.advance = alone_advance,
	.sleep = alone_sleep,
};

enum status comm_open_alone(struct comm **world, int rank, int ranks, struct error *err)
{
	int *members = calloc((size_t)ranks, sizeof(*members));
	enum status st;

	if (!members)
		return FAIL(err, ERR_MEMORY, "no memory for a world of %d ranks", ranks);
	for (int i = 0; i < ranks; i++)
		members[i] = i;
	st = comm_new(world, &comm_alone, NULL, members, ranks, rank, err);
	free(members);
	return st;
}
