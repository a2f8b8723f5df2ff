/* memory.c - the memory of a rank; see forecast.h */
#include "plan/forecast.h"
#include "base/util.h"

static const double GIB = 1024.0 * 1024 * 1024;

/* Bytes of an element of the block's rows: those that all ranks of a layer have, unless rows
   are spread, and those that are cut. Norms, inputs of products, masks; then Korthikanti et
   al.'s 24, or without dropout queries, keys, values, result and what is inside of the
   feed-forward.
 */
static void element_bytes(const struct setup *s, double *whole, double *cut)
{
	double keys = (double)setup_kv_heads(s) / s->heads;
	double inside = (double)setup_ffn(s) / s->hidden;

	switch (s->model) {
	case SETUP_GPT:
		*whole = 10;
		*cut = 8 + 4 * inside;
		return;
	case SETUP_MPT:
		*whole = 8;
		*cut = 4 + 4 * keys + 4 * inside;
		return;
	case SETUP_LLAMA: /* gate, up, and their product */
		*whole = 8;
		*cut = 4 + 4 * keys + 6 * inside;
		return;
	}
}

/* The input, what attention yields, and every other of what the products do. */
static void half_bytes(const struct setup *s, double *whole, double *cut)
{
	double keys = (double)setup_kv_heads(s) / s->heads;
	double inside = (double)setup_ffn(s) / s->hidden;

	*whole = 4;
	*cut = 3 + 2 * keys + (s->model == SETUP_LLAMA ? 2 : 1) * inside;
}

/* What is computed again is not kept; with full recomputation only the input is. */
static double kept(const struct setup *s, enum setup_recompute recompute)
{
	double h = s->hidden, t = s->tp, sequence = s->context, whole = 0, cut = 0;
	double elements = sequence * s->micro_batch * h;

	if (recompute == SETUP_FULL)
		return 2 * elements / (s->sequence_parallel ? t : 1);
	if (recompute == SETUP_SELECTIVE && setup_is_flash(s))
		half_bytes(s, &whole, &cut);
	else
		element_bytes(s, &whole, &cut);
	if (recompute == SETUP_NONE && !setup_is_flash(s))
		cut += 5 * s->heads * sequence / h;
	return elements * (whole / (s->sequence_parallel ? t : 1) + cut / t);
}

double forecast_block_bytes(const struct setup *s)
{
	return kept(s, s->recompute);
}

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

/* Of the embedding: its mask; of the head: its input twice, and the logits. */
static double end_bytes(const struct setup *s, const struct cluster *c, int stage)
{
	double elements = (double)s->context * s->micro_batch * s->hidden;
	double cut = s->sequence_parallel ? s->tp : 1, sum = 0;

	if (stage == 0)
		sum += elements / cut * kept_micro_batches(s, c, stage);
	if (stage == s->pp - 1)
		sum += 4 * elements / cut + c->constants[CLUSTER_LOGIT_BYTES] * s->context *
						    s->micro_batch *
						    (double)ceil_div(s->vocab, s->tp);
	return sum;
}

/* Parameters that are gathered together: a block, or a table where that is larger. */
static double sharded_unit(const struct setup *s, int stage)
{
	double block = setup_block_parameters(s);
	double table = (double)ceil_div(s->vocab, s->tp) * s->hidden;

	return (stage == 0 || stage == s->pp - 1) && table > block ? table : block;
}

void forecast_memory(struct forecast_memory *m, const struct setup *s, const struct cluster *c,
		     int stage)
{
	double n = setup_parameters(s, stage), unit = sharded_unit(s, stage);

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
	m->activations =
		forecast_block_bytes(s) * setup_layers(s, stage) *
			kept_micro_batches(s, c, stage) +
		end_bytes(s, c, stage) +
		room_bytes(s, c, stage, setup_block_parameters(s) * setup_layers(s, stage));
	/* The block that is under way has all of it. */
	m->activations += kept(s, SETUP_NONE) - kept(s, s->recompute);
	m->reserved = c->constants[CLUSTER_RESERVED] * GIB;
}

double forecast_memory_sum(const struct forecast_memory *m)
{
	return m->parameters + m->gradients + m->optimizer + m->activations + m->reserved;
}
