/* meeting.c - who waits for whom in a collective on one machine; see host.h */
#include "comm/shm/host.h"
#include "base/util.h"

#include <assert.h>
#include <string.h>

static void ring_others(const struct host_group *g)
{
	for (int i = 0; i < g->count; i++)
		if (i != g->me)
			host_ring(g->host, g->ranks[i]);
}

void *host_buffer(const struct host_group *g, const struct comm_request *r, int member)
{
	return host_member(g, member)->data[r->sequence % GROUP_SLOTS];
}

void host_enter_collective(struct host_group *g, struct comm_request *r)
{
	/* Peers read it there: memory of any other kind would look different to each. */
	assert(r->comm->links ||
	       shm_holds(g->host->memory, r->data, r->n * dtype_size(r->dtype)));
	r->sequence = g->started++;
}

struct offer host_offer(const struct host_group *g, int member, uint64_t sequence)
{
	const struct member *m = host_member(g, member);

	return (struct offer){.rank = m->rank,
			      .kind = m->kind[sequence % GROUP_SLOTS],
			      .place = m->place[sequence % GROUP_SLOTS]};
}

/* Has a member arrived at a collective, or departed from it? */
static bool has_arrived(const struct host_group *g, int member, uint64_t sequence)
{
	const struct member *m = host_member(g, member);

	return m && atomic_load(&m->arrived) > sequence;
}

static bool has_departed(const struct host_group *g, int member, uint64_t sequence)
{
	const struct member *m = host_member(g, member);

	return m && atomic_load(&m->departed) > sequence;
}

static bool all_arrived(const struct host_group *g, uint64_t sequence)
{
	for (int i = 0; i < g->count; i++)
		if (!has_arrived(g, i, sequence))
			return false;
	return true;
}

/* All but one member; -1: all. */
static bool all_departed(const struct host_group *g, uint64_t sequence, int but)
{
	for (int i = 0; i < g->count; i++)
		if (i != but && !has_departed(g, i, sequence))
			return false;
	return true;
}

/* Is the root the only one whom the others need? Over links and between machines nobody
   goes on before all have come. */
static bool is_rooted(const struct host_group *g, const struct comm_request *r)
{
	return comm_op_has_root(r->op) && g->count == r->comm->size && !r->comm->links;
}

/* Is it over for a member that has done its share, or are others still at its buffer? */
static bool ends_with_own_share(const struct host_group *g, const struct comm_request *r)
{
	return is_rooted(g, r) || r->comm->links ||
	       (r->op == COMM_BARRIER && g->count == r->comm->size);
}

/* Of those who have come. Members that bring different things would write where nothing is;
   whoever finds out has the others look. */
static bool all_match(const struct host_group *g, const struct comm_request *r)
{
	uint64_t kind = comm_kind(r), at = r->sequence;

	for (int i = 0; i < g->count; i++)
		if (has_arrived(g, i, at) && host_offer(g, i, at).kind != kind) {
			comm_collectives_differ(r->comm, host_offer(g, g->me, at),
						host_offer(g, i, at));
			ring_others(g);
			return false;
		}
	return true;
}

/* A slot is free again when everybody has departed from its last use. Whoever departs last
   rings those that say that they are blocked; said before the second look, it is not missed. */
static bool slot_is_free(const struct host_group *g, struct member *me, uint64_t sequence)
{
	if (sequence < GROUP_SLOTS || all_departed(g, sequence - GROUP_SLOTS, -1))
		return true;
	atomic_store(&me->blocked, true);
	return all_departed(g, sequence - GROUP_SLOTS, -1);
}

/* Ring those who can go on because of it: all, if it is the root or the last one. */
static void arrive(struct host_group *g, struct comm_request *r)
{
	struct member *me = host_member(g, g->me);

	if (atomic_load_explicit(&me->arrived, memory_order_relaxed) != r->sequence ||
	    !slot_is_free(g, me, r->sequence))
		return;
	me->data[r->sequence % GROUP_SLOTS] = r->data;
	me->kind[r->sequence % GROUP_SLOTS] = comm_kind(r);
	memcpy(me->place[r->sequence % GROUP_SLOTS], r->place, COMM_PLACE);
	me->posted[r->sequence % GROUP_SLOTS] = r->posted;
	atomic_store_explicit(&me->blocked, false, memory_order_relaxed);
	atomic_store(&me->arrived, r->sequence + 1);
	r->arrived = true;
	if (is_rooted(g, r) ? g->me == r->root : all_arrived(g, r->sequence))
		ring_others(g);
}

/* Has everybody come, or gone, whom our share needs? */
static bool is_our_turn(const struct host_group *g, const struct comm_request *r)
{
	const struct member *me = host_member(g, g->me);

	if (!r->arrived || r->worked ||
	    atomic_load_explicit(&me->departed, memory_order_relaxed) != r->sequence)
		return false;
	if (!is_rooted(g, r))
		return all_arrived(g, r->sequence) && all_match(g, r);
	if (g->me != r->root)
		return has_arrived(g, r->root, r->sequence) && all_match(g, r);
	/* One that does not match will never depart. */
	return all_match(g, r) && all_departed(g, r->sequence, g->me);
}

/* When the last one had come whom we need. */
static int64_t ready_at(const struct host_group *g, const struct comm_request *r)
{
	bool only_root = is_rooted(g, r) && g->me != r->root;
	int64_t ready = r->posted;

	for (int i = 0; i < g->count; i++) {
		const struct member *m = host_member(g, i);

		if (i == r->root || !only_root)
			ready = max64(ready, m->posted[r->sequence % GROUP_SLOTS]);
	}
	return ready;
}

bool host_arrive(struct host_group *g, struct comm_request *r)
{
	if (!r->arrived)
		arrive(g, r);
	if (!is_our_turn(g, r) || !host_can_reach(g->host, r))
		return false;
	r->ready = ready_at(g, r);
	return true;
}

void host_depart(struct host_group *g, struct comm_request *r)
{
	atomic_store(&host_member(g, g->me)->departed, r->sequence + 1);
	r->worked = true;
	if (is_rooted(g, r) && g->me != r->root) {
		if (all_departed(g, r->sequence, r->root))
			host_ring(g->host, g->ranks[r->root]);
		return; /* the root is the last to depart */
	}
	if (!all_departed(g, r->sequence, -1))
		return;
	for (int i = 0; i < g->count; i++)
		if (i != g->me &&
		    (!ends_with_own_share(g, r) || atomic_load(&host_member(g, i)->blocked)))
			host_ring(g->host, g->ranks[i]);
}

bool host_over(const struct host_group *g, const struct comm_request *r)
{
	return r->worked && (ends_with_own_share(g, r) || all_departed(g, r->sequence, -1));
}
