/* data.c - see data.h */
#include "data/data.h"
#include "base/rng.h"
#include "base/stream.h"
#include "base/units.h"
#include "base/util.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const data_task_names[] = {NAMES_OF(DATA_TASKS)};

enum { FACTORS = 4 };

static void shuffle(int32_t *order, int64_t n, uint64_t seed, uint64_t stream)
{
	for (int64_t i = n - 1; i > 0; i--) {
		int64_t j = rng_below(seed, stream, (uint64_t)i, (uint32_t)i + 1);
		int32_t t = order[i];

		order[i] = order[j];
		order[j] = t;
	}
}

/* Every feature to mean 0 and deviation 1 over the training samples. */
static void standardise(struct data *d)
{
	struct table *t = &d->table;

	for (int f = 0; f < t->features; f++) {
		double sum = 0, squares = 0, mean, deviation;

		for (int64_t i = 0; i < d->train; i++) {
			double v = t->values[(int64_t)d->order[i] * t->features + f];

			sum += v;
			squares += v * v;
		}
		mean = sum / (double)d->train;
		deviation = sqrt(fmax(squares / (double)d->train - mean * mean, 0));
		for (int64_t i = 0; i < t->samples; i++) {
			float *v = &t->values[i * t->features + f];

			/* A feature that hardly varies says nothing; dividing would only add
			 * noise. */
			*v = deviation > 1e-6 * fabs(mean) && deviation > 0
				     ? (float)((*v - mean) / deviation)
				     : 0;
		}
	}
}

static enum status open_table(struct data *d, enum data_task task, double holdout,
			      struct error *err)
{
	enum status st = OK;
	struct table *t = &d->table;

	if (task == TASK_REGRESSION)
		TRY(table_as_regression(t, err));
	if (task == TASK_CLASSIFICATION && !t->classes) {
		FAIL(err, ERR_USAGE, "--loss cross-entropy: the last column has no labels");
		return HINT(err,
			    "labels are whole numbers from 0, at most %d of them; or use "
			    "--loss mse",
			    TABLE_CLASSES_MAX);
	}

	if (t->samples > INT32_MAX)
		return FAIL(err, ERR_USAGE, "%lld samples are more than %d",
			    (long long)t->samples, INT32_MAX);
	d->kind = DATA_TABLE;
	d->in = t->features;
	d->labelled = t->classes > 0;
	d->out = d->labelled ? t->classes : 1;
	d->held_out = (int64_t)((double)t->samples * holdout);
	d->train = t->samples - d->held_out;
	d->order = malloc((size_t)t->samples * sizeof(*d->order));
	d->shuffled = malloc((size_t)d->train * sizeof(*d->shuffled));
	if (!d->order || !d->shuffled)
		return FAIL(err, ERR_MEMORY, "no memory to order %lld samples",
			    (long long)t->samples);
	for (int64_t i = 0; i < t->samples; i++)
		d->order[i] = (int32_t)i;
	shuffle(d->order, t->samples, d->seed, stream_id(STREAM_SPLIT, 0));
	standardise(d);
out:
	return st;
}

static enum status read_idx(struct data *d, const char *names, struct error *err)
{
	char images[PATH_MAX];
	const char *comma = strchr(names, ',');

	if (!comma || comma == names || !comma[1] || comma - names >= PATH_MAX) {
		FAIL(err, ERR_USAGE, "--data idx:%.200s does not name two files", names);
		return HINT(err, "write --data idx:IMAGES,LABELS");
	}
	memcpy(images, names, (size_t)(comma - names));
	images[comma - names] = '\0';
	return table_read_idx(&d->table, images, comma + 1, err);
}

/* What relates synthetic inputs and targets to the hidden factors behind both. */
static enum status make_teacher(struct data *d, struct error *err)
{
	size_t n = (size_t)(d->in + d->out) * FACTORS;

	d->teacher = malloc(n * sizeof(float));
	if (!d->teacher)
		return FAIL(err, ERR_MEMORY, "no memory for %d targets", d->out);
	rng_uniform(d->seed, stream_id(STREAM_TEACHER, 0), 0, n, -1, 1, d->teacher);
	return OK;
}

/* "synthetic:1e-5": targets in another unit, as if metres were given in kilometres. */
static enum status read_unit(struct data *d, const char *spec, struct error *err)
{
	double unit = 1;

	if (*spec == ':' &&
	    (!units_parse_float(spec + 1, &unit) || !(unit >= 1e-30) || !(unit <= 1e30))) {
		FAIL(err, ERR_USAGE, "--data synthetic%.60s: what targets are multiplied with",
		     spec);
		return HINT(err, "a number from 1e-30 to 1e30, such as synthetic:0.001");
	}
	d->unit = (float)unit;
	return OK;
}

static enum status no_labels(enum data_task task, const char *spec, struct error *err)
{
	if (task != TASK_CLASSIFICATION)
		return OK;
	FAIL(err, ERR_USAGE, "--loss cross-entropy: --data %s has no labels", spec);
	return HINT(err, "use --loss mse, or data from csv:FILE or idx:IMAGES,LABELS");
}

enum status data_open(struct data *d, const char *spec, enum data_task task, int in, int out,
		      uint64_t seed, double holdout, struct error *err)
{
	enum status st = OK;

	*d = (struct data){.seed = seed, .in = in, .out = out, .epoch = -1};
	if (!strcmp(spec, "synthetic") || !strncmp(spec, "synthetic:", 10)) {
		d->kind = DATA_SYNTHETIC;
		TRY(read_unit(d, spec + 9, err));
		TRY(no_labels(task, spec, err));
		TRY(make_teacher(d, err));
	} else if (!strcmp(spec, "noise")) {
		d->kind = DATA_NOISE;
		TRY(no_labels(task, spec, err));
	} else if (!strncmp(spec, "csv:", 4)) {
		TRY(table_read_csv(&d->table, spec + 4, err));
		TRY(open_table(d, task, holdout, err));
	} else if (!strncmp(spec, "idx:", 4)) {
		TRY(read_idx(d, spec + 4, err));
		TRY(open_table(d, task, holdout, err));
	} else {
		st = FAIL(err, ERR_USAGE, "--data %.200s is unknown", spec);
		HINT(err, "use synthetic, noise, csv:FILE or idx:IMAGES,LABELS");
	}
out:
	if (st != OK)
		data_close(d);
	return st;
}

void data_close(struct data *d)
{
	free(d->teacher);
	free(d->order);
	free(d->shuffled);
	table_release(&d->table);
	*d = (struct data){0};
}

/* ---- made-up data ---- */

struct made_job {
	struct data *d;
	int64_t step;
	int first, rows;
	const struct batch *b;
};

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

		rng_normal(d->seed, stream_id(STREAM_INPUT, (uint64_t)job->step), row * n, n,
			   x);
		if (d->kind == DATA_NOISE) {
			rng_normal(d->seed, stream_id(STREAM_TARGET, (uint64_t)job->step),
				   row * targets, targets, y);
		} else {
			float u[FACTORS];

			rng_normal(d->seed, stream_id(STREAM_FACTOR, (uint64_t)job->step),
				   row * FACTORS, FACTORS, u);
			relate(d, u, x, y);
		}
	}
}

/* ---- samples of a table ---- */

static void copy_sample(const struct data *d, int64_t sample, const struct batch *b, int r)
{
	const struct table *t = &d->table;

	memcpy(view_from(b->x, (size_t)r).data, t->values + sample * t->features,
	       (size_t)t->features * sizeof(float));
	if (d->labelled)
		b->labels[r] = t->labels[sample];
	else
		*(float *)view_from(b->target, (size_t)r).data = t->targets[sample];
}

/* Sample number i of the endless sequence of shuffled epochs. */
static int64_t sample_at(struct data *d, int64_t i)
{
	int64_t epoch = i / d->train;

	if (epoch != d->epoch) {
		memcpy(d->shuffled, d->order, (size_t)d->train * sizeof(*d->shuffled));
		shuffle(d->shuffled, d->train, d->seed,
			stream_id(STREAM_SHUFFLE, (uint64_t)epoch));
		d->epoch = epoch;
	}
	return d->shuffled[i % d->train];
}

void data_batch(struct data *d, struct device *dev, int64_t step, int batch, int first,
		int rows, const struct batch *b)
{
	struct made_job job = {d, step, first, rows, b};

	if (d->kind != DATA_TABLE) {
		device_parallel(dev, make_rows, &job);
		return;
	}
	for (int r = 0; r < rows; r++)
		copy_sample(d, sample_at(d, step * batch + first + r), b, r);
}

void data_held_out(const struct data *d, int64_t first, int rows, const struct batch *b)
{
	for (int r = 0; r < rows; r++)
		copy_sample(d, d->order[d->train + first + r], b, r);
}
