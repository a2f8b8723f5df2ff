/* expand.c - the cases of a study: every combination of its axes' values; see study.h */
#include "study/study.h"
#include "base/limits.h"
#include "base/units.h"
#include "base/util.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const place_names[] = {"real", "simulated"};

bool value_text(const json_t *value, char *buf, size_t size)
{
	int n = -1;

	switch (json_typeof(value)) {
	case JSON_STRING:
		n = snprintf(buf, size, "%s", json_string_value(value));
		break;
	case JSON_INTEGER:
		n = snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		break;
	case JSON_REAL:
		n = snprintf(buf, size, "%.15g", json_real_value(value));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		n = snprintf(buf, size, "%s", json_is_true(value) ? "true" : "false");
		break;
	case JSON_NULL:
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return n >= 0 && (size_t)n < size;
}

json_t *quick_member(const json_t *object, const char *name, bool quick)
{
	json_t *own = quick ? json_object_get(json_object_get(object, "quick"), name) : NULL;

	return own ? own : json_object_get(object, name);
}

/* The values that an axis takes. */
static const json_t *axis_values(const json_t *axis, bool quick)
{
	const json_t *own = quick ? json_object_get(axis, "quick") : NULL;

	return own ? own : json_object_get(axis, "values");
}

/* What is set further down wins; null takes an option back. */
static enum status merge(json_t *options, const json_t *more, struct error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)more, name, value)
	{
		char key[STUDY_NAME_MAX];

		/* Dashes and underscores are the same, so one of them must be it. */
		snprintf(key, sizeof(key), "%s", name);
		for (char *c = key; *c; c++)
			if (*c == '_')
				*c = '-';
		if (json_is_null(value))
			json_object_del(options, key);
		else if (json_object_set(options, key, value))
			return FAIL(err, ERR_MEMORY, "no memory for the options of a case");
	}
	return OK;
}

static enum status set_axis(struct run_case *c, const json_t *axis, const json_t *value,
			    struct error *err)
{
	struct axis_value *a = &c->axes[c->axis_count++];
	const char *option = json_string_value(json_object_get(axis, "option"));
	const json_t *set = json_object_get(value, "set"), *named = value;
	enum status st = OK;

	a->axis = json_string_value(json_object_get(axis, "name"));
	a->number = json_is_number(value) ? json_number_value(value) : NAN;
	if (json_is_object(value)) {
		named = json_object_get(value, "name");
		if (json_object_get(value, "value"))
			a->number = json_number_value(json_object_get(value, "value"));
	}
	value_text(named, a->text, sizeof(a->text));
	TRY(merge(c->options, set, err));
	if (option && !json_is_object(value)) {
		json_t *one = json_pack("{s:O}", option, value);

		st = one ? merge(c->options, one, err)
			 : FAIL(err, ERR_MEMORY, "no memory for the options of a case");
		json_decref(one);
	}
out:
	return st;
}

/* A number, however it is written; otherwise what stands for it. */
static int option_number(const json_t *options, const char *name, int otherwise)
{
	const json_t *value = json_object_get(options, name);
	char text[32];
	int64_t number;

	return value && value_text(value, text, sizeof(text)) &&
			       units_parse_int(text, &number) && number >= 0 &&
			       number <= INT_MAX
		       ? (int)number
		       : otherwise;
}

/* What the command line says of steps; a warm-up that was meant for more gives way. */
static enum status set_steps(json_t *options, int steps, struct error *err)
{
	bool failed = json_object_set_new(options, "steps", json_integer(steps));

	if (option_number(options, "warmup", 0) >= steps)
		failed |= json_object_set_new(options, "warmup", json_integer(steps - 1));
	return failed ? FAIL(err, ERR_MEMORY, "no memory for the options of a case") : OK;
}

static int count_ranks(const json_t *options)
{
	static const char *const axes[] = {"dp", "pp", "mp"};
	int64_t ranks = 1;

	for (size_t i = 0; i < ARRAY_SIZE(axes); i++)
		ranks *= imin(imax(1, option_number(options, axes[i], 1)), RANKS_MAX);
	return (int)min64(ranks, RANKS_MAX);
}

/* Letters, digits, dots and dashes of a word. */
static void add_to_name(char *name, size_t size, const char *word)
{
	size_t n = strlen(name);

	if (n && n + 1 < size)
		name[n++] = '-';
	for (; *word && n + 1 < size; word++) {
		char c = (char)tolower((unsigned char)*word);

		if (isalnum((unsigned char)c) || c == '.')
			name[n++] = c;
		else if (n && name[n - 1] != '-')
			name[n++] = '-';
	}
	while (n && name[n - 1] == '-')
		n--;
	name[n] = '\0';
}

static void name_case(struct run_case *c, bool several_groups)
{
	char word[2 * STUDY_NAME_MAX];

	c->name[0] = '\0';
	if (several_groups)
		add_to_name(c->name, sizeof(c->name), c->group);
	for (int i = 0; i < c->axis_count; i++) {
		const struct axis_value *a = &c->axes[i];

		/* Numbers say nothing without their axis. */
		snprintf(word, sizeof(word), "%s%s",
			 isdigit((unsigned char)a->text[0]) ? a->axis : "", a->text);
		add_to_name(c->name, sizeof(c->name), word);
	}
	add_to_name(c->name, sizeof(c->name),
		    strcmp(c->command, "train") ? c->command : place_names[c->place]);
}

/* What a group makes cases from. */
struct expansion {
	struct plan *plan;
	const struct study *study;
	const struct plan_options *options;
	const json_t *group, *axes;
	const char *name, *command;
	bool several_groups;
};

static enum status set_options(struct run_case *c, const struct expansion *e, size_t index,
			       struct error *err)
{
	const json_t *root = e->study->root, *quick = json_object_get(root, "quick");
	bool is_quick = e->options->quick;
	enum status st = OK;

	/* The base holds options of kolm train; what draws a schedule knows few of them. */
	if (strcmp(e->command, "schedule")) {
		TRY(merge(c->options, json_object_get(root, "base"), err));
		if (is_quick)
			TRY(merge(c->options, json_object_get(quick, "base"), err));
	}
	TRY(merge(c->options, json_object_get(e->group, "set"), err));
	if (is_quick)
		TRY(merge(c->options,
			  json_object_get(json_object_get(e->group, "quick"), "set"), err));
	/* The last axis changes from case to case, the first one least often. */
	for (size_t i = 0; i < json_array_size(e->axes); i++) {
		const json_t *axis = json_array_get(e->axes, i);
		const json_t *values = axis_values(axis, is_quick);
		size_t rest = 1;

		for (size_t k = i + 1; k < json_array_size(e->axes); k++)
			rest *= json_array_size(
				axis_values(json_array_get(e->axes, k), is_quick));
		TRY(set_axis(c, axis,
			     json_array_get(values, index / rest % json_array_size(values)),
			     err));
	}
	if (e->options->steps && !strcmp(e->command, "train"))
		TRY(set_steps(c->options, e->options->steps, err));
	c->ranks = count_ranks(c->options);
out:
	return st;
}

static enum status add_case(const struct expansion *e, size_t index, enum study_place place,
			    struct error *err)
{
	struct plan *p = e->plan;
	struct run_case *c = &p->cases[p->count];
	enum status st;

	if (p->count == STUDY_CASES_MAX) {
		FAIL(err, ERR_USAGE, "%s has more than %d cases", e->study->name,
		     STUDY_CASES_MAX);
		return HINT(err, "make several studies of it");
	}
	*c = (struct run_case){.group = e->name,
			       .command = e->command,
			       .place = place,
			       .options = json_object()};
	if (!c->options)
		return FAIL(err, ERR_MEMORY, "no memory for a case");
	p->count++;
	TRY(set_options(c, e, index, err));
	name_case(c, e->several_groups);
	for (int i = 0; i < p->count - 1; i++)
		if (!strcmp(p->cases[i].name, c->name)) {
			FAIL(err, ERR_USAGE, "%s: two cases are called %s", e->study->name,
			     c->name);
			return HINT(err, "give values that are the same other names");
		}
out:
	return st;
}

/* Which devices a group asks for. */
static void choose_places(const struct expansion *e, int most_ranks, bool wanted[2])
{
	const char *devices = json_string_value(json_object_get(e->group, "devices"));
	bool automatic = !devices || !strcmp(devices, "auto");
	bool train = !strcmp(e->command, "train");

	wanted[PLACE_REAL] = automatic || !train || strcmp(devices, "virtual");
	wanted[PLACE_VIRTUAL] = train && (automatic ? most_ranks > e->options->cores
						    : strcmp(devices, "real") != 0);
	if (!train)
		return; /* neither: it measures no time */
	wanted[PLACE_REAL] = wanted[PLACE_REAL] && !e->options->without_real;
	wanted[PLACE_VIRTUAL] = wanted[PLACE_VIRTUAL] && !e->options->without_virtual;
}

static enum status expand_group(struct expansion *e, struct error *err)
{
	size_t combinations = 1;
	int first = e->plan->count, most = 1;
	bool wanted[2];
	enum status st = OK;

	for (size_t i = 0; i < json_array_size(e->axes); i++) {
		combinations *= json_array_size(
			axis_values(json_array_get(e->axes, i), e->options->quick));
		if (combinations > STUDY_CASES_MAX)
			return FAIL(err, ERR_USAGE, "%s has more than %d cases", e->study->name,
				    STUDY_CASES_MAX);
	}
	/* Once for real to see how many ranks there are, if only to forget it again. */
	for (size_t i = 0; i < combinations; i++)
		TRY(add_case(e, i, PLACE_REAL, err));
	for (int i = first; i < e->plan->count; i++)
		most = imax(most, e->plan->cases[i].ranks);
	choose_places(e, most, wanted);
	while (!wanted[PLACE_REAL] && e->plan->count > first)
		json_decref(e->plan->cases[--e->plan->count].options);
	for (size_t i = 0; wanted[PLACE_VIRTUAL] && i < combinations; i++)
		TRY(add_case(e, i, PLACE_VIRTUAL, err));
out:
	return st;
}

static enum status expand_all(struct plan *p, const struct study *s,
			      const struct plan_options *o, struct error *err)
{
	const json_t *groups = json_object_get(s->root, "groups");
	size_t n = groups ? json_array_size(groups) : 1;
	enum status st = OK;

	for (size_t i = 0; i < n; i++) {
		const json_t *group = groups ? json_array_get(groups, i) : s->root;
		const char *command = json_string_value(json_object_get(group, "command"));
		struct expansion e = {.plan = p,
				      .study = s,
				      .options = o,
				      .group = group,
				      .axes = json_object_get(group, "axes"),
				      .name = json_string_value(json_object_get(group, "name")),
				      .command = command ? command : "train",
				      .several_groups = n > 1};

		TRY(expand_group(&e, err));
	}
out:
	return st;
}

enum status plan_init(struct plan *p, const struct study *s, const struct plan_options *o,
		      struct error *err)
{
	const json_t *reps = quick_member(s->root, "repetitions", o->quick);
	int wanted = reps ? (int)json_integer_value(reps) : 3;
	enum status st;

	*p = (struct plan){.cases = calloc(STUDY_CASES_MAX, sizeof(*p->cases)),
			   .reps = o->reps ? o->reps : wanted};
	if (!p->cases)
		return FAIL(err, ERR_MEMORY, "no memory for the cases of %s", s->name);
	TRY(expand_all(p, s, o, err));
	if (!p->count) {
		st = FAIL(err, ERR_USAGE, "nothing is left of %s", s->name);
		HINT(err, "leave out --only");
	}
out:
	if (st != OK)
		plan_release(p);
	return st;
}

int plan_runs_of(const struct plan *p, const struct run_case *c)
{
	return strcmp(c->command, "train") || c->place == PLACE_VIRTUAL ? 1 : p->reps;
}

int plan_runs(const struct plan *p)
{
	int runs = 0;

	for (int i = 0; i < p->count; i++)
		runs += plan_runs_of(p, &p->cases[i]);
	return runs;
}

void plan_release(struct plan *p)
{
	for (int i = 0; i < p->count; i++)
		json_decref(p->cases[i].options);
	free(p->cases);
	*p = (struct plan){0};
}
