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

enum { SEARCH_TOP_MAX = 100, SEARCH_CHUNKS_MAX = 8, SEARCH_ZERO_MAX = 1 };

/* What is searched: the sizes, gpus and global_batch of setup; of its dp, tp, pp and
   micro_batch 0 means any. */
struct search_space {
	struct setup setup;
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

struct search {
	int64_t tried, fits;
	struct search_found best[SEARCH_TOP_MAX]; /* that fit, the fastest first */
	int best_count;
	/* Those that would be faster than the best one but need more memory, which is least for
	   the first; where nothing fits, of all. */
	struct search_found too_large[SEARCH_TOP_MAX];
	int too_large_count;
};

/* Find them in closed form; simulated is left out. */
void search_run(struct search *r, const struct search_space *space, const struct cluster *c);
/* Simulate the best ones and order them by that. */
enum status search_simulate(struct search *r, const struct cluster *c, struct error *err);

#endif
