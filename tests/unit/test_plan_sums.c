/* test_plan_sums.c - gradient sums beside the backward: against a plain formula, against the
   closed form, and what must hold of any. */
#include "testing.h"

#include "plan/simulate.h"
#include "plan/sums.h"
#include "plan_setups.h"

static struct random rng;

/* A model that is worth a sum, on several replicas. */
static struct setup replicated(void)
{
	struct setup s = random_setup(&rng);

	s.heads = s.tp * 8;
	s.hidden = s.heads * 64;
	s.context = 512;
	s.vocab = 1000;
	s.dp = 1 << random_int(&rng, 1, 5);
	s.gpus = s.dp * s.tp * s.pp;
	s.global_batch = s.dp * s.micro_batch * 4 * s.pp;
	s.layers = s.pp * random_int(&rng, 2, 6);
	return s;
}

/* What goes on behind the work, where the sums beside it have so much of their speed. */
static double exposed(const struct setup *s, struct cluster c, double share)
{
	struct timeline t;
	double gradients;

	c.constants[CLUSTER_GRADIENT_OVERLAP] = share;
	if (simulate_run(&t, &gradients, s, &c, fresh(&err)) != OK)
		fail_msg("%s", err.msg);
	timeline_release(&t);
	return gradients;
}

/* On one stage: a sum that begins when its gradients are there is followed by all behind it. */
static void the_last_sum_ends_when_it_must(void **state)
{
	struct cluster c = builtin("a100-80g-selene");

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct setup s = replicated();
		struct outline o;
		struct stage_kinds k;
		double bytes = c.constants[CLUSTER_GRADIENT_BYTES], block, behind, want, back;

		s.pp = 1;
		s.gpus = s.dp * s.tp;
		c.constants[CLUSTER_NODE_BANDWIDTH] = 1 << random_int(&rng, 0, 10);
		o = outline_of(&s);
		stage_kinds_init(&k, &o, &s, &c);
		block = cost_sum(&c, bytes * o.block.parameters, s.dp, s.tp);
		behind = cost_sum(&c, bytes * o.embedding.parameters, s.dp, s.tp);
		back = cost_pass(&c, &k.embedding.backward);
		want = behind; /* the embedding's begins with the end of the work */
		for (int n = 0; n < s.layers; n++) {
			behind += block;
			want = fmax(want, behind - back);
			back += cost_pass(&c, &k.block.backward);
		}
		behind += cost_sum(&c, bytes * o.head.parameters, s.dp, s.tp);
		want = fmax(want, behind - back);
		expect_near(exposed(&s, c, 1), want, 1e-9, "sums beside the backward");
	}
}

/* Sums that are faster beside the work end no later; where all begin behind it they are one. */
static void overlap_never_hurts(void **state)
{
	struct cluster c = builtin("a100-80g-selene");

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct setup s = replicated();
		double share = random_int(&rng, 1, 9) / 10.0, most, none, latencies;

		s.zero = random_int(&rng, 0, 1);
		most = exposed(&s, c, 1);
		none = exposed(&s, c, 0);
		latencies = (s.layers + 2) * cost_sum(&c, 0, s.dp, s.tp);
		assert_true(most <= exposed(&s, c, share) * (1 + 1e-12));
		assert_true(exposed(&s, c, share) <= (none + latencies) * (1 + 1e-12));
		assert_true(most > 0);
	}
}

/* The closed form that a search has, for whole steps. */
static void closed_forms_follow(void **state)
{
	struct cluster c = builtin("h100-80g");

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct setup s = replicated();
		struct forecast f;
		double step;

		s.zero = random_int(&rng, 0, 3);
		c.constants[CLUSTER_GRADIENT_OVERLAP] = random_int(&rng, 0, 2) / 2.0;
		c.constants[CLUSTER_NODE_BANDWIDTH] = 50 << random_int(&rng, 0, 3);
		f = forecast_of(&s, &c);
		assert_int_equal(simulate_step(&step, &f, &s, &c, fresh(&err)), OK);
		expect_near(f.step, step, 0.03, "a step in closed form");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_sum_ends_when_it_must),
		cmocka_unit_test(overlap_never_hurts),
		cmocka_unit_test(closed_forms_follow),
	};

	rng = random_start("test_plan_sums");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
