/*
 * predict.h - how long a step should take, before the first one: every rank tries the parts
 * of its step once (calibrate.c), and the simulator of schedules puts them together.
 */
#ifndef KOLM_ENGINE_PREDICT_H
#define KOLM_ENGINE_PREDICT_H

#include "engine/engine.h"
#include "schedule/timeline.h"

/* In ms, of one rank; whole numbers of floats: it travels so. */
struct rank_costs {
	double message;	 /* from the stage before */
	double sync;	 /* from the end of the last backward until all sums are there */
	double share;	 /* giving parameters to the other replicas */
	double update;	 /* the optimizer */
	double exchange; /* what all ranks tell each other at the end */
};

struct prediction_of_step {
	double step_ms;
	double bubble; /* of the schedule */
};

/* Collective, before the first step; the engine has a rank. Not for DataParallel: then it is
   all NAN. */
enum status engine_predict(struct engine *e, struct prediction_of_step *p, struct error *err);

/* calibrate.c: what the parts of a step take here; parts has one per chunk. */
enum status engine_calibrate(struct engine *e, struct rank_costs *c, struct part_cost *parts,
			     struct error *err);

#endif
