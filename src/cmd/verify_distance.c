/* verify_distance.c - how far a run is from another; see verify.h */
#include "cmd/verify.h"
#include "base/util.h"
#include "engine/sketch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tensor whose gradient is below this share of all counts as if it had that much: there may
   be nothing but rounding in it. */
static const double smallest = 1e-3;

static size_t rows_of(int tensors)
{
	return MEASURE_GRADIENT + (size_t)(MEASURES - MEASURE_GRADIENT) * (size_t)(tensors + 1);
}

double *distance_at(const struct distance *d, enum measure m, int tensor, int step)
{
	size_t row = m < MEASURE_GRADIENT ? (size_t)m
					  : MEASURE_GRADIENT +
						    (size_t)(m - MEASURE_GRADIENT) *
							    (size_t)(d->tensors + 1) +
						    (size_t)tensor;

	return &d->values[row * (size_t)d->steps + (size_t)step];
}

double distance_most(const struct distance *d, enum measure m)
{
	double most = 0;

	for (int step = 0; step < d->steps; step++)
		most = fmax(most, *distance_at(d, m, d->tensors, step));
	return most;
}

void distance_release(struct distance *d)
{
	free(d->values);
	*d = (struct distance){0};
}

/* What is not finite on one side only is as different as can be. */
static double difference(double a, double b, double scale)
{
	if (a == b)
		return 0;
	if (!isfinite(a) || !isfinite(b))
		return 1e9;
	return fabs(a - b) / fmax(scale, 1e-30);
}

/* The largest relative difference of two tensors, and where; 1e9 if they don't fit. */
static double compare_tensor(const struct safetensors *one, const struct safetensors *many,
			     const struct safetensors_entry *e, size_t *where)
{
	const struct safetensors_entry *f = safetensors_find(many, e->name);
	const float *x = safetensors_data(one, e), *y;
	size_t n = (size_t)(e->end - e->begin) / sizeof(float);
	double scale = 0, most = 0;

	*where = 0;
	if (!f || f->end - f->begin != e->end - e->begin)
		return 1e9;
	y = safetensors_data(many, f);
	for (size_t i = 0; i < n; i++)
		scale = isfinite(x[i]) ? fmax(scale, fabs((double)x[i])) : scale;
	for (size_t i = 0; i < n; i++) {
		double d = difference((double)x[i], (double)y[i], scale);

		if (d > most) {
			most = d;
			*where = i;
		}
	}
	return most;
}

void distance_find(const struct safetensors *one, const struct safetensors *many,
		   const char *name, struct difference *place)
{
	double most = -1;

	for (size_t k = 0; k < one->count; k++) {
		const struct safetensors_entry *e = &one->entries[k], *f;
		size_t where;
		double d;

		if (*name && strcmp(name, e->name) != 0)
			continue;
		d = compare_tensor(one, many, e, &where);
		f = safetensors_find(many, e->name);
		if (d <= most || !f)
			continue;
		most = d;
		snprintf(place->tensor, sizeof(place->tensor), "%s", e->name);
		place->element = where;
		place->one = (double)((const float *)safetensors_data(one, e))[where];
		place->many = (double)((const float *)safetensors_data(many, f))[where];
	}
}

/* ---- sketches ---- */

static const struct sketch_tensor *sketch_of(const struct outcome *o, int step)
{
	const struct safetensors_entry *e = &o->sketch.entries[0];
	const char *data = safetensors_data(&o->sketch, e);

	return (const struct sketch_tensor *)(data + (size_t)step * (size_t)e->shape[1] *
							     sizeof(struct sketch_tensor));
}

/* Squares of what a sketch, or the difference of two, stands for. */
static double squares(const float *a, const float *b)
{
	double sum = 0;

	for (int i = 0; i < SKETCH_BINS; i++) {
		double x = (double)a[i] - (b ? (double)b[i] : 0);

		sum += x * x;
	}
	return sum;
}

/* Distances of a step from the squares of differences and of what they are relative to, of
   each tensor; the last is all together. */
static void put_relative(struct distance *d, enum measure m, int step, double *apart,
			 double *size)
{
	double *all_apart = &apart[d->tensors], *all_size = &size[d->tensors];

	*all_apart = *all_size = 0;
	for (int k = 0; k < d->tensors; k++) {
		*all_apart += apart[k];
		*all_size += size[k];
	}
	for (int k = 0; k <= d->tensors; k++) {
		double scale = fmax(sqrt(size[k]), smallest * sqrt(*all_size));

		if (isfinite(scale))
			*distance_at(d, m, k, step) = difference(0, sqrt(apart[k]), scale);
	}
}

/* Room for the tensors of a step, and what is summed up over the steps. */
struct work {
	double *apart, *size; /* (tensors + 1) squares */
	double *drift;	      /* (tensors + 1) */
	int counted;	      /* steps in it */
};

static void compare_norms(struct distance *d, int step, const struct sketch_tensor *one,
			  const struct sketch_tensor *many, struct work *w)
{
	double all_one = 0, all_many = 0;

	w->counted++;
	for (int k = 0; k < d->tensors; k++) {
		all_one += (double)one[k].norm * (double)one[k].norm;
		all_many += (double)many[k].norm * (double)many[k].norm;
	}
	for (int k = 0; k <= d->tensors; k++) {
		double a = k < d->tensors ? (double)one[k].norm : sqrt(all_one);
		double b = k < d->tensors ? (double)many[k].norm : sqrt(all_many);
		double scale = fmax(a, smallest * sqrt(all_one));

		if (!isfinite(scale))
			continue;
		w->drift[k] += copysign(difference(a, b, scale), b - a);
		*distance_at(d, MEASURE_SCALE, k, step) =
			fabs(w->drift[k]) / sqrt((double)w->counted);
	}
}

static void compare_step(struct distance *d, int step, const struct outcome *reference,
			 const struct outcome *run, struct work *w)
{
	const struct sketch_tensor *one = sketch_of(reference, step);
	const struct sketch_tensor *many = sketch_of(run, step);

	for (int k = 0; k < d->tensors; k++) {
		w->apart[k] = squares(one[k].moved, many[k].moved);
		w->size[k] = squares(one[k].moved, NULL);
	}
	put_relative(d, MEASURE_MOVED, step, w->apart, w->size);
	if (reference->skipped[step]) /* its gradients are not finite */
		return;
	for (int k = 0; k < d->tensors; k++) {
		w->apart[k] = squares(one[k].gradient, many[k].gradient);
		w->size[k] = (double)one[k].norm * (double)one[k].norm;
	}
	put_relative(d, MEASURE_GRADIENT, step, w->apart, w->size);
	compare_norms(d, step, one, many, w);
}

static void compare_weights(struct distance *d, const struct outcome *reference,
			    const struct outcome *run)
{
	double *most = distance_at(d, MEASURE_WEIGHT, 0, d->steps - 1);

	for (size_t k = 0; k < reference->weights.count; k++) {
		const struct safetensors_entry *e = &reference->weights.entries[k];
		size_t where;
		double x = compare_tensor(&reference->weights, &run->weights, e, &where);

		if (x > *most) {
			*most = x;
			d->worst_tensor = e;
			d->worst = where;
		}
	}
}

enum status distance_init(struct distance *d, const struct outcome *reference,
			  const struct outcome *run, struct error *err)
{
	int tensors = (int)reference->weights.count, steps = reference->count;
	int both = imin(steps, run->count);
	struct work w = {.apart = calloc(3 * ((size_t)tensors + 1), sizeof(double))};

	*d = (struct distance){.steps = steps, .tensors = tensors};
	d->values = calloc(rows_of(tensors) * (size_t)steps, sizeof(*d->values));
	if (!d->values || !w.apart) {
		free(w.apart);
		distance_release(d);
		return FAIL(err, ERR_MEMORY, "no memory to compare %d steps", steps);
	}
	w.size = w.apart + tensors + 1;
	w.drift = w.size + tensors + 1;
	while (d->parted < both && reference->skipped[d->parted] == run->skipped[d->parted])
		d->parted++;
	for (int step = 0; step < both; step++)
		*distance_at(d, MEASURE_LOSS, 0, step) =
			difference(reference->losses[step], run->losses[step],
				   fabs(reference->losses[step]));
	for (int step = 0; step < d->parted; step++)
		compare_step(d, step, reference, run, &w);
	if (both == steps)
		compare_weights(d, reference, run);
	free(w.apart);
	return OK;
}
