/* batch.c - the samples of a batch, made up or from a table; see data.h */
#include "base/rng.h"
#include "base/stream.h"
#include "base/util.h"
#include "data/data.h"
#include "data/impl.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- made-up data ---- */

/*
 * A few hidden factors u decide every output, y = tanh(B u), and show in every input,
 * x = (noise + A u) / 1.5. Cheap to make, not linear, and learnable within some dozens
 * of steps at any width, since all features speak of the same factors.
 */
static void relate(const struct data *d, const float u[FACTORS], float *x, float *y)
{
	const float *a = d->teacher, *b = d->teacher + (size_t)d->in * FACTORS;

	for (int i = 0; i < d->in; i++) {
		float shown = 0;

		for (int k = 0; k < FACTORS; k++)
			shown += a[i * FACTORS + k] * u[k];
		x[i] = (x[i] + shown) / 1.5f;
	}
	for (int i = 0; i < d->out; i++) {
		float target = 0;

		for (int k = 0; k < FACTORS; k++)
			target += b[i * FACTORS + k] * u[k];
		y[i] = d->unit * tanhf(target);
	}
}

static void make_rows(void *arg, int part, int parts)
{
	const struct made_job *job = arg;
	const struct data *d = job->d;
	size_t n = (size_t)d->in, targets = (size_t)d->out;
	int end = (int)part_begin(job->rows, part + 1, parts);

	for (int r = (int)part_begin(job->rows, part, parts); r < end; r++) {
		float *x = view_from(job->b->x, (size_t)r).data;
		float *y = view_from(job->b->target, (size_t)r).data;
		uint64_t row = (uint64_t)job->first + (uint64_t)r;

		rng_normal(d->seed, stream_id(STREAM_INPUT, 0), row * n, n, x);
		if (d->kind == DATA_NOISE) {
			rng_normal(d->seed, stream_id(STREAM_TARGET, 0), row * targets, targets,
				   y);
		} else {
			float u[FACTORS];

			rng_normal(d->seed, stream_id(STREAM_FACTOR, 0), row * FACTORS, FACTORS,
				   u);
			relate(d, u, x, y);
		}
	}
}

/* ---- samples of a table ---- */

void data_shuffle(int32_t *order, int64_t n, uint64_t seed, uint64_t stream)
{
	for (int64_t i = n - 1; i > 0; i--) {
		int64_t j = rng_below(seed, stream, (uint64_t)i, (uint32_t)i + 1);
		int32_t t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
}

static void copy_sample(const struct data *d, const struct table *t, int64_t sample,
			const struct batch *b, int r)
{
	size_t out = (size_t)d->out;

	memcpy(view_from(b->x, (size_t)r).data, t->values + sample * t->features,
	       (size_t)t->features * sizeof(float));
	if (t->labels)
		b->labels[r] = t->labels[sample];
	else if (t->targets)
		memcpy(view_from(b->target, (size_t)r).data, t->targets + (size_t)sample * out,
		       out * sizeof(float));
}

/* Sample number i of the endless sequence of shuffled epochs. */
static int64_t sample_at(struct data *d, int64_t i)
{
	int64_t epoch = i / d->train;

	if (epoch != d->epoch) {
		memcpy(d->shuffled, d->order, (size_t)d->train * sizeof(*d->shuffled));
		data_shuffle(d->shuffled, d->train, d->seed,
			     stream_id(STREAM_SHUFFLE, (uint64_t)epoch));
		d->epoch = epoch;
	}
	return d->shuffled[i % d->train];
}

/* Samples instead of rows. */
static void language_batch(struct data *d, struct device *dev, int64_t first, int rows,
			   const struct batch *b)
{
	struct made_job job = {d, first / d->sequence, rows / d->sequence, b};

	assert(first % d->sequence == 0 && rows % d->sequence == 0);
	if (d->kind == DATA_TOKENS)
		data_windows(d, job.first, job.rows, b);
	else
		device_parallel(dev, data_make_tokens, &job);
}

void data_batch(struct data *d, struct device *dev, int64_t first, int rows,
		const struct batch *b)
{
	struct made_job job = {d, first, rows, b};

	if (d->language) {
		language_batch(d, dev, first, rows, b);
		return;
	}
	if (d->kind != DATA_TABLE) {
		device_parallel(dev, make_rows, &job);
		return;
	}
	for (int r = 0; r < rows; r++)
		copy_sample(d, &d->table, sample_at(d, first + r), b, r);
}

void data_held_out(struct data *d, int64_t first, int rows, const struct batch *b)
{
	if (d->language) {
		assert(first % d->sequence == 0 && rows % d->sequence == 0);
		data_held_out_windows(d, first / d->sequence, rows / d->sequence, b);
		return;
	}
	for (int r = 0; r < rows; r++)
		if (d->test.samples)
			copy_sample(d, &d->test, first + r, b, r);
		else
			copy_sample(d, &d->table, d->order[d->train + first + r], b, r);
}

void data_rows(const struct data *d, int64_t first, int rows, const struct batch *b)
{
	for (int r = 0; r < rows; r++)
		copy_sample(d, &d->table, first + r, b, r);
}
