/* chart_ticks.c - round values along an axis; see chart.h */
#include "report/chart.h"
#include "base/util.h"

#include <math.h>

/* The smallest of 1, 2, 2.5, 5, 10 times a power of ten that is not below x. */
static double round_step(double x)
{
	static const double steps[] = {1, 2, 2.5, 5};
	double power = pow(10, floor(log10(x)));

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (power * steps[i] >= x * (1 - 1e-9))
			return power * steps[i];
	return power * 10;
}

/* Digits behind the point that a step needs. */
static int digits_of(double step)
{
	for (int digits = 0; digits < 12; digits++) {
		double shifted = step * pow(10, digits);

		if (fabs(shifted - round(shifted)) < 1e-6 * shifted)
			return digits;
	}
	return 12;
}

struct ticks ticks_linear(double low, double high, int max)
{
	struct ticks t = {.low = low, .high = high};
	double step, first;

	max = imin(imax(max, 2), TICKS_MAX);
	/* Where they are equal but for rounding, no step would tell them apart. */
	if (!(high - low > 1e-9 * fmax(fabs(low), fabs(high)))) {
		double room = low != 0 ? fabs(low) * 0.1 : 1;

		low -= room;
		high += room;
	}
	/* Widening to round values may need one step more at either end. */
	step = round_step((high - low) / (max - 1));
	while (ceil(high / step - 1e-9) - floor(low / step + 1e-9) + 1 > max)
		step = round_step(step * 1.01);
	first = floor(low / step + 1e-9);
	t.low = first * step;
	t.high = ceil(high / step - 1e-9) * step;
	t.digits = digits_of(step);
	for (int i = 0; i < max && (first + i) * step <= t.high + step / 2; i++)
		t.at[t.count++] = (first + i) * step;
	return t;
}

/* 1, 2 and 5 times powers of ten, for less than three powers. */
static void add_between(struct ticks *t, int max)
{
	static const double steps[] = {1, 2, 5};
	int first = (int)floor(log10(t->low)), last = (int)ceil(log10(t->high));

	for (int power = first; power <= last; power++)
		for (size_t i = 0; i < ARRAY_SIZE(steps) && t->count < max; i++) {
			double at = steps[i] * pow(10, power);

			if (at >= t->low * (1 - 1e-9) && at <= t->high * (1 + 1e-9))
				t->at[t->count++] = at;
		}
}

struct ticks ticks_log(double low, double high, int max)
{
	struct ticks t = {.low = low, .high = high};
	double first, last, every;

	max = imin(imax(max, 2), TICKS_MAX);
	if (!(high > low * (1 + 1e-9))) {
		t.low = low / 2;
		t.high = high * 2;
	}
	first = floor(log10(t.low) + 1e-9);
	last = ceil(log10(t.high) - 1e-9);
	if (last - first < 3) {
		add_between(&t, max);
	} else {
		t.low = pow(10, first);
		t.high = pow(10, last);
		every = ceil((last - first + 1) / max);
		for (double power = first; power <= last + 0.5 && t.count < max; power += every)
			t.at[t.count++] = pow(10, power);
	}
	t.digits = -1;
	return t;
}
