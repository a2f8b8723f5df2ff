/*
 * sample.c - see sample.h
 *
 * A race: token i arrives after a time that is exponentially distributed, divided by its
 * probability; the first one is chosen. That is the same as drawing one (and as adding noise of
 * Gumbel's to the outputs), needs no order among the tokens, and a small change of one
 * probability changes the outcome only if that token wins or loses by it.
 */
#include "model/sample.h"
#include "base/rng.h"
#include "base/stream.h"
#include "base/util.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Where a choice is made. */
struct choice {
	struct sampler *s;
	const float *outputs;
	float most; /* the largest of them */
	int64_t number;
};

enum status sampler_init(struct sampler *s, const struct sampling *by, int count,
			 struct error *err)
{
	*s = (struct sampler){.by = *by, .count = count};
	s->order = malloc((size_t)count * sizeof(*s->order));
	if (!s->order)
		return FAIL(err, ERR_MEMORY, "no memory to choose from %d tokens", count);
	return OK;
}

void sampler_release(struct sampler *s)
{
	free(s->order);
	*s = (struct sampler){0};
}

/* A probability, not divided by the sum of all. */
static double weight_of(const struct choice *c, int32_t token)
{
	return exp(((double)c->outputs[token] - (double)c->most) / c->s->by.temperature);
}

/* The first of the largest; -1: one of them is no number. */
static int32_t largest(const float *outputs, int count)
{
	int32_t best = 0;

	for (int32_t i = 0; i < count; i++) {
		if (isnan(outputs[i]))
			return -1;
		if (outputs[i] > outputs[best])
			best = i;
	}
	return isfinite(outputs[best]) ? best : -1;
}

/* ---- the likeliest ones ---- */

static bool is_before(const float *outputs, int32_t a, int32_t b)
{
	return outputs[a] > outputs[b] || (!(outputs[a] < outputs[b]) && a < b);
}

/* A heap, the likeliest on top: below i are 2 i + 1 and 2 i + 2. */
static void sift(int32_t *heap, int n, int i, const float *outputs)
{
	for (int child; (child = 2 * i + 1) < n; i = child) {
		int32_t other = heap[i];

		child += child + 1 < n && is_before(outputs, heap[child + 1], heap[child]);
		if (is_before(outputs, heap[i], heap[child]))
			return;
		heap[i] = heap[child];
		heap[child] = other;
	}
}

static void make_heap(const struct choice *c)
{
	for (int i = c->s->count / 2 - 1; i >= 0; i--)
		sift(c->s->order, c->s->count, i, c->outputs);
}

/* The likeliest of those that are left goes behind them, n being there already. */
static int32_t take_next(const struct choice *c, int n)
{
	int32_t *heap = c->s->order, top = heap[0];
	int last = c->s->count - n - 1;

	heap[0] = heap[last];
	heap[last] = top;
	sift(heap, last, 0, c->outputs);
	return top;
}

/* What share of the probability counts: of all, or of the first so many, which are taken. */
static double sum_of(const struct choice *c, int k)
{
	double sum = 0;

	for (int i = 0; i < k; i++)
		sum += weight_of(c, k < c->s->count ? take_next(c, i) : i);
	return sum;
}

/* All of them are left, or the likeliest few, at the end of the order; returns how many. */
static int narrow(const struct choice *c)
{
	struct sampler *s = c->s;
	int k = s->by.top_k ? imin(s->by.top_k, s->count) : s->count;
	double enough, sum = 0;

	for (int32_t i = 0; i < s->count; i++)
		s->order[i] = i;
	if (k == s->count && s->by.top_p >= 1)
		return k;
	make_heap(c);
	enough = sum_of(c, k) * s->by.top_p;
	for (int n = 0; n < k && s->by.top_p < 1; n++) {
		sum += weight_of(c,
				 k < s->count ? s->order[s->count - 1 - n] : take_next(c, n));
		if (sum >= enough)
			return n + 1;
	}
	return k;
}

/* ---- one of them ---- */

/* Four words of a choice, for tokens 4 b .. 4 b + 3; those of kind 1 make the others finer. */
static void draw(const struct choice *c, int32_t b, uint32_t kind, uint32_t words[4])
{
	uint64_t seed = c->s->by.seed;
	uint64_t stream = stream_id(STREAM_SAMPLE, (uint64_t)c->number);
	uint32_t counter[4] = {(uint32_t)b, kind, (uint32_t)stream, (uint32_t)(stream >> 32)};
	uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

	rng_philox(counter, key, words);
}

/* -log(1 - v) of a uniform v, of which a first word has the higher half. */
static double time_of(const struct choice *c, int32_t token, uint32_t first)
{
	uint32_t more[4];

	draw(c, token / 4, 1, more);
	return -log1p(-((double)first + ((double)more[token % 4] + 0.5) * 0x1p-32) * 0x1p-32);
}

/* Of those at the end of the order. v is less than -log(1 - v): who comes too late even so
   needs no logarithm. */
static int32_t race(const struct choice *c, int n)
{
	const struct sampler *s = c->s;
	double best = INFINITY;
	int32_t winner = -1, drawn = -1;
	uint32_t words[4];

	for (int k = s->count - n; k < s->count; k++) {
		int32_t token = s->order[k];
		double weight = weight_of(c, token), time;

		if (token / 4 != drawn) {
			drawn = token / 4;
			draw(c, drawn, 0, words);
		}
		if (!(weight > 0) || words[token % 4] * 0x1p-32 > best * weight)
			continue;
		time = time_of(c, token, words[token % 4]) / weight;
		if (time < best || (!(time > best) && token < winner)) {
			best = time;
			winner = token;
		}
	}
	return winner;
}

int32_t sampler_choose(struct sampler *s, const float *outputs, int64_t number)
{
	struct choice c = {.s = s, .outputs = outputs, .number = number};
	int32_t best = largest(outputs, s->count);

	if (best < 0 || !(s->by.temperature > 0) || s->by.top_k == 1)
		return best;
	c.most = outputs[best];
	return race(&c, narrow(&c));
}
