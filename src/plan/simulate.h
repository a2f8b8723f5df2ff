/*
 * simulate.h - a setup's pipeline run by the simulator of schedules, every micro-batch of it:
 * the same costs as in the closed form, with stages that are not equal and the order that the
 * schedule has. Replicas and slices do the same at the same time, so one pipeline stands for
 * all.
 */
#ifndef KOLM_PLAN_SIMULATE_H
#define KOLM_PLAN_SIMULATE_H

#include "plan/cluster.h"
#include "plan/forecast.h"
#include "plan/setup.h"
#include "schedule/timeline.h"

enum { SIMULATE_MAX = 1 << 18 }; /* forwards of a pipeline */

int64_t simulate_forwards(const struct setup *s);
/* Is it small enough? */
bool simulate_can(const struct setup *s);
/* "one pipeline of dp 8, pp 4, mp 2: 1f1b, 64 micro-batches of 1" */
const char *simulate_title(const struct setup *s, char *buf, size_t size);
/* The caller's to release. Unless it is NULL, gradients takes how long, in s, their sums go on
   when the pipeline is through. */
enum status simulate_run(struct timeline *t, double *gradients, const struct setup *s,
			 const struct cluster *c, struct error *err);
/* The whole step, in s, where the forecast says what the update takes; NAN: it is too large. */
enum status simulate_step(double *seconds, const struct forecast *f, const struct setup *s,
			  const struct cluster *c, struct error *err);

#endif
