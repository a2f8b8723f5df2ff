/*
 * simulate.h - a setup's pipeline run by the simulator of schedules, every micro-batch of it:
 * the same costs as in the closed form, with stages that are not equal and the order that the
 * schedule has. Replicas and slices do the same at the same time, so one pipeline stands for
 * all.
 */
#ifndef KOLM_PLAN_SIMULATE_H
#define KOLM_PLAN_SIMULATE_H

#include "plan/cluster.h"
#include "plan/setup.h"
#include "schedule/timeline.h"

enum { SIMULATE_MAX = 1 << 18 }; /* forwards of a pipeline */

/* Is it small enough? */
bool simulate_can(const struct setup *s);
/* The caller's to release. */
enum status simulate_run(struct timeline *t, const struct setup *s, const struct cluster *c,
			 struct error *err);

#endif
