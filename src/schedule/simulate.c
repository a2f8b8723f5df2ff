/* simulate.c - when each stage would do what, if every action took what its cost says. */
#include "schedule/timeline.h"
#include "schedule/impl.h"

#include <stdlib.h>

struct simulation {
	const struct schedule *schedule;
	const struct costs *costs;
	size_t *first; /* (stages) where each stage's part of began is */
	double *began; /* (all actions) when each action began */
};

static double cost_of(const struct simulation *sim, enum action_kind kind)
{
	const struct costs *c = sim->costs;
	double cost[] = {[ACTION_F] = c->f,
			 [ACTION_B] = c->b,
			 [ACTION_I] = c->b - c->w,
			 [ACTION_W] = c->w};

	return kind <= ACTION_W ? cost[kind] / sim->schedule->chunks : 0;
}

static double *began_at(const struct simulation *sim, int stage, int index)
{
	return &sim->began[sim->first[stage] + (size_t)index];
}

static double end_of(const struct simulation *sim, int stage, int index)
{
	return *began_at(sim, stage, index) +
	       cost_of(sim, sim->schedule->orders[stage].actions[index].kind);
}

static void run(void *arg, int stage, int index, int sent)
{
	struct simulation *sim = arg;
	struct action a = sim->schedule->orders[stage].actions[index];
	double begin = index ? end_of(sim, stage, index - 1) : 0;

	if (sent >= 0) {
		int chunk, sender = schedule_peer(sim->schedule, stage, a, &chunk);
		double arrival = end_of(sim, sender, sent) + sim->costs->latency;

		begin = arrival > begin ? arrival : begin;
	}
	*began_at(sim, stage, index) = begin;
}

static enum status allocate(struct simulation *sim, struct timeline *t, struct error *err)
{
	const struct schedule *s = sim->schedule;
	size_t total = 0;

	sim->first = calloc((size_t)s->stages, sizeof(*sim->first));
	for (int i = 0; sim->first && i < s->stages; i++) {
		sim->first[i] = total;
		total += (size_t)s->orders[i].count;
	}
	/* One more: an empty array is none at all to some allocators. */
	sim->began = calloc(total + 1, sizeof(*sim->began));
	t->spans = calloc(total + 1, sizeof(*t->spans));
	t->totals = calloc((size_t)s->stages, sizeof(*t->totals));
	if (sim->first && sim->began && t->spans && t->totals)
		return OK;
	return FAIL(err, ERR_MEMORY, "no memory to simulate a schedule of %d stages",
		    s->stages);
}

double timeline_stage_bubble(const struct timeline *t, int stage)
{
	const struct stage_time *total = &t->totals[stage];
	double cost = total->end_ms - total->begin_ms;

	return cost > 0 ? 1 - total->busy_ms / cost : 0;
}

static void add_stage(const struct simulation *sim, int stage, struct timeline *t)
{
	const struct order *o = &sim->schedule->orders[stage];
	struct stage_time *total = &t->totals[stage];
	int before = t->count;

	for (int i = 0; i < o->count; i++) {
		struct span span = {stage, o->actions[i], *began_at(sim, stage, i),
				    end_of(sim, stage, i)};

		if (span.action.kind > ACTION_W)
			continue;
		if (t->count == before)
			total->begin_ms = span.begin_ms;
		total->end_ms = span.end_ms;
		total->busy_ms += span.end_ms - span.begin_ms;
		t->spans[t->count++] = span;
	}
}

static void add_up(const struct simulation *sim, struct timeline *t)
{
	double longest = 0;

	for (int i = 0; i < t->stages; i++) {
		double cost;

		add_stage(sim, i, t);
		cost = t->totals[i].end_ms - t->totals[i].begin_ms;
		if (t->totals[i].end_ms > t->makespan_ms)
			t->makespan_ms = t->totals[i].end_ms;
		if (cost > longest) {
			longest = cost;
			t->bubble = timeline_stage_bubble(t, i);
		}
	}
}

enum status timeline_simulate(struct timeline *t, const struct schedule *s,
			      const struct costs *c, struct error *err)
{
	struct simulation sim = {.schedule = s, .costs = c};
	struct walk walk = {0};
	enum status st;

	*t = (struct timeline){.stages = s->stages};
	TRY(allocate(&sim, t, err));
	TRY(walk_init(&walk, s, err));
	walk.visit = run;
	walk.arg = &sim;
	TRY(walk_run(&walk, err));
	add_up(&sim, t);
out:
	walk_release(&walk);
	free(sim.first);
	free(sim.began);
	if (st != OK)
		timeline_release(t);
	return st;
}

void timeline_release(struct timeline *t)
{
	free(t->spans);
	free(t->totals);
	*t = (struct timeline){0};
}
