/* links.c - requests over virtual links: when they are over; see comm_use_links */
#include "comm/impl.h"

#include <math.h>
#include <stdlib.h>

enum status comm_use_links(struct comm *c, const struct links *links, struct error *err)
{
	c->taken = calloc((size_t)c->size, sizeof(*c->taken));
	if (!c->taken)
		return FAIL(err, ERR_MEMORY, "no memory for the links of %d ranks", c->size);
	c->links = links;
	return OK;
}

int64_t links_carry(struct comm_request *r)
{
	struct comm *c = r->comm;
	int64_t *taken = &c->taken[r->peer];
	int from = c->world->rank, to = c->members[r->peer];
	int64_t begin = *taken > r->posted ? *taken : r->posted;

	*taken = begin + links_transfer_ns(c->links, from, to, (double)r->bytes);
	return *taken + links_latency_ns(c->links, from, to);
}

int64_t links_carry_round(struct comm_request *r)
{
	struct comm *c = r->comm;
	double slowest = 1;
	double bytes = (double)(r->n * dtype_size(r->dtype));
	double ns = links_ring_ns(c->links, bytes, c->size, r->op == COMM_ALLREDUCE ? 2 : 1);
	int64_t begin = c->ring_taken > r->ready ? c->ring_taken : r->ready;

	/* Every link carries all of it, in small pieces, one behind the other. */
	if (r->op == COMM_BROADCAST)
		ns = links_message_ns(c->links, bytes) + (c->size - 2) * c->links->latency_ns;
	for (int i = 0; i < c->size; i++)
		slowest = fmax(slowest, links_factor(c->links, c->members[i],
						     c->members[(i + 1) % c->size]));
	c->ring_taken = begin + (int64_t)(ns * slowest);
	return c->ring_taken;
}
