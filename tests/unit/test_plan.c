/* test_plan.c - kolm plan's arithmetic: sizes against the engine's model, memory against the
   published formulas and the engine's schedules, bubbles against the simulator. */
#include "testing.h"

#include "bubbles.h"
#include "model/gpt.h"
#include "plan/block.h"
#include "plan/forecast.h"
#include "plan/search.h"
#include "plan/simulate.h"

static struct random rng;

static void expect_near(double got, double want, double tolerance, const char *what)
{
	if (!(fabs(got - want) <= tolerance * fabs(want)))
		fail_msg("%s: %.12g, should be %.12g", what, got, want);
}

static struct setup random_setup(void)
{
	int tp = 1 << random_int(&rng, 0, 3), heads = tp * random_int(&rng, 1, 4);
	struct setup s = {.heads = heads,
			  .hidden = heads * 8 * random_int(&rng, 1, 8),
			  .context = tp * random_int(&rng, 1, 40),
			  .vocab = random_int(&rng, 2, 999),
			  .tp = tp,
			  .dp = random_int(&rng, 1, 3),
			  .pp = random_int(&rng, 1, 4),
			  .chunks = 1,
			  .micro_batch = random_int(&rng, 1, 4),
			  .schedule = SCHEDULE_1F1B,
			  .sequence_parallel = random_int(&rng, 0, 1),
			  .recompute = (enum setup_recompute)random_int(&rng, 0, 2)};

	s.layers = s.pp * random_int(&rng, 1, 3) + random_int(&rng, 0, 1);
	s.gpus = s.dp * s.tp * s.pp;
	s.global_batch = s.dp * s.micro_batch * random_int(&rng, 1, 9);
	return s;
}

static void the_model_is_the_engines(void **state)
{
	(void)state;
	for (int i = 0; i < 50; i++) {
		struct setup s = random_setup();
		struct gpt gpt = {.layers = s.layers,
				  .heads = s.heads,
				  .kv_heads = s.heads,
				  .dim = s.hidden,
				  .ffn = 4 * s.hidden,
				  .context = s.context,
				  .vocabulary = s.vocab,
				  .norm = NORM_LAYER,
				  .eps = 1e-5f,
				  .act = ACT_GELU_TANH,
				  .biased = true,
				  .tied = true};
		struct model m;

		model_init(&m, 1, 1);
		assert_int_equal(gpt_build(&m, &gpt, fresh(&err)), OK);
		expect_near(setup_all_parameters(&s), (double)model_parameters(&m), 1e-12,
			    "parameters");
		model_release(&m);
	}
}

/* Stages and ranks have all of it: what is cut once, the table at both ends. */
static void ranks_have_all_parameters(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		struct setup s = random_setup();
		double sum = 0, tables = s.pp > 1 ? 2 : 1;
		int layers = 0;

		s.vocab = s.tp * 10;
		for (int stage = 0; stage < s.pp; stage++) {
			layers += setup_layers(&s, stage);
			sum += setup_parameters(&s, stage) * s.tp;
		}
		assert_int_equal(layers, s.layers);
		sum -= (tables - 1) * s.vocab * s.hidden;
		/* What every rank has: six vectors of a block, positions, the last norm. */
		sum -= (s.tp - 1.0) * s.hidden * (6 * s.layers + s.context + 2);
		expect_near(sum, setup_all_parameters(&s), 1e-12, "parameters of all ranks");
	}
}

/* Korthikanti et al., table 2, written out. */
static double published(const struct setup *s)
{
	double sbh = (double)s->context * s->micro_batch * s->hidden, t = s->tp;
	double as_h = (double)s->heads * s->context / s->hidden;

	if (s->recompute == SETUP_FULL)
		return s->sequence_parallel ? 2 * sbh / t : 2 * sbh;
	if (s->recompute == SETUP_SELECTIVE)
		return s->sequence_parallel ? sbh * 34 / t : sbh * (10 + 24 / t);
	return s->sequence_parallel ? sbh * (34 / t + 5 * as_h / t)
				    : sbh * (10 + 24 / t + 5 * as_h / t);
}

static void activations_are_the_published_ones(void **state)
{
	(void)state;
	for (int i = 0; i < 200; i++) {
		struct setup s = random_setup();

		expect_near(forecast_block_bytes(&s), published(&s), 1e-12, "bytes of a block");
	}
}

static struct setup pipeline_of(enum schedule_kind kind, int p, int m, int v)
{
	return (struct setup){.layers = p * v,
			      .hidden = 8,
			      .heads = 1,
			      .context = 1,
			      .vocab = 2,
			      .gpus = p,
			      .dp = 1,
			      .tp = 1,
			      .pp = p,
			      .micro_batch = 1,
			      .global_batch = m,
			      .chunks = v,
			      .schedule = kind};
}

/* Micro-batches in flight are what the schedule that training runs has. */
static void as_much_is_alive_as_in_the_schedule(void **state)
{
	(void)state;
	for (int kind = 0; kind < SCHEDULE_KIND_COUNT; kind++)
		for (int p = 2; p <= 6; p++)
			for (int m = p; m <= 4 * p; m += p) {
				int v = schedule_chunks((enum schedule_kind)kind, 0);
				struct setup s = pipeline_of((enum schedule_kind)kind, p, m, v);
				struct schedule schedule;

				make(&schedule, s.schedule, p, m, v);
				for (int i = 0; i < p; i++)
					expect_near(forecast_alive(&s, i),
						    schedule_activations(&schedule.orders[i]) /
							    (double)v,
						    1e-12, schedule_name(s.schedule));
				schedule_release(&schedule);
			}
}

/* Equal stages: the closed form is what the simulator finds. */
static void fill_is_the_simulators(void **state)
{
	(void)state;
	for (int kind = 0; kind < SCHEDULE_KIND_COUNT; kind++)
		for (int p = 2; p <= 6; p++)
			for (int m = 2 * p; m <= 4 * p; m += p)
				for (size_t i = 0; i < ARRAY_SIZE(free_messages); i++) {
					struct costs c = free_messages[i];
					int v = schedule_chunks((enum schedule_kind)kind, 0);
					struct setup s =
						pipeline_of((enum schedule_kind)kind, p, m, v);

					expect_bubble(
						s.schedule, p, m, v, c,
						forecast_fill(&s, (p - 1) * (c.f + c.b), c.w));
				}
}

static struct cluster builtin(const char *name)
{
	struct cluster c;

	if (cluster_find(&c, name, fresh(&err)) != OK)
		fail_msg("%s: %s", name, err.msg);
	return c;
}

static void clusters_are_whole(void **state)
{
	struct cluster c;
	size_t i;

	(void)state;
	for (i = 0; cluster_builtin_name(i); i++) {
		c = builtin(cluster_builtin_name(i));
		assert_string_equal(c.name, cluster_builtin_name(i));
	}
	assert_true(i >= 3);
	assert_int_equal(cluster_find(&c, "a100", fresh(&err)), ERR_USAGE);
	assert_int_equal(cluster_read(&c, "{}", 2, "x", fresh(&err)), ERR_USAGE);
	assert_int_equal(cluster_read(&c, "[", 1, "x", fresh(&err)), ERR_USAGE);
}

/* No less work is faster, no cluster that is better is slower. */
static void times_are_monotonic(void **state)
{
	struct cluster c = builtin("a100-80g-selene"), faster = c;

	(void)state;
	faster.constants[CLUSTER_PEAK] *= 2;
	faster.constants[CLUSTER_MEMORY_BANDWIDTH] *= 2;
	faster.constants[CLUSTER_NODE_BANDWIDTH] *= 2;
	for (int i = 0; i < 200; i++) {
		struct setup s = random_setup(), deeper = s;
		struct forecast f, other;

		assert_int_equal(setup_check(&s, fresh(&err)), OK);
		forecast_make(&f, &s, &c);
		expect_near(f.work + f.sums + f.messages + f.fill + f.gradients + f.update,
			    f.step, 1e-12, "parts of a step");
		deeper.layers += s.pp;
		forecast_make(&other, &deeper, &c);
		assert_true(other.step > f.step && other.memory > f.memory);
		forecast_make(&other, &s, &faster);
		assert_true(other.step <= f.step);
	}
}

/* One layer of 22B, which the constants were fitted to, within 2.5 %: Korthikanti et al.,
 * table 4. */
static void a_layer_takes_what_was_published(void **state)
{
	static const struct {
		enum setup_recompute recompute;
		bool spread;
		double forward, backward; /* ms */
	} rows[] = {{SETUP_NONE, false, 7.7, 11.9},
		    {SETUP_NONE, true, 7.2, 11.8},
		    {SETUP_FULL, false, 7.7, 19.5},
		    {SETUP_SELECTIVE, false, 7.7, 13.2},
		    {SETUP_SELECTIVE, true, 7.2, 13.1}};
	struct cluster c = builtin("a100-80g-selene");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct setup s = {.layers = 48,
				  .hidden = 6144,
				  .heads = 64,
				  .context = 2048,
				  .vocab = 51200,
				  .gpus = 8,
				  .dp = 1,
				  .tp = 8,
				  .pp = 1,
				  .micro_batch = 4,
				  .global_batch = 4,
				  .chunks = 1,
				  .recompute = rows[i].recompute,
				  .sequence_parallel = rows[i].spread};
		struct both_ways p;

		block_cost(&p, &s, &c);
		expect_near(cost_pass(&c, &p.forward) * 1e3, rows[i].forward, 0.025, "forward");
		expect_near(cost_pass(&c, &p.backward) * 1e3, rows[i].backward, 0.025,
			    "backward");
	}
}

/* Stages that are equal but for their ends: the closed form is near what the simulator finds.
 */
static void closed_forms_are_near_the_simulator(void **state)
{
	struct cluster c = builtin("a100-80g-selene");

	(void)state;
	for (int kind = SCHEDULE_1F1B; kind < SCHEDULE_KIND_COUNT; kind++)
		for (int p = 2; p <= 8; p *= 2)
			for (int m = 2 * p; m <= 8 * p; m *= 2) {
				int v = schedule_chunks((enum schedule_kind)kind, 0);
				struct setup s = pipeline_of((enum schedule_kind)kind, p, m, v);
				struct forecast f;
				struct timeline t;

				s.layers = 48;
				s.hidden = 6144;
				s.heads = 64;
				s.context = 2048;
				s.vocab = 51200;
				s.recompute = SETUP_SELECTIVE;
				assert_true(simulate_can(&s));
				forecast_make(&f, &s, &c);
				assert_int_equal(simulate_run(&t, &s, &c, fresh(&err)), OK);
				expect_near(f.step - f.gradients - f.update,
					    t.makespan_ms * 1e-3,
					    kind == SCHEDULE_ZB_H1 ? 0.03 : 0.01,
					    schedule_name(s.schedule));
				timeline_release(&t);
			}
}

/* The fastest of all that fit, by trying every number there is. */
static double fastest(const struct search_space *space, const struct cluster *c)
{
	struct setup s = space->setup;
	double best = INFINITY;

	for (s.dp = 1; s.dp <= s.gpus; s.dp++)
		for (s.tp = 1; s.tp <= s.gpus; s.tp++)
			for (s.pp = 1; s.pp <= s.gpus; s.pp++)
				for (s.micro_batch = 1; s.micro_batch <= s.global_batch;
				     s.micro_batch++)
					for (int i = 0; i < 12; i++) {
						struct forecast f;

						s.recompute = (enum setup_recompute)(i % 3);
						s.sequence_parallel = i / 3 % 2;
						s.zero = i / 6;
						if (setup_check(&s, fresh(&err)) != OK)
							continue;
						forecast_make(&f, &s, c);
						if (f.memory <= space->memory)
							best = fmin(best, f.step);
					}
	return best;
}

/* Of one schedule, so that every number can be tried; the others are only better. */
static void the_best_is_found(void **state)
{
	struct cluster c = builtin("v100-16g-dlperf");
	struct search *r = malloc(sizeof(*r));

	(void)state;
	c.constants[CLUSTER_RESERVED] = 0;
	for (int i = 0; i < 20; i++) {
		struct setup s = random_setup();
		struct search_space space = {.setup = s, .top = 3, .memory = 1e18};
		double best;

		space.setup.layers = random_int(&rng, 1, 9);
		space.setup.gpus = random_int(&rng, 1, 12);
		space.setup.global_batch = random_int(&rng, 1, 24);
		space.setup.dp = space.setup.tp = space.setup.pp = space.setup.micro_batch = 0;
		search_run(r, &space, &c);
		if (!r->tried)
			continue;
		assert_int_equal(r->too_large_count, 0);
		space.memory = r->best[0].forecast.memory * 0.8;
		search_run(r, &space, &c);
		best = fastest(&space, &c);
		if (isinf(best))
			continue;
		assert_true(r->best_count > 0 && r->best[0].forecast.step <= best);
		if (r->best[0].setup.schedule == SCHEDULE_1F1B)
			expect_near(r->best[0].forecast.step, best, 1e-12, "the fastest");
		for (int k = 0; k < r->too_large_count; k++) {
			assert_true(r->too_large[k].forecast.memory > space.memory);
			assert_true(r->too_large[k].forecast.step < r->best[0].forecast.step);
		}
	}
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_is_the_engines),
		cmocka_unit_test(ranks_have_all_parameters),
		cmocka_unit_test(activations_are_the_published_ones),
		cmocka_unit_test(as_much_is_alive_as_in_the_schedule),
		cmocka_unit_test(fill_is_the_simulators),
		cmocka_unit_test(clusters_are_whole),
		cmocka_unit_test(times_are_monotonic),
		cmocka_unit_test(a_layer_takes_what_was_published),
		cmocka_unit_test(closed_forms_are_near_the_simulator),
		cmocka_unit_test(the_best_is_found),
	};

	rng = random_start("test_plan");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
