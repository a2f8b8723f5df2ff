/* group.c - what all transports share: worlds and groups, their names and their memory. */
#include "base/tree.h"
#include "base/util.h"
#include "comm/impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *comm_op_name(enum comm_op op)
{
	static const char *const names[COMM_OP_COUNT] = {
		"barrier",   "all-reduce", "reduce-scatter", "all-gather",
		"broadcast", "scatter",	   "gather",
	};

	return names[op];
}

const char *comm_purpose_name(enum comm_purpose purpose)
{
#define X(id, name) name,
	static const char *const names[COMM_PURPOSE_COUNT] = {COMM_PURPOSES(X)};
#undef X
	return names[purpose];
}

int comm_rank(const struct comm *c)
{
	return c->rank;
}

int comm_size(const struct comm *c)
{
	return c->size;
}

int comm_world_rank(const struct comm *c, int member)
{
	return c->members[member];
}

void comm_set_order(struct comm *c, enum comm_order order)
{
	assert(order == COMM_IN_RANK_ORDER || tree_has(c->size));
	c->order = order;
}

enum comm_order comm_order(const struct comm *c)
{
	return c->order;
}

void comm_set_devices(struct comm *c, struct device_group *devices)
{
	c->devices = devices;
}

struct device_group *comm_devices(const struct comm *c)
{
	return c->devices;
}

void comm_slice(const struct comm *c, size_t n, int member, size_t *begin, size_t *end)
{
	*begin = (size_t)part_begin((int64_t)n, member, c->size);
	*end = (size_t)part_begin((int64_t)n, member + 1, c->size);
}

enum status comm_new(struct comm **out, const struct comm_ops *ops, struct comm *world,
		     const int *members, int size, int world_rank, struct error *err)
{
	struct comm *c = calloc(1, sizeof(*c));
	int *copy = calloc((size_t)size, sizeof(*copy));

	if (!c || !copy) {
		free(c);
		free(copy);
		return FAIL(err, ERR_MEMORY, "no memory for a group of %d ranks", size);
	}
	memcpy(copy, members, (size_t)size * sizeof(*copy));
	*c = (struct comm){.ops = ops,
			   .world = world ? world : c,
			   .size = size,
			   .members = copy,
			   .rank = -1};
	for (int i = 0; i < size; i++)
		if (members[i] == world_rank)
			c->rank = i;
	assert(c->rank >= 0); /* a rank opens only groups that it is in */
	*out = c;
	return OK;
}

enum status comm_create(struct comm **out, struct comm *world, enum comm_purpose purpose,
			const int *ranks, int n, struct error *err)
{
	enum status st;
	struct comm *c = NULL;
	struct comm none = {.ops = world->ops, .world = world};

	*out = NULL;
	comm_lock(world);
	if (n == 0) { /* the transport still counts the call */
		st = world->ops->create(&none, err);
		goto out;
	}
	TRY(comm_new(&c, world->ops, world, ranks, n, world->rank, err));
	c->purpose = purpose;
	TRY(world->ops->create(c, err));
	*out = c;
	c = NULL; /* the caller's now */
out:
	comm_unlock(world);
	if (c) {
		free(c->members);
		free(c);
	}
	return st;
}

void comm_free(struct comm *c)
{
	if (!c)
		return;
	assert(c->world != c || !c->first); /* requests under way */
	if (c->world != c)
		comm_lock(c->world);
	c->ops->free(c);
	if (c->world != c)
		comm_unlock(c->world);
	free(c->taken);
	free(c->members);
	free(c);
}

enum status comm_alloc(struct comm *world, size_t bytes, void **out, struct error *err)
{
	return world->ops->alloc(world, bytes, out, err);
}

void comm_give_back(struct comm *world, void *memory)
{
	if (memory && !world->failed)
		world->ops->give_back(world, memory);
}
