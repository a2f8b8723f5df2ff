/* test_answers.c - sentences that were once said of results that did not show them. */
#include "made_up.h"

#include "base/file.h"

#include <ctype.h>
#include <limits.h>

static struct world w;

static const json_t *find_answer(const char *id)
{
	for (size_t i = 0; i < json_array_size(w.answers); i++)
		if (!strcmp(made_text(json_array_get(w.answers, i), "id"), id))
			return json_array_get(w.answers, i);
	fail_msg("there is no question %s", id);
	return NULL;
}

/* All that is said about a question of a study, for one device ("": any). */
static const char *said(const char *study, const char *id, make_fn *make, int cores,
			const char *device)
{
	static char text[8192];
	const json_t *parts;

	w = (struct world){.make = make, .cores = cores, .reps = 3};
	world_open(&w, study);
	parts = json_object_get(find_answer(id), "parts");
	text[0] = '\0';
	for (size_t i = 0; i < json_array_size(parts); i++) {
		const json_t *part = json_array_get(parts, i);
		const json_t *sentences = json_object_get(part, "sentences");

		if (*device && strcmp(made_text(part, "device"), device))
			continue;
		strncat(text, made_text(part, "verdict"), sizeof(text) - strlen(text) - 1);
		for (size_t k = 0; k < json_array_size(sentences); k++) {
			strncat(text, " ", sizeof(text) - strlen(text) - 1);
			strncat(text, json_string_value(json_array_get(sentences, k)),
				sizeof(text) - strlen(text) - 1);
		}
	}
	world_close(&w);
	return text;
}

static void says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' does not say '%s'", text, part);
}

static void does_not_say(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' says '%s'", text, part);
}

static void set_parts(struct made *m, const struct run_case *c, double compute, double comm,
		      double imbalance)
{
	for (int i = 0; i < c->ranks && i < MADE_RANKS_MAX; i++) {
		m->compute[i] = compute;
		m->comm[i] = comm;
		m->imbalance[i] = imbalance;
		m->busy[i] = 0.5;
	}
	m->step_ms = compute + comm + imbalance;
}

/* ---- 1: half of the step is communication and waiting ---- */

static void make_half(struct world *world, const struct run_case *c, int rep, struct made *m)
{
	(void)world, (void)rep;
	set_parts(m, c, c->ranks > 1 ? 5 : 10, c->ranks > 1 ? 3.7 : 0, c->ranks > 1 ? 1.3 : 0);
}

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

static void make_straddling(struct world *world, const struct run_case *c, int rep,
			    struct made *m)
{
	static const double factors[] = {5.5, 1.5, 0.9};
	bool slept = json_object_get(c->options, "inject");
	bool odd = slept || made_option(c, "depth", 0) > 20 || made_option(c, "batch", 0) > 200;
	double share = 10.0 / c->ranks;

	(void)world;
	if (c->ranks > 1)
		share *= factors[odd ? 2 - rep : rep];
	set_parts(m, c, share, 0, slept ? 6 + 8 * rep : 0);
}

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

static void make_underflow(struct world *world, const struct run_case *c, int rep,
			   struct made *m)
{
	bool fixed = made_option(c, "loss-scale", 0) == 1;

	(void)world, (void)rep;
	set_parts(m, c, 10, 0, 0);
	m->first_loss = 1.1;
	m->final_loss = fixed ? 1.2e-6 : 5.4e-12;
}

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

/* ---- observations ---- */

static void every_row_has_an_observation_that_fits_a_cell(void **state)
{
	static const struct {
		const char *group, *column;
	} tables[] = {{"variants", "observed"}, {"accumulation", "observation"}};
	static make_fn *const weathers[] = {make_straddling, make_half, make_underflow};
	(void)state;

	for (size_t n = 0; n < ARRAY_SIZE(weathers); n++) {
		w = (struct world){.make = weathers[n], .cores = 8, .reps = 3};
		world_open(&w, "accum-amp");
		for (int i = 0; i < w.tables.by_case.count; i++)
			for (size_t k = 0; k < ARRAY_SIZE(tables); k++) {
				const struct row *row = &w.tables.by_case.rows[i];
				const char *text =
					row_cell(&w.tables.by_case, row, tables[k].column)
						->text;

				if (strcmp(row->run_case->group, tables[k].group))
					continue;
				assert_true(text && *text && strlen(text) <= 60);
			}
		world_close(&w);
	}
}

/* ---- 6, 7, 8: what no study may say at all ---- */

/* Nothing is measured on devices that compute nothing. */
static void check_sentences(const char *text, const char *where)
{
	while (*text) {
		const char *end = strstr(text, ". "), *gap = strstr(text, "\n\n");
		char sentence[4096];
		size_t n = strlen(text);

		if (end && (size_t)(end - text) + 2 < n)
			n = (size_t)(end - text) + 2;
		if (gap && (size_t)(gap - text) + 2 < n)
			n = (size_t)(gap - text) + 2;
		snprintf(sentence, sizeof(sentence), "%.*s", (int)n, text);
		if ((strstr(sentence, "irtual") || strstr(sentence, "imulated")) &&
		    strstr(sentence, "easured"))
			fail_msg("%s calls it measured: '%s'", where, sentence);
		text += n;
	}
}

static void nothing_virtual_is_measured(void **state)
{
	static const char *const files[] = {"README.md", "docs/studies.md"};
	struct text reading;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[PATH_MAX], *bytes;
		struct error err = {0};
		size_t size;

		snprintf(path, sizeof(path), "%s/../%s", TESTS_DIR, files[i]);
		assert_int_equal(file_read(path, 1 << 20, &bytes, &size, &err), OK);
		check_sentences(bytes, files[i]);
		free(bytes);
	}
	/* What is said of all tables. */
	w = (struct world){.make = make_half, .cores = 2, .reps = 3};
	world_open(&w, "strong-scaling");
	for (int i = 0; i < w.plan.count; i++)
		snprintf(
			w.plan.cases[i].device, sizeof(w.plan.cases[i].device),
			"virtual:gflops=111,bandwidth=19.67GB/s,link=9.442GB/s,latency=0.35us");
	text_init(&reading);
	tables_add_reading(&w.tables, &reading);
	check_sentences(reading.data, "reading");
	says(reading.data,
	     "Median of 3 runs, ± half of their range. Simulated devices compute "
	     "nothing; they take the time that an operation costs, the same in "
	     "every run: products at 111 GFLOP/s, memory at 19.7 GB/s, messages at "
	     "9.4 GB/s and 0.35 µs each.");
	text_release(&reading);
	world_close(&w);
}

/* A page has room for so many columns. */
static void tables_are_not_too_wide(void **state)
{
	(void)state;
	for (size_t i = 0; i < study_builtin_count; i++) {
		json_t *root = json_loadb((const char *)study_builtins[i].bytes,
					  study_builtins[i].size, 0, NULL);
		const json_t *tables = json_object_get(root, "tables");

		for (size_t k = 0; k < json_array_size(tables); k++)
			assert_true(json_array_size(json_object_get(json_array_get(tables, k),
								    "columns")) <= 10);
		json_decref(root);
	}
}

static void scan(const json_t *tree, const char *study)
{
	static const char *const never[] = {"while the backward", "would take as long",
					    "bound by arithmetic", "hidden behind"};
	const char *key, *text = json_string_value(tree);
	json_t *value;

	json_object_foreach((json_t *)tree, key, value)
	{
		/* What may be the largest is named in the middle of sentences. */
		if (!strcmp(key, "largest") && json_is_object(value))
			assert_true(islower(*json_object_iter_key(json_object_iter(value))));
		scan(value, study);
	}
	for (size_t i = 0; i < json_array_size(tree); i++)
		scan(json_array_get(tree, i), study);
	for (size_t i = 0; text && i < ARRAY_SIZE(never); i++)
		if (strstr(text, never[i]))
			fail_msg("%s says '%s'", study, text);
	if (text)
		check_sentences(text, study);
}

static void studies_do_not_say_what_they_do_not_look_at(void **state)
{
	(void)state;
	for (size_t i = 0; i < study_builtin_count; i++) {
		json_t *root = json_loadb((const char *)study_builtins[i].bytes,
					  study_builtins[i].size, 0, NULL);

		assert_non_null(root);
		scan(root, study_builtins[i].name);
		json_decref(root);
	}
}

/* Every layer has a bucket of its own, so that sums can overlap. */
static void buckets_are_small_enough_for_the_model(void **state)
{
	static const char *const studies[] = {"strong-scaling", "comm-vs-compute", "dp-vs-ddp",
					      "delay",		"batch-scaling",   "imbalance"};
	(void)state;

	for (int quick = 0; quick < 2; quick++)
		for (size_t i = 0; i < ARRAY_SIZE(studies); i++) {
			w = (struct world){
				.make = make_half, .cores = 8, .reps = 1, .quick = quick};
			world_open(&w, studies[i]);
			for (int k = 0; k < w.plan.count; k++) {
				const struct run_case *c = &w.plan.cases[k];
				double dim = made_option(c, "dim", 1024);

				assert_true(made_option(c, "bucket-mb", 25) * (1 << 20) <=
					    4 * dim * dim + (1 << 20));
			}
			world_close(&w);
		}
}

/* ---- 9: a quick study says what it did ---- */

static void texts_name_the_values_of_the_plan(void **state)
{
	const char *about;
	struct text text;
	(void)state;

	for (int quick = 0; quick < 2; quick++) {
		w = (struct world){.make = make_half, .cores = 8, .reps = 1, .quick = quick};
		world_open(&w, "schedules");
		about = w.study.about;
		text_init(&text);
		plan_add_text(&w.plan, about, &text);
		says(text.data,
		     quick ? "with 4 and 8 micro-batches" : "with 4, 8 and 16 micro-batches");
		assert_null(strchr(text.data, '{'));
		text_release(&text);
		world_close(&w);
	}
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
		cmocka_unit_test(every_row_has_an_observation_that_fits_a_cell),
		cmocka_unit_test(studies_do_not_say_what_they_do_not_look_at),
		cmocka_unit_test(nothing_virtual_is_measured),
		cmocka_unit_test(tables_are_not_too_wide),
		cmocka_unit_test(buckets_are_small_enough_for_the_model),
		cmocka_unit_test(texts_name_the_values_of_the_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
