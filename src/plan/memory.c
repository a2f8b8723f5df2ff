/* memory.c - the memory of a rank; see forecast.h */
#include "plan/forecast.h"
#include "base/util.h"
#include "plan/stage.h"

#include <math.h>

static const double GIB = 1024.0 * 1024 * 1024;

double forecast_alive(const struct setup *s, int stage)
{
	double m = setup_micro_batches(s), p = s->pp;

	switch (s->schedule) {
	case SCHEDULE_NAIVE:
		return 1;
	case SCHEDULE_GPIPE:
		return m;
	case SCHEDULE_1F1B:
		return imin(s->pp - stage, (int)m);
	case SCHEDULE_ZB_H1:
		return imin(s->pp, (int)m);
	case SCHEDULE_INTERLEAVED:
		if (s->pp > 1) {
			double most = p + (p - 1 - 2 * stage) / s->chunks;

			return most < m ? most : m;
		}
		return 1;
	}
	return m;
}

/* Rooms of an engine that does not count what is in flight: so many for each stage, of all that
   goes from forward to backward, but on the last; beside them what computes them has two. */
static double rooms(const struct setup *s, const struct cluster *c, int stage)
{
	return stage < s->pp - 1 ? c->constants[CLUSTER_STAGE_BUFFERS] * s->pp : 1;
}

static bool has_rooms(const struct setup *s, const struct cluster *c)
{
	return c->constants[CLUSTER_STAGE_BUFFERS] > 0 && s->pp > 1 &&
	       setup_micro_batches(s) > 1;
}

/* Micro-batches whose activations a stage keeps. */
static double kept_micro_batches(const struct setup *s, const struct cluster *c, int stage)
{
	return has_rooms(s, c) ? rooms(s, c, stage) + 2 : forecast_alive(s, stage);
}

/* Such an engine also keeps the 16-bit copies of the weights in these rooms, and has buffers
   for both ends of a message, both ways. */
static double room_bytes(const struct setup *s, const struct cluster *c, int stage,
			 double weights)
{
	double message = 2.0 * s->context * s->micro_batch * s->hidden;

	if (!has_rooms(s, c))
		return 0;
	return 4 * message + (stage < s->pp - 1 ? 2 * weights * rooms(s, c, stage) : 0);
}

/* Of the embedding and of the head. */
static double end_bytes(const struct setup *s, const struct cluster *c,
			const struct stage_kinds *k, int stage)
{
	double sum = 0;

	if (stage == 0)
		sum += k->embedding_kept * kept_micro_batches(s, c, stage);
	if (stage == s->pp - 1)
		sum += k->head_kept + c->constants[CLUSTER_LOGIT_BYTES] * k->logits;
	return sum;
}

/* An engine that plans its memory beforehand gives gradients the room of the activations that
   their backward has freed, unless they are kept from one micro-batch to the next. */
static double shared_room(const struct setup *s, const struct cluster *c,
			  const struct stage_kinds *k, int stage)
{
	if (!(c->constants[CLUSTER_STAGE_BUFFERS] > 0) || setup_micro_batches(s) > 1)
		return 0;
	return k->block_kept * setup_layers(s, stage) + end_bytes(s, c, k, stage);
}

/* Parameters that are gathered together: a block, or a table where that is larger. */
static double sharded_unit(const struct setup *s, const struct outline *o, int stage)
{
	bool end = stage == 0 || stage == s->pp - 1;

	return end && o->table > o->block.parameters ? o->table : o->block.parameters;
}

void forecast_memory(struct forecast_memory *m, const struct setup *s, const struct cluster *c,
		     const struct stage_kinds *k, int stage)
{
	double n = outline_stage_parameters(k->outline, s, stage);
	double unit = sharded_unit(s, k->outline, stage), layers = setup_layers(s, stage);

	m->parameters = 2 * n / (s->zero >= 3 ? s->dp : 1);
	m->gradients = c->constants[CLUSTER_GRADIENT_BYTES] * n / (s->zero >= 2 ? s->dp : 1);
	if (s->dp > 1 && s->zero < 2)
		m->gradients += c->constants[CLUSTER_BUCKET_BYTES] * n;
	/* What is under way is there as a whole, and the next one is being gathered. */
	if (s->zero >= 3 && s->dp > 1)
		m->parameters += 2 * 2 * unit;
	if (s->zero >= 2 && s->dp > 1)
		m->gradients += c->constants[CLUSTER_GRADIENT_BYTES] * unit;
	m->optimizer = 12 * n / (s->zero >= 1 ? s->dp : 1); /* master copy, two moments */
	m->activations = k->block_kept * layers * kept_micro_batches(s, c, stage) +
			 end_bytes(s, c, k, stage) +
			 room_bytes(s, c, stage, k->outline->block.parameters * layers);
	/* The block that is under way has all of it. */
	m->activations += k->block_under_way - k->block_kept;
	m->gradients = fmax(0, m->gradients - shared_room(s, c, k, stage));
	m->reserved = c->constants[CLUSTER_RESERVED] * GIB;
}

double forecast_memory_sum(const struct forecast_memory *m)
{
	return m->parameters + m->gradients + m->optimizer + m->activations + m->reserved;
}
