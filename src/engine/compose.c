/*
 * compose.c - a step from what its parts take on every rank; see predict.h
 *
 * The ranks that have the same place in every stage are a pipeline, which the simulator of
 * schedules runs. What comes behind it is done by the ranks of a stage together: the sums
 * over the replicas and sharing what sharded state has updated. All ranks meet once in a
 * step, when they exchange what they know of it.
 */
#include "base/util.h"
#include "engine/impl.h"
#include "engine/predict_impl.h"

#include <math.h>
#include <stdlib.h>

struct composition {
	const struct engine *e;
	double *rows;		 /* (ranks) */
	double *begin;		 /* (ranks) when each begins its step */
	double *at;		 /* (ranks) and is through with all so far */
	double *posted;		 /* (ranks, layers) when each sum of a bucket is started */
	struct part_cost *parts; /* (stages, chunks) of a pipeline */
	double *begins;		 /* (stages) of it */
	double *ends;		 /* (stages, chunks) of the last backward there */
	struct longest longest;	 /* of the pipelines so far */
	int *ranks;		 /* (ranks) some of them */
};

/* The rank of a stage that has that place among the replicas and slices of each. */
static int rank_at(const struct engine *e, int stage, int column)
{
	int mp = e->options.grid.mp;

	return grid_rank(&e->options.grid,
			 (struct coords){.pp = stage, .dp = column / mp, .mp = column % mp});
}

static struct cost_row row_of(const struct composition *c, int rank)
{
	return cost_row_at(c->e, c->rows, rank);
}

static double *posted_of(const struct composition *c, int rank, int bucket)
{
	return &c->posted[rank * (c->e->options.model->count + 1) + bucket];
}

/* ---- pipelines ---- */

/* When ranks are through with their pipeline, and when sums of theirs are started. */
static void read_pipeline(struct composition *c, const struct timeline *t, int column)
{
	int chunks = c->e->n_chunks;

	for (int i = 0; i < t->count; i++) {
		const struct span *x = &t->spans[i];

		if (x->action.kind == ACTION_B || x->action.kind == ACTION_W)
			c->ends[x->stage * chunks + x->action.chunk] = x->end_ms;
	}
	for (int stage = 0; stage < t->stages; stage++) {
		int rank = rank_at(c->e, stage, column);
		struct cost_row row = row_of(c, rank);

		c->at[rank] = fmax(t->totals[stage].end_ms, t->totals[stage].sent_ms);
		for (int i = 0; i < (int)row.rank->buckets; i++)
			if (row.buckets[i].chunk >= 0)
				*posted_of(c, rank, i) =
					c->ends[stage * chunks + (int)row.buckets[i].chunk] -
					row.buckets[i].complete;
	}
}

static enum status run_pipeline(struct composition *c, int column, struct error *err)
{
	const struct engine *e = c->e;
	int chunks = e->n_chunks;
	struct costs costs = {.parts = c->parts,
			      .begin = c->begins,
			      .stop_and_wait = e->options.base,
			      .send_early = engine_sends_early(&e->options),
			      .gradients_sent = DX_BUFFERS};
	struct timeline t;
	enum status st;

	for (int stage = 0; stage < e->options.grid.pp; stage++) {
		int rank = rank_at(c->e, stage, column);

		c->begins[stage] = c->begin[rank];
		for (int k = 0; k < chunks; k++)
			c->parts[stage * chunks + k] = row_of(c, rank).parts[k];
	}
	TRY(timeline_simulate(&t, e->options.schedule, &costs, err));
	read_pipeline(c, &t, column);
	for (int stage = 0; stage < e->options.grid.pp && e->options.grid.pp > 1; stage++)
		longest_add(&c->longest, t.totals[stage].end_ms - t.totals[stage].begin_ms,
			    timeline_stage_bubble(&t, stage));
	timeline_release(&t);
out:
	return st;
}

/* ---- stages and slices ---- */

/* Some ranks go on together, when the last of them has come and their sum is taken. */
static void join(struct composition *c, const int *ranks, int n, bool holders)
{
	double end = 0, ms = 0;

	for (int i = 0; i < n; i++) {
		const struct rank_costs *r = row_of(c, ranks[i]).rank;

		end = fmax(end, c->at[ranks[i]]);
		ms = fmax(ms, holders ? r->holders : r->slices);
	}
	for (int i = 0; i < n; i++)
		c->at[ranks[i]] = end + ms;
}

/* What several stages have of a gradient, then what several slices have; the sums over the
   replicas of that are started behind it. */
static void join_all(struct composition *c)
{
	int *ranks = c->ranks;
	const struct engine *e = c->e;
	const struct grid *grid = &e->options.grid;
	int stages[2];
	int columns = engine_holders(e, stages) ? grid->dp * grid->mp : 0, n;

	for (int column = 0; column < columns; column++) {
		for (n = 0; n < 2; n++)
			ranks[n] = rank_at(e, stages[n], column);
		join(c, ranks, n, true);
	}
	for (int i = 0; i < grid->pp * grid->dp; i++) {
		for (n = 0; n < grid->mp; n++)
			ranks[n] = rank_at(e, i / grid->dp, i % grid->dp * grid->mp + n);
		if (row_of(c, ranks[0]).rank->slices > 0)
			join(c, ranks, n, false);
	}
	for (int rank = 0; rank < grid_size(grid); rank++)
		for (int i = 0; i < (int)row_of(c, rank).rank->buckets; i++)
			if (row_of(c, rank).buckets[i].chunk < 0)
				*posted_of(c, rank, i) = c->at[rank];
}

/* ---- replicas ---- */

/* The replicas of a slice of a stage: number i of them. */
static int replica(const struct engine *e, int group, int i)
{
	return grid_rank(&e->options.grid, (struct coords){.pp = group / e->options.grid.mp,
							   .mp = group % e->options.grid.mp,
							   .dp = i});
}

/* When the last replica is through with all so far: then they go on together. */
static double meet_replicas(const struct composition *c, int group)
{
	double last = 0;

	for (int i = 0; i < c->e->options.grid.dp; i++)
		last = fmax(last, c->at[replica(c->e, group, i)]);
	return last;
}

static int buckets_of(const struct composition *c, int group)
{
	return (int)row_of(c, replica(c->e, group, 0)).rank->buckets;
}

/* What a collective takes the slowest replica. */
static double slowest(const struct composition *c, int group, int bucket, bool share)
{
	double ms = 0;

	for (int i = 0; i < c->e->options.grid.dp; i++) {
		const struct bucket_cost *b =
			&row_of(c, replica(c->e, group, i)).buckets[bucket];

		ms = fmax(ms, share ? b->share : b->sum);
	}
	return ms;
}

/* The next bucket whose sum is started, the same on all replicas, and when the last of them
   does. It is not found again. */
static int take_next(struct composition *c, int group, double *posted)
{
	int first = replica(c->e, group, 0), next = 0;

	for (int i = 1; i < buckets_of(c, group); i++)
		if (*posted_of(c, first, i) < *posted_of(c, first, next))
			next = i;
	*posted = 0;
	for (int i = 0; i < c->e->options.grid.dp; i++)
		*posted = fmax(*posted, *posted_of(c, replica(c->e, group, i), next));
	*posted_of(c, first, next) = INFINITY;
	return next;
}

/* One sum after the other: each when all replicas have started it; or, where nothing
   overlaps or the ranks do the work themselves, behind everything. */
static void sum_buckets(struct composition *c, int group)
{
	bool hidden = c->e->sync.overlap && device_links(c->e->dev);
	double end = hidden ? 0 : meet_replicas(c, group), posted;

	for (int n = buckets_of(c, group); n > 0; n--) {
		int next = take_next(c, group, &posted);

		end = fmax(end, hidden ? posted : 0) + slowest(c, group, next, false);
	}
	for (int i = 0; i < c->e->options.grid.dp; i++) {
		double *at = &c->at[replica(c->e, group, i)];

		*at = fmax(*at, end);
	}
}

/* New parameters, from when sums are there until all replicas have what they need. */
static void update(struct composition *c)
{
	const struct engine *e = c->e;

	for (int rank = 0; rank < grid_size(&e->options.grid); rank++)
		c->at[rank] += row_of(c, rank).rank->update;
	for (int group = 0; group < e->options.grid.pp * e->options.grid.mp && e->sync.zero;
	     group++) {
		double end = meet_replicas(c, group);

		for (int i = 0; i < buckets_of(c, group); i++)
			end += slowest(c, group, i, true);
		for (int i = 0; i < e->options.grid.dp; i++)
			c->at[replica(e, group, i)] = end;
	}
}

/* ---- the step ---- */

/* When all have told each other, if everybody begins at c->begin. */
static enum status run_step(struct composition *c, bool looks, double *end, struct error *err)
{
	const struct engine *e = c->e;
	double exchange = 0, last = 0;
	enum status st = OK;

	for (int column = 0; column < e->options.grid.dp * e->options.grid.mp; column++)
		TRY(run_pipeline(c, column, err));
	join_all(c);
	for (int group = 0;
	     group < e->options.grid.pp * e->options.grid.mp && e->options.grid.dp > 1; group++)
		sum_buckets(c, group);
	if (!looks)
		update(c);
	for (int rank = 0; rank < grid_size(&e->options.grid); rank++) {
		const struct rank_costs *own = row_of(c, rank).rank;

		last = fmax(last, c->at[rank] + (looks ? own->squares : 0));
		exchange = fmax(exchange, own->exchange);
	}
	*end = last + exchange;
out:
	return st;
}

static enum status allocate(struct composition *c, struct error *err)
{
	const struct engine *e = c->e;
	size_t ranks = (size_t)grid_size(&e->options.grid), stages = (size_t)e->options.grid.pp;
	size_t parts = stages * (size_t)e->n_chunks;

	c->begin = calloc(ranks, sizeof(*c->begin));
	c->at = calloc(ranks, sizeof(*c->at));
	c->posted = calloc(ranks * ((size_t)e->options.model->count + 1), sizeof(*c->posted));
	c->parts = calloc(parts, sizeof(*c->parts));
	c->begins = calloc(stages, sizeof(*c->begins));
	c->ends = calloc(parts, sizeof(*c->ends));
	c->ranks = calloc(ranks + 1, sizeof(*c->ranks));
	if (c->ranks && c->begin && c->at && c->posted && c->parts && c->begins && c->ends)
		return OK;
	return FAIL(err, ERR_MEMORY, "no memory to predict a step of %zu ranks", ranks);
}

enum status engine_compose(const struct engine *e, double *rows, bool meet, double *step_ms,
			   double *bubble, struct error *err)
{
	struct composition c = {.e = e, .rows = rows};
	double behind = 0; /* the exchange, in the same step of rank 0 */
	enum status st;

	TRY(allocate(&c, err));
	if (engine_looks(e)) {
		/* Updates come behind the exchange, so that ranks begin when they are through
		   with theirs; counted from the last exchange. */
		update(&c);
		behind = meet ? c.at[0] : 0;
		for (int rank = 0; rank < grid_size(&e->options.grid) && !meet; rank++)
			c.begin[rank] = c.at[rank];
	}
	TRY(run_step(&c, engine_looks(e), step_ms, err));
	*step_ms += behind;
	*bubble = c.longest.idle;
out:
	free(c.ranks);
	free(c.begin);
	free(c.at);
	free(c.posted);
	free(c.parts);
	free(c.begins);
	free(c.ends);
	return st;
}
