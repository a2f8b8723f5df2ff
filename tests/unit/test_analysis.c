/* test_analysis.c - fits and comparisons give back what the numbers were made from. */
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
			/* Karp and Flatt find the same fraction on every number of ranks. */
			for (int i = 1; i < 4; i++)
				near(karp_flatt(time[0] / time[i], ranks[i]) + 1,
				     fit.fraction + 1);
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
	assert_true(isnan(karp_flatt(1, 1)));
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

static void saturation_is_where_nine_tenths_are(void **state)
{
	static const double batch[] = {32, 64, 128, 256};
	double time[4];
	struct saturation s;
	(void)state;

	for (int i = 0; i < 4; i++)
		time[i] = 1 + 0.1 * batch[i]; /* half of the end at batch 10, 90 % from 90 on */
	s = fit_saturation(batch, time, 4, 0.9);
	assert_true(s.ok);
	near(s.half, 10);
	near(s.reached, 128);
	for (int i = 0; i < 4; i++)
		time[i] = 100 + 0.1 * batch[i];
	assert_true(isnan(fit_saturation(batch, time, 4, 0.9).reached));
	assert_false(fit_saturation(batch, time, 2, 0.9).ok);
}

static void the_roof_is_the_lower_of_two(void **state)
{
	(void)state;
	assert_true(roofline(100, 20, 2).memory_bound);
	near(roofline(100, 20, 2).gflops, 40);
	assert_false(roofline(100, 20, 10).memory_bound);
	near(roofline(100, 20, 10).gflops, 100);
	near(roofline(100, 20, 10).ridge, 5);
}

static void differences_within_the_spread_are_none(void **state)
{
	(void)state;
	assert_int_equal(compare((struct measured){10, 1, 3}, (struct measured){11.9, 1, 3}),
			 SAME);
	assert_int_equal(compare((struct measured){10, 1, 3}, (struct measured){12.1, 1, 3}),
			 LOWER);
	assert_int_equal(compare((struct measured){14, 1, 3}, (struct measured){12, .5, 3}),
			 HIGHER);
	/* One run tells no spread: a tenth is not enough. */
	assert_int_equal(compare((struct measured){10.9, 0, 1}, (struct measured){10, 0, 1}),
			 SAME);
	assert_int_equal(compare((struct measured){NAN, 0, 3}, (struct measured){10, 0, 3}),
			 UNKNOWN);
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
		cmocka_unit_test(links_are_latency_and_bandwidth),
		cmocka_unit_test(saturation_is_where_nine_tenths_are),
		cmocka_unit_test(the_roof_is_the_lower_of_two),
		cmocka_unit_test(differences_within_the_spread_are_none),
		cmocka_unit_test(the_spread_is_half_of_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
