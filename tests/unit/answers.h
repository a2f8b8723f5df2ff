/* answers.h - for tests: what is said about the questions of studies with made-up results. */
#ifndef KOLM_TESTS_ANSWERS_H
#define KOLM_TESTS_ANSWERS_H

#include "made_up.h"

static struct world w;

static inline const json_t *find_answer(const char *id)
{
	for (size_t i = 0; i < json_array_size(w.answers); i++)
		if (!strcmp(made_text(json_array_get(w.answers, i), "id"), id))
			return json_array_get(w.answers, i);
	fail_msg("there is no question %s", id);
	return NULL;
}

/* All that is said about a question of a study, for one device ("": any). */
static inline const char *said(const char *study, const char *id, make_fn *make, int cores,
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

static inline void says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' does not say '%s'", text, part);
}

static inline void does_not_say(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' says '%s'", text, part);
}

static inline void set_parts(struct made *m, const struct run_case *c, double compute,
			     double comm, double imbalance)
{
	for (int i = 0; i < c->ranks && i < MADE_RANKS_MAX; i++) {
		m->compute[i] = compute;
		m->comm[i] = comm;
		m->imbalance[i] = imbalance;
		m->busy[i] = 0.5;
	}
	m->step_ms = compute + comm + imbalance;
}

/* Half of the step is communication and waiting. */
static inline void make_half(struct world *world, const struct run_case *c, int rep,
			     struct made *m)
{
	(void)world, (void)rep;
	set_parts(m, c, c->ranks > 1 ? 5 : 10, c->ranks > 1 ? 3.7 : 0, c->ranks > 1 ? 1.3 : 0);
}

/* Repetitions on both sides of a threshold. */
static inline void make_straddling(struct world *world, const struct run_case *c, int rep,
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

/* Small numbers. */
static inline void make_underflow(struct world *world, const struct run_case *c, int rep,
				  struct made *m)
{
	bool fixed = made_option(c, "loss-scale", 0) == 1;

	(void)world, (void)rep;
	set_parts(m, c, 10, 0, 0);
	m->first_loss = 1.1;
	m->final_loss = fixed ? 1.2e-6 : 5.4e-12;
}

#endif
