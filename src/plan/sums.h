/*
 * sums.h - gradients on their way to the other replicas, as operations beside the work: of each
 * block when its backward is over, one behind the other. Only for plan/.
 */
#ifndef KOLM_PLAN_SUMS_H
#define KOLM_PLAN_SUMS_H

#include "plan/stage.h"
#include "schedule/schedule.h"

/*
 * How long a stage's sums go on behind its work, in s. The work ends then; ends (chunks) says
 * when each chunk's last backward does. ZeRO 2 and 3 in a pipeline as in closed form.
 */
double sums_simulate(const struct stage_kinds *k, const struct setup *s,
		     const struct cluster *c, const struct schedule *schedule, int stage,
		     const double *ends, double end);
/* The same in closed form. */
double sums_forecast(const struct stage_kinds *k, const struct setup *s,
		     const struct cluster *c, int stage);
/* The tied table over the two stages that have it, when both are through. */
double sums_of_table(const struct stage_kinds *k, const struct setup *s,
		     const struct cluster *c);

#endif
