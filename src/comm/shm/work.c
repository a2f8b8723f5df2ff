/* work.c - a rank's share of a collective within one machine; see host.h */
#include "comm/copy.h"
#include "comm/reduce.h"
#include "comm/shm/host.h"

/* Copy the slice of one member from one buffer to another. */
static void copy_slice(const struct comm_request *r, int member, void *to, const void *from)
{
	size_t size = dtype_size(r->dtype), begin, end;

	comm_slice(r->comm, r->n, member, &begin, &end);
	if (to != from && begin < end)
		copy_between_ranks((char *)to + begin * size, (const char *)from + begin * size,
				   (end - begin) * size);
}

/* The own slice in a tree of the members. */
static void sum_in_tree(const struct host_group *g, const struct comm_request *r, bool to_all)
{
	struct reduce_part parts[RANKS_MAX];
	void *targets[RANKS_MAX];
	size_t size = dtype_size(r->dtype), begin, end;

	comm_slice(r->comm, r->n, g->me, &begin, &end);
	for (int i = 0; i < g->count && begin < end; i++) {
		targets[i] = (char *)host_buffer(g, r, i) + begin * size;
		parts[i] = (struct reduce_part){targets[i], (unsigned)i, 1};
	}
	if (begin < end)
		reduce_tree(parts, g->count, to_all ? targets : &targets[g->me],
			    to_all ? g->count : 1, end - begin, r->dtype);
}

/* Own slice from everybody's buffer, to everybody's or to the own one. */
static void sum_slice(const struct host_group *g, const struct comm_request *r, bool to_all)
{
	const void *sources[RANKS_MAX];
	void *targets[RANKS_MAX];
	size_t begin, end;

	if (comm_in_tree(r)) {
		sum_in_tree(g, r, to_all);
		return;
	}
	for (int i = 0; i < g->count; i++) {
		targets[i] = host_buffer(g, r, i);
		sources[i] = targets[i];
	}
	comm_slice(r->comm, r->n, g->me, &begin, &end);
	reduce_sum(sources, g->count, to_all ? targets : &targets[g->me], to_all ? g->count : 1,
		   begin, end, r->dtype);
}

/* No two ranks touch the same element unless both only read it. */
static void work(const struct host_group *g, const struct comm_request *r)
{
	void *own = r->data;

	switch (r->op) {
	case COMM_ALLREDUCE:
		sum_slice(g, r, true);
		break;
	case COMM_REDUCE_SCATTER:
		sum_slice(g, r, false);
		break;
	case COMM_ALLGATHER:
		for (int i = 0; i < g->count; i++)
			copy_slice(r, i, own, host_buffer(g, r, i));
		break;
	case COMM_BROADCAST:
		if (g->me != r->root && r->n)
			copy_between_ranks(own, host_buffer(g, r, r->root),
					   r->n * dtype_size(r->dtype));
		break;
	case COMM_SCATTER:
		copy_slice(r, g->me, own, host_buffer(g, r, r->root));
		break;
	case COMM_GATHER:
		copy_slice(r, g->me, host_buffer(g, r, r->root), own);
		break;
	case COMM_BARRIER:
		break;
	}
}

void host_work(const struct host_group *g, struct comm_request *r)
{
	int64_t begin;

	if (r->comm->links) {
		r->carried = links_carry_round(r);
		return;
	}
	begin = pace_now(r->comm->world->pace);
	work(g, r);
	r->comm->world->worked += pace_now(r->comm->world->pace) - begin;
}
