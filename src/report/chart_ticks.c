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

/* The values of a logarithmic axis: base to the powers from first to last, times each of some
   steps; those within the range. */
static void add_powers(struct ticks *t, int max, double base, const double *steps, int n)
{
	double first = floor(log(t->low) / log(base)), last = ceil(log(t->high) / log(base));
	double every = ceil((last - first + 1) / max);

	t->count = 0;
	for (int k = 0; first + k * every <= last + 0.5; k++)
		for (int i = 0; i < n; i++) {
			double at = steps[i] * pow(base, first + k * every);

			if (t->count < TICKS_MAX && at >= t->low * (1 - 1e-9) &&
			    at <= t->high * (1 + 1e-9))
				t->at[t->count++] = at;
		}
}

struct ticks ticks_log(double low, double high, bool binary, int max)
{
	static const double steps[] = {1, 2, 5};
	struct ticks t = {.low = low, .high = high, .digits = NUMBER_SHORT};
	struct ticks linear;

	max = imin(imax(max, 2), TICKS_MAX);
	if (!(high > low * (1 + 1e-9))) {
		t.low = low / 2;
		t.high = high * 2;
	}
	if (binary) {
		add_powers(&t, max, 2, steps, 1);
		return t;
	}
	add_powers(&t, max, 10, steps, 1);
	if (t.count < 3 && t.high / t.low < 1e3)
		add_powers(&t, max, 10, steps, ARRAY_SIZE(steps));
	if (t.count >= 2)
		return t;
	/* So narrow that it is nearly straight. */
	linear = ticks_linear(t.low, t.high, max);
	t.count = 0;
	for (int i = 0; i < linear.count; i++)
		if (linear.at[i] >= t.low && linear.at[i] <= t.high)
			t.at[t.count++] = linear.at[i];
	return t;
}
