/*
 * test_claims.c - no answer says what the results do not show.
 *
 * Thousands of made-up results (scaling that is good, bad, noisy, inverted, on more ranks than
 * cores, with runs missing) go through every built-in study. The claims of each answer are read
 * back from their structured form, and every number, outcome and sentence is held against the
 * documents of the runs by a witness of its own (witness.h).
 */
#include "witness.h"

/* What rules a world, beyond the noise of each run. */
struct weather {
	struct random random;
	double base, serial, comm, wait, noise, sleep, growth;
	bool inverted, missing, bf16; /* the last: devices multiply it */
};

static double uniform(struct random *r, double low, double high)
{
	return low + (high - low) * random_int(r, 0, 1000000) / 1e6;
}

static struct weather change(struct random r)
{
	static const double noises[] = {0, 0.002, 0.02, 0.3};
	struct weather w = {.random = r};

	w.base = uniform(&w.random, 1, 100);
	w.serial = random_int(&w.random, 0, 2) ? uniform(&w.random, 0, w.base) : 0;
	w.comm = random_int(&w.random, 0, 2) ? uniform(&w.random, 0, w.base) : 0;
	w.wait = uniform(&w.random, 0, w.base / 10);
	w.noise = noises[random_int(&w.random, 0, 3)];
	w.sleep = uniform(&w.random, 0.3, 1.2);
	w.growth = uniform(&w.random, 0.5, 3);
	w.inverted = random_int(&w.random, 0, 5) == 0;
	w.missing = random_int(&w.random, 0, 9) == 0;
	w.bf16 = random_int(&w.random, 0, 1);
	return w;
}

static double noisy(struct weather *y, double value)
{
	return value * uniform(&y->random, 1 - y->noise, 1 + y->noise);
}

static void make_run(struct world *w, const struct run_case *c, int rep, struct made *m)
{
	struct weather *y = w->arg;
	double ranks = c->ranks, work = noisy(y, y->base) * made_option(c, "depth", 8) / 8;
	double slept = json_object_get(c->options, "inject") ? 20 * y->sleep : 0;

	(void)rep;
	for (int i = 0; i < c->ranks && i < MADE_RANKS_MAX; i++) {
		m->compute[i] = noisy(y, y->inverted ? work * ranks : work / ranks);
		m->comm[i] = ranks > 1 ? noisy(y, y->comm) : 0;
		m->imbalance[i] = ranks > 1 ? noisy(y, y->wait) + (i ? slept : 0) : 0;
		m->other[i] = noisy(y, y->serial) + (i ? 0 : slept);
		m->busy[i] = uniform(&y->random, 0.1, 1);
		m->step_ms = fmax(m->compute[i] + m->comm[i] + m->imbalance[i] + m->other[i],
				  i ? m->step_ms : 0);
	}
	m->first_step_ms = noisy(y, m->step_ms * y->growth);
	m->memory_0 = 1e6 * uniform(&y->random, 1, 3);
	m->memory = 1e6 * uniform(&y->random, 1, 3);
	m->params = m->optimizer = 4e5;
	m->activations = 1e5 * uniform(&y->random, 1, 3);
	m->traffic_0 = 1e6 * uniform(&y->random, 1, 4);
	m->traffic = 1e6 * uniform(&y->random, 1, 4);
	m->collective = 1e6 * uniform(&y->random, 1, 4);
	m->transfers = made_option(c, "pp", 1) - 1;
	m->messages = m->transfers * random_int(&y->random, 1, 3) *
		      made_option(c, "steps", 35) * made_option(c, "micro-batches", 1) / ranks;
	m->first_loss = 2;
	m->final_loss = y->noise ? noisy(y, 1) : 1 + made_option(c, "seed", 0);
	m->skipped = random_int(&y->random, 0, 3) == 0;
	m->loss_scale = 65536;
	m->bubble = uniform(&y->random, 0, 0.9);
	m->max_batch = random_int(&y->random, 10, 1000);
	m->theory_activations = 4;
	m->peak_gflops = noisy(y, 100);
	if (y->bf16 && !strcmp(made_text(c->options, "precision"), "bf16")) {
		m->peak_gflops *= 2;
		m->peak_dtype = "bf16";
	}
	if (y->missing && random_int(&y->random, 0, 3) == 0)
		m->step_ms = 0;
}

/* ---- what is checked ---- */

static const char *study_name;
static int tables, answers_seen, claims_seen, decided;

#define wrong(claim, ...)                                         \
	do {                                                      \
		char *as_json = json_dumps(claim, 0);             \
		fprintf(stderr, "%s: %s\n", study_name, as_json); \
		free(as_json);                                    \
		fail_msg(__VA_ARGS__);                            \
	} while (0)

static bool same(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* Formulas that use what a fit has found can't be seen without it. */
static bool uses_finding(const char *formula)
{
	static const char *const names[] = {"slope", "offset",	 "r2",	    "points", "serial",
					    "limit", "fraction", "largest", "second", "range"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(formula, names[i]))
			return true;
	return false;
}

/* "12.3 ms", "92 %", "12,345": does it say this value? Half a unit of its last digit may be
   lost. */
static void check_shown(const json_t *claim, const char *text, double value)
{
	char shown[256], *end;
	double said, unit = 1;
	const char *point;
	size_t n = 0;

	for (const char *c = text; *c && n < sizeof(shown) - 1; c++)
		if (*c != ',')
			shown[n++] = *c;
	shown[n] = '\0';
	point = strchr(shown, '.');
	said = strtod(shown, &end);

	if (end == shown || strstr(end, "iB") || *end == 'e' || strchr(shown, 'e'))
		return;
	if (!strncmp(end, " %", 2))
		value *= 100;
	for (const char *c = point ? point + 1 : end; c < end; c++)
		unit /= 10;
	if (fabs(said - value) > 0.5001 * unit)
		wrong(claim, "'%s' is said of %.9g", shown, value);
}

static void check_numbers(struct witness *x, const json_t *claim)
{
	const json_t *numbers = json_object_get(claim, "numbers");

	for (size_t i = 0; i < json_array_size(numbers); i++) {
		const json_t *one = json_array_get(numbers, i);
		const char *formula = made_text(one, "formula"),
			   *shown = made_text(one, "text");
		double value = json_number_value(json_object_get(one, "value"));

		if (!strstr(made_text(claim, "text"), shown))
			wrong(claim, "'%s' is not in the sentence", shown);
		if (strcmp(formula, "range"))
			check_shown(claim, shown, value);
		/* Only a range may lie on both sides of nothing. */
		if (strcmp(formula, "range") && *shown == '-')
			wrong(claim, "less than nothing: '%s'", shown);
		if (uses_finding(formula))
			continue;
		x->rep = -1;
		x->shared = false;
		if (!same(witness_eval(x, formula), value))
			wrong(claim, "%s is %.9g", formula, witness_eval(x, formula));
		if (x->shared)
			wrong(claim, "%s has times of ranks that shared cores", formula);
	}
}

/* Does every repetition, and the value itself, lie on that side? */
static bool all_beyond(struct witness *x, const char *formula, double with, int side)
{
	bool beyond = true;

	for (x->rep = -1; x->rep < x->world->plan.reps; x->rep++) {
		double value = witness_eval(x, formula);

		beyond = beyond && !(side * value <= side * with);
	}
	x->rep = -1;
	return beyond && !x->shared;
}

/* Do all repetitions lie within a tenth, the widest margin that there is by itself? */
static bool all_near(struct witness *x, const char *formula, double with)
{
	bool near = true;

	for (x->rep = -1; x->rep < x->world->plan.reps; x->rep++)
		near = near && !(fabs(witness_eval(x, formula) - with) > 0.1001 * fabs(with));
	x->rep = -1;
	return near;
}

static bool is_open(const char *outcome)
{
	return !strcmp(outcome, "unsure") || !strcmp(outcome, "faint") ||
	       !strcmp(outcome, "otherwise");
}

/* What can't be told is not said as if it could be: it says so, or gives the range. */
static void check_unsure(struct witness *x, const json_t *claim)
{
	const json_t *numbers = json_object_get(claim, "numbers");
	const char *formula = made_text(claim, "formula"), *text = made_text(claim, "text");
	const char *range = NULL;
	double low, high;
	char *end;

	for (size_t i = 0; i < json_array_size(numbers); i++)
		if (!strcmp(made_text(json_array_get(numbers, i), "formula"), "range"))
			range = made_text(json_array_get(numbers, i), "text");
	if (*text && !range && !strstr(text, "can't"))
		wrong(claim, "that sounds sure");
	if (!range || !*formula || uses_finding(formula) || json_object_get(claim, "over"))
		return;
	low = strtod(range, &end);
	high = strncmp(end, " to ", 4) ? low : strtod(end + 4, &end);
	for (x->rep = 0; x->rep < x->world->plan.reps; x->rep++) {
		double value = witness_eval(x, formula) * (!strncmp(end, " %", 2) ? 100 : 1);

		if (value < low - 0.51 || value > high + 0.51)
			wrong(claim, "%.9g is not in '%s'", value, range);
	}
	x->rep = -1;
}

static void check_compare(struct witness *x, const json_t *claim)
{
	const char *formula = made_text(claim, "formula"),
		   *outcome = made_text(claim, "outcome");
	double with = json_number_value(json_object_get(claim, "with"));
	bool above, below;

	if (uses_finding(formula))
		return;
	x->shared = false;
	above = all_beyond(x, formula, with, 1);
	below = all_beyond(x, formula, with, -1);
	if (!strcmp(outcome, "above") && !above)
		wrong(claim, "not above");
	if (!strcmp(outcome, "below") && !below)
		wrong(claim, "not below");
	if (!strcmp(outcome, "alike") && !all_near(x, formula, with))
		wrong(claim, "not alike");
	/* Clearly different repetitions are not called alike. */
	if (!strcmp(outcome, "unsure") && x->world->plan.reps > 2 && fabs(with) > 0 &&
	    !json_object_get(claim, "over") && !x->shared) {
		double value = witness_eval(x, formula);

		if ((above && value > 2 * with && with > 0) ||
		    (below && value < with / 3 && with > 0))
			wrong(claim, "%.9g can be told from %.9g", value, with);
	}
}

static void check_fit(const json_t *claim)
{
	const char *outcome = made_text(claim, "outcome");
	double r2 = json_number_value(json_object_get(claim, "r2"));

	if (strcmp(outcome, "good"))
		return;
	if (json_integer_value(json_object_get(claim, "points")) < 3 || r2 < 0.9)
		wrong(claim, "such a fit is not stated");
}

/* No limit of the speed-up below a speed-up of the same table. */
static void check_limit(const struct world *w, const struct run_case *of, const json_t *claim)
{
	double limit = json_number_value(json_object_get(claim, "limit"));
	int column = columns_find(&w->columns, "speedup");

	if (strcmp(made_text(claim, "outcome"), "good") || !json_object_get(claim, "limit") ||
	    column < 0)
		return;
	for (int i = 0; i < w->plan.count; i++) {
		struct witness x = {w, i, -1, -1, false};
		const struct axis_value *own, *other;
		bool alike = w->plan.cases[i].place == of->place;

		for (int k = 0; k < of->axis_count; k++) {
			own = &of->axes[k];
			other = witness_axis(&w->plan.cases[i], own->axis);
			alike = alike && other &&
				(!strcmp(own->axis, "ranks") ||
				 !strcmp(own->text, other->text));
		}
		if (alike && witness_eval(&x, "speedup") > limit * 1.000001 && !x.shared)
			wrong(claim, "a speed-up is %.9g", witness_eval(&x, "speedup"));
	}
}

static void check_part(const struct world *w, const json_t *part)
{
	const json_t *claims = json_object_get(part, "claims");
	const char *device = made_text(part, "device");
	struct witness x = {.world = w,
			    .number = -1,
			    .rank = (int)json_integer_value(json_object_get(part, "rank"))};

	for (int i = 0; i < w->plan.count; i++)
		if (!strcmp(w->plan.cases[i].name, made_text(part, "case")))
			x.number = i;
	assert_true(x.number >= 0);
	for (size_t i = 0; i < json_array_size(claims); i++) {
		const json_t *claim = json_array_get(claims, i);
		const char *text = made_text(claim, "text");

		claims_seen++;
		decided += claim_is_decided(claim);
		check_numbers(&x, claim);
		if (!strcmp(made_text(claim, "relation"), "compare") &&
		    strcmp(made_text(claim, "outcome"), "mixed") &&
		    (claim_is_decided(claim) || !strcmp(made_text(claim, "outcome"), "unsure")))
			check_compare(&x, claim);
		if (is_open(made_text(claim, "outcome")))
			check_unsure(&x, claim);
		if (!strcmp(made_text(claim, "relation"), "fit")) {
			check_fit(claim);
			check_limit(w, &w->plan.cases[x.number], claim);
		}
		if (strchr(text, '{') || strstr(text, "nan") || strstr(text, " inf"))
			wrong(claim, "that is no sentence");
		if (!strcmp(device, "simulated") && strstr(text, "easured"))
			wrong(claim, "nothing is measured on simulated devices");
	}
}

static void check_answers(const struct world *w)
{
	for (size_t i = 0; i < json_array_size(w->answers); i++) {
		const json_t *answer = json_array_get(w->answers, i);
		const json_t *parts = json_object_get(answer, "parts");
		size_t length = 0;

		answers_seen++;
		if (!*made_text(answer, "verdict"))
			wrong(answer, "no verdict");
		for (size_t k = 0; k < json_array_size(parts); k++) {
			const json_t *part = json_array_get(parts, k);
			const json_t *sentences = json_object_get(part, "sentences");

			check_part(w, part);
			for (size_t n = 0; n < json_array_size(sentences); n++)
				length += json_string_length(json_array_get(sentences, n));
		}
		/* Fifteen lines of a page hold some 95 letters each. */
		if (length > 13 * 95)
			wrong(answer, "%zu letters are more than 15 lines", length);
	}
}

static void every_claim_holds(void **state)
{
	struct random r = random_start("every_claim_holds");
	int worlds = getenv("KOLM_WORLDS") ? atoi(getenv("KOLM_WORLDS")) : 260;
	(void)state;

	for (int i = 0; i < worlds; i++) {
		struct random own = {.seed = r.seed + (uint64_t)i};

		for (size_t k = 0; k < study_builtin_count; k++) {
			struct weather weather = change(own);
			struct world w = {.make = make_run,
					  .arg = &weather,
					  .cores = random_int(&own, 1, 8),
					  .reps = random_int(&own, 1, 5),
					  .quick = random_int(&own, 0, 1)};

			study_name = study_builtins[k].name;
			world_open(&w, study_name);
			tables += (int)json_array_size(json_object_get(w.study.root, "tables"));
			check_answers(&w);
			world_close(&w);
		}
	}
	printf("%d tables, %d answers, %d claims, %d of them decided\n", tables, answers_seen,
	       claims_seen, decided);
	assert_true(worlds < 260 || tables >= 5000);
	assert_true(decided > claims_seen / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_claim_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
