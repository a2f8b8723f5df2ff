/* shm.c - the transport whose ranks are all on one machine; see shm.h and host.h */
#include "comm/shm/host.h"

#include <stdlib.h>

enum { SLEEP_NS = 200 * 1000 * 1000 };

/* The world is its own first group, so it keeps both. */
struct shm_world {
	struct host_group group; /* first: c->state of any comm is a struct host_group */
	struct host host;
};

static struct host *host_of(const struct comm *c)
{
	return &((struct shm_world *)c->world->state)->host;
}

static enum status shm_create(struct comm *c, struct error *err)
{
	enum status st;
	struct host_group *g = c->size ? calloc(1, sizeof(*g)) : NULL;

	if (c->size && !g)
		return FAIL(err, ERR_MEMORY, "no memory for a group of %d ranks", c->size);
	st = host_group_open(g, host_of(c), c->world, c->members, c->size, err);
	if (st != OK)
		free(g);
	else
		c->state = g;
	return st;
}

static void shm_free(struct comm *c)
{
	host_group_close(c->state);
	if (c->world == c)
		host_release(host_of(c));
	free(c->state);
}

static enum status alloc(struct comm *world, size_t bytes, void **out, struct error *err)
{
	struct host *h = host_of(world);

	return blocks_take(&h->blocks, h->memory, bytes, out, err);
}

static void give_back(struct comm *world, void *memory)
{
	struct host *h = host_of(world);

	blocks_give_back(&h->blocks, h->memory, memory);
}

static void shm_enter(struct comm_request *r)
{
	struct host_group *g = r->comm->state;

	if (r->kind == REQUEST_COLLECTIVE)
		host_enter_collective(g, r);
	else
		host_enter_message(host_of(r->comm), r->comm->members[r->peer], r);
}

static void shm_advance(struct comm_request *r)
{
	struct host_group *g = r->comm->state;

	if (r->kind == REQUEST_SEND) {
		host_send(host_of(r->comm), r->comm->members[r->peer], r);
	} else if (r->kind == REQUEST_RECEIVE) {
		host_receive(host_of(r->comm), r->comm->members[r->peer], r);
	} else {
		if (host_arrive(g, r)) {
			host_work(g, r);
			host_depart(g, r);
		}
		r->done = host_over(g, r);
	}
}

static enum status shm_sleep(struct comm *world, const struct comm_request *r,
			     struct error *err)
{
	return host_sleep(host_of(world), r, SLEEP_NS, err);
}

static const struct comm_ops comm_shm = {
	.name = "shm",
	.create = shm_create,
	.free = shm_free,
	.alloc = alloc,
	.give_back = give_back,
	.enter = shm_enter,
	.advance = shm_advance,
	.sleep = shm_sleep,
};

enum status shm_join(struct comm **world, struct shm_memory *memory, int rank,
		     struct error *err)
{
	enum status st;
	struct comm *c = NULL;
	struct shm_world *state = calloc(1, sizeof(*state));
	int members[RANKS_MAX];

	for (int i = 0; i < memory->ranks; i++)
		members[i] = i;
	if (!state)
		return FAIL(err, ERR_MEMORY, "no memory for a world of %d ranks",
			    memory->ranks);
	TRY(host_init(&state->host, memory, rank, rank, err));
	TRY(host_group_open(&state->group, &state->host, NULL, members, memory->ranks, err));
	TRY(comm_new(&c, &comm_shm, NULL, members, memory->ranks, rank, err));
	c->state = state;
	c->spin = memory->spin;
	c->status = shm_status(memory, rank);
	*world = c;
	state = NULL; /* the world's now */
out:
	if (state) {
		host_group_close(&state->group);
		host_release(&state->host);
	}
	free(state);
	return st;
}
