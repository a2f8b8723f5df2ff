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

/*
 * ZeRO 2 and 3 as PyTorch's FSDP does them: every micro-batch the gradients go to their owners,
 * and with 3 the parameters are gathered before the forward and before the backward, block by
 * block behind the work of the others. The first block to be gathered and the last one to be
 * sent have nothing to hide behind.
 */
static double sharded(const struct setup *s, const struct cluster *c, int stage, double work)
{
	double bytes = c->constants[CLUSTER_GRADIENT_BYTES], n = setup_parameters(s, stage);
	double m = setup_micro_batches(s);
	/* Either is half of a sum. */
	double send = cost_sum(c, bytes * n, s->dp, s->tp) / 2;
	double gather = cost_sum(c, 2 * n, s->dp, s->tp) / 2;
	double all = m * send + (s->zero == 3 ? 2 * m : 1) * gather;
	double ends = (send + gather) / setup_layers(s, stage);

	return s->zero == 3 ? fmax(ends, all - work) : gather + fmax(ends, m * send - work);
}

/* Sums of gradients: ZeRO 1 sends as much in two halves. The copies of the table are summed
   between the first stage and the last. */
static double gradients(const struct setup *s, const struct cluster *c, int stage, double work)
{
	double bytes = c->constants[CLUSTER_GRADIENT_BYTES], n = setup_parameters(s, stage);
	double time = 0;

	if (s->dp > 1 && s->zero >= 2)
		time = sharded(s, c, stage, work);
	else if (s->dp > 1)
		time = cost_sum(c, (s->zero ? (bytes + 2) / 2 : bytes) * n, s->dp, s->tp) *
		       (1 - c->constants[CLUSTER_GRADIENT_OVERLAP]);
	if (s->pp > 1 && setup_is_tied(s))
		time += cost_sum(c, bytes * (double)ceil_div(s->vocab, s->tp) * s->hidden, 2,
				 s->tp * s->dp * (s->pp - 1));
	return time;
}

static void step_end(struct forecast *f, const struct setup *s, const struct cluster *c)
{
	int ends[] = {0, s->pp - 1};

	for (int i = 0; i < (s->pp > 1 ? 2 : 1); i++) {
		double n = setup_parameters(s, ends[i]) / (s->zero ? s->dp : 1);
		double sums = gradients(s, c, ends[i], f->work);
		double update = cost_bytes(c, n * c->constants[CLUSTER_OPTIMIZER_BYTES]) +
				c->constants[CLUSTER_STEP] * 1e-6;

		if (sums + update > f->gradients + f->update) {
			f->gradients = sums;
			f->update = update;
		}
	}
}

static void fullest(struct forecast *f, const struct setup *s, const struct cluster *c)
{
	int stages[3], n = extreme_stages(s, stages);

	for (int i = 0; i < n; i++) {
		struct forecast_memory m;

		forecast_memory(&m, s, c, stages[i]);
		if (forecast_memory_sum(&m) > f->memory) {
			f->memory = forecast_memory_sum(&m);
			f->fullest = stages[i];
		}
	}
}

void forecast_with(struct forecast *f, const struct setup *s, const struct cluster *c,
		   const struct stage_kinds *kinds)
{
	*f = (struct forecast){.fullest = 0};
	pipeline(f, s, c, kinds);
	step_end(f, s, c);
	f->step = f->work + f->sums + f->messages + f->fill + f->gradients + f->update;
	fullest(f, s, c);
}

void forecast_make(struct forecast *f, const struct setup *s, const struct cluster *c)
{
	struct stage_kinds kinds;

	stage_kinds_init(&kinds, s, c);
	stage_kinds_set_message(&kinds, s, c);
	forecast_with(f, s, c, &kinds);
}

double forecast_tokens_per_s(const struct forecast *f, const struct setup *s)
{
	return (double)s->global_batch * s->context / f->step;
}

double forecast_mfu(const struct forecast *f, const struct setup *s, const struct cluster *c)
{
	return setup_flops(s) / (f->step * s->gpus * c->constants[CLUSTER_PEAK] * 1e12);
}
