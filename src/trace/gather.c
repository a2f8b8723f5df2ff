/* gather.c - see gather.h */
#include "trace/gather.h"
#include "base/clock.h"
#include "base/util.h"

#include <stdlib.h>
#include <string.h>

enum {
	PIECE = 1024, /* records */
	CHANNEL = COMM_CHANNELS - 1,
	ROUNDS = 40, /* of a ping-pong: the shortest counts */
};

enum status gather_init(struct gather *g, struct rank *rank, struct error *err)
{
	struct comm *world = rank->world;
	enum status st;

	*g = (struct gather){.rank = rank};
	TRY(comm_alloc(world, (size_t)rank->ranks * sizeof(*g->hosts), (void **)&g->hosts,
		       err));
	TRY(comm_alloc(world, 2 * sizeof(*g->head), (void **)&g->head, err));
	TRY(comm_alloc(world, PIECE * sizeof(*g->piece), (void **)&g->piece, err));
out:
	return st;
}

static enum status send(struct gather *g, int to, const void *data, size_t bytes,
			struct error *err)
{
	struct comm_request r;

	comm_isend(g->rank->world, to, CHANNEL, data, bytes, &r);
	return comm_wait(&r, err);
}

static enum status receive(struct gather *g, int from, void *data, size_t bytes,
			   struct error *err)
{
	struct comm_request r;

	comm_irecv(g->rank->world, from, CHANNEL, data, bytes, &r);
	return comm_wait(&r, err);
}

/* ---- clocks ---- */

/* Rank 0 asks a machine for its time. It was read between our two times: the middle is off
   by half of what lies between at most. */
static enum status ask_clock(struct gather *g, struct trace_clock *c, struct error *err)
{
	enum status st = OK;
	int64_t least = INT64_MAX;

	for (int i = 0; i < ROUNDS; i++) {
		int64_t begin = clock_ns(), end;

		TRY(send(g, c->host, g->head, sizeof(*g->head), err));
		TRY(receive(g, c->host, g->head, sizeof(*g->head), err));
		end = clock_ns();
		if (end - begin < least) {
			least = end - begin;
			c->offset_ns = g->head[0] - (begin + least / 2);
			c->error_ns = (least + 1) / 2;
		}
	}
out:
	return st;
}

static enum status answer_clock(struct gather *g, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < ROUNDS; i++) {
		TRY(receive(g, 0, g->head, sizeof(*g->head), err));
		g->head[0] = clock_ns();
		TRY(send(g, 0, g->head, sizeof(*g->head), err));
	}
out:
	return st;
}

static enum status compare_clocks(struct gather *g, struct trace *t, struct error *err)
{
	struct rank *r = g->rank;
	enum status st;

	g->hosts[r->number] = r->host;
	TRY(comm_run(r->world, COMM_ALLGATHER, g->hosts, (size_t)r->ranks * sizeof(*g->hosts),
		     DTYPE_BYTE, 0, err));
	if (r->number > 0)
		return r->host == r->number ? answer_clock(g, err) : OK;
	t->clocks = calloc((size_t)r->ranks, sizeof(*t->clocks));
	if (!t->clocks)
		return FAIL(err, ERR_MEMORY, "no memory for the clocks of %d ranks", r->ranks);
	for (int i = 1; i < r->ranks; i++)
		if (g->hosts[i] == i) {
			struct trace_clock *c = &t->clocks[t->n_clocks++];

			c->host = i;
			TRY(ask_clock(g, c, err));
		}
out:
	return st;
}

static int64_t offset_of(const struct gather *g, const struct trace *t, int rank)
{
	for (int i = 0; i < t->n_clocks; i++)
		if (t->clocks[i].host == g->hosts[rank])
			return t->clocks[i].offset_ns;
	return 0;
}

static void align(struct trace_rank *r, int64_t offset)
{
	for (int64_t i = 0; i < r->count; i++) {
		r->records[i].begin -= offset;
		r->records[i].end -= offset;
		if (r->records[i].ready)
			r->records[i].ready -= offset;
	}
}

/* ---- records ---- */

static enum status give(struct gather *g, const struct records *own, struct error *err)
{
	int64_t n = records_kept(own);
	enum status st;

	g->head[0] = n;
	g->head[1] = own->count > n;
	TRY(send(g, 0, g->head, 2 * sizeof(*g->head), err));
	for (int64_t at = 0; at < n; at += PIECE) {
		int64_t part = min64(PIECE, n - at);

		for (int64_t i = 0; i < part; i++)
			g->piece[i] = *records_at(own, at + i);
		TRY(send(g, 0, g->piece, (size_t)part * sizeof(*g->piece), err));
	}
out:
	return st;
}

static enum status reserve(struct trace_rank *r, int rank, int64_t n, struct error *err)
{
	r->records = calloc((size_t)n + 1, sizeof(*r->records));
	if (!r->records)
		return FAIL(err, ERR_MEMORY, "no memory for %lld records of rank %d",
			    (long long)n, rank);
	r->count = n;
	return OK;
}

static enum status take(struct gather *g, int rank, struct trace_rank *r, struct error *err)
{
	enum status st;

	TRY(receive(g, rank, g->head, 2 * sizeof(*g->head), err));
	r->overwritten = g->head[1];
	TRY(reserve(r, rank, g->head[0], err));
	for (int64_t at = 0; at < r->count; at += PIECE) {
		int64_t part = min64(PIECE, r->count - at);

		TRY(receive(g, rank, g->piece, (size_t)part * sizeof(*g->piece), err));
		memcpy(r->records + at, g->piece, (size_t)part * sizeof(*g->piece));
	}
out:
	return st;
}

static enum status take_own(const struct records *own, struct trace_rank *r, struct error *err)
{
	enum status st;

	TRY(reserve(r, 0, records_kept(own), err));
	r->overwritten = own->count > r->count;
	for (int64_t i = 0; i < r->count; i++)
		r->records[i] = *records_at(own, i);
out:
	return st;
}

enum status gather_records(struct gather *g, const struct records *own, struct trace *t,
			   struct error *err)
{
	struct rank *r = g->rank;
	enum status st = OK;

	rank_at(r, "collecting what the ranks did");
	if (r->locals < r->ranks)
		TRY(compare_clocks(g, t, err));
	if (r->number > 0)
		return give(g, own, err);
	TRY(take_own(own, &t->ranks[0], err));
	for (int i = 1; i < r->ranks; i++) {
		rank_at(r, "collecting what rank %d did", i);
		TRY(take(g, i, &t->ranks[i], err));
		align(&t->ranks[i], offset_of(g, t, i));
	}
out:
	return st;
}
