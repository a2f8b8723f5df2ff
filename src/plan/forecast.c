/* forecast.c - see forecast.h */
#include "plan/forecast.h"
#include "base/util.h"
#include "plan/sums.h"

#include <math.h>

/* Of equal stages that is (p - 1)(F + B), the v-th part of it interleaved, and without two
   weight gradients for every stage with zb-h1. */
double forecast_fill(const struct setup *s, double others, double weights)
{
	int m = setup_micro_batches(s);

	switch (s->schedule) {
	case SCHEDULE_NAIVE:
		return others * m;
	case SCHEDULE_GPIPE:
	case SCHEDULE_1F1B:
		return others;
	case SCHEDULE_INTERLEAVED:
		return others / s->chunks;
	case SCHEDULE_ZB_H1:
		return fmax(0, others - 2 * weights * imin(s->pp - 1, m));
	}
	return others;
}

/* Stages behind the second have no more blocks and no more micro-batches in flight than it has,
   so that the slowest and the fullest are among these. */
static int extreme_stages(const struct setup *s, int stages[3])
{
	int n = 0;

	stages[n++] = 0;
	if (s->pp > 2)
		stages[n++] = 1;
	if (s->pp > 1)
		stages[n++] = s->pp - 1;
	return n;
}

static void pipeline(struct forecast *f, const struct setup *s, const struct cluster *c,
		     const struct stage_kinds *kinds)
{
	struct stage_cost slowest = {0}, whole;
	double m = setup_micro_batches(s);
	int stages[3], n = extreme_stages(s, stages);

	for (int i = 0; i < n; i++) {
		struct stage_cost cost =
			stage_cost(kinds, s, c, setup_layers(s, stages[i]), s->chunks,
				   stages[i] == 0, stages[i] == s->pp - 1);

		if (stage_whole(&cost) > stage_whole(&slowest))
			slowest = cost;
	}
	whole = stage_cost(kinds, s, c, s->layers, s->pp * s->chunks, true, true);
	f->sums = m * slowest.sums;
	f->messages = m * slowest.messages;
	f->work = m * (slowest.forward + slowest.backward - slowest.sums);
	f->fill = forecast_fill(s, fmax(0, stage_whole(&whole) - stage_whole(&slowest)),
				slowest.weights);
}

/* All wait for all before the update: the norm of the gradients is that of the whole model. */
static void step_end(struct forecast *f, const struct setup *s, const struct cluster *c,
		     const struct stage_kinds *kinds)
{
	int ends[] = {0, s->pp - 1};

	for (int i = 0; i < (s->pp > 1 ? 2 : 1); i++) {
		double n = outline_stage_parameters(kinds->outline, s, ends[i]);
		double bytes = c->constants[CLUSTER_OPTIMIZER_BYTES];

		f->gradients = fmax(f->gradients, sums_forecast(kinds, s, c, ends[i]));
		f->update = fmax(f->update, cost_bytes(c, bytes * n / (s->zero ? s->dp : 1)));
	}
	f->gradients += sums_of_table(kinds, s, c);
	f->update += c->constants[CLUSTER_STEP] * 1e-6;
}

static void fullest(struct forecast *f, const struct setup *s, const struct cluster *c,
		    const struct stage_kinds *kinds)
{
	int stages[3], n = extreme_stages(s, stages);

	for (int i = 0; i < n; i++) {
		struct forecast_memory m;

		forecast_memory(&m, s, c, kinds, stages[i]);
		if (forecast_memory_sum(&m) > f->memory) {
			f->memory = forecast_memory_sum(&m);
			f->fullest = stages[i];
			f->parts = m;
		}
	}
}

void forecast_with(struct forecast *f, const struct setup *s, const struct cluster *c,
		   const struct stage_kinds *kinds)
{
	*f = (struct forecast){.flops = s->global_batch * kinds->outline->flops};
	pipeline(f, s, c, kinds);
	step_end(f, s, c, kinds);
	f->step = f->work + f->sums + f->messages + f->fill + f->gradients + f->update;
	fullest(f, s, c, kinds);
}

void forecast_from(struct forecast *f, const struct outline *o, const struct setup *s,
		   const struct cluster *c)
{
	struct stage_kinds kinds;

	stage_kinds_init(&kinds, o, s, c);
	stage_kinds_set_message(&kinds, s, c);
	forecast_with(f, s, c, &kinds);
}

enum status forecast_make(struct forecast *f, const struct setup *s, const struct cluster *c,
			  struct error *err)
{
	struct outline o;
	enum status st;

	TRY(outline_init(&o, s, err));
	forecast_from(f, &o, s, c);
out:
	return st;
}

double forecast_tokens_per_s(const struct forecast *f, const struct setup *s)
{
	return (double)s->global_batch * s->context / f->step;
}

double forecast_mfu(const struct forecast *f, const struct setup *s, const struct cluster *c)
{
	return f->flops / (f->step * s->gpus * c->constants[CLUSTER_PEAK] * 1e12);
}
