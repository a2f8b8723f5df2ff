/* test_answers.c - sentences that were once said of results that did not show them. */
#include "answers.h"

/* ---- 1: half of the step is communication and waiting ---- */

static void communication_is_not_hidden_where_it_shows(void **state)
{
	const char *text = said("comm-vs-compute", "1.3.3", make_half, 8, "real");
	(void)state;

	does_not_say(text, "hidden");
	does_not_say(text, "bound by");
	says(text, "compute takes longer than exposed communication");
	says(text, "0.74 times as long as compute");
}

/* ---- 2: steps that no law describes ---- */

static void make_lawless(struct world *world, const struct run_case *c, int rep, struct made *m)
{
	static const double steps[] = {10, 9, 10, 9, 4};

	(void)world, (void)rep;
	set_parts(m, c, steps[imin(c->ranks, 4)], 0, 0);
}

static void a_law_that_does_not_fit_is_not_stated(void **state)
{
	const char *text = said("strong-scaling", "1.2.3", make_lawless, 8, "real");
	(void)state;

	says(text, "Amdahl's law does not fit the 3 rows");
	does_not_say(text, "speed-up beyond");
	/* Two rows with a core per rank are too few for any law. */
	text = said("strong-scaling", "1.2.3", make_lawless, 2, "real");
	says(text, "it takes three rows with a core per rank, and there are 2");
}

/* ---- 3: more ranks than cores ---- */

static void make_slow_on_four(struct world *world, const struct run_case *c, int rep,
			      struct made *m)
{
	(void)world, (void)rep;
	set_parts(m, c, c->ranks > 2 ? 99 : 10.0 / c->ranks, 0, 0);
}

static void ranks_that_share_cores_are_not_interpreted(void **state)
{
	static const char *const ids[] = {"1.2.1", "1.2.2", "1.2.3"};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		const char *text = said("strong-scaling", ids[i], make_slow_on_four, 2, "real");

		does_not_say(text, "4 ranks");
		does_not_say(text, "99");
	}
	says(said("strong-scaling", "1.2.1", make_slow_on_four, 2, "real"), "Yes, within 5 %.");
	says(said("strong-scaling", "1.2.1", make_slow_on_four, 8, "real"), "No.");
}

/* ---- 4: repetitions that differ more than the cases, but not in pairs ---- */

static void make_paired(struct world *world, const struct run_case *c, int rep, struct made *m)
{
	static const double slow[] = {1, 2, 4}, ratios[] = {1.29, 1.24, 1.17};
	double step = 10 * slow[rep];

	(void)world;
	if (json_object_get(c->options, "engine"))
		step *= ratios[rep];
	set_parts(m, c, step, 0, 0);
	m->max_batch = 10;
}

static void what_ran_in_turn_is_compared_in_pairs(void **state)
{
	(void)state;
	says(said("engine-vs-base", "P.4", make_paired, 8, "real"), "the engine is 1.24 times");
}

/* ---- 5: differences inside the spread ---- */

static void make_alike(struct world *world, const struct run_case *c, int rep, struct made *m)
{
	static const double jitter[] = {-0.03, 0, 0.03};

	(void)world;
	set_parts(m, c, 10 + jitter[rep], 0, 0);
	for (int i = 0; i < c->ranks && i < MADE_RANKS_MAX; i++)
		m->busy[i] = i ? 0.31 - jitter[rep] : 0.32 + jitter[rep];
	m->traffic_0 = m->traffic = 1e6;
	m->memory_0 = m->memory = 1e6;
	m->max_batch = 10;
	/* Nothing but noise between these two. */
	if (json_object_get(c->options, "engine") || made_option(c, "dim", 0) > 2000)
		m->step_ms += 2 * jitter[2 - rep];
}

static void no_difference_is_made_of_noise(void **state)
{
	const char *text = said("dp-vs-ddp", "1.4.1", make_alike, 8, "real");
	(void)state;

	says(text, "By its bytes it is not");
	says(text, "Whether it is busier can't be told");
	says(text, "waits no longer");
	says(said("comm-vs-compute", "1.3.1", make_alike, 8, "real"), "For neither");
	text = said("engine-vs-base", "P.4", make_alike, 8, "real");
	says(text, "as fast as the base engine");
	does_not_say(text, "1.00 times");
}

/* ---- repetitions on both sides of a threshold ---- */

static void what_straddles_a_threshold_is_not_decided(void **state)
{
	static const char *const cases[][2] = {
		{"strong-scaling", "1.2.1"}, {"strong-scaling", "1.2.2"},
		{"batch-scaling", "1.5.B1"}, {"imbalance", "1.5.C2"},
		{"delay", "1.5.A1"},	     {"depth", "3.2"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		says(said(cases[i][0], cases[i][1], make_straddling, 8, "real"),
		     "These runs can't tell");
	says(said("strong-scaling", "1.2.1", make_straddling, 2, "real"),
	     "the efficiency on 2 ranks is 18 to 111 %.");
	does_not_say(said("strong-scaling", "1.2.1", make_straddling, 2, "real"), "early");
}

/* DataParallel takes 0.8, 1.4 and 2 times as long as DDP. */
static void make_unsteady(struct world *world, const struct run_case *c, int rep,
			  struct made *m)
{
	const char *sync = json_string_value(json_object_get(c->options, "grad-sync"));

	(void)world;
	set_parts(m, c, sync && !strcmp(sync, "master") ? 8 + 6 * rep : 10, 0, 0);
}

static void an_edge_is_not_made_of_noise(void **state)
{
	const char *text = said("dp-vs-ddp", "1.4.3", make_unsteady, 8, "real");
	(void)state;

	says(text, "These runs can't tell whether it is here: a step takes 0.80 to 2.00 times");
	does_not_say(text, "about a tenth");
}

/* What a rank that had a core each leaves open, simulated devices may decide. */
static void make_decided_if_simulated(struct world *world, const struct run_case *c, int rep,
				      struct made *m)
{
	if (c->place == PLACE_REAL)
		make_straddling(world, c, rep, m);
	else
		set_parts(m, c, c->ranks > 1 ? 9 : 10, 0, 0);
}

static void a_verdict_that_was_found_comes_before_one_that_was_not(void **state)
{
	(void)state;
	w = (struct world){.make = make_decided_if_simulated, .cores = 2, .reps = 3};
	world_open(&w, "strong-scaling");
	assert_string_equal(made_text(find_answer("1.2.1"), "verdict"), "Simulated: No.");
	world_close(&w);
	/* It says so as well where nothing else is there. */
	world_open(&w, "schedules");
	assert_memory_equal(made_text(find_answer("P.2"), "verdict"), "Simulated: ", 11);
	world_close(&w);
}

/* ---- sentences whose parts are found ---- */

/* Communication and waiting beyond the ideal, each the larger one at times. */
static void make_two_causes(struct world *world, const struct run_case *c, int rep,
			    struct made *m)
{
	(void)world;
	set_parts(m, c, 10.0 / c->ranks, c->ranks > 1 ? 3 + rep : 0,
		  c->ranks > 1 ? 5 - rep : 0);
}

static void a_sentence_has_its_capital_in_front(void **state)
{
	const char *text = said("strong-scaling", "1.2.3", make_two_causes, 8, "real");
	(void)state;

	says(text, "or waiting for slower ranks");
	says(text, "these runs can't tell which is more");
	assert_memory_equal(text, "Exposed communication (", 23);
}

/* ---- the bytes of DataParallel ---- */

static double bytes_per_step; /* in and out of rank 0 of DataParallel, for each other rank */

static void make_traffic(struct world *world, const struct run_case *c, int rep, struct made *m)
{
	const char *sync = json_string_value(json_object_get(c->options, "grad-sync"));
	double n = c->ranks, steps = made_option(c, "steps", 35);

	(void)world, (void)rep;
	set_parts(m, c, 10, 0, 0);
	m->params = 1 << 20;
	m->traffic = m->traffic_0 = steps * 2 * m->params * (n - 1) / n;
	if (!strcmp(sync, "master"))
		m->traffic_0 = steps * bytes_per_step * (n - 1) / 2;
}

static void what_passes_through_the_master_is_counted(void **state)
{
	const char *text;
	(void)state;

	bytes_per_step = 4 << 20;
	text = said("dp-vs-ddp", "1.4.1", make_traffic, 2, "real");
	says(text, "everything passes through it");
	says(text, "on 4 ranks 6.0 MiB come in to rank 0 and 6.0 MiB go out, 4.00 times");
	text = said("dp-vs-ddp", "1.4.2", make_traffic, 2, "real");
	says(text, "2.0 MiB per step on 2 ranks and 3.0 MiB on 4");
	says(text, "that is 4P(n-1)/n");
	/* Such a formula stands beside numbers that it gives, or not at all. */
	does_not_say(text, "P(n-1)(1+3/n)");
	/* Where as much goes through the others, it is not said. */
	bytes_per_step = 1 << 20;
	text = said("dp-vs-ddp", "1.4.1", make_traffic, 2, "real");
	says(text, "By its bytes it is not");
}

/* ---- small numbers ---- */

static void small_losses_are_not_shown_as_nothing(void **state)
{
	const char *text = said("accum-amp", "P.3", make_underflow, 8, "real");
	(void)state;

	does_not_say(text, "0.000");
	says(text, "fp32 falls to 5.4e-12");
	says(text, "fp16 ends at 1.2e-06");
	says(text, "without it fp16 ends at 222,222 times the loss");
}

/* ---- ranges ---- */

static void make_ten_longer(struct world *world, const struct run_case *c, int rep,
			    struct made *m)
{
	(void)world, (void)rep;
	set_parts(m, c, 10.0 / c->ranks + (json_object_get(c->options, "inject") ? 10 : 0), 0,
		  0);
}

static void a_range_of_one_number_is_that_number(void **state)
{
	const char *text = said("delay", "1.5.A3", make_ten_longer, 8, "real");
	(void)state;

	says(text, "makes the step longer by 10.0 ms.");
	does_not_say(text, "10.0 to");
}

static void what_is_lost_has_to_be_lost(void **state)
{
	const char *text = said("delay", "1.5.A2", make_straddling, 8, "real");
	(void)state;

	says(text, "These runs can't tell: not all of them lose speed-up.");
	does_not_say(text, "costs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(communication_is_not_hidden_where_it_shows),
		cmocka_unit_test(a_law_that_does_not_fit_is_not_stated),
		cmocka_unit_test(ranks_that_share_cores_are_not_interpreted),
		cmocka_unit_test(what_ran_in_turn_is_compared_in_pairs),
		cmocka_unit_test(no_difference_is_made_of_noise),
		cmocka_unit_test(what_straddles_a_threshold_is_not_decided),
		cmocka_unit_test(an_edge_is_not_made_of_noise),
		cmocka_unit_test(a_verdict_that_was_found_comes_before_one_that_was_not),
		cmocka_unit_test(a_sentence_has_its_capital_in_front),
		cmocka_unit_test(what_passes_through_the_master_is_counted),
		cmocka_unit_test(small_losses_are_not_shown_as_nothing),
		cmocka_unit_test(a_range_of_one_number_is_that_number),
		cmocka_unit_test(what_is_lost_has_to_be_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
