/*
 * inject.h - trouble on purpose: sleep, kill or hang a rank at a given place, or have it
 * compute something wrong, for tests and for experiments.
 *
 * SPEC is [rank=R,][step=S,][micro-batch=M,][at=forward|backward|optimizer,] and one of
 * - sleep=TIME, kill, hang: there. Without at it is at the beginning of the step; forward and
 *   backward are those of each micro-batch.
 * - nan: a gradient of the rank is not a number.
 * - scale=X: what enters the backward pass of the rank is multiplied by X: 0 leaves it out, 2
 *   counts it twice.
 * - shift: the gradients of the rank's first layer are one place off, as those of another
 *   slice would be.
 * - stale: the rank does not update its weights.
 * - noise=X,draw=D: every result of a layer (outputs, gradients of inputs and weights) is off
 *   by up to the share X of itself, at random: as rounding might have left it. For one rank.
 * - rank-order=replicas|slices: with --as-if, sums over these are taken in the order of their
 *   ranks instead of in the tree.
 * Without rank it is every rank, without step every step, without micro-batch all of them.
 */
#ifndef KOLM_ENGINE_INJECT_H
#define KOLM_ENGINE_INJECT_H

#include "base/error.h"
#include "base/names.h"
#include "base/pace.h"

#include <stdbool.h>

#define INJECT_PLACES(X)        \
	X(STEP, "step")         \
	X(FORWARD, "forward")   \
	X(BACKWARD, "backward") \
	X(OPTIMIZER, "optimizer")
#define INJECT_PLACE(name, ...) AT_##name,
enum inject_at { INJECT_PLACES(INJECT_PLACE) };
enum { AT_COUNT = NAMES_COUNT(INJECT_PLACES) };

/* And what value they take. */
#define INJECT_ACTIONS(X)          \
	X(SLEEP, "sleep", TIME)    \
	X(KILL, "kill", NOTHING)   \
	X(HANG, "hang", NOTHING)   \
	X(NAN, "nan", NOTHING)     \
	X(SCALE, "scale", FACTOR)  \
	X(SHIFT, "shift", NOTHING) \
	X(STALE, "stale", NOTHING) \
	X(NOISE, "noise", SHARE)   \
	X(RANK_ORDER, "rank-order", GROUP)
#define INJECT_ACTION(name, ...) INJECT_##name,
enum inject_action { INJECT_NONE, INJECT_ACTIONS(INJECT_ACTION) };

struct injection {
	int rank, step, micro_batch; /* -1: any */
	enum inject_at at;
	enum inject_action action;
	double ms;    /* of sleep */
	double scale; /* of scale, of noise */
	int draw;     /* of noise: which one */
	bool slices;  /* of rank-order: of slices, not of replicas */
};

enum { INJECTIONS_MAX = 16 };

struct inject_plan {
	struct injection list[INJECTIONS_MAX];
	int count;
};

/* What a run has of each, for inject_parse. */
struct inject_limits {
	int ranks, steps, micro_batches;
};

/* Several specs, separated by ';'. */
enum status inject_parse(struct inject_plan *p, const char *text,
			 const struct inject_limits *limits, struct error *err);

/* A rank was lost, and its run goes on with so many: the first kill or hang has done its work,
   and what is meant for ranks that are no more goes too. */
void inject_survive(struct inject_plan *p, int ranks);

/* This rank is there: do what is planned for it; it sleeps in its own time. */
void inject_do(const struct inject_plan *p, int rank, int step, enum inject_at at,
	       struct pace *pace);

/* What this rank is to have of an action in this step, or NULL. */
const struct injection *inject_find(const struct inject_plan *p, enum inject_action action,
				    int rank, int step);
/* What the gradients of a micro-batch are to be multiplied by. */
double inject_scale(const struct inject_plan *p, int rank, int step, int micro_batch);

#endif
