/* simulate.c - see simulate.h */
#include "plan/simulate.h"
#include "base/util.h"
#include "plan/sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int64_t simulate_forwards(const struct setup *s)
{
	return (int64_t)setup_micro_batches(s) * s->pp * s->chunks;
}

bool simulate_can(const struct setup *s)
{
	return simulate_forwards(s) <= SIMULATE_MAX;
}

const char *simulate_title(const struct setup *s, char *buf, size_t size)
{
	snprintf(buf, size, "one pipeline of dp %d, pp %d, mp %d: %s, %d micro-batches of %d",
		 s->dp, s->pp, s->tp, schedule_name(s->schedule), setup_micro_batches(s),
		 s->micro_batch);
	return buf;
}

/* A message makes both sides wait, so it is a part of what they do; see docs/plan.md. */
static struct part_cost part_cost(const struct schedule *schedule, int part,
				  const struct stage_kinds *kinds, const struct setup *s,
				  const struct cluster *c)
{
	int parts = schedule_parts(schedule);
	int layers = (int)(part_begin(s->layers, part + 1, parts) -
			   part_begin(s->layers, part, parts));
	struct stage_cost cost =
		stage_cost(kinds, s, c, layers, 1, part == 0, part == parts - 1);

	return (struct part_cost){.f = (cost.forward + cost.messages / 2) * 1e3,
				  .b = (cost.backward + cost.messages / 2) * 1e3,
				  .w = cost.weights * 1e3};
}

/* Each stage's sums begin and end on their own; ends has room for the chunks of one. */
static double sum_gradients(const struct timeline *t, const struct schedule *schedule,
			    const struct stage_kinds *kinds, const struct setup *s,
			    const struct cluster *c, double *ends)
{
	const struct span *span = t->spans;
	double makespan = t->makespan_ms * 1e-3, last = makespan;

	for (int stage = 0; stage < s->pp; stage++) {
		double end = t->totals[stage].end_ms * 1e-3;

		for (; span < t->spans + t->count && span->stage == stage; span++)
			ends[span->action.chunk] = span->end_ms * 1e-3;
		last = fmax(last, end + sums_simulate(kinds, s, c, schedule, stage, ends, end));
	}
	return last - makespan + sums_of_table(kinds, s, c);
}

enum status simulate_run(struct timeline *t, double *gradients, const struct setup *s,
			 const struct cluster *c, struct error *err)
{
	struct stage_kinds kinds;
	struct outline outline;
	struct schedule schedule = {0};
	struct part_cost *parts = calloc((size_t)s->pp * (size_t)s->chunks, sizeof(*parts));
	double *ends = calloc((size_t)s->chunks, sizeof(*ends));
	struct costs costs = {.parts = parts};
	enum status st;

	*t = (struct timeline){.count = 0};
	if (!parts || !ends) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d stages", s->pp);
		goto out;
	}
	TRY(outline_init(&outline, s, err));
	stage_kinds_init(&kinds, &outline, s, c);
	stage_kinds_set_message(&kinds, s, c);
	TRY(schedule_init(&schedule, schedule_for(s->schedule, s->pp), s->pp,
			  setup_micro_batches(s), s->chunks, err));
	for (int stage = 0; stage < s->pp; stage++)
		for (int chunk = 0; chunk < s->chunks; chunk++)
			parts[stage * s->chunks + chunk] =
				part_cost(&schedule, schedule_part(&schedule, stage, chunk),
					  &kinds, s, c);
	TRY(timeline_simulate(t, &schedule, &costs, err));
	if (gradients)
		*gradients = sum_gradients(t, &schedule, &kinds, s, c, ends);
out:
	schedule_release(&schedule);
	free(parts);
	free(ends);
	return st;
}

enum status simulate_step(double *seconds, const struct forecast *f, const struct setup *s,
			  const struct cluster *c, struct error *err)
{
	struct timeline t;
	double gradients;
	enum status st;

	*seconds = NAN;
	if (!simulate_can(s))
		return OK;
	st = simulate_run(&t, &gradients, s, c, err);
	if (st != OK)
		return st;
	*seconds = t.makespan_ms * 1e-3 + gradients + f->update;
	timeline_release(&t);
	return OK;
}
