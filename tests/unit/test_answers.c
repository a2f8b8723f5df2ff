/* test_answers.c - sentences that were once said of results that did not show them. */
#include "made_up.h"

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
	m->collective_0 = m->collective = 1e6;
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

	says(text, "How busy the ranks are shows no difference here");
	does_not_say(text, "the others wait for it");
	says(said("comm-vs-compute", "1.3.1", make_alike, 8, "real"), "For neither");
	text = said("engine-vs-base", "P.4", make_alike, 8, "real");
	says(text, "as fast as the base engine");
	does_not_say(text, "1.00 times");
}

/* ---- 6, 7, 8: what no study may say at all ---- */

static void scan(const json_t *tree, const char *study)
{
	static const char *const never[] = {"while the backward", "would take as long",
					    "bound by arithmetic", "hidden behind"};
	const char *key, *text = json_string_value(tree);
	json_t *value;

	json_object_foreach((json_t *)tree, key, value) scan(value, study);
	for (size_t i = 0; i < json_array_size(tree); i++)
		scan(json_array_get(tree, i), study);
	for (size_t i = 0; text && i < ARRAY_SIZE(never); i++)
		if (strstr(text, never[i]))
			fail_msg("%s says '%s'", study, text);
	if (text && strstr(text, "irtual") && strstr(text, "easured"))
		fail_msg("%s calls virtual devices measured: '%s'", study, text);
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
		cmocka_unit_test(studies_do_not_say_what_they_do_not_look_at),
		cmocka_unit_test(buckets_are_small_enough_for_the_model),
		cmocka_unit_test(texts_name_the_values_of_the_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
