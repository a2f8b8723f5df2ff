/* forecast.c - see forecast.h */
#include "plan/forecast.h"
#include "base/util.h"
#include "plan/block.h"

#include <math.h>

/* Of one micro-batch through one stage, in s. */
struct stage_cost {
	double forward, backward; /* with the sums in them */
	double sums;		  /* the part of both that is sums */
	double messages;	  /* sent and received, which nothing hides */
};

/* The operations of all stages, which are equal but for their ends. */
struct kinds {
	struct both_ways block, embedding, head;
};

static void add(struct stage_cost *to, const struct both_ways *p, double times,
		const struct cluster *c)
{
	double forward = cost_pass(c, &p->forward), backward = cost_pass(c, &p->backward);
	/* Where the host is slower the device has its sums meanwhile. */
	double sums = fmin(p->forward.sums, fmax(0, forward - p->forward.busy)) +
		      fmin(p->backward.sums, fmax(0, backward - p->backward.busy));

	to->forward += times * forward;
	to->backward += times * backward;
	to->sums += times * sums;
}

/* A rank sends its part of the rows; the ranks of the other stage put them together again. */
static double message(const struct setup *s, const struct cluster *c)
{
	double bytes = 2.0 * s->context * s->micro_batch * s->hidden;
	double time = cost_message(c, bytes / s->tp, s->tp * s->dp);

	if (!s->sequence_parallel)
		time += cost_sum(c, bytes / 2, s->tp, 1);
	return time;
}

static struct stage_cost stage_cost(const struct setup *s, const struct cluster *c,
				    const struct kinds *kinds, int stage)
{
	struct stage_cost cost = {0};

	add(&cost, &kinds->block, setup_layers(s, stage), c);
	if (stage == 0)
		add(&cost, &kinds->embedding, 1, c);
	if (stage == s->pp - 1)
		add(&cost, &kinds->head, 1, c);
	if (s->pp > 1)
		cost.messages = 2 * s->chunks * message(s, c);
	return cost;
}

static double whole(const struct stage_cost *c)
{
	return c->forward + c->backward + c->messages;
}

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
	struct kinds kinds;
	struct stage_cost slowest = {0};
	double all = 0, m = setup_micro_batches(s), again;

	block_cost(&kinds.block, s, c);
	embedding_cost(&kinds.embedding, s, c);
	head_cost(&kinds.head, s, c);
	for (int i = 0; i < s->pp; i++) {
		struct stage_cost cost = stage_cost(s, c, &kinds, i);

		all += whole(&cost);
		if (whole(&cost) > whole(&slowest))
			slowest = cost;
	}
	again = s->recompute == SETUP_FULL ? slowest.forward : 0;
	f->sums = m * slowest.sums;
	f->messages = m * slowest.messages;
	f->work = m * (slowest.forward + slowest.backward - slowest.sums);
	f->fill = forecast_fill(s, all - whole(&slowest), (slowest.backward - again) / 2);
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
