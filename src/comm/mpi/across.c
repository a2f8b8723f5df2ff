/* across.c - see across.h */
#include "comm/mpi/lanes.h"
#include "base/util.h"
#include "comm/reduce.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int count_of(const struct across *a, int host)
{
	return a->host_from[host + 1] - a->host_from[host];
}

int across_in_charge(const struct across *a, int slice, int host)
{
	if (a->host_of[slice] == host)
		return slice;
	return a->members[a->host_from[host] + slice % count_of(a, host)];
}

static bool is_sum(enum comm_op op)
{
	return comm_op_sums(op) || op == COMM_BARRIER;
}

/* The member whose buffer a slice comes from, where it is not a sum. */
static int source_of(const struct comm_request *r, int slice)
{
	return r->op == COMM_BROADCAST || r->op == COMM_SCATTER ? r->root : slice;
}

/* The machine where the result of a slice is first. */
static int origin_of(const struct across *a, const struct comm_request *r, int slice)
{
	return is_sum(r->op) && !comm_in_tree(r) ? a->runs[a->n_runs - 1].host
						 : a->host_of[source_of(r, slice)];
}

/* The one member that a slice is for, or -1: all. */
static int target_of(const struct comm_request *r, int slice)
{
	if (r->op == COMM_REDUCE_SCATTER || r->op == COMM_SCATTER)
		return slice;
	return r->op == COMM_GATHER ? r->root : -1;
}

static bool is_wanted(const struct across *a, const struct comm_request *r, int slice, int host)
{
	int target = target_of(r, slice);

	return target < 0 || a->host_of[target] == host;
}

int across_targets(const struct across *a, const struct host_group *g,
		   const struct comm_request *r, int slice, void **out)
{
	int target = target_of(r, slice), n = 0;

	if (target >= 0 && a->host_of[target] == a->here)
		out[n++] = host_buffer(g, r, a->local_of[target]);
	for (int i = 0; i < g->count && target < 0; i++)
		out[n++] = host_buffer(g, r, i);
	return n;
}

/* A barrier has no buffers. */
static char *element(const struct comm_request *r, void *buffer, size_t i)
{
	return buffer ? (char *)buffer + i * dtype_size(r->dtype) : NULL;
}

static int bytes_of(const struct comm_request *r, const struct lane *l)
{
	return (int)((l->end - l->begin) * dtype_size(r->dtype));
}

static uint64_t with_past(const struct across *a, const struct comm_request *r)
{
	return (a->past ^ comm_kind(r)) * 0x9e3779b97f4a7c15u;
}

int across_tag(const struct across *a, const struct comm_request *r, const struct lane *l,
	       int hop)
{
	uint64_t kind = (with_past(a, r) >> 32) % (uint64_t)a->kinds;

	return (int)kind * TAGS + (int)(l->piece % WINDOW) * HOPS + hop;
}

static int next_run_here(const struct across *a, int from)
{
	while (from < a->n_runs && a->runs[from].host != a->here)
		from++;
	return from;
}

static void add_run(const struct across *a, const struct host_group *g,
		    const struct comm_request *r, struct lane *l)
{
	const struct run *run = &a->runs[l->run];
	const void *sources[RANKS_MAX];
	int n = 0;

	for (int i = run->first; i < run->end; i++)
		sources[n++] = host_buffer(g, r, a->local_of[i]);
	reduce_add(l->sum, l->run == 0, sources, n, l->begin, l->end, r->dtype);
}

static void fetch(const struct across *a, const struct comm_request *r, struct lane *l)
{
	if (l->run > 0)
		MPI_Irecv(l->sum, (int)(l->end - l->begin), MPI_FLOAT,
			  across_in_charge(a, l->slice, a->runs[l->run - 1].host),
			  across_tag(a, r, l, l->run), a->comm, &l->requests[l->pending++]);
	l->stage = STAGE_ADD;
}

static void add(const struct across *a, const struct host_group *g,
		const struct comm_request *r, struct lane *l)
{
	add_run(a, g, r, l);
	if (l->run == a->n_runs - 1) {
		l->stage = STAGE_SPREAD;
		return;
	}
	MPI_Isend(l->sum, (int)(l->end - l->begin), MPI_FLOAT,
		  across_in_charge(a, l->slice, a->runs[l->run + 1].host),
		  across_tag(a, r, l, l->run + 1), a->comm, &l->requests[l->pending++]);
	l->run = next_run_here(a, l->run + 1);
	if (l->run < a->n_runs)
		l->stage = STAGE_FETCH;
	else
		l->stage = is_wanted(a, r, l->slice, a->here) ? STAGE_TAKE : STAGE_END;
}

/* Store the result in our buffers and send it to the other machines that want it. */
static void spread(const struct across *a, const struct host_group *g,
		   const struct comm_request *r, struct lane *l)
{
	void *targets[RANKS_MAX], *from;
	int n = across_targets(a, g, r, l->slice, targets);

	if (comm_in_tree(r)) {
		from = targets[0]; /* they have it already */
	} else if (is_sum(r->op)) {
		/* Our own buffer holds nothing there that is needed any more. */
		if (!n)
			targets[n++] = r->data;
		from = targets[0];
		if (r->op != COMM_BARRIER)
			reduce_store(l->sum, targets, n, l->begin, l->end, r->dtype);
	} else {
		from = host_buffer(g, r, a->local_of[source_of(r, l->slice)]);
		for (int i = 0; i < n; i++)
			if (targets[i] != from)
				memcpy(element(r, targets[i], l->begin),
				       element(r, from, l->begin), (size_t)bytes_of(r, l));
	}
	for (int host = 0; host < a->hosts; host++)
		if (host != a->here && is_wanted(a, r, l->slice, host))
			MPI_Isend(element(r, from, l->begin), bytes_of(r, l), MPI_BYTE,
				  across_in_charge(a, l->slice, host),
				  across_tag(a, r, l, RESULT_HOP), a->comm,
				  &l->requests[l->pending++]);
	l->stage = STAGE_END;
}

static void take(const struct across *a, const struct host_group *g,
		 const struct comm_request *r, struct lane *l)
{
	void *targets[RANKS_MAX];
	int n = across_targets(a, g, r, l->slice, targets);

	assert(n > 0); /* nobody takes what is not wanted here */
	MPI_Irecv(element(r, targets[0], l->begin), bytes_of(r, l), MPI_BYTE,
		  across_in_charge(a, l->slice, origin_of(a, r, l->slice)),
		  across_tag(a, r, l, RESULT_HOP), a->comm, &l->requests[l->pending++]);
	l->stage = STAGE_SHARE;
}

static void share(const struct across *a, const struct host_group *g,
		  const struct comm_request *r, struct lane *l)
{
	void *targets[RANKS_MAX];
	int n = across_targets(a, g, r, l->slice, targets);

	for (int i = 1; i < n && r->n; i++)
		memcpy(element(r, targets[i], l->begin), element(r, targets[0], l->begin),
		       (size_t)bytes_of(r, l));
	l->stage = STAGE_END;
}

static bool messages_are_through(struct lane *l)
{
	for (; l->pending > 0; l->pending--) {
		int through;

		MPI_Test(&l->requests[l->pending - 1], &through, MPI_STATUS_IGNORE);
		if (!through)
			return false;
	}
	return true;
}

/* As far as it goes without waiting. */
static void advance_lane(const struct across *a, const struct host_group *g,
			 const struct comm_request *r, struct lane *l)
{
	while (l->busy && messages_are_through(l)) {
		switch (l->stage) {
		case STAGE_FETCH:
			fetch(a, r, l);
			break;
		case STAGE_ADD:
			add(a, g, r, l);
			break;
		case STAGE_GIVE:
			across_give_nodes(a, g, r, l);
			l->stage = is_wanted(a, r, l->slice, a->here) ? STAGE_TAKE : STAGE_END;
			break;
		case STAGE_GATHER:
			across_gather_nodes(a, r, l);
			l->stage = STAGE_CLIMB;
			break;
		case STAGE_CLIMB:
			across_climb(a, g, r, l);
			l->stage = STAGE_SPREAD;
			break;
		case STAGE_SPREAD:
			spread(a, g, r, l);
			break;
		case STAGE_TAKE:
			take(a, g, r, l);
			break;
		case STAGE_SHARE:
			share(a, g, r, l);
			break;
		case STAGE_END:
			l->busy = false;
		}
	}
}

/* Have we anything to do for a slice, and what first? */
static bool concerns_us(const struct across *a, const struct comm_request *r, int slice,
			enum stage *stage)
{
	bool origin = origin_of(a, r, slice) == a->here;

	if (comm_in_tree(r))
		*stage = origin ? STAGE_GATHER : STAGE_GIVE;
	else
		*stage = is_sum(r->op) ? STAGE_FETCH : origin ? STAGE_SPREAD : STAGE_TAKE;
	return across_in_charge(a, slice, a->here) == a->rank &&
	       (is_sum(r->op) || origin || is_wanted(a, r, slice, a->here));
}

/* The next piece that concerns us, for a lane; false: there is none. A barrier is a sum
   over one piece of nothing. */
static bool next_piece(struct across *a, const struct comm_request *r, struct lane *l)
{
	size_t most = comm_in_tree(r) ? a->node_piece : PIECE;

	for (; a->slice < a->size; a->slice++, a->at = 0) {
		size_t begin, end;

		comm_slice(r->comm, r->n, a->slice, &begin, &end);
		while (begin + a->at < end || (r->op == COMM_BARRIER && !a->slice && !a->at)) {
			size_t from = begin + a->at;

			a->at += most;
			a->piece++;
			if (!concerns_us(a, r, a->slice, &l->stage))
				continue;
			l->slice = a->slice;
			l->piece = a->piece;
			l->begin = from;
			l->end = end - from < most ? end : from + most;
			l->run = next_run_here(a, 0);
			return true;
		}
	}
	return false;
}

/* A piece waits until no older one under way could have the same tags. */
static bool may_start(const struct across *a, const struct lane *l)
{
	for (int i = 0; i < LANES; i++)
		if (a->lanes[i].busy && a->lanes[i].piece + WINDOW <= l->piece)
			return false;
	return true;
}

bool across_work(struct across *a, const struct host_group *g, const struct comm_request *r)
{
	bool busy = false;

	for (int i = 0; i < LANES; i++) {
		struct lane *l = &a->lanes[i];

		while ((l->busy || (l->busy = next_piece(a, r, l))) && may_start(a, l)) {
			advance_lane(a, g, r, l);
			if (l->busy)
				break;
		}
	}
	for (int i = 0; i < LANES; i++)
		busy = busy || a->lanes[i].busy;
	if (busy)
		return false;
	a->slice = 0; /* for the next collective */
	a->at = 0;
	a->piece = 0;
	a->past = with_past(a, r) + 1;
	return true;
}
