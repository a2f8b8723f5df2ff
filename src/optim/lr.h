/*
 * lr.h - the learning rate of every step: a pure function of the step and a few options, so it
 * is the same on every rank, on any grid and after a restart. docs/training.md has the
 * formulas.
 */
#ifndef KOLM_OPTIM_LR_H
#define KOLM_OPTIM_LR_H

#include "base/names.h"

#include <stdbool.h>
#include <stdint.h>

#define LR_KINDS(X)             \
	X(CONSTANT, "constant") \
	X(COSINE, "cosine")     \
	X(LINEAR, "linear")     \
	X(STEP, "step")         \
	X(WSD, "wsd")
#define LR_KIND(name, ...) LR_##name,
enum lr_kind { LR_KINDS(LR_KIND) };
extern const char *const lr_kind_names[]; /* NULL-terminated */

struct lr_schedule {
	enum lr_kind kind;
	double lr, min; /* 0 <= min <= lr; constant has no min */
	int64_t steps;	/* of the run */
	int64_t warmup; /* the first ones; fewer than steps */
	int64_t every;	/* LR_STEP: so many steps have the same rate, */
	double gamma;	/* ... the next ones that times gamma */
	int64_t decay;	/* LR_WSD: the last steps; with warmup not more than steps */
};

/* Of a step, counted from 0. */
double lr_at(const struct lr_schedule *s, int64_t step);

/* Has every step the same? */
bool lr_is_constant(const struct lr_schedule *s);

#endif
