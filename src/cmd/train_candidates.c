/* train_candidates.c - the ways to run a training that --plan chooses from; see training.h */
#include "base/machine.h"
#include "base/util.h"
#include "cmd/gpus.h"
#include "cmd/training.h"

#include <math.h>
#include <stdio.h>

/* Is it left to --plan? One auto alone is what the others leave, as ever. */
static bool is_open(const struct config *c, const char *name, int value)
{
	return value == GRID_AUTO ||
	       (c->plan && options_source(&c->values, name) == SOURCE_DEFAULT);
}

bool training_is_open(const struct config *c)
{
	return c->plan ||
	       (c->dp == GRID_AUTO) + (c->pp == GRID_AUTO) + (c->mp == GRID_AUTO) > 1;
}

/* Are the cuts of the batch left to it? */
static bool cuts_are_open(const struct config *c)
{
	return c->plan && options_source(&c->values, "micro-batches") == SOURCE_DEFAULT &&
	       options_source(&c->values, "micro-batch-size") == SOURCE_DEFAULT;
}

int training_places(const struct config *c)
{
	bool asks = c->dp == GRID_AUTO || c->pp == GRID_AUTO || c->mp == GRID_AUTO || c->plan;
	int gpus = asks ? gpus_count(c->device) : 0; /* which takes time */

	return gpus ? gpus : machine_cores();
}

struct listing {
	const struct config *c;
	struct candidate *list;
	int count;
};

static void add(struct listing *l, struct candidate x)
{
	if (l->count < CANDIDATES_MAX)
		l->list[l->count++] = x;
}

/* Every schedule that is worth it, unless one is given. */
static void add_schedules(struct listing *l, struct candidate x)
{
	static const int kinds[] = {SCHEDULE_1F1B, SCHEDULE_ZB_H1, SCHEDULE_INTERLEAVED};
	bool open = l->c->plan && options_source(&l->c->values, "schedule") == SOURCE_DEFAULT &&
		    l->c->engine == ENGINE_HYBRID;

	for (size_t i = 0; i < (open && x.grid.pp > 1 ? ARRAY_SIZE(kinds) : 1); i++) {
		x.schedule = open && x.grid.pp > 1 ? kinds[i] : l->c->schedule;
		add(l, x);
	}
}

/* A pipeline wants several micro-batches for every stage; others want as few as can be. */
static void add_cuts(struct listing *l, struct candidate x)
{
	int most = x.grid.pp > 1 ? 8 : 1;

	if (!cuts_are_open(l->c)) {
		add_schedules(l, x);
		return;
	}
	for (int times = 1; times <= most; times *= 2) {
		x.micro_batches = times * x.grid.pp;
		if (l->c->batch % (x.grid.dp * x.micro_batches) == 0)
			add_schedules(l, x);
	}
}

static void add_grids(struct listing *l, int ranks, int threads)
{
	const struct config *c = l->c;
	struct candidate x = {.threads = threads, .imagined_ms = NAN, .tried_ms = NAN};
	struct grid *g = &x.grid;

	for (g->pp = 1; g->pp <= ranks; g->pp++)
		for (g->mp = 1; g->mp <= ranks / g->pp; g->mp++) {
			g->dp = ranks / g->pp / g->mp;
			if (grid_size(g) == ranks &&
			    (is_open(c, "dp", c->dp) || c->dp == g->dp) &&
			    (is_open(c, "pp", c->pp) || c->pp == g->pp) &&
			    (is_open(c, "mp", c->mp) || c->mp == g->mp))
				add_cuts(l, x);
		}
}

/* On all cores or GPUs: a rank on each, or, where threads may share them, fewer ranks. */
int training_candidates(const struct config *c, int cores, bool threads, struct candidate *list)
{
	struct listing l = {.c = c, .list = list};

	for (int ranks = cores; ranks >= 1; ranks--)
		if (cores % ranks == 0 && (ranks == cores || threads))
			add_grids(&l, ranks, cores / ranks);
	return l.count;
}

void training_apply(struct config *c, const struct candidate *x)
{
	c->dp = x->grid.dp;
	c->pp = x->grid.pp;
	c->mp = x->grid.mp;
	c->schedule = x->schedule;
	if (x->micro_batches)
		c->micro_batches = x->micro_batches;
}

const char *training_describe(const struct candidate *x, char *buf, size_t size)
{
	int n = snprintf(buf, size, "dp %d x pp %d x mp %d", x->grid.dp, x->grid.pp,
			 x->grid.mp);

	if (n > 0 && x->micro_batches && (size_t)n < size)
		n += snprintf(buf + n, size - (size_t)n, ", %d micro-batch%s", x->micro_batches,
			      x->micro_batches == 1 ? "" : "es");
	if (n > 0 && x->grid.pp > 1 && (size_t)n < size)
		n += snprintf(buf + n, size - (size_t)n, ", %s",
			      schedule_name((enum schedule_kind)x->schedule));
	if (n > 0 && x->threads > 1 && (size_t)n < size)
		snprintf(buf + n, size - (size_t)n, ", %d threads a rank", x->threads);
	return buf;
}
