/* scale.c - features, and targets where that is wanted, to mean 0 and deviation 1; see impl.h
 */
#include "base/util.h"
#include "data/impl.h"

#include <math.h>

/* Mean and deviation of column k of so many, over the training samples that have a value;
   returns how many have. */
static int64_t measure(const struct data *d, const float *values, int columns, int k,
		       double *mean, double *deviation)
{
	double sum = 0, squares = 0;
	int64_t n = 0;

	for (int64_t i = 0; i < d->train; i++) {
		double v = values[(int64_t)d->order[i] * columns + k];

		if (isnan(v))
			continue;
		sum += v;
		squares += v * v;
		n++;
	}
	*mean = n ? sum / (double)n : 0;
	*deviation = n ? sqrt(fmax(squares / (double)n - *mean * *mean, 0)) : 0;
	/* What hardly varies says nothing; dividing would only add noise. */
	if (!(*deviation > 1e-6 * fabs(*mean)))
		*deviation = 0;
	return n;
}

enum status data_measure(struct data *d, bool scale_target, struct error *err)
{
	struct data_form *f = &d->form;

	for (int k = 0; k < f->n_features; k++) {
		struct form_column *c = &f->features[k];

		if (measure(d, d->table.values, f->n_features, k, &c->mean, &c->deviation))
			continue;
		FAIL(err, ERR_USAGE, "column %d%s%.60s%s has no value in any training sample",
		     c->number, *c->name ? " '" : "", c->name, *c->name ? "'" : "");
		return HINT(err, "--ignore %d leaves it out", c->number + d->table.indexed);
	}
	for (int k = 0; k < f->n_targets && scale_target; k++) {
		struct form_column *c = &f->targets[k];

		measure(d, d->table.targets, f->n_targets, k, &c->mean, &c->deviation);
		if (c->deviation > 0)
			continue;
		FAIL(err, ERR_USAGE, "--scale-target: the target in column %d does not vary",
		     c->number);
		return HINT(err, "there is nothing to learn from it");
	}
	return OK;
}

void data_scale(struct table *t, const struct data_form *f)
{
	for (int k = 0; k < t->features; k++) {
		double mean = f->features[k].mean, deviation = f->features[k].deviation;

		for (int64_t i = 0; i < t->samples; i++) {
			float *v = &t->values[i * t->features + k];

			/* A value that is missing is the mean. */
			*v = deviation > 0 && !isnan(*v) ? (float)((*v - mean) / deviation) : 0;
		}
	}
	for (int64_t i = 0; t->targets && i < t->samples * t->outputs; i++) {
		const struct form_column *c = &f->targets[i % t->outputs];

		/* As they are unless they were scaled: also to the last bit. */
		if (c->mean != 0 || c->deviation != 1)
			t->targets[i] = (float)((t->targets[i] - c->mean) / c->deviation);
	}
}
