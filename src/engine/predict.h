/*
 * predict.h - how long a step should take, before the first one: every rank tries the parts
 * of its step (calibrate.c), and the simulator of schedules puts them together.
 */
#ifndef KOLM_ENGINE_PREDICT_H
#define KOLM_ENGINE_PREDICT_H

#include "engine/engine.h"
#include "schedule/timeline.h"

struct prediction_of_step {
	double step_ms;
	double low_ms, high_ms; /* it takes that if all goes well, if things go badly */
	double bubble;		/* of the schedule */
	int trials;		/* of every part, and what all of them took */
	double trials_ms;
};

/*
 * Collective, before the first step; the engine has a rank. meet: all ranks wait for each
 * other between steps. Not for DataParallel: then it is all NAN.
 */
enum status engine_predict(struct engine *e, bool meet, struct prediction_of_step *p,
			   struct error *err);

/* ---- within the prediction ---- */

/*
 * What the parts of a step take on a rank, in ms; doubles only, behind each other in a row of
 * the same length on all ranks: rows travel, and trials are compared number by number.
 */
struct rank_costs {
	double squares;	 /* looking at the gradients before they are used */
	double update;	 /* the optimizer */
	double exchange; /* what all ranks tell each other */
	double buckets;	 /* how many there are */
};

struct bucket_cost {
	double chunk;
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

/* The same row for when things go well, as they mostly go, and badly. */
enum { COSTS_LOW, COSTS_LIKELY, COSTS_HIGH, COSTS_COUNT };

/* calibrate.c: try all parts, again until it is clear what they take; into COSTS_COUNT rows. */
enum status engine_calibrate(struct engine *e, double *rows, int *trials, struct error *err);

/* compose.c: the step of ranks that have these costs, one row each. */
enum status engine_compose(const struct engine *e, double *rows, bool meet, double *step_ms,
			   double *bubble, struct error *err);

#endif
