/* forecast.c - see forecast.h */
#include "plan/forecast.h"
#include "base/util.h"
#include "plan/stage.h"

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

static void pipeline(struct forecast *f, const struct setup *s, const struct cluster *c)
{
	struct stage_kinds kinds;
	struct stage_cost slowest = {0};
	double all = 0, m = setup_micro_batches(s);

	stage_kinds_init(&kinds, s, c);
	for (int i = 0; i < s->pp; i++) {
		struct stage_cost cost = stage_cost(&kinds, s, c, setup_layers(s, i), s->chunks,
						    i == 0, i == s->pp - 1);

		all += stage_whole(&cost);
		if (stage_whole(&cost) > stage_whole(&slowest))
			slowest = cost;
	}
	f->sums = m * slowest.sums;
	f->messages = m * slowest.messages;
	f->work = m * (slowest.forward + slowest.backward - slowest.sums);
	f->fill = forecast_fill(s, all - stage_whole(&slowest), slowest.weights);
}

/* Sums of gradients: ZeRO 1 and 2 send as much in two halves, 3 also gathers the parameters
   for the backward. The copies of the table are summed between the first stage and the last. */
static double gradients(const struct setup *s, const struct cluster *c, int stage)
{
	double bytes = c->constants[CLUSTER_GRADIENT_BYTES], n = setup_parameters(s, stage);
	double time = cost_sum(c, (s->zero ? (bytes + 2) / 2 : bytes) * n, s->dp, s->tp);

	if (s->zero == 3)
		time += cost_sum(c, n, s->dp, s->tp); /* 2 bytes, gathered: half of a sum */
	time *= 1 - c->constants[CLUSTER_GRADIENT_OVERLAP];
	if (s->pp > 1)
		time += cost_sum(c, bytes * (double)ceil_div(s->vocab, s->tp) * s->hidden, 2,
				 s->tp * s->dp * (s->pp - 1));
	return time;
}

static void step_end(struct forecast *f, const struct setup *s, const struct cluster *c)
{
	int ends[] = {0, s->pp - 1};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		double n = setup_parameters(s, ends[i]) / (s->zero ? s->dp : 1);
		double sums = gradients(s, c, ends[i]);
		double update = cost_bytes(c, n * c->constants[CLUSTER_OPTIMIZER_BYTES]) +
				c->constants[CLUSTER_STEP] * 1e-6;

		if (sums + update > f->gradients + f->update) {
			f->gradients = sums;
			f->update = update;
		}
	}
}

void forecast_make(struct forecast *f, const struct setup *s, const struct cluster *c)
{
	*f = (struct forecast){.fullest = 0};
	pipeline(f, s, c);
	step_end(f, s, c);
	f->step = f->work + f->sums + f->messages + f->fill + f->gradients + f->update;
	for (int i = 0; i < s->pp; i++) {
		struct forecast_memory m;

		forecast_memory(&m, s, c, i);
		if (forecast_memory_sum(&m) > f->memory) {
			f->memory = forecast_memory_sum(&m);
			f->fullest = i;
		}
	}
}

double forecast_tokens_per_s(const struct forecast *f, const struct setup *s)
{
	return (double)s->global_batch * s->context / f->step;
}

double forecast_mfu(const struct forecast *f, const struct setup *s, const struct cluster *c)
{
	return setup_flops(s) / (f->step * s->gpus * c->constants[CLUSTER_PEAK] * 1e12);
}
