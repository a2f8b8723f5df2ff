/* test_plan_limits.c - what must hold of any forecast: nothing that is better makes a step
   longer, more memory finds nothing slower; and what tables of others may say. */
#include "testing.h"

#include "plan/search.h"
#include "plan/setups.h"
#include "plan/simulate.h"
#include "plan_setups.h"

static struct random rng;

/* Constants of which more is better, and those of which less is. */
static const enum cluster_constant more[] = {CLUSTER_PEAK,	     CLUSTER_PRODUCT_SHARE,
					     CLUSTER_FLASH_SHARE,    CLUSTER_MEMORY_BANDWIDTH,
					     CLUSTER_MEMORY_SHARE,   CLUSTER_LINK_BANDWIDTH,
					     CLUSTER_NODE_BANDWIDTH, CLUSTER_NODE_SHARE,
					     CLUSTER_SUM_OVERLAP};
static const enum cluster_constant less[] = {
	CLUSTER_PRODUCT_RAMP, CLUSTER_LAUNCH,	   CLUSTER_STEP,	   CLUSTER_LINK_LATENCY,
	CLUSTER_NODE_LATENCY, CLUSTER_SUM_LATENCY, CLUSTER_OPTIMIZER_BYTES};

static struct cluster any_cluster(void)
{
	static const char *const names[] = {"a100-80g-selene", "a100-vtrain", "h100-80g",
					    "v100-16g-dlperf"};

	return builtin(names[random_int(&rng, 0, (int)ARRAY_SIZE(names) - 1)]);
}

static struct setup any_setup(void)
{
	struct setup s = random_setup(&rng);
	int times = 1 << random_int(&rng, 0, 5);

	s.model = (enum setup_model)random_int(&rng, 0, 2);
	s.hidden *= times;
	s.context *= times;
	s.zero = s.dp > 1 ? random_int(&rng, 0, 3) : 0;
	s.ffn = s.model == SETUP_LLAMA ? 4 * s.hidden : 0;
	if (setup_check(&s, fresh(&err)) != OK)
		fail_msg("%s", err.msg);
	return s;
}

static double step_of(const struct setup *s, const struct cluster *c)
{
	struct forecast f = forecast_of(s, c);
	double step;

	assert_int_equal(simulate_step(&step, &f, s, c, fresh(&err)), OK);
	assert_true(isfinite(step) && step > 0 && isfinite(f.step) && f.step > 0);
	return step;
}

static void nothing_better_is_slower(void **state)
{
	(void)state;
	for (int i = 0; i < 150; i++) {
		struct setup s = any_setup();
		struct cluster c = any_cluster(), other;
		double step = step_of(&s, &c);

		for (size_t k = 0; k < ARRAY_SIZE(more) + ARRAY_SIZE(less); k++) {
			bool up = k < ARRAY_SIZE(more);
			enum cluster_constant which = up ? more[k] : less[k - ARRAY_SIZE(more)];

			other = c;
			other.constants[which] *= up ? 1.3 : 0.7;
			if (step_of(&s, &other) > step * (1 + 1e-9))
				fail_msg("%s x %g: %g s instead of %g s",
					 cluster_constant_name(which), up ? 1.3 : 0.7,
					 step_of(&s, &other), step);
		}
	}
}

static void more_memory_finds_nothing_slower(void **state)
{
	struct search *r = malloc(sizeof(*r));

	(void)state;
	for (int i = 0; i < 30; i++) {
		struct search_space space;
		struct cluster c = any_cluster();
		double last = INFINITY;

		search_space_init(&space);
		space.setup = any_setup();
		space.setup.gpus = 8;
		space.setup.global_batch = 8;
		space.setup.dp = space.setup.tp = space.setup.pp = 0;
		space.setup.micro_batch = space.setup.chunks = 0;
		space.top = 1;
		for (double gib = 1; gib <= 1024; gib *= 2) {
			space.memory = gib * 1024 * 1024 * 1024;
			assert_int_equal(search_run(r, &space, &c, fresh(&err)), OK);
			if (!r->best_count) {
				assert_true(isinf(last));
				continue;
			}
			assert_true(r->best[0].forecast.step <= last);
			assert_true(r->best[0].forecast.memory <= space.memory);
			last = r->best[0].forecast.step;
		}
	}
	free(r);
}

#define HEADING                                                                               \
	"cluster,model,layers,hidden,heads,seq,vocab,gpus,dp,tp,pp,micro_batch,global_batch," \
	"schedule,chunks,recompute,sequence_parallel,zero,iter_ms,mem_gib\n"

/* A row of a model of 8 layers on 8 devices, with these cells. */
static struct setups_row row_of(const char *grid, const char *ending)
{
	struct setups t;
	struct setups_row row;
	char text[1024];

	snprintf(text, sizeof(text), HEADING "h100-80g,gpt,8,64,8,64,99,%s,1,16,%s,,\n", grid,
		 ending);
	if (setups_read(&t, text, strlen(text), "a table", fresh(&err)) != OK)
		fail_msg("%s", err.msg);
	assert_int_equal(t.count, 1);
	assert_int_equal(t.problems, *t.rows[0].problem != '\0');
	row = t.rows[0];
	setups_release(&t);
	return row;
}

static void tables_have_words_of_their_own(void **state)
{
	static const struct {
		const char *grid, *ending;
		enum schedule_kind schedule;
		enum setup_recompute recompute;
		int dp, chunks;
		bool spread;
	} rows[] = {
		{"8,2,2,2", "1F1B,1,Full,True,0", SCHEDULE_1F1B, SETUP_FULL, 2, 1, true},
		{"8,,2,2", ",,,,", SCHEDULE_1F1B, SETUP_NONE, 2, 1, false},
		{",4,1,2", "GPipe,,attention,no,", SCHEDULE_GPIPE, SETUP_SELECTIVE, 4, 1,
		 false},
		{"8,,2,2", "interleaved_1f1b,2,selective,0,1", SCHEDULE_INTERLEAVED,
		 SETUP_SELECTIVE, 2, 2, false},
		{"8,,2,2", "1f1b,2,none,1,", SCHEDULE_INTERLEAVED, SETUP_NONE, 2, 2, true},
		{"8,,2,2", "ZB-H1,1,-,-,", SCHEDULE_ZB_H1, SETUP_NONE, 2, 1, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct setups_row row = row_of(rows[i].grid, rows[i].ending);

		assert_string_equal(row.problem, "");
		assert_int_equal(row.setup.schedule, rows[i].schedule);
		assert_int_equal(row.setup.recompute, rows[i].recompute);
		assert_int_equal(row.setup.dp, rows[i].dp);
		assert_int_equal(row.setup.gpus, 8);
		assert_int_equal(row.setup.chunks, rows[i].chunks);
		assert_int_equal(row.setup.sequence_parallel, rows[i].spread);
	}
}

static void rows_that_cannot_be_say_why(void **state)
{
	static const char *const rows[][3] = {
		{"8,3,2,2", "1f1b,1,none,0,0", "dp 3 times tp 2 times pp 2 is not gpus 8"},
		{"8,,3,2", "1f1b,1,none,0,0", "dp 1 times tp 3 times pp 2 is not gpus 8"},
		{"8,,2,", "1f1b,1,none,0,0", "pp '' should be given"},
		{"8,,2,2", "chimera,1,none,0,0", "schedule 'chimera' should be"},
		{"8,,2,2", "1f1b,1,some,0,0", "recompute 'some' should be"},
		{"8,,2,2", "1f1b,1,none,2,0", "sequence_parallel '2' should be 0 or 1"},
		{"8,,2,2", "gpipe,2,none,0,0", "chunks"},
		{"8,,2,2", "1f1b,5,none,0,0", "layers 8 are fewer than pp 2 times chunks 5"},
		{"8,,2,2", "1f1b,1,none,0,4", "zero '4' should be a whole number from 0 to 3"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct setups_row row = row_of(rows[i][0], rows[i][1]);

		if (!strstr(row.problem, rows[i][2]) || !strstr(row.problem, "line 2: "))
			fail_msg("'%s' does not say '%s'", row.problem, rows[i][2]);
	}
}

/* One of the device that is meant, where there is only one. */
static void clusters_have_devices(void **state)
{
	struct cluster c;

	(void)state;
	assert_int_equal(cluster_find(&c, "h100-eos", fresh(&err)), OK);
	assert_string_equal(c.name, "h100-80g");
	assert_int_equal(cluster_find(&c, "a100-eos", fresh(&err)), ERR_USAGE);
	assert_int_equal(cluster_find(&c, "h1000-eos", fresh(&err)), ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_better_is_slower),
		cmocka_unit_test(more_memory_finds_nothing_slower),
		cmocka_unit_test(tables_have_words_of_their_own),
		cmocka_unit_test(rows_that_cannot_be_say_why),
		cmocka_unit_test(clusters_have_devices),
	};

	rng = random_start("test_plan_limits");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
