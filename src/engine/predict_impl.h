/* predict_impl.h - the prediction from inside. Only for engine/. */
#ifndef KOLM_ENGINE_PREDICT_IMPL_H
#define KOLM_ENGINE_PREDICT_IMPL_H

#include "engine/predict.h"
#include "schedule/timeline.h"

/*
 * What the parts of a step take on a rank, in ms; doubles only, behind each other in a row of
 * the same length on all ranks: rows travel, and trials are compared number by number.
 */
struct rank_costs {
	double squares;	 /* looking at the gradients before they are used */
	double update;	 /* the optimizer */
	double exchange; /* what all ranks tell each other */
	double buckets;	 /* how many there are */
	double holders;	 /* adding up what another stage has of a gradient */
	double slices;	 /* and what other slices have */
};

struct bucket_cost {
	double chunk;	 /* -1: all of them */
	double complete; /* so long before the end of the chunk's last backward */
	double sum;	 /* over the replicas */
	double share;	 /* giving the parameters to the other replicas */
};

struct cost_row {
	struct rank_costs *rank;
	struct part_cost *parts;     /* (chunks) */
	struct bucket_cost *buckets; /* as many as any stage can have */
};

/* Doubles in a row; the parts of row i of many. */
size_t cost_row_size(const struct engine *e);
struct cost_row cost_row_at(const struct engine *e, double *rows, int i);

/* calibrate.c: one trial of every part, all ranks together, into a row. */
struct trial {
	struct engine *e;
	struct cost_row row; /* takes what is measured */
	int64_t begin;	     /* of what is tried now */
};
enum status trial_run(struct trial *t, double *row, struct error *err);

/* The same row for when all goes well, as it mostly goes, and when it goes badly. */
enum { COSTS_LOW, COSTS_LIKELY, COSTS_HIGH, COSTS_COUNT };

/* trials.c: trials until it is clear what the parts take; their number is at least 1. */
enum status engine_calibrate(struct engine *e, int steps, double *rows, int *trials,
			     struct error *err);
/* From so many rows of a size; some trials, not more than a third, may have been disturbed,
   and that makes them longer. */
void costs_estimate(const double *trials, int n, size_t size, double *rows);

/* compose.c: the step of ranks that have these costs, one row each. */
enum status engine_compose(const struct engine *e, double *rows, bool meet, double *step_ms,
			   double *bubble, struct error *err);

#endif
