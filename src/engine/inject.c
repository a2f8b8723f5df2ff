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

static const char *const places[AT_COUNT] = {"step", "forward", "backward", "optimizer"};

static enum status bad(const char *word, const char *why, struct error *err)
{
	FAIL(err, ERR_USAGE, "--inject: '%.64s' %s", word, why);
	return HINT(err, "such as rank=0,at=forward,sleep=20ms or rank=3,step=12,kill");
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

static enum status set_action(struct injection *i, enum inject_action action, const char *word,
			      struct error *err)
{
	if (i->action != INJECT_NONE)
		return bad(word, "is a second action", err);
	i->action = action;
	return OK;
}

/* Actions that are one word. */
static const struct {
	const char *name;
	enum inject_action action;
} plain[] = {{"kill", INJECT_KILL},
	     {"hang", INJECT_HANG},
	     {"nan", INJECT_NAN},
	     {"shift", INJECT_SHIFT},
	     {"stale", INJECT_STALE}};

static enum status read_word(struct injection *i, const char *word,
			     const struct inject_limits *limits, struct error *err)
{
	const char *value = strchr(word, '=');
	size_t name = value ? (size_t)(value - word) : strlen(word);

	value = value ? value + 1 : "";
	for (size_t k = 0; k < ARRAY_SIZE(plain); k++)
		if (!strcmp(word, plain[k].name))
			return set_action(i, plain[k].action, word, err);
	if (name == 5 && !strncmp(word, "sleep", name)) {
		if (!units_parse_time(value, &i->ms) || i->ms < 0 || i->ms > 1e9)
			return bad(word, "is not a time such as 20ms", err);
		return set_action(i, INJECT_SLEEP, word, err);
	}
	if (name == 5 && !strncmp(word, "scale", name)) {
		if (!units_parse_float(value, &i->scale))
			return bad(word, "is not a factor such as 2", err);
		return set_action(i, INJECT_SCALE, word, err);
	}
	if (name == 5 && !strncmp(word, "noise", name)) {
		if (!units_parse_float(value, &i->scale) || i->scale < 0 || i->scale > 1)
			return bad(word, "is not a share such as 1e-7", err);
		if (limits->ranks > 1)
			return bad(word, "is for one rank", err);
		return set_action(i, INJECT_NOISE, word, err);
	}
	if (name == 4 && !strncmp(word, "draw", name))
		return read_number(word, value, INT_MAX, &i->draw, err);
	if (name == 4 && !strncmp(word, "rank", name))
		return read_number(word, value, limits->ranks, &i->rank, err);
	if (name == 4 && !strncmp(word, "step", name))
		return read_number(word, value, limits->steps, &i->step, err);
	if (name == 11 && !strncmp(word, "micro-batch", name))
		return read_number(word, value, limits->micro_batches, &i->micro_batch, err);
	if (name == 2 && !strncmp(word, "at", name)) {
		for (int at = 0; at < AT_COUNT; at++)
			if (!strcmp(value, places[at])) {
				i->at = (enum inject_at)at;
				return OK;
			}
		return bad(word, "is not one of step, forward, backward, optimizer", err);
	}
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
				"stale or noise=X is missing",
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
