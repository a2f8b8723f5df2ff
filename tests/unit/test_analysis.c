/* test_analysis.c - fits give back what the numbers were made from. */
#include "testing.h"

#include "study/analysis.h"
#include "study/results.h"

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * (1 + fabs(b))))
		fail_msg("%.17g is not %.17g", a, b);
}

/* For all serial and parallel parts, times made by Amdahl's law give them back. */
static void amdahl_gives_back_its_parts(void **state)
{
	static const double ranks[] = {1, 2, 4, 8};
	double time[4];
	(void)state;

	for (int serial = 0; serial <= 20; serial += 5)
		for (int parallel = 1; parallel <= 100; parallel += 33) {
			struct amdahl fit;

			for (int i = 0; i < 4; i++)
				time[i] = serial + parallel / ranks[i];
			fit = fit_amdahl(ranks, time, 4);
			assert_true(fit.ok);
			near(fit.serial + 1, serial + 1);
			near(fit.parallel, parallel);
			near(fit.r2, 1);
			near(fit.fraction, serial / (double)(serial + parallel));
		}
	near(amdahl_limit(0.25), 4);
	assert_true(isinf(amdahl_limit(0)));
}

static void what_does_not_get_faster_has_no_fit(void **state)
{
	static const double ranks[] = {1, 2, 4}, slower[] = {10, 11, 14}, one[] = {1, 1, 1};
	(void)state;

	assert_false(fit_amdahl(ranks, slower, 3).ok);
	assert_false(fit_amdahl(one, slower, 3).ok);
	assert_false(fit_amdahl(ranks, slower, 1).ok);
	assert_false(fit_line((double[]){1, 2}, (double[]){NAN, 1}, 2).ok);
}

/* Of these three times the best line is flat, but for rounding. */
static void no_fit_explains_less_than_nothing(void **state)
{
	struct random r = random_start("no_fit_explains_less_than_nothing");
	(void)state;

	for (int n = 0; n < 100000; n++) {
		double x[3] = {1, random_int(&r, 2, 9), random_int(&r, 10, 64)},
		       y[3] = {random_int(&r, 1, 1000) / 7.0, random_int(&r, 1, 1000) / 3.0, 0},
		       mean = (x[0] + x[1] + x[2]) / 3;
		struct line_fit fit;

		y[2] = ((mean - x[0]) * y[0] + (mean - x[1]) * y[1]) / (x[2] - mean);
		fit = fit_line(x, y, 3);
		assert_true(fit.ok);
		if (!(fit.r2 >= 0 && fit.r2 <= 1))
			fail_msg("R^2 is %.17g for x %g %g, times %.17g %.17g %.17g", fit.r2,
				 x[1], x[2], y[0], y[1], y[2]);
	}
}

static void links_are_latency_and_bandwidth(void **state)
{
	static const double bytes[] = {1e3, 1.6e4, 2.5e5, 1e6, 1.6e7};
	double us[5];
	struct line_fit fit;
	(void)state;

	for (int i = 0; i < 5; i++)
		us[i] = 5 + bytes[i] / 2000; /* 5 us, 2 GB/s */
	fit = fit_link(bytes, us, 5);
	assert_true(fit.ok);
	near(fit.offset, 5);
	near(1e-3 / fit.slope, 2);
	/* A latency is never negative, nor more than the smallest message takes. */
	us[0] = 0.1;
	fit = fit_link(bytes, us, 5);
	assert_true(fit.offset >= 0 && fit.offset <= 0.1);
	us[0] = 0;
	assert_false(fit_link(bytes, us, 5).ok);
}

static void the_spread_is_half_of_the_middle(void **state)
{
	double three[] = {5, 1, 2}, five[] = {9, 1, 2, 3, 4};
	(void)state;

	near(spread_of(three, 3), 2);
	near(spread_of(five, 5), 1); /* quartiles 2 and 4 */
	near(spread_of(three, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amdahl_gives_back_its_parts),
		cmocka_unit_test(what_does_not_get_faster_has_no_fit),
		cmocka_unit_test(no_fit_explains_less_than_nothing),
		cmocka_unit_test(links_are_latency_and_bandwidth),
		cmocka_unit_test(the_spread_is_half_of_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
