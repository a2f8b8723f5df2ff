/* test_lr.c - the learning rate of every step: its properties, and the formulas of
   docs/training.md. */
#include "testing.h"

#include "base/util.h"
#include "optim/lr.h"

#include <math.h>

static const double TINY = 1e-14;

enum { KINDS = NAMES_COUNT(LR_KINDS) };

/* Of every kind, all lengths up to 40 with all warm-ups that leave a step. */
static void for_all(void (*check)(const struct lr_schedule *s))
{
	static const double mins[] = {0, 1e-4, 0.3};

	for (int kind = 0; kind < KINDS; kind++)
		for (int steps = 1; steps <= 40; steps++)
			for (int warmup = 0; warmup < steps; warmup++)
				for (size_t m = 0; m < ARRAY_SIZE(mins); m++)
					check(&(struct lr_schedule){
						.kind = (enum lr_kind)kind,
						.lr = 0.3,
						.min = mins[m],
						.steps = steps,
						.warmup = warmup,
						.every = 1 + steps % 7,
						.gamma = 0.5,
						.decay = 1 + (steps - warmup - 1) / 2});
}

static void check_bounds(const struct lr_schedule *s)
{
	double low = s->kind == LR_CONSTANT ? s->lr : s->min;

	for (int64_t i = 0; i < s->steps; i++) {
		double lr = lr_at(s, i);

		assert_true(lr <= s->lr * (1 + TINY));
		assert_true(lr >= (i < s->warmup ? 0 : low * (1 - TINY)));
	}
}

static void it_is_never_above_lr_or_below_min(void **state)
{
	(void)state;
	for_all(check_bounds);
}

static void check_warmup(const struct lr_schedule *s)
{
	for (int64_t i = 0; i < s->warmup; i++)
		assert_true(fabs(lr_at(s, i) - s->lr * (double)(i + 1) / (double)s->warmup) <=
			    TINY * s->lr);
	if (s->warmup)
		assert_true(lr_at(s, s->warmup - 1) == s->lr);
}

static void the_warmup_grows_by_equal_parts_and_ends_at_lr(void **state)
{
	(void)state;
	for_all(check_warmup);
}

static void check_descent(const struct lr_schedule *s)
{
	for (int64_t i = s->warmup + 1; i < s->steps; i++)
		assert_true(lr_at(s, i) <= lr_at(s, i - 1) * (1 + TINY));
}

static void behind_the_warmup_it_only_goes_down(void **state)
{
	(void)state;
	for_all(check_descent);
}

static void check_ends(const struct lr_schedule *s)
{
	int64_t first = s->warmup, last = s->steps - 1;

	if (s->kind != LR_WSD)
		assert_true(lr_at(s, first) == s->lr);
	switch (s->kind) {
	case LR_CONSTANT:
		assert_true(lr_at(s, last) == s->lr);
		break;
	case LR_COSINE:
	case LR_LINEAR:
		assert_true(lr_at(s, last) == (first < last ? s->min : s->lr));
		break;
	case LR_STEP:
		break;
	case LR_WSD:
		assert_true(lr_at(s, last) == s->min);
		if (last - s->decay >= 0)
			assert_true(lr_at(s, last - s->decay) == s->lr);
		break;
	}
}

static void it_begins_and_ends_exactly(void **state)
{
	(void)state;
	for_all(check_ends);
}

/* The formulas as they are written down, in other words than the code's. */
static double closed_form(const struct lr_schedule *s, int64_t i)
{
	double n = (double)(s->steps - 1 - s->warmup), t = (double)(i - s->warmup);
	double left = (double)(s->steps - 1 - i), value = s->lr;

	if (i < s->warmup)
		return s->lr / (double)s->warmup * (double)(i + 1);
	switch (s->kind) {
	case LR_CONSTANT:
		return s->lr;
	case LR_COSINE: /* torch.optim.lr_scheduler.CosineAnnealingLR, T_max = n */
		return n > 0 ? s->min + (s->lr - s->min) * (1 + cos(t * M_PI / n)) / 2 : s->lr;
	case LR_LINEAR:
		return n > 0 ? s->lr - (s->lr - s->min) * t / n : s->lr;
	case LR_STEP: /* StepLR */
		for (int64_t k = s->warmup + s->every; k <= i; k += s->every)
			value *= s->gamma;
		return value > s->min ? value : s->min;
	case LR_WSD:
		return left >= (double)s->decay
			       ? s->lr
			       : s->min + (s->lr - s->min) * left / (double)s->decay;
	}
	return NAN;
}

static void check_formula(const struct lr_schedule *s)
{
	for (int64_t i = 0; i < s->steps; i++)
		assert_true(fabs(lr_at(s, i) - closed_form(s, i)) <= 4 * TINY * s->lr);
}

static void it_is_what_the_formulas_say(void **state)
{
	(void)state;
	for_all(check_formula);
}

static void check_constant(const struct lr_schedule *s)
{
	bool same = true;

	for (int64_t i = 1; i < s->steps; i++)
		same &= lr_at(s, i) == lr_at(s, 0);
	if (lr_is_constant(s))
		assert_true(same);
}

static void what_is_called_constant_is(void **state)
{
	(void)state;
	for_all(check_constant);
	assert_true(lr_is_constant(&(struct lr_schedule){.lr = 1, .steps = 9}));
	assert_false(lr_is_constant(&(struct lr_schedule){.lr = 1, .steps = 9, .warmup = 2}));
}

static void known_values(void **state)
{
	struct lr_schedule s = {
		.kind = LR_COSINE, .lr = 1, .min = 0.1, .steps = 107, .warmup = 6};

	(void)state;
	assert_true(fabs(lr_at(&s, 0) - 1.0 / 6) < TINY);
	assert_true(fabs(lr_at(&s, 56) - 0.55) < TINY); /* half way */
	s = (struct lr_schedule){
		.kind = LR_STEP, .lr = 1, .steps = 100, .every = 30, .gamma = 0.1};
	assert_true(lr_at(&s, 29) == 1 && fabs(lr_at(&s, 30) - 0.1) < TINY);
	assert_true(fabs(lr_at(&s, 99) - 0.001) < TINY);
	s = (struct lr_schedule){
		.kind = LR_WSD, .lr = 1, .steps = 100, .warmup = 10, .decay = 20};
	assert_true(lr_at(&s, 79) == 1 && fabs(lr_at(&s, 80) - 0.95) < TINY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_never_above_lr_or_below_min),
		cmocka_unit_test(the_warmup_grows_by_equal_parts_and_ends_at_lr),
		cmocka_unit_test(behind_the_warmup_it_only_goes_down),
		cmocka_unit_test(it_begins_and_ends_exactly),
		cmocka_unit_test(it_is_what_the_formulas_say),
		cmocka_unit_test(what_is_called_constant_is),
		cmocka_unit_test(known_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
