/* test_answers.c - answers follow from the numbers: made-up results go in, sentences come
   out, and other results give other sentences. */
#include "testing.h"

#include "cmd/cmd.h"
#include "study/answer.h"

static struct error err;

/* What a made-up run measures. */
struct made {
	double step_ms, compute, comm, imbalance, other, busy_0, busy_rest, memory_0;
	double final_loss, steps, collective;
};

typedef struct made make_fn(const struct run_case *c, int rep);

static double option(const struct run_case *c, const char *name, double otherwise)
{
	const json_t *value = json_object_get(c->options, name);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

static json_t *document(const struct run_case *c, const struct made *m)
{
	json_t *ranks = json_array();
	double accum = option(c, "accum-steps", option(c, "micro-batches", 1));

	for (int i = 0; i < c->ranks; i++)
		json_array_append_new(
			ranks,
			json_pack("{s:i, s:f, s:f, s:f, s:f, s:{s:f, s:f, s:f, s:f, s:f}}",
				  "rank", i, "utilization", i ? m->busy_rest : m->busy_0,
				  "peak_bytes", i ? 1e6 : m->memory_0, "activations_bytes", 1e5,
				  "collective_bytes", m->collective, "breakdown_ms", "compute",
				  m->compute, "comm_exposed", m->comm, "bubble", 0.0,
				  "imbalance", m->imbalance, "other", m->other));
	return json_pack("{s:i, s:i, s:f, s:f, s:f, s:f, s:i, s:f, s:{s:f, s:f, s:f}, s:o}",
			 "ranks", c->ranks, "cores", 8, "batch",
			 option(c, "batch", 2 * accum * option(c, "micro-batch-size", 1)),
			 "micro_batches", accum, "steps", m->steps, "final_loss", m->final_loss,
			 "skipped_steps", 0, "nonfinite_losses", 0.0, "step_ms", "median",
			 m->step_ms, "mean", m->step_ms, "stdev", 0.1, "per_rank", ranks);
}

static char said[16384];
static bool supported;

/* The answer to the question of that number of a built-in study, if its runs were so. */
static const char *ask(const char *name, size_t question, make_fn *make)
{
	const struct builtin *b = study_find_builtin(name);
	struct study s;
	struct plan p;
	struct evidence e;
	struct columns c;
	struct tables t;
	struct answer *answers;
	size_t count;

	assert_non_null(b);
	assert_int_equal(
		study_load(&s, study_commands(), (const char *)b->bytes, b->size, name, &err),
		OK);
	assert_int_equal(plan_init(&p, &s,
				   &(struct plan_options){.cores = 8, .without_virtual = true},
				   &err),
			 OK);
	assert_int_equal(evidence_init(&e, &p, &err), OK);
	for (int i = 0; i < p.count; i++)
		for (int rep = 0; rep < p.reps; rep++) {
			struct made m = make(&p.cases[i], rep);

			if (!strcmp(p.cases[i].command, "train"))
				e.documents[i * p.reps + rep] = document(&p.cases[i], &m);
		}
	t = (struct tables){.study = &s, .plan = &p};
	assert_int_equal(columns_init(&c, &s, &err), OK);
	assert_int_equal(results_init(&t.by_case, &c, &p, &e, false, &err), OK);
	assert_int_equal(results_init(&t.by_rank, &c, &p, &e, true, &err), OK);
	answers = answers_make(&t, &count);
	assert_true(question < count);
	snprintf(said, sizeof(said), "%s", answers[question].text.data);
	supported = answers[question].supported;
	answers_free(answers, count);
	results_release(&t.by_case);
	results_release(&t.by_rank);
	columns_release(&c);
	evidence_release(&e);
	plan_release(&p);
	study_unload(&s);
	return said;
}

static void says(const char *part)
{
	if (!strstr(said, part))
		fail_msg("'%s' does not say '%s'", said, part);
}

static void does_not_say(const char *part)
{
	if (strstr(said, part))
		fail_msg("'%s' says '%s'", said, part);
}

/* ---- strong scaling ---- */

static struct made linear(const struct run_case *c, int rep)
{
	return (struct made){.step_ms = (8 + 0.01 * rep) / c->ranks, .compute = 8.0 / c->ranks};
}

static struct made with_serial_part(const struct run_case *c, int rep)
{
	return (struct made){.step_ms = 2 + 8.0 / c->ranks + 0.01 * rep,
			     .compute = 8.0 / c->ranks,
			     .other = 2};
}

static struct made bound_by_comm(const struct run_case *c, int rep)
{
	double comm = c->ranks > 1 ? 1.5 * c->ranks : 0;

	return (struct made){.step_ms = 8.0 / c->ranks + comm + 0.01 * rep,
			     .compute = 8.0 / c->ranks,
			     .comm = comm};
}

static struct made noisy(const struct run_case *c, int rep)
{
	return (struct made){.step_ms = 8.0 / c->ranks * (1 + rep), .compute = 8.0 / c->ranks};
}

static void scaling_follows_the_numbers(void **state)
{
	(void)state;
	ask("strong-scaling", 0, linear);
	says("speed-up 4.00, efficiency 100 %");
	says("scales linearly");
	assert_true(supported);

	ask("strong-scaling", 0, with_serial_part);
	says("ms overhead that did not shrink");
	does_not_say("exposed communication");
	says("it stays, as a fixed serial part would have it");
	says("2.02 ms serial, 20.2 % of one rank's step");
	says("limits the speed-up to 4.96");

	ask("strong-scaling", 0, bound_by_comm);
	says("from 1 to 2 ranks, from 100 to 57 %");
	says("3 ms exposed communication");
	does_not_say("overhead that did not shrink");

	ask("strong-scaling", 0, noisy);
	says("drops nowhere beyond the spread");
}

static void what_binds_a_model_follows_the_numbers(void **state)
{
	(void)state;
	ask("comm-vs-compute", 0, linear);
	says("bound by compute");
	says("can't be told from these runs");
	ask("comm-vs-compute", 0, bound_by_comm);
	says("bound by communication");
	says("bottleneck from 4 ranks on");
}

/* ---- delay and imbalance ---- */

static double axis(const struct run_case *c, const char *name)
{
	for (int i = 0; i < c->axis_count; i++)
		if (!strcmp(c->axes[i].axis, name))
			return c->axes[i].number;
	return NAN;
}

static struct made delayed(const struct run_case *c, int rep)
{
	struct made m = with_serial_part(c, rep);

	m.step_ms += axis(c, "delay");
	return m;
}

static struct made half_delayed(const struct run_case *c, int rep)
{
	struct made m = with_serial_part(c, rep);

	m.step_ms += axis(c, "delay") / 2;
	return m;
}

static struct made slower_on_more(const struct run_case *c, int rep)
{
	return (struct made){.step_ms = 8 + c->ranks + 0.01 * rep};
}

static void a_delay_is_found_as_serial_time(void **state)
{
	(void)state;
	ask("delay", 0, delayed);
	says("10 ms more, where 10 ms were put in (0 % off");
	says("from 20.2 to 60.0 %");
	assert_true(supported);
	ask("delay", 0, half_delayed);
	says("5 ms more, where 10 ms were put in (50 % off");
	assert_false(supported);
	ask("delay", 0, slower_on_more);
	says("Inconclusive");
	assert_false(supported);
}

static struct made waits_for_rank_0(const struct run_case *c, int rep)
{
	double sleep = axis(c, "sleep");

	return (struct made){.step_ms = 5 + sleep + 0.01 * rep,
			     .imbalance = sleep * (c->ranks - 1) / c->ranks,
			     .busy_0 = 5 / (5 + sleep),
			     .busy_rest = 5 / (5 + sleep)};
}

static struct made does_not_care(const struct run_case *c, int rep)
{
	(void)c;
	return (struct made){.step_ms = 5 + 0.1 * rep};
}

static void imbalance_follows_the_numbers(void **state)
{
	(void)state;
	ask("imbalance", 0, waits_for_rank_0);
	says("grows from 5.02 to 25 ms, by 20 ms (100 % of the sleep)");
	says("pace of its slowest rank");
	says("waits 15 ms per step");
	assert_true(supported);
	ask("imbalance", 0, does_not_care);
	says("within the spread of the runs");
	assert_false(supported);
}

/* ---- batches ---- */

static struct made saturating(const struct run_case *c, int rep)
{
	return (struct made){.step_ms = 1 + 0.1 * option(c, "batch", 0) + 0.001 * rep};
}

static struct made far_from_saturated(const struct run_case *c, int rep)
{
	return (struct made){.step_ms = 100 + 0.1 * option(c, "batch", 0) + 0.001 * rep};
}

static struct made without_a_pattern(const struct run_case *c, int rep)
{
	int batch = (int)option(c, "batch", 0);

	return (struct made){.step_ms = (batch == 64	? 90
					 : batch == 256 ? 60
							: 10) +
					0.01 * rep};
}

static void saturation_follows_the_numbers(void **state)
{
	(void)state;
	ask("batch-scaling", 0, saturating);
	says("Batch 128 is the first with 90 %");
	ask("batch-scaling", 0, far_from_saturated);
	says("it is not saturated");
	says("weighs as much as 1000 samples");
	ask("batch-scaling", 0, without_a_pattern);
	says("too far from them to say");
	assert_false(supported);
}

/* ---- DataParallel ---- */

static bool is_master(const struct run_case *c)
{
	return !strcmp(c->axes[0].text, "master");
}

static struct made master_busy(const struct run_case *c, int rep)
{
	return (struct made){.step_ms = (is_master(c) ? 9 : 3) + 0.01 * rep,
			     .busy_0 = 0.9,
			     .busy_rest = is_master(c) ? 0.3 : 0.9,
			     .memory_0 = is_master(c) ? 3e6 : 1e6};
}

static struct made all_equal(const struct run_case *c, int rep)
{
	(void)c;
	return (struct made){
		.step_ms = 3 + rep, .busy_0 = 0.5, .busy_rest = 0.5, .memory_0 = 1e6};
}

static void the_master_is_a_bottleneck_if_it_is_one(void **state)
{
	(void)state;
	ask("dp-vs-ddp", 0, master_busy);
	says("2.99 times (slower)");
	says("Rank 0 is busy 90 % of the step, the least busy rank 30 %");
	says("which is the bottleneck");
	says("Rank 0 takes 2.9 MiB");
	assert_true(supported);
	ask("dp-vs-ddp", 0, all_equal);
	says("no difference beyond the spread");
	says("does not show here");
	assert_false(supported);
}

/* ---- accumulation ---- */

static struct made summed_once(const struct run_case *c, int rep)
{
	return (struct made){.step_ms = option(c, "accum-steps", 1) + 0.01 * rep,
			     .steps = 10,
			     .collective = 4e7,
			     .memory_0 = 1e6,
			     .final_loss = 0.5};
}

static struct made summed_each_time(const struct run_case *c, int rep)
{
	struct made m = summed_once(c, rep);

	m.collective *= option(c, "accum-steps", 1);
	m.final_loss += 0.01 * option(c, "accum-steps", 1);
	return m;
}

static void accumulation_follows_the_numbers(void **state)
{
	(void)state;
	ask("accum-amp", 2, summed_once);
	says("synchronised once per step");
	says("the effective batch grows 8-fold, the memory does not");
	ask("accum-amp", 2, summed_each_time);
	says("that is not once per step");
	assert_false(supported);
	ask("accum-amp", 4, summed_once);
	says("2 × 16 × 4 = 128");
	says("16 times as large");
	assert_true(supported);
	ask("accum-amp", 4, summed_each_time);
	says("do not show that the cut makes no difference");
	assert_false(supported);
}

/* A study of which nothing has run says so. */
static void without_runs_nothing_is_claimed(void **state)
{
	(void)state;
	ask("engine-vs-base", 2, linear); /* no run of max-batch */
	says("no finished run");
	assert_false(supported);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scaling_follows_the_numbers),
		cmocka_unit_test(what_binds_a_model_follows_the_numbers),
		cmocka_unit_test(a_delay_is_found_as_serial_time),
		cmocka_unit_test(imbalance_follows_the_numbers),
		cmocka_unit_test(saturation_follows_the_numbers),
		cmocka_unit_test(the_master_is_a_bottleneck_if_it_is_one),
		cmocka_unit_test(accumulation_follows_the_numbers),
		cmocka_unit_test(without_runs_nothing_is_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
