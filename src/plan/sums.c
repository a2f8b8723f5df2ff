/* sums.c - see sums.h */
#include "plan/sums.h"
#include "base/util.h"

#include <math.h>

/* What a stage, or a chunk of it, has: blocks, and the ends of the model. */
struct content {
	int layers;
	bool first, last;
};

static struct content stage_content(const struct setup *s, int stage)
{
	return (struct content){setup_layers(s, stage), stage == 0, stage == s->pp - 1};
}

static struct content part_content(const struct setup *s, int part)
{
	int parts = s->pp * s->chunks;

	return (struct content){(int)(part_begin(s->layers, part + 1, parts) -
				      part_begin(s->layers, part, parts)),
				part == 0, part == parts - 1};
}

/* Parameters of what is before the blocks, and behind them with its copy of the table. */
static double first_parameters(const struct stage_kinds *k)
{
	return k->outline->embedding.parameters;
}

static double last_parameters(const struct stage_kinds *k, const struct setup *s)
{
	const struct outline *o = k->outline;

	return o->head.parameters + (s->pp > 1 && setup_is_tied(s) ? o->table : 0);
}

/* Gradients of so many parameters: a sum, or with ZeRO the half of one, which leaves each
   replica its part. */
static double sum_of(const struct setup *s, const struct cluster *c, double n)
{
	return cost_sum(c, c->constants[CLUSTER_GRADIENT_BYTES] * n, s->dp, s->tp) /
	       (s->zero ? 2 : 1);
}

/* And the other half, with the new parameters. */
static double gather_of(const struct setup *s, const struct cluster *c, double n)
{
	return cost_sum(c, 2 * n, s->dp, s->tp) / 2;
}

/* ---- one behind the other ---- */

/* The way to the replicas. Beside work it has a share of its speed. */
struct way {
	double free, end, share;
};

static void send(struct way *w, double ready, double length)
{
	double begin = fmax(w->free, ready), beside = fmax(0, w->end - begin) * w->share;

	if (beside >= length)
		w->free = begin + length / w->share;
	else
		w->free = fmax(begin, w->end) + length - beside;
}

/* The backward goes from the last layer to the first. Where weights wait for their gradients
   (zb-h1), what is left to be done there is about half of it. */
static void send_chunk(struct way *w, const struct stage_kinds *k, const struct setup *s,
		       const struct cluster *c, struct content has, double end)
{
	double part = s->schedule == SCHEDULE_ZB_H1 && s->pp > 1 ? 0.5 : 1;
	double block = part * cost_pass(c, &k->block.backward);
	double left = has.layers * block +
		      (has.first ? part * cost_pass(c, &k->embedding.backward) : 0);

	if (has.last)
		send(w, end - left, sum_of(s, c, last_parameters(k, s)));
	for (int i = 0; i < has.layers; i++) {
		left -= block;
		send(w, end - left, sum_of(s, c, k->outline->block.parameters));
	}
	if (has.first)
		send(w, end, sum_of(s, c, first_parameters(k)));
}

/* ---- ZeRO 2 and 3 as PyTorch's FSDP does them ---- */

/* A block with its share of what is before and behind the blocks. */
struct unit {
	double forward, backward; /* s */
	double gather, send;
};

static struct unit unit_of(const struct stage_kinds *k, const struct setup *s,
			   const struct cluster *c, int stage)
{
	struct content has = stage_content(s, stage);
	struct stage_cost cost =
		stage_cost(k, s, c, has.layers, s->chunks, has.first, has.last);
	double n = outline_stage_parameters(k->outline, s, stage) / has.layers;

	return (struct unit){cost.forward / has.layers, cost.backward / has.layers,
			     gather_of(s, c, n), sum_of(s, c, n)};
}

/*
 * Every micro-batch the gradients of a block go to their owners when its backward is over. Its
 * parameters are gathered while the block before it is under way: before the forward, and with
 * ZeRO 3 again before the backward; with ZeRO 2 only once a step.
 */
static double simulate_sharded(const struct unit *u, const struct setup *s, int layers)
{
	int m = setup_micro_batches(s);
	double now = 0, way = 0; /* when the work, and the way to the replicas, is free */
	double there = u->gather;

	for (int i = 0; i < m; i++) {
		bool gathers = s->zero == 3 || i == 0;

		for (int k = 0; k < layers; k++) {
			double begin = fmax(now, gathers ? there : 0);

			way = fmax(way, there);
			if (gathers && (k < layers - 1 || s->zero == 3)) {
				way = fmax(way, begin) + u->gather; /* the next one's */
				there = way;
			}
			now = begin + u->forward;
		}
		for (int k = 0; k < layers; k++) {
			double begin = fmax(now, s->zero == 3 ? there : 0);

			if (s->zero == 3 && (k < layers - 1 || i < m - 1)) {
				way = fmax(way, begin) + u->gather;
				there = way;
			}
			now = begin + u->backward;
			way = fmax(way, now) + u->send;
		}
	}
	return fmax(now, way) - m * layers * (u->forward + u->backward);
}

/* ZeRO 2: gradients are sent beside everything that follows, of the last micro-batch, or since
   the first one if that is too much. */
static double forecast_sent(const struct unit *u, const struct setup *s, int layers)
{
	double m = setup_micro_batches(s), one = layers * u->send;
	double beside = (layers - 1) * u->backward, others = (m - 1) * layers;

	return fmax(u->send,
		    fmax(one - beside, m * one - beside - others * (u->forward + u->backward)));
}

/* What either way takes longer than the work that it is beside. The first block to be gathered
   and the last one to be sent have nothing to hide behind. */
static double forecast_sharded(const struct unit *u, const struct setup *s, int layers)
{
	double ahead = fmax(0, u->gather - u->forward);
	double back = fmax(0, u->send + u->gather - u->backward);
	double times = (double)setup_micro_batches(s) * layers - 1;

	if (s->zero == 2)
		return u->gather + (layers - 1) * ahead + forecast_sent(u, s, layers);
	return u->gather + u->send + times * (ahead + back);
}

/* ---- both ---- */

/* With ZeRO 1 the new parameters come back behind the update. */
static double given_back(const struct stage_kinds *k, const struct setup *s,
			 const struct cluster *c, int stage)
{
	if (s->zero != 1)
		return 0;
	return gather_of(s, c, outline_stage_parameters(k->outline, s, stage));
}

double sums_simulate(const struct stage_kinds *k, const struct setup *s,
		     const struct cluster *c, const struct schedule *schedule, int stage,
		     const double *ends, double end)
{
	struct way w = {.end = end, .share = c->constants[CLUSTER_GRADIENT_OVERLAP]};

	if (s->dp == 1)
		return 0;
	if (s->zero >= 2 && s->pp == 1) {
		struct unit u = unit_of(k, s, c, stage);

		return simulate_sharded(&u, s, s->layers);
	}
	if (s->zero >= 2 || !(w.share > 0))
		return sums_forecast(k, s, c, stage);
	/* The last chunk of a stage is the first to be through. */
	for (int i = s->chunks - 1; i >= 0; i--)
		send_chunk(&w, k, s, c, part_content(s, schedule_part(schedule, stage, i)),
			   ends[i]);
	return fmax(0, w.free - end) + given_back(k, s, c, stage);
}

/* Sums of blocks one behind the other, since the first of them is through its last backward;
   interleaved, pp micro-batches go through each of the other chunks meanwhile. */
static double forecast_beside(const struct stage_kinds *k, const struct setup *s,
			      const struct cluster *c, int stage)
{
	struct content has = stage_content(s, stage);
	double block = sum_of(s, c, k->outline->block.parameters);
	double ends = (has.first ? sum_of(s, c, first_parameters(k)) : 0) +
		      (has.last ? sum_of(s, c, last_parameters(k, s)) : 0);
	double backward = cost_pass(c, &k->block.backward);
	double beside = (has.layers - 1) * backward;

	if (s->schedule == SCHEDULE_INTERLEAVED && s->pp > 1)
		beside = backward * has.layers / s->chunks * (s->pp * (s->chunks - 1) + 1) -
			 backward;
	if (s->schedule == SCHEDULE_ZB_H1 && s->pp > 1)
		beside /= 2;
	beside *= c->constants[CLUSTER_GRADIENT_OVERLAP];
	return fmax(has.first ? sum_of(s, c, first_parameters(k)) : block,
		    has.layers * block + ends - beside);
}

double sums_forecast(const struct stage_kinds *k, const struct setup *s,
		     const struct cluster *c, int stage)
{
	double n = outline_stage_parameters(k->outline, s, stage);

	if (s->dp == 1)
		return 0;
	if (s->zero >= 2) {
		struct unit u = unit_of(k, s, c, stage);

		return forecast_sharded(&u, s, setup_layers(s, stage));
	}
	if (c->constants[CLUSTER_GRADIENT_OVERLAP] > 0)
		return forecast_beside(k, s, c, stage) + given_back(k, s, c, stage);
	return sum_of(s, c, n) + given_back(k, s, c, stage);
}

double sums_of_table(const struct stage_kinds *k, const struct setup *s,
		     const struct cluster *c)
{
	if (s->pp == 1 || !setup_is_tied(s))
		return 0;
	return cost_sum(c, c->constants[CLUSTER_GRADIENT_BYTES] * k->outline->table, 2,
			s->tp * s->dp * (s->pp - 1));
}
