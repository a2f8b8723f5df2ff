/*
 * witness.h - the numbers of a claim, found again in the documents of the runs by plain
 * means: nothing of results.c or claim.c is used, only paths, formulas and columns.
 */
#ifndef KOLM_TESTS_WITNESS_H
#define KOLM_TESTS_WITNESS_H

#include "made_up.h"
#include "study/formula.h"
#include "study/path.h"

struct witness {
	const struct world *world;
	int number; /* of the case */
	int rank, rep;
	bool shared; /* a time of ranks that shared cores was used */
};

static inline const struct axis_value *witness_axis(const struct run_case *c, const char *name)
{
	for (int i = 0; i < c->axis_count; i++)
		if (!strcmp(c->axes[i].axis, name))
			return &c->axes[i];
	return NULL;
}

/* The value that the brackets name for this axis, or NULL. */
static inline const char *witness_wanted(const char *brackets, const char *axis, char *buf)
{
	char copy[128], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", brackets);
	while ((word = strsep(&rest, ","))) {
		char *equals = strchr(word, '=');

		word += strspn(word, " ");
		if (!equals)
			continue;
		*equals = '\0';
		if (!strcmp(word, axis))
			return strcpy(buf, equals + 1);
	}
	return NULL;
}

static inline bool witness_choice(const char *value)
{
	return !strcmp(value, "first") || !strcmp(value, "last") || !strcmp(value, "prev");
}

/* Could case b be meant, seen from case a? */
static inline bool witness_candidate(const struct run_case *a, const struct run_case *b,
				     const char *brackets)
{
	char buf[128];
	const char *group = witness_wanted(brackets, "group", buf);

	if (strcmp(group ? group : a->group, b->group))
		return false;
	if (!strcmp(a->command, b->command) && a->place != b->place)
		return false;
	for (int i = 0; i < b->axis_count; i++) {
		const struct axis_value *own = &b->axes[i];
		const struct axis_value *other = witness_axis(a, own->axis);
		const char *wanted = witness_wanted(brackets, own->axis, buf);

		if (wanted ? !witness_choice(wanted) && strcmp(wanted, own->text)
			   : other && strcmp(other->text, own->text))
			return false;
	}
	return true;
}

/* The number of the case that the brackets mean, or -1. */
static inline int witness_find(const struct world *w, int from, const char *brackets)
{
	bool last = strstr(brackets, "=last"), prev = strstr(brackets, "=prev");
	int found = -1;

	for (int i = 0; i < w->plan.count; i++) {
		if (prev && i == from)
			return found;
		if (!witness_candidate(&w->plan.cases[from], &w->plan.cases[i], brackets))
			continue;
		if (!last && !prev)
			return i;
		found = i;
	}
	return prev ? -1 : found;
}

static inline int witness_by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double witness_median(double *v, int n)
{
	if (!n)
		return NAN;
	qsort(v, (size_t)n, sizeof(*v), witness_by_size);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

/* A path in one repetition, or the median of all. */
static inline double witness_measured(const struct witness *x, const char *path)
{
	const struct world *w = x->world;
	double values[STUDY_REPS_MAX];
	int n = 0;

	for (int rep = 0; rep < w->plan.reps; rep++) {
		const json_t *d = w->evidence.documents[x->number * w->plan.reps + rep];
		double value = d ? path_value(d, path, x->rank) : NAN;

		if (rep == x->rep)
			return value;
		if (!isnan(value))
			values[n++] = value;
	}
	return witness_median(values, n);
}

static inline double witness_range(const struct witness *x, const char *path)
{
	struct witness one = *x;
	double least = INFINITY, most = -INFINITY;
	int n = 0;

	for (one.rep = 0; one.rep < x->world->plan.reps; one.rep++) {
		double value = witness_measured(&one, path);

		if (isnan(value))
			continue;
		least = fmin(least, value);
		most = fmax(most, value);
		n++;
	}
	return n > 1 ? most - least : NAN;
}

static inline bool witness_lookup(void *arg, const char *name, const char *brackets,
				  double *value);

static inline double witness_eval(struct witness *x, const char *formula)
{
	double value;

	return formula_eval(formula, witness_lookup, x, &value, NULL) == OK ? value : NAN;
}

static inline bool witness_lookup(void *arg, const char *name, const char *brackets,
				  double *value)
{
	struct witness *x = arg, there = *x;
	const struct world *w = x->world;
	const struct axis_value *axis;
	const struct column *c;
	const char *range = strstr(name, "_range");
	char key[64];
	int column;

	*value = NAN;
	if (brackets) {
		there.number = witness_find(w, x->number, brackets);
		if (there.number < 0)
			return true;
	}
	snprintf(key, sizeof(key), "%.*s",
		 range && !range[6] ? (int)(range - name) : (int)strlen(name), name);
	column = columns_find(&w->columns, key);
	axis = witness_axis(&w->plan.cases[there.number], key);
	if (column < 0) {
		*value = made_option(&w->plan.cases[there.number], key, NAN);
		return true;
	}
	c = &w->columns.list[column];
	if (axis)
		*value = axis->number;
	else if (!strcmp(key, "rank"))
		*value = there.rank;
	else if (range && !range[6])
		*value = witness_range(&there, c->from);
	else if (c->from)
		*value = witness_measured(&there, c->from);
	else if (c->formula)
		*value = witness_eval(&there, c->formula);
	if (c->timed && !strcmp(w->plan.cases[there.number].command, "train") &&
	    w->plan.cases[there.number].place == PLACE_REAL &&
	    w->plan.cases[there.number].ranks > w->cores)
		there.shared = true;
	x->shared = x->shared || there.shared;
	return true;
}

#endif
