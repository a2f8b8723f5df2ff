/* test_plan.c - kolm plan's arithmetic: sizes against the engine's model, memory against the
   published formulas and the engine's schedules, bubbles against the simulator. */
#include "testing.h"

#include "bubbles.h"
#include "plan_setups.h"
#include "plan/block.h"
#include "plan/forecast.h"
#include "plan/simulate.h"

static struct random rng;

/* Parameters and FLOP, written out; the outline has them from the engine's layers. */
static double written_parameters(const struct setup *s, double ways)
{
	double h = s->hidden, ffn = setup_ffn(s), keys = setup_kv_heads(s);
	double matrices = 2 * h * h + 2 * h * h * fmax(keys, ways) / s->heads +
			  (s->model == SETUP_LLAMA ? 3 : 2) * h * ffn;

	if (s->model == SETUP_GPT)
		return (matrices + 3 * h + ffn) / ways + 6 * h;
	return matrices / ways + 2 * h;
}

static void expect_outline(const struct setup *s)
{
	struct outline o = outline_of(s);
	const char *name = setup_model_names[s->model];
	double h = s->hidden, positions = s->model == SETUP_GPT ? h * s->context : 0;
	double norm = s->model == SETUP_GPT ? 2 * h : h, tables = setup_is_tied(s) ? 1 : 2;
	double table = (double)ceil_div(s->vocab, s->tp) * h, flops = 0, products = 0;
	double wide = 2 + 2.0 * setup_kv_heads(s) / s->heads;

	expect_near(o.block.parameters, written_parameters(s, s->tp), 1e-12, name);
	expect_near(o.table, table, 1e-12, "the table");
	expect_near(o.embedding.parameters, table + positions, 1e-12, "the embedding");
	expect_near(o.head.parameters, norm + (tables - 1) * table, 1e-12, "the head");
	expect_near(o.parameters,
		    s->layers * written_parameters(s, 1) + tables * h * s->vocab + positions +
			    norm,
		    1e-12, "all parameters");
	products = h * h * wide + (s->model == SETUP_LLAMA ? 3 : 2) * h * setup_ffn(s);
	flops = s->layers * (products + 2 * h * s->context) + h * s->vocab;
	expect_near(o.flops, 6 * s->context * flops, 1e-12, "FLOP");
}

/* All models, split any way. */
static void outlines_are_the_engines(void **state)
{
	(void)state;
	for (int i = 0; i < 150; i++) {
		struct setup s = random_setup(&rng);

		s.model = (enum setup_model)(i % 3);
		if (s.model == SETUP_LLAMA) {
			s.kv_heads = s.heads % 2 ? 1 : s.heads / 2;
			s.ffn = i % 2 ? 0 : 8 * random_int(&rng, 1, 40);
		}
		if (setup_check_split(&s, fresh(&err)) == OK)
			expect_outline(&s);
	}
}

static double product_flops(const struct outline_pass *p, enum operation_kind kind)
{
	double sum = 0;

	for (int i = 0; i < p->operation_count; i++)
		if (p->operations[i].is.kind == kind)
			sum += 2.0 * p->operations[i].is.rows * p->operations[i].is.columns *
			       p->operations[i].is.inner;
	return sum;
}

/* What ranks compute together is the model; each gradient is as much as the forward; what all
   have to exchange is the same in halves where rows are spread, and the inputs once more. */
static void operations_are_whole(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		struct setup s = random_setup(&rng), one = s;
		struct outline o, whole;
		double sent[2] = {0};

		s.vocab = s.tp * 10;
		one.vocab = s.vocab;
		one.tp = 1;
		s.sequence_parallel = one.sequence_parallel = false;
		whole = outline_of(&one);
		for (int spread = 0; spread <= 1; spread++) {
			const struct outline_pass *f = &o.block.forward, *b = &o.block.backward;

			s.sequence_parallel = spread;
			o = outline_of(&s);
			expect_near(s.tp * product_flops(f, OPERATION_PRODUCT),
				    product_flops(&whole.block.forward, OPERATION_PRODUCT),
				    1e-12, "products");
			expect_near(product_flops(b, OPERATION_PRODUCT_INPUT),
				    product_flops(f, OPERATION_PRODUCT), 1e-12, "of the input");
			expect_near(product_flops(b, OPERATION_PRODUCT_WEIGHT),
				    product_flops(f, OPERATION_PRODUCT), 1e-12,
				    "of the weights");
			assert_int_equal(f->sum_count, s.tp > 1 ? 2 << spread : 0);
			assert_int_equal(b->sum_count, s.tp > 1 ? (spread ? 6 : 2) : 0);
			for (int k = 0; k < f->sum_count; k++)
				sent[spread] += f->sums[k].bytes / (f->sums[k].half ? 2 : 1);
			assert_int_equal(o.head.forward.operation_count, 3);
		}
		expect_near(sent[1], sent[0], 1e-12, "bytes of sums");
	}
}

/* Stages and ranks have all of it: what is cut once, the table at both ends. */
static void ranks_have_all_parameters(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		struct setup s = random_setup(&rng);
		struct outline o;
		double sum = 0, tables = s.pp > 1 ? 2 : 1;
		int layers = 0;

		s.vocab = s.tp * 10;
		o = outline_of(&s);
		for (int stage = 0; stage < s.pp; stage++) {
			layers += setup_layers(&s, stage);
			sum += outline_stage_parameters(&o, &s, stage) * s.tp;
		}
		assert_int_equal(layers, s.layers);
		sum -= (tables - 1) * s.vocab * s.hidden;
		/* What every rank has: six vectors of a block, positions, the last norm. */
		sum -= (s.tp - 1.0) * s.hidden * (6 * s.layers + s.context + 2);
		expect_near(sum, o.parameters, 1e-12, "parameters of all ranks");
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
		struct setup s = random_setup(&rng);
		struct outline o = outline_of(&s);

		expect_near(block_kept(&o, &s, s.recompute), published(&s), 1e-12,
			    "bytes of a block");
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
		struct setup s = random_setup(&rng), deeper = s;
		struct forecast f, other;

		assert_int_equal(setup_check(&s, fresh(&err)), OK);
		f = forecast_of(&s, &c);
		expect_near(f.work + f.sums + f.messages + f.fill + f.gradients + f.update,
			    f.step, 1e-12, "parts of a step");
		deeper.layers += s.pp;
		other = forecast_of(&deeper, &c);
		assert_true(other.step > f.step && other.memory > f.memory);
		other = forecast_of(&s, &faster);
		assert_true(other.step <= f.step);
	}
}

/* Attention in one kernel is no slower and keeps less, the more so the longer the sequence; of
   what a block computes again in part there is less to keep than of all, and it takes longer.
 */
static void flash_keeps_no_scores(void **state)
{
	struct cluster c = builtin("a100-80g-selene");

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct setup s = random_setup(&rng), flash = s, part, all;
		struct both_ways plain, fused, half, again;
		struct outline o, one;

		s.recompute = flash.recompute = SETUP_NONE;
		flash.model = SETUP_MPT;
		part = all = flash;
		part.recompute = SETUP_SELECTIVE;
		all.recompute = SETUP_FULL;
		o = outline_of(&s);
		one = outline_of(&flash);
		block_cost(&plain, &o, &s, &c);
		block_cost(&fused, &one, &flash, &c);
		block_cost(&half, &one, &part, &c);
		block_cost(&again, &one, &all, &c);
		assert_true(fused.forward.kernels < plain.forward.kernels);
		assert_true(block_kept(&one, &flash, SETUP_NONE) <
			    block_kept(&o, &s, SETUP_NONE));
		assert_true(block_kept(&one, &flash, SETUP_SELECTIVE) <
			    block_kept(&one, &flash, SETUP_NONE));
		assert_true(block_kept(&one, &flash, SETUP_FULL) <
			    block_kept(&one, &flash, SETUP_SELECTIVE));
		assert_true(fused.backward.busy < half.backward.busy);
		assert_true(half.backward.busy < again.backward.busy);
		assert_true(half.backward.flops > fused.backward.flops);
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
		struct outline o = outline_of(&s);
		struct both_ways p;

		block_cost(&p, &o, &s, &c);
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
				f = forecast_of(&s, &c);
				assert_int_equal(simulate_run(&t, NULL, &s, &c, fresh(&err)),
						 OK);
				expect_near(f.step - f.gradients - f.update,
					    t.makespan_ms * 1e-3,
					    kind == SCHEDULE_ZB_H1 ? 0.03 : 0.01,
					    schedule_name(s.schedule));
				timeline_release(&t);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outlines_are_the_engines),
		cmocka_unit_test(operations_are_whole),
		cmocka_unit_test(ranks_have_all_parameters),
		cmocka_unit_test(activations_are_the_published_ones),
		cmocka_unit_test(as_much_is_alive_as_in_the_schedule),
		cmocka_unit_test(fill_is_the_simulators),
		cmocka_unit_test(clusters_are_whole),
		cmocka_unit_test(times_are_monotonic),
		cmocka_unit_test(flash_keeps_no_scores),
		cmocka_unit_test(a_layer_takes_what_was_published),
		cmocka_unit_test(closed_forms_are_near_the_simulator),
	};

	rng = random_start("test_plan");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
