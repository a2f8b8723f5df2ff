/*
 * explain.h - a step taken apart: what its stages do and hold, and where the time goes, as a
 * run of kolm train is taken apart when it is over.
 */
#ifndef KOLM_PLAN_EXPLAIN_H
#define KOLM_PLAN_EXPLAIN_H

#include "plan/cost.h"
#include "plan/forecast.h"
#include "schedule/timeline.h"

/* Of one micro-batch, in s, where nothing else is said. */
struct explained_stage {
	int layers;
	double parameters;	  /* of a rank */
	double forward, backward; /* with the sums in them */
	double sums, messages;
	double idle;  /* of the step */
	double alive; /* micro-batches in flight, at most */
	struct forecast_memory memory;
};

/* A pass through one block, or through what comes before and behind them. */
struct explained_pass {
	const char *name;
	struct cost forward, backward;
};
enum { EXPLAINED_PASSES = 3 };

/* Means of all stages, in s: they add up to the step. */
struct explained_step {
	double step;
	double products, elementwise, host, update; /* compute */
	double sums, messages, gradients;	    /* exposed communication */
	double bubble, imbalance;
	double other; /* what the host does once a step */
};

struct explanation {
	struct forecast forecast;
	struct explained_pass passes[EXPLAINED_PASSES];
	struct explained_step step;
	struct explained_stage *stages; /* (pp) */
	struct timeline timeline;	/* of one pipeline */
};

/* For a setup that has passed its check and that simulate_can says yes to. */
enum status explanation_init(struct explanation *e, const struct setup *s,
			     const struct cluster *c, struct error *err);
void explanation_release(struct explanation *e);

static inline double explained_compute(const struct explained_step *x)
{
	return x->products + x->elementwise + x->host + x->update;
}

static inline double explained_comm(const struct explained_step *x)
{
	return x->sums + x->messages + x->gradients;
}

#endif
