/* stage.c - see stage.h */
#include "plan/stage.h"

#include <math.h>

/* A rank sends its part of the rows; the ranks of the other stage put them together again. */
static double message(const struct setup *s, const struct cluster *c)
{
	double bytes = 2.0 * s->context * s->micro_batch * s->hidden;
	double time = cost_message(c, bytes / s->tp, s->tp * s->dp);

	if (!s->sequence_parallel)
		time += cost_sum(c, bytes / 2, s->tp, 1);
	return time;
}

void stage_kinds_init(struct stage_kinds *k, const struct outline *o, const struct setup *s,
		      const struct cluster *c)
{
	*k = (struct stage_kinds){.outline = o,
				  .block_kept = block_kept(o, s, s->recompute),
				  .block_under_way = block_kept(o, s, SETUP_NONE),
				  .embedding_kept = embedding_kept(o, s),
				  .head_kept = head_kept(o, s),
				  .logits = head_logits(o, s)};
	block_cost(&k->block, o, s, c);
	embedding_cost(&k->embedding, o, s, c);
	head_cost(&k->head, o, s, c);
}

void stage_kinds_set_message(struct stage_kinds *k, const struct setup *s,
			     const struct cluster *c)
{
	k->message = s->pp > 1 ? message(s, c) : 0;
}

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

struct stage_cost stage_cost(const struct stage_kinds *k, const struct setup *s,
			     const struct cluster *c, int layers, int chunks, bool first,
			     bool last)
{
	struct stage_cost cost = {.messages = 2 * chunks * k->message};

	add(&cost, &k->block, layers, c);
	if (first)
		add(&cost, &k->embedding, 1, c);
	if (last)
		add(&cost, &k->head, 1, c);
	cost.weights = (cost.backward - (s->recompute == SETUP_FULL ? cost.forward : 0)) / 2;
	return cost;
}
