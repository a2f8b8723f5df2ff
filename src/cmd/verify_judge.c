/*
 * verify_judge.c - what of the distance between two runs is rounding; see verify.h
 *
 * Rounding is known where it happens: one result is off by up to a unit of roundoff. What
 * becomes of that behind rectifiers that it tips over, in normalised steps, over many layers
 * and steps is not calculated but seen: controls are runs on one rank in another order, or
 * with such noise in every result. A run that goes from the reference, in any step, a few
 * times as far as any of them did up to that step is not the same run.
 */
#include "cmd/verify.h"

#include <math.h>

/* Where controls did not move, in units of the noise: a result or two that fell to the other
   side. A loss and a norm are means over many; the weights of the optimizer are not rounded. */
static const double least[MEASURES] = {[MEASURE_LOSS] = 1,
				       [MEASURE_WEIGHT] = 0,
				       [MEASURE_GRADIENT] = 4,
				       [MEASURE_SCALE] = 1,
				       [MEASURE_MOVED] = 4};

void reach_add(struct distance *reach, const struct distance *control)
{
	for (int m = 0; m < MEASURES; m++)
		for (int k = 0; k <= (m < MEASURE_GRADIENT ? 0 : reach->tensors); k++)
			for (int step = 0; step < reach->steps; step++) {
				double *to = distance_at(reach, (enum measure)m, k, step);

				if (step < control->parted)
					*to = fmax(*to, *distance_at(control, (enum measure)m,
								     k, step));
				if (step > 0)
					*to = fmax(*to, to[-1]);
			}
}

/* One tensor among many, small as a bias may be, is moved by a single rectifier that no
   control has tipped: all of them together are not. */
static double times_of(const struct limits *l, enum measure m, int tensor)
{
	bool alone = m >= MEASURE_GRADIENT && tensor < l->reach->tensors;

	return alone ? ALONE_TIMES : CONTROLS_TIMES;
}

double limit_at(const struct limits *l, enum measure m, int tensor, int step)
{
	double contract = l->contract[m];

	if (!l->reach)
		return contract;
	return fmax(contract,
		    fmax(CONTROLS_TIMES * least[m] * l->noise,
			 times_of(l, m, tensor) * *distance_at(l->reach, m, tensor, step)));
}

static void look_at(const struct distance *d, const struct limits *l, enum measure m,
		    int tensor, int step, struct finding *f)
{
	double value = *distance_at(d, m, tensor, step);
	double limit = limit_at(l, m, tensor, step);
	double excess = value / fmax(limit, 1e-30);

	if (!(value > limit) || excess <= f->excess)
		return;
	*f = (struct finding){
		.beyond = true, .step = step, .measure = m, .tensor = tensor, .excess = excess};
}

struct finding judge(const struct distance *d, const struct limits *l)
{
	/* In a step one follows from the other. */
	static const enum measure order[MEASURES] = {
		MEASURE_LOSS, MEASURE_GRADIENT, MEASURE_SCALE, MEASURE_MOVED, MEASURE_WEIGHT};
	struct finding f = {0};

	for (int step = 0; step < d->parted && !f.beyond; step++)
		for (int i = 0; i < MEASURES && !f.beyond; i++)
			for (int k = 0; k <= (order[i] < MEASURE_GRADIENT ? 0 : d->tensors);
			     k++)
				look_at(d, l, order[i], k, step, &f);
	return f;
}
