/*
 * search.h - the fastest ways to train a model on a cluster: every grid, micro-batch, schedule,
 * recomputation, sequence parallel and ZeRO that can be run is forecast.
 */
#ifndef KOLM_PLAN_SEARCH_H
#define KOLM_PLAN_SEARCH_H

#include "plan/cluster.h"
#include "plan/forecast.h"
#include "plan/setup.h"

#include <stdint.h>

enum {
	SEARCH_TOP_MAX = 100,
	SEARCH_CHUNKS_MAX = 8,
	SEARCH_ZERO_MAX = 3,
	SEARCH_GRIDS_MAX = 1024,
	SEARCH_FRONT_MAX = 512,
	SEARCH_FORWARDS = 1 << 20, /* that are simulated, about */
	SEARCH_ANY = -1
};

/* What is searched: the sizes, gpus and global_batch of setup; of its dp, tp, pp, micro_batch
   and chunks 0 means any. Of the others SEARCH_ANY does. */
struct search_space {
	struct setup setup;
	int schedule, recompute, spread, zero;
	double memory; /* bytes that a device has */
	int top;       /* so many are wanted */
};

struct search_found {
	struct setup setup;
	struct forecast forecast;
	double rank;	  /* what they are ordered by */
	double simulated; /* s of a step, by the simulator of schedules; NAN: too large for it
			   */
};

/* What is best on a grid. */
struct search_grid {
	int dp, pp, tp;
	struct setup setup; /* the fastest that fits, where there is one */
	double step;	    /* s it takes; INFINITY: nothing fits */
	double least;	    /* bytes of what needs the least */
};

struct search {
	int64_t tried, fits;
	int64_t forecasts;			  /* that were made for it, */
	double seconds;				  /* and the time it took */
	struct search_found best[SEARCH_TOP_MAX]; /* that fit, the fastest first; more than top
						     until they are simulated */
	int best_count;
	/* Those that would be faster than the best one but need more memory, which is least for
	   the first; where nothing fits, of all. */
	struct search_found too_large[SEARCH_TOP_MAX];
	int too_large_count;
	/* Every grid, by tp and then by pp; those behind the last that there is room for are
	   left out. */
	struct search_grid grids[SEARCH_GRIDS_MAX];
	int grid_count;
	/* Nothing that was tried, fitting or not, needs less memory than one of these without
	   being slower, but for a thousandth of the step. By memory, ascending. */
	struct search_found front[SEARCH_FRONT_MAX];
	int front_count;
};

/* All of them any. */
void search_space_init(struct search_space *space);
/* Find them in closed form; simulated is left out. */
enum status search_run(struct search *r, const struct search_space *space,
		       const struct cluster *c, struct error *err);
/* Ways that were forecast in a second. */
static inline double search_speed(const struct search *r)
{
	return r->seconds > 0 ? (double)r->forecasts / r->seconds : 0;
}
/* The closed form may be so much longer than what the simulator finds, where the first stages
   have more blocks than the others. */
#define SEARCH_MARGIN 0.25
/* Simulate the best ones and order them by that; top of them are left. */
enum status search_simulate(struct search *r, const struct cluster *c, int top,
			    struct error *err);

/*
 * The fastest that fits on 1, 2, 4, ... devices and on all of the space's: only those that are
 * faster than all with fewer devices; work is for what is in between.
 */
enum { SEARCH_COUNTS_MAX = 32 };
enum status search_devices(struct search_found found[SEARCH_COUNTS_MAX], int *count,
			   const struct search_space *space, const struct cluster *c,
			   struct search *work, struct error *err);

#endif
