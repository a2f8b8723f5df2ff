/*
 * test_exact.c - exact sums: against a plain count of every bit, in any order and grouping;
 * and sums of squares on devices, which do not depend on how they are cut.
 */
#include "operands.h"

#include "base/exact.h"

enum { BITS = 2240, MOST = 3000 };

/* The plain way: how often every power of two was added, from 2^-1074 on. */
struct count {
	int64_t bits[BITS];
};

static void count_add(struct count *c, double x, int sign)
{
	int exponent;
	double fraction = frexp(fabs(x), &exponent); /* x = fraction * 2^exponent */
	int64_t mantissa = (int64_t)ldexp(fraction, 53);
	int at = exponent - 53 + 1074;

	sign = signbit(x) ? -sign : sign;
	for (int i = 0; i < 53; i++)
		if (mantissa >> i & 1)
			c->bits[at + i] += sign; /* a subnormal has no bits below */
}

/* The sign of the sum: hand carries on, and the last one decides. */
static int count_sign(struct count c)
{
	int64_t carry = 0;
	bool any = false;

	for (int i = 0; i < BITS; i++) {
		int64_t value = c.bits[i] + carry, bit = value & 1;

		carry = (value - bit) / 2;
		any = any || bit;
	}
	return carry < 0 ? -1 : carry > 0 || any;
}

/* Is value the double nearest to the sum, the even one of two? Twice the sum is compared with
   what is in the middle between it and either neighbour. */
static void assert_nearest(const struct count *c, double value)
{
	struct count twice = {{0}};
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	for (int i = 1; i < BITS; i++)
		twice.bits[i] = c->bits[i - 1];
	for (int side = -1; side <= 1; side += 2) {
		double next = nextafter(value, side * (double)INFINITY);
		struct count rest = twice;
		int sign;

		count_add(&rest, value, -1);
		count_add(&rest, next, -1); /* twice the sum, less twice the middle */
		sign = side * count_sign(rest);
		assert_true(sign < 0 || (sign == 0 && bits % 2 == 0));
	}
}

static double random_double(struct random *r, int least, int most)
{
	float f[2];

	random_fill(r, f, 2);
	return ldexp((double)f[0] + (double)f[1] * 0x1p-25, random_int(r, least, most));
}

static void shuffle(struct random *r, double *x, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int k = random_int(r, 0, i);
		double keep = x[i];

		x[i] = x[k];
		x[k] = keep;
	}
}

/* Some at a time, by several who merge what they have. */
static struct exact sum_in_groups(struct random *r, const double *x, int n)
{
	struct exact groups[5];

	for (int g = 0; g < 5; g++)
		exact_clear(&groups[g]);
	for (int i = 0; i < n;) {
		int some = imin(random_int(r, 1, 700), n - i), g = random_int(r, 0, 4);

		if (some == 1)
			exact_add(&groups[g], x[i]);
		else
			exact_add_all(&groups[g], x + i, (size_t)some);
		i += some;
	}
	while (random_int(r, 0, 2))
		exact_merge(&groups[random_int(r, 0, 1)], &groups[4]), exact_clear(&groups[4]);
	for (int g = 1; g < 5; g++)
		exact_merge(&groups[0], &groups[g]);
	return groups[0];
}

static void sums_are_rounded_once_in_any_order(void **state)
{
	static const int ranges[][2] = {{0, 0},	      {-30, 30},      {-320, 320},
					{-1074, 900}, {-1074, -1020}, {960, 1023}};
	struct random r = random_start("exact sums");
	static double x[MOST];
	(void)state;

	for (int round = 0; round < 120; round++) {
		const int *range = ranges[round % 6];
		int n = round < 12 ? round % 3 : random_int(&r, 1, round % 5 ? 60 : MOST);
		struct count count = {{0}};
		struct exact first, again;
		double value;

		for (int i = 0; i < n; i++) {
			x[i] = random_double(&r, range[0], range[1]);
			if (i && round % 4 == 1 && random_int(&r, 0, 1))
				x[i] = -x[random_int(&r, 0, i - 1)]; /* some cancel */
			if (!isfinite(x[i]))
				x[i] = 1;
		}
		for (int i = 0; i < n; i++)
			count_add(&count, x[i], 1);
		first = sum_in_groups(&r, x, n);
		value = exact_value(&first);
		if (isfinite(value))
			assert_nearest(&count, value);
		shuffle(&r, x, n);
		again = sum_in_groups(&r, x, n);
		assert_memory_equal(&first, &again, sizeof(first));
		for (int i = 0; i < n; i++)
			exact_add(&again, -x[i]);
		value = exact_value(&again);
		assert_true(value == 0 && !signbit(value));
	}
}

static double sum_of(const double *x, int n)
{
	struct exact e = {0};

	for (int i = 0; i < n; i++)
		exact_add(&e, x[i]);
	return exact_value(&e);
}

#define SUM(...) \
	sum_of((const double[]){__VA_ARGS__}, (int)ARRAY_SIZE(((const double[]){__VA_ARGS__})))

static void ends_of_the_range(void **state)
{
	const double big = 0x1.fffffffffffffp1023, tiny = 0x1p-1074, inf = (double)INFINITY;
	struct exact e = {0}, huge;
	static double many[600];
	(void)state;

	assert_true(SUM(0.0) == 0);
	assert_true(SUM(-0.0) == 0 && !signbit(SUM(-0.0)));
	assert_true(SUM(1, tiny) == 1);
	assert_true(SUM(1, 0x1p-53) == 1); /* a tie, to the even one */
	assert_true(SUM(1, 0x1p-53, tiny) == 1 + 0x1p-52);
	assert_true(SUM(1 + 0x1p-52, 0x1p-53) == 1 + 0x1p-51);
	assert_true(SUM(-1, -0x1p-53, -tiny) == -(1 + 0x1p-52));
	assert_true(SUM(big, tiny, -big) == tiny);
	assert_true(SUM(tiny, tiny, tiny) == 3 * tiny);
	assert_true(SUM(0x1p-1022, -tiny) == 0x1.ffffffffffffep-1023);
	assert_true(SUM(big, big) == inf);
	assert_true(SUM(big, big, -big) == big); /* no overflow on the way */
	assert_true(SUM(big, 0x1p969) == big && SUM(big, 0x1p970) == inf);
	assert_true(SUM(1, inf, 2) == inf && SUM(-inf, big) == -inf);
	assert_true(isnan(SUM(inf, 1, -inf)) && isnan(SUM(1, (double)NAN, inf)));
	/* What is not finite among many. */
	for (int i = 0; i < 600; i++)
		many[i] = i;
	many[300] = inf;
	exact_add_all(&e, many, 600);
	assert_true(exact_value(&e) == inf);
	many[40] = (double)NAN;
	exact_add_all(&e, many, 600);
	assert_true(isnan(exact_value(&e)));
	exact_clear(&e);
	many[300] = 300;
	exact_add_all(&e, many, 600);
	assert_true(isnan(exact_value(&e)));
	exact_clear(&e);
	/* 2^40 of the largest, and as many of the opposite. */
	exact_add(&e, big);
	for (int i = 0; i < 40; i++) {
		huge = e;
		exact_merge(&e, &huge);
	}
	huge = e;
	assert_true(exact_value(&e) == inf);
	for (int i = 0; i < EXACT_LIMBS; i++)
		e.limbs[i] = -e.limbs[i];
	assert_true(exact_value(&e) == -inf);
	exact_merge(&huge, &e);
	exact_add(&huge, 3);
	assert_true(exact_value(&huge) == 3);
}

/* ---- sums of squares ---- */

static void fill(struct random *r, void *x, enum dtype type, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float value;

		random_fill(r, &value, 1);
		float_to(x, i, type, ldexpf(value, random_int(r, -12, 12)));
	}
}

static void all_tables_have_the_same_lines(void **state)
{
	struct random r = random_start("lines");
	static float x[64 * SQUARES_LINE];
	double want[64], got[64];
	(void)state;

	for (enum dtype type = DTYPE_F32; type <= DTYPE_BF16; type++) {
		fill(&r, x, type, ARRAY_SIZE(x));
		float_to(x, 40 * SQUARES_LINE + 3, type, INFINITY);
		kernels_reference.line_squares(x, type, 64, want);
		for (const struct kernels *const *k = kernels_available(); *k; k++) {
			(*k)->line_squares(x, type, 64, got);
			assert_memory_equal(got, want, sizeof(want));
		}
	}
}

/* The sum over n elements, in calls that end between lines. */
static struct exact sum_cut(struct device *dev, struct random *r, const void *x,
			    enum dtype type, size_t n)
{
	struct exact *sum = memory_new(dev, sizeof(*sum)), out;

	device_clear_exact(dev, sum, 1);
	for (size_t at = 0; at < n;) {
		size_t most = (size_t)random_int(r, 1, 5000) * SQUARES_LINE;
		size_t some = n - at < most ? n - at : most;

		device_exact_squares(dev, (const char *)x + at * dtype_size(type), type, some,
				     sum);
		at += some;
	}
	device_exact(dev, sum, 1, &out);
	device_free(dev, sum);
	return out;
}

static void sums_of_squares_do_not_depend_on_cuts(void **state)
{
	enum { N = 100 * 1000 + 7 };
	struct random r = random_start("squares");
	static float values[N], x[N];
	(void)state;

	for (int round = 0; round < 24; round++) {
		enum dtype type = (enum dtype)(round % 3);
		size_t n = round < 6 ? (size_t)random_int(&r, 0, 40)
				     : (size_t)random_int(&r, 40, N);
		struct device *devices[] = {device_new("cpu", "", 1),
					    device_new("cpu", "generic", 3),
					    device_new("fenced", "", 2)};
		struct exact want = {0}, got;
		double plain = 0;

		fill(&r, values, DTYPE_F32, n);
		for (size_t i = 0; i < n; i++)
			float_to(x, i, type, values[i]);
		for (size_t line = 0; line * SQUARES_LINE < n; line++) {
			float last[SQUARES_LINE] = {0};
			double sum;

			for (size_t i = line * SQUARES_LINE, k = 0; i < n && k < SQUARES_LINE;
			     i++, k++)
				plain += pow((double)(last[k] = float_from(x, i, type)), 2);
			kernels_reference.line_squares(last, DTYPE_F32, 1, &sum);
			exact_add(&want, sum);
		}
		exact_settle(&want);
		for (size_t d = 0; d < ARRAY_SIZE(devices); d++) {
			void *there = memory_new(devices[d], (n + 1) * sizeof(float));

			assert_true(device_has_exact(devices[d]));
			device_write(devices[d], there, type, n, values);
			got = sum_cut(devices[d], &r, there, type, n);
			assert_memory_equal(&got, &want, sizeof(want));
			device_close(devices[d]);
		}
		assert_true(fabs(exact_value(&want) - plain) <= 1e-12 * plain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_rounded_once_in_any_order),
		cmocka_unit_test(ends_of_the_range),
		cmocka_unit_test(all_tables_have_the_same_lines),
		cmocka_unit_test(sums_of_squares_do_not_depend_on_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
