/* test_sample.c - which token is chosen, against definitions and counts. */
#include "testing.h"

#include "model/sample.h"

enum { MOST = 300 };

static struct error err;

static struct sampler sampler_of(double temperature, int top_k, double top_p, uint64_t seed,
				 int count)
{
	struct sampling by = {
		.temperature = temperature, .top_k = top_k, .top_p = top_p, .seed = seed};
	struct sampler s;

	assert_int_equal(sampler_init(&s, &by, count, &err), OK);
	return s;
}

static void the_largest_at_temperature_0(void **state)
{
	const float outputs[] = {1, 3, -2, 3, 2.5f};
	struct sampler greedy = sampler_of(0, 0, 1, 1, 5), one = sampler_of(2, 1, 1, 1, 5);
	(void)state;

	for (int i = 0; i < 50; i++) { /* the first of two that are equal */
		assert_int_equal(sampler_choose(&greedy, outputs, i), 1);
		assert_int_equal(sampler_choose(&one, outputs, i), 1);
	}
	sampler_release(&greedy);
	sampler_release(&one);
}

static void what_is_no_number_is_refused(void **state)
{
	float nan_here[] = {0, 1, NAN, 2}, infinite[] = {0, INFINITY, 1}, none[] = {-INFINITY};
	float some[] = {-INFINITY, 2, -INFINITY};
	struct sampler four = sampler_of(1, 0, 1, 1, 4), three = sampler_of(1, 0, 0.9, 1, 3);
	struct sampler single = sampler_of(0, 0, 1, 1, 1);
	(void)state;

	assert_int_equal(sampler_choose(&four, nan_here, 0), -1);
	assert_int_equal(sampler_choose(&three, infinite, 0), -1);
	assert_int_equal(sampler_choose(&single, none, 0), -1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(sampler_choose(&three, some, i), 1);
	sampler_release(&four);
	sampler_release(&three);
	sampler_release(&single);
}

/* ---- the probabilities, by their definition ---- */

static const float *compared;

static int by_output(const void *a, const void *b)
{
	int i = *(const int *)a, k = *(const int *)b;

	if (compared[i] > compared[k] || compared[i] < compared[k])
		return compared[i] > compared[k] ? -1 : 1;
	return i - k;
}

static void probabilities(const struct sampling *by, const float *outputs, int count, double *p)
{
	int order[MOST], k = by->top_k && by->top_k < count ? by->top_k : count, n = 0;
	double sum = 0, so_far = 0, left = 0;

	for (int i = 0; i < count; i++) {
		order[i] = i;
		p[i] = 0;
	}
	compared = outputs;
	qsort(order, (size_t)count, sizeof(*order), by_output);
	for (int i = 0; i < k; i++)
		sum += exp((double)outputs[order[i]] / by->temperature);
	while (n < k && (n == 0 || so_far < by->top_p * sum))
		so_far += exp((double)outputs[order[n++]] / by->temperature);
	for (int i = 0; i < n; i++)
		left += exp((double)outputs[order[i]] / by->temperature);
	for (int i = 0; i < n; i++)
		p[order[i]] = exp((double)outputs[order[i]] / by->temperature) / left;
}

/* Sum of (seen - expected)^2 / expected, of those that are expected often enough; none that has
   no probability is ever seen. */
static void check_counts(const struct sampling *by, const float *outputs, int count)
{
	enum { DRAWS = 20000 };
	int seen[MOST] = {0}, cells = 0;
	double p[MOST], chi = 0;
	struct sampler s = sampler_of(by->temperature, by->top_k, by->top_p, by->seed, count);

	probabilities(by, outputs, count, p);
	for (int i = 0; i < DRAWS; i++)
		seen[sampler_choose(&s, outputs, i)]++;
	for (int i = 0; i < count; i++) {
		if (!(p[i] > 0))
			assert_int_equal(seen[i], 0);
		if (p[i] * DRAWS < 8)
			continue;
		chi += (seen[i] - p[i] * DRAWS) * (seen[i] - p[i] * DRAWS) / (p[i] * DRAWS);
		cells++;
	}
	if (chi > cells + 6 * sqrt(2.0 * cells) + 6)
		fail_msg("temperature %g, top-k %d, top-p %g, %d tokens: chi-square %g of %d",
			 by->temperature, by->top_k, by->top_p, count, chi, cells);
	sampler_release(&s);
}

static void tokens_come_as_often_as_they_should(void **state)
{
	struct random r = random_start("counts");
	float outputs[MOST];
	(void)state;

	for (int i = 0; i < 60; i++) {
		int count = random_int(&r, 1, random_int(&r, 0, 1) ? 8 : MOST);
		struct sampling by = {
			.temperature = random_int(&r, 1, 30) / 10.0,
			.top_k = random_int(&r, 0, 1) ? random_int(&r, 1, count + 2) : 0,
			.top_p = random_int(&r, 0, 1)
					 ? (random_int(&r, 0, 99) + 0.317) / 100 /* no tie */
					 : 1,
			.seed = (uint64_t)random_int(&r, 0, 1 << 30)};

		random_fill(&r, outputs, (size_t)count);
		for (int k = 0; k < count; k++)
			outputs[k] = roundf(outputs[k] * 50) / 10; /* some are equal */
		check_counts(&by, outputs, count);
	}
}

/* ---- the same choice ---- */

static void a_choice_is_a_function_of_seed_and_number(void **state)
{
	struct random r = random_start("same");
	struct sampler a = sampler_of(1, 0, 1, 7, MOST), b = sampler_of(1, 0, 1, 7, MOST);
	struct sampler other = sampler_of(1, 0, 1, 8, MOST);
	float outputs[MOST];
	int differ = 0, moved = 0;
	(void)state;

	random_fill(&r, outputs, MOST);
	for (int i = 0; i < 1000; i++) {
		int32_t token = sampler_choose(&a, outputs, i);

		differ += token != sampler_choose(&other, outputs, i);
		moved += token != sampler_choose(&a, outputs, i + 1);
	}
	for (int i = 999; i >= 0; i--) /* in any order */
		assert_int_equal(sampler_choose(&a, outputs, i),
				 sampler_choose(&b, outputs, i));
	assert_true(differ > 900 && moved > 900);
	sampler_release(&a);
	sampler_release(&b);
	sampler_release(&other);
}

/* Another grid rounds differently: by some parts in a million. */
static void rounding_hardly_ever_matters(void **state)
{
	struct random r = random_start("rounding");
	struct sampler s = sampler_of(1, 0, 1, 9, MOST);
	float outputs[MOST], noise[MOST];
	int differ = 0;
	(void)state;

	for (int i = 0; i < 20000; i++) {
		int32_t token;

		if (i % 100 == 0)
			random_fill(&r, outputs, MOST);
		token = sampler_choose(&s, outputs, i);
		random_fill(&r, noise, MOST);
		for (int k = 0; k < MOST; k++)
			noise[k] = outputs[k] + 1e-6f * noise[k];
		differ += token != sampler_choose(&s, noise, i);
	}
	assert_true(differ <= 2);
	sampler_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_at_temperature_0),
		cmocka_unit_test(what_is_no_number_is_refused),
		cmocka_unit_test(tokens_come_as_often_as_they_should),
		cmocka_unit_test(a_choice_is_a_function_of_seed_and_number),
		cmocka_unit_test(rounding_hardly_ever_matters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
