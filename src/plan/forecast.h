/*
 * forecast.h - how long a step takes and how much memory it needs, in closed form.
 * docs/plan.md says what is counted and what is not.
 */
#ifndef KOLM_PLAN_FORECAST_H
#define KOLM_PLAN_FORECAST_H

#include "plan/cluster.h"
#include "plan/outline.h"
#include "plan/setup.h"

/* Where it goes, in bytes of a rank. */
struct forecast_memory {
	double parameters, gradients, optimizer, activations, reserved;
};

/* Times in s. They add up to step. */
struct forecast {
	double step;
	double work; /* micro-batches of the slowest stage: products, elementwise work, host */
	double sums; /* of those, tensor-parallel sums that nothing hides */
	double messages;  /* of those, between stages */
	double fill;	  /* the pipeline fills and drains: the bubble */
	double gradients; /* summed over the replicas, and the table over its two holders */
	double update;	  /* the optimizer, and what the host does once a step */
	double memory;	  /* bytes of the fullest rank */
	int fullest;	  /* its stage */
	struct forecast_memory parts; /* of that */
	double flops;		      /* that the model needs, recomputation left out */
};

/* For a setup that has passed its check. */
enum status forecast_make(struct forecast *f, const struct setup *s, const struct cluster *c,
			  struct error *err);
/* The same where its outline is known, or what its stages are made of (stage.h): a search knows
   it for many. */
void forecast_from(struct forecast *f, const struct outline *o, const struct setup *s,
		   const struct cluster *c);
struct stage_kinds;
void forecast_with(struct forecast *f, const struct setup *s, const struct cluster *c,
		   const struct stage_kinds *kinds);

static inline double forecast_bubble(const struct forecast *f)
{
	return f->fill / (f->work + f->sums + f->messages + f->fill);
}

/*
 * How long the slowest stage is idle where one micro-batch takes others through all the other
 * stages, there and back, and weights is the slowest stage's part of it for the gradient of its
 * weights.
 */
double forecast_fill(const struct setup *s, double others, double weights);

double forecast_tokens_per_s(const struct forecast *f, const struct setup *s);
/* The share of the peak of all devices that the model's own FLOP are. */
double forecast_mfu(const struct forecast *f, const struct setup *s, const struct cluster *c);

void forecast_memory(struct forecast_memory *m, const struct setup *s, const struct cluster *c,
		     const struct stage_kinds *kinds, int stage);
double forecast_memory_sum(const struct forecast_memory *m);
/* Micro-batches that a stage has begun and not ended, at most; interleaved: in stages' worth.
 */
double forecast_alive(const struct setup *s, int stage);

#endif
