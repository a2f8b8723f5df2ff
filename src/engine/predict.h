/*
 * predict.h - how long a step should take, before the first one: every rank tries the parts
 * of its step several times (calibrate.c, trials.c), and the simulator of schedules puts them
 * together (compose.c).
 */
#ifndef KOLM_ENGINE_PREDICT_H
#define KOLM_ENGINE_PREDICT_H

#include "engine/engine.h"

struct prediction_of_step {
	double step_ms;
	double low_ms, high_ms; /* that it should lie between; on a virtual device the same */
	double bubble;		/* of the schedule */
	int trials;		/* of every part, and what all of them took */
	double trials_ms;
};

/*
 * Collective, before the first step of a run of so many. meet: all ranks
 * wait for each other between steps. Not for DataParallel: then it is all NAN.
 */
enum status engine_predict(struct engine *e, int steps, bool meet, struct prediction_of_step *p,
			   struct error *err);

#endif
