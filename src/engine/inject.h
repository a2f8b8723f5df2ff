/*
 * inject.h - trouble on purpose: sleep, kill or hang a rank at a given place, or spoil a
 * gradient of its, for tests and for experiments.
 *
 * SPEC is [rank=R,][step=S,][at=forward|backward|optimizer,] and one of sleep=TIME, kill,
 * hang, nan. Without rank it is every rank, without step every step, without at the beginning
 * of the step. forward and backward are those of each micro-batch.
 */
#ifndef KOLM_ENGINE_INJECT_H
#define KOLM_ENGINE_INJECT_H

#include "base/error.h"
#include "base/pace.h"

#include <stdbool.h>

enum inject_at { AT_STEP, AT_FORWARD, AT_BACKWARD, AT_OPTIMIZER, AT_COUNT };
enum inject_action { INJECT_NONE, INJECT_SLEEP, INJECT_KILL, INJECT_HANG, INJECT_NAN };

struct injection {
	int rank, step; /* -1: any */
	enum inject_at at;
	enum inject_action action;
	double ms; /* of sleep */
};

enum { INJECTIONS_MAX = 16 };

struct inject_plan {
	struct injection list[INJECTIONS_MAX];
	int count;
};

/* Several specs, separated by ';'. ranks and steps are those of the run. */
enum status inject_parse(struct inject_plan *p, const char *text, int ranks, int steps,
			 struct error *err);

/* This rank is there: do what is planned for it; it sleeps in its own time. */
void inject_do(const struct inject_plan *p, int rank, int step, enum inject_at at,
	       struct pace *pace);

/* Is a gradient of this rank to be spoiled in this step? */
bool inject_has_nan(const struct inject_plan *p, int rank, int step);

#endif
