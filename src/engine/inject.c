/* inject.c - see inject.h */
#include "engine/inject.h"
#include "base/text.h"
#include "base/units.h"
#include "base/util.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {NAMES_OF(INJECT_PLACES)};

enum value { TAKES_NOTHING, TAKES_TIME, TAKES_FACTOR, TAKES_SHARE, TAKES_GROUP };

#define ACTION(name, text, takes) {text, INJECT_##name, TAKES_##takes},
static const struct {
	const char *name;
	enum inject_action action;
	enum value takes;
} actions[] = {INJECT_ACTIONS(ACTION)};

static enum status bad(const char *word, const char *why, struct error *err)
{
	FAIL(err, ERR_USAGE, "--inject: '%.64s' %s", word, why);
	return HINT(err, "such as rank=0,at=forward,sleep=20ms or rank=3,step=12,kill");
}

/* Are the first characters of a word, before its =, that name? */
static bool is_word(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && !strncmp(word, name, length);
}

static enum status read_number(const char *word, const char *value, int below, int *out,
			       struct error *err)
{
	int64_t n;

	if (!units_parse_int(value, &n) || n < 0)
		return bad(word, "is not a number from 0", err);
	if (n >= below) {
		FAIL(err, ERR_USAGE, "--inject: '%.64s' is not in this run", word);
		return HINT(err, "it goes from 0 to %d", below - 1);
	}
	*out = (int)n;
	return OK;
}

/* What stands behind the = of an action. */
static enum status read_value(struct injection *i, enum value takes, const char *word,
			      const char *value, const struct inject_limits *limits,
			      struct error *err)
{
	switch (takes) {
	case TAKES_NOTHING:
		return value ? bad(word, "takes no value", err) : OK;
	case TAKES_TIME:
		if (!value || !units_parse_time(value, &i->ms) || i->ms < 0 || i->ms > 1e9)
			return bad(word, "is not a time such as 20ms", err);
		return OK;
	case TAKES_FACTOR:
		if (!value || !units_parse_float(value, &i->scale))
			return bad(word, "is not a factor such as 2", err);
		return OK;
	case TAKES_SHARE:
		if (!value || !units_parse_float(value, &i->scale) || i->scale < 0 ||
		    i->scale > 1)
			return bad(word, "is not a share such as 1e-7", err);
		return limits->ranks > 1 ? bad(word, "is for one rank", err) : OK;
	case TAKES_GROUP:
		i->slices = value && !strcmp(value, "slices");
		if (!value || (!i->slices && strcmp(value, "replicas")))
			return bad(word, "is neither of replicas nor of slices", err);
		return OK;
	}
	return OK;
}

/* An action, if that is what it is. */
static bool read_action(struct injection *i, const char *word, const char *value, size_t name,
			const struct inject_limits *limits, enum status *st, struct error *err)
{
	size_t k = 0;

	while (k < ARRAY_SIZE(actions) && !is_word(word, name, actions[k].name))
		k++;
	if (k == ARRAY_SIZE(actions))
		return false;
	*st = read_value(i, actions[k].takes, word, value, limits, err);
	if (*st == OK && i->action != INJECT_NONE)
		*st = bad(word, "is a second action", err);
	i->action = actions[k].action;
	return true;
}

static enum status read_place(struct injection *i, const char *word, const char *value,
			      struct error *err)
{
	for (int at = 0; at < AT_COUNT; at++)
		if (!strcmp(value, places[at])) {
			i->at = (enum inject_at)at;
			return OK;
		}
	return bad(word, "is not one of step, forward, backward, optimizer", err);
}

static enum status read_word(struct injection *i, const char *word,
			     const struct inject_limits *limits, struct error *err)
{
	const char *value = strchr(word, '=');
	size_t name = value ? (size_t)(value - word) : strlen(word);
	enum status st;

	if (read_action(i, word, value ? value + 1 : NULL, name, limits, &st, err))
		return st;
	value = value ? value + 1 : "";
	if (is_word(word, name, "draw"))
		return read_number(word, value, INT_MAX, &i->draw, err);
	if (is_word(word, name, "rank"))
		return read_number(word, value, limits->ranks, &i->rank, err);
	if (is_word(word, name, "step"))
		return read_number(word, value, limits->steps, &i->step, err);
	if (is_word(word, name, "micro-batch"))
		return read_number(word, value, limits->micro_batches, &i->micro_batch, err);
	if (is_word(word, name, "at"))
		return read_place(i, word, value, err);
	return bad(word, "is unknown", err);
}

enum status inject_parse(struct inject_plan *p, const char *text,
			 const struct inject_limits *limits, struct error *err)
{
	enum status st = OK;
	char *copy = strdup(text), *rest = copy, *spec;

	*p = (struct inject_plan){0};
	if (!copy)
		return FAIL(err, ERR_MEMORY, "no memory for --inject");
	while (*text && (spec = strsep(&rest, ";"))) {
		struct injection i = {.rank = -1, .step = -1, .micro_batch = -1};
		char *words = spec, *word;

		while ((word = strsep(&words, ",")))
			TRY(read_word(&i, word, limits, err));
		if (i.action == INJECT_NONE)
			TRY(bad(text,
				"does nothing: sleep=TIME, kill, hang, nan, scale=X, shift, "
				"stale, noise=X or rank-order=GROUP is missing",
				err));
		if (p->count == INJECTIONS_MAX)
			TRY(FAIL(err, ERR_USAGE, "--inject is given more than %d times",
				 INJECTIONS_MAX));
		p->list[p->count++] = i;
	}
out:
	free(copy);
	return st;
}

static bool is_fatal(const struct injection *i)
{
	return i->action == INJECT_KILL || i->action == INJECT_HANG;
}

void inject_survive(struct inject_plan *p, int ranks)
{
	int first = -1, n = 0;

	for (int k = 0; k < p->count; k++)
		if (is_fatal(&p->list[k]) &&
		    (first < 0 || p->list[k].step < p->list[first].step))
			first = k;
	for (int k = 0; k < p->count; k++)
		if (k != first && p->list[k].rank < ranks)
			p->list[n++] = p->list[k];
	p->count = n;
}

static bool applies(const struct injection *i, int rank, int step)
{
	return (i->rank < 0 || i->rank == rank) && (i->step < 0 || i->step == step);
}

const struct injection *inject_find(const struct inject_plan *p, enum inject_action action,
				    int rank, int step)
{
	for (int k = 0; k < p->count; k++)
		if (p->list[k].action == action && applies(&p->list[k], rank, step))
			return &p->list[k];
	return NULL;
}

double inject_scale(const struct inject_plan *p, int rank, int step, int micro_batch)
{
	double scale = 1;

	for (int k = 0; k < p->count; k++) {
		const struct injection *i = &p->list[k];

		if (i->action == INJECT_SCALE && applies(i, rank, step) &&
		    (i->micro_batch < 0 || i->micro_batch == micro_batch))
			scale *= i->scale;
	}
	return scale;
}

void inject_do(const struct inject_plan *p, int rank, int step, enum inject_at at,
	       struct pace *pace)
{
	for (int k = 0; k < p->count; k++) {
		const struct injection *i = &p->list[k];

		if (i->at != at || !applies(i, rank, step))
			continue;
		if (i->action == INJECT_SLEEP)
			pace_spend(pace, (int64_t)(i->ms * 1e6));
		else if (i->action == INJECT_KILL)
			raise(SIGKILL);
		else if (i->action == INJECT_HANG)
			for (;;)
				pause();
	}
}
