/* explain.c - see explain.h */
#include "plan/explain.h"
#include "base/util.h"
#include "plan/simulate.h"
#include "plan/stage.h"

#include <math.h>
#include <stdlib.h>

static void fill_passes(struct explanation *e, const struct stage_kinds *k)
{
	const struct both_ways *kinds[] = {&k->block, &k->embedding, &k->head};
	static const char *const names[] = {"block", "embedding", "head"};

	for (size_t i = 0; i < EXPLAINED_PASSES; i++)
		e->passes[i] = (struct explained_pass){
			.name = names[i],
			.forward = kinds[i]->forward,
			.backward = kinds[i]->backward,
		};
}

static void fill_stage(struct explained_stage *x, int stage, const struct stage_kinds *k,
		       const struct setup *s, const struct cluster *c)
{
	int layers = setup_layers(s, stage);
	struct stage_cost cost =
		stage_cost(k, s, c, layers, s->chunks, stage == 0, stage == s->pp - 1);

	*x = (struct explained_stage){.layers = layers,
				      .parameters =
					      outline_stage_parameters(k->outline, s, stage),
				      .forward = cost.forward,
				      .backward = cost.backward,
				      .sums = cost.sums,
				      .messages = cost.messages,
				      .alive = forecast_alive(s, stage)};
	forecast_memory(&x->memory, s, c, k, stage);
}

/* What so many passes of each kind compute, as means of the stages. */
static void add_compute(struct explained_step *x, const struct explanation *e,
			const struct setup *s)
{
	double m = setup_micro_batches(s), p = s->pp;
	double times[EXPLAINED_PASSES] = {s->layers * m / p, m / p, m / p};

	for (size_t i = 0; i < EXPLAINED_PASSES; i++) {
		const struct cost *ways[] = {&e->passes[i].forward, &e->passes[i].backward};

		for (size_t k = 0; k < ARRAY_SIZE(ways); k++) {
			x->products += times[i] * ways[k]->products;
			x->elementwise += times[i] * (ways[k]->busy - ways[k]->products);
		}
	}
}

/* A stage is idle as long as one of equal stages would be, and longer because they are not. */
static void add_idle(struct explained_step *x, struct explanation *e, const struct setup *s,
		     double whole, double weights)
{
	double makespan = e->timeline.makespan_ms * 1e-3;
	double ideal = forecast_fill(s, whole * (s->pp - 1) / s->pp, weights / s->pp);

	for (int i = 0; i < s->pp; i++) {
		double idle = fmax(0, makespan - e->timeline.totals[i].busy_ms * 1e-3);

		e->stages[i].idle = idle;
		x->bubble += fmin(idle, ideal) / s->pp;
		x->imbalance += fmax(0, idle - ideal) / s->pp;
	}
}

static void take_apart(struct explanation *e, const struct stage_kinds *k,
		       const struct setup *s, const struct cluster *c)
{
	struct explained_step *x = &e->step;
	struct stage_cost all = stage_cost(k, s, c, s->layers, s->pp * s->chunks, true, true);
	double m = setup_micro_batches(s), worked;

	x->step = e->timeline.makespan_ms * 1e-3 + x->gradients + e->forecast.update;
	x->other = c->constants[CLUSTER_STEP] * 1e-6;
	x->update = e->forecast.update - x->other;
	x->sums = m * all.sums / s->pp;
	x->messages = m * all.messages / s->pp;
	add_compute(x, e, s);
	worked = m * (all.forward + all.backward) / s->pp;
	x->host = fmax(0, worked - x->products - x->elementwise - x->sums);
	add_idle(x, e, s, stage_whole(&all), all.weights);
}

enum status explanation_init(struct explanation *e, const struct setup *s,
			     const struct cluster *c, struct error *err)
{
	struct stage_kinds kinds;
	struct outline outline;
	enum status st;

	*e = (struct explanation){.stages = calloc((size_t)s->pp, sizeof(*e->stages))};
	if (!e->stages)
		return FAIL(err, ERR_MEMORY, "no memory for %d stages", s->pp);
	TRY(outline_init(&outline, s, err));
	stage_kinds_init(&kinds, &outline, s, c);
	stage_kinds_set_message(&kinds, s, c);
	forecast_with(&e->forecast, s, c, &kinds);
	TRY(simulate_run(&e->timeline, &e->step.gradients, s, c, err));
	fill_passes(e, &kinds);
	for (int i = 0; i < s->pp; i++)
		fill_stage(&e->stages[i], i, &kinds, s, c);
	take_apart(e, &kinds, s, c);
out:
	if (st != OK)
		explanation_release(e);
	return st;
}

void explanation_release(struct explanation *e)
{
	timeline_release(&e->timeline);
	free(e->stages);
	*e = (struct explanation){.stages = NULL};
}
