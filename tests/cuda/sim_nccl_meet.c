/* sim_nccl_meet.c - exchanges between processes, as far as they go; see sim_nccl.h */
#include "sim_nccl.h"
#include "base/half.h"
#include "base/util.h"

#include <string.h>

static enum dtype type_of(unsigned type)
{
	switch (type) {
	case ncclFloat32:
		return DTYPE_F32;
	case ncclFloat16:
		return DTYPE_F16;
	case ncclBfloat16:
		return DTYPE_BF16;
	case ncclInt32:
		return DTYPE_I32;
	}
	return DTYPE_BYTE;
}

size_t sim_nccl_size(unsigned type)
{
	return dtype_size(type_of(type));
}

static char *region(const struct ncclComm *c, int from, int to)
{
	size_t head = (size_t)round_up(sizeof(*c->hall), 4096);

	return (char *)c->hall + head + (size_t)(from * MEMBERS + to) * REGION;
}

static const char *const names[] = {"an all-reduce", "a reduce-scatter", "a reduce",
				    "an all-gather", "a broadcast",	 "a message",
				    "a message"};

static bool agree(const struct terms *a, const struct terms *b)
{
	bool messages = a->kind >= SEND && b->kind >= SEND;

	return (messages || (a->kind == b->kind && a->root == b->root)) && a->type == b->type &&
	       a->count == b->count;
}

static bool compare(const struct ncclComm *c, int other, const struct terms *a,
		    const struct terms *b)
{
	if (agree(a, b))
		return true;
	driver.blame("NCCL: rank %d has %s of %zu elements of type %u (root %d), rank %d %s of "
		     "%zu of type %u (root %d)",
		     c->rank, names[a->kind], a->count, a->type, a->root, other, names[b->kind],
		     b->count, b->type, b->root);
	return false;
}

/* Element i of what all have brought, around the ring. */
static void add_up(const struct ncclComm *c, enum dtype type, size_t i, size_t n, char *to,
		   size_t at)
{
	int first = ((int)(i * (size_t)c->size / n) + 1) % c->size;
	uint32_t room;

	for (int k = 0; k < c->size; k++) {
		int r = (first + k) % c->size;
		float value = float_from(region(c, r, r), i, type);

		float_to(&room, 0, type, k ? float_from(&room, 0, type) + value : value);
	}
	memcpy(to + at * dtype_size(type), &room, dtype_size(type));
}

/* All have come. */
static void take(const struct ncclComm *c, const struct exchange *x)
{
	const struct terms *t = &x->terms;
	enum dtype type = type_of(t->type);
	size_t bytes = t->count * dtype_size(type);

	switch (t->kind) {
	case ALLREDUCE:
	case REDUCE:
		for (size_t i = 0; i < t->count && (t->kind == ALLREDUCE || c->rank == t->root);
		     i++)
			add_up(c, type, i, t->count, x->to, i);
		break;
	case REDUCE_SCATTER:
		for (size_t i = 0; i < t->count; i++)
			add_up(c, type, t->count * (size_t)c->rank + i,
			       t->count * (size_t)c->size, x->to, i);
		break;
	case ALLGATHER:
		for (int r = 0; r < c->size; r++)
			memcpy(x->to + (size_t)r * bytes, region(c, r, r), bytes);
		break;
	case BROADCAST:
		memcpy(x->to, region(c, t->root, t->root), bytes);
		break;
	case SEND:
	case RECEIVE:
		break;
	}
}

static bool everybody(const struct ncclComm *c, _Atomic uint64_t *counts, uint64_t number)
{
	for (int r = 0; r < c->size; r++)
		if (counts[r] < number)
			return false;
	return true;
}

static bool go_on_collective(struct ncclComm *c, struct exchange *x, int64_t *ns)
{
	size_t bytes = x->terms.count * sim_nccl_size(x->terms.type);

	if (!x->begun) {
		if (!everybody(c, c->hall->taken, x->number - 1))
			return false;
		if (x->terms.kind == REDUCE_SCATTER)
			bytes *= (size_t)c->size;
		if (x->terms.kind != BROADCAST || c->rank == x->terms.root)
			memcpy(region(c, c->rank, c->rank), x->from, bytes);
		c->hall->terms[c->rank] = x->terms;
		c->hall->ns[c->rank] = *ns;
		c->hall->brought[c->rank] = x->number;
		x->begun = true;
	}
	if (!everybody(c, c->hall->brought, x->number))
		return false;
	for (int r = 0; r < c->size; r++) {
		*ns = max64(*ns, c->hall->ns[r]);
		if (!compare(c, r, &x->terms, &c->hall->terms[r]))
			return true;
	}
	take(c, x);
	c->hall->taken[c->rank] = x->number;
	return true;
}

static bool go_on_message(const struct ncclComm *c, struct exchange *x, int64_t *ns)
{
	bool out = x->terms.kind == SEND;
	int from = out ? c->rank : x->peer, to = out ? x->peer : c->rank;
	size_t bytes = x->terms.count * sim_nccl_size(x->terms.type);
	struct hall *h = c->hall;

	if (!out) {
		if (h->ways[from][to].sent == h->ways[from][to].taken)
			return false;
		if (compare(c, from, &x->terms, &h->ways[from][to].terms))
			memcpy(x->to, region(c, from, to), bytes);
		*ns = max64(*ns, h->ways[from][to].sent_ns);
		h->ways[from][to].taken_ns = *ns;
		h->ways[from][to].taken++;
		return true;
	}
	if (!x->begun) {
		if (h->ways[from][to].sent != h->ways[from][to].taken)
			return false;
		memcpy(region(c, from, to), x->from, bytes);
		h->ways[from][to].terms = x->terms;
		h->ways[from][to].sent_ns = *ns;
		x->number = ++h->ways[from][to].sent;
		x->begun = true;
	}
	if (h->ways[from][to].taken < x->number)
		return false;
	*ns = max64(*ns, h->ways[from][to].taken_ns);
	return true;
}

bool sim_meet(void *together, int64_t *ns)
{
	struct together *t = together;
	bool all = true, is_next = true; /* of the collectives, which have an order */
	int64_t own = *ns;

	for (int i = 0; i < t->n && !t->comm->aborted; i++) {
		struct exchange *x = &t->exchanges[i];

		x->ns = max64(x->ns, own);
		if (x->terms.kind >= SEND)
			x->done = x->done || go_on_message(t->comm, x, &x->ns);
		else if (is_next)
			is_next = x->done = x->done || go_on_collective(t->comm, x, &x->ns);
		all = all && x->done;
		*ns = max64(*ns, x->ns);
	}
	if (all || t->comm->aborted)
		t->comm->under_way--;
	return all || t->comm->aborted;
}
