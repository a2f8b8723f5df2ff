/* check.c - do a study's tables, charts, formulas and filters name what there is? See
   column.h */
#include "study/column.h"
#include "base/util.h"
#include "config/config.h"
#include "study/formula.h"

#include <stdio.h>
#include <string.h>

struct names {
	const struct columns *columns;
	int usable; /* a formula sees the columns before its own */
	const struct constant *more;
};

static bool is_known(const struct names *n, const char *name)
{
	char key[STUDY_NAME_MAX];
	size_t length = strlen(name);
	int i = columns_find(n->columns, name);

	for (const struct constant *k = n->more; k && k->name; k++)
		if (!strcmp(k->name, name))
			return true;
	/* "final_loss_range": how far the repetitions of final_loss lie apart. */
	if (i < 0 && length > 6 && length < sizeof(key) &&
	    !strcmp(name + length - 6, "_range")) {
		snprintf(key, sizeof(key), "%.*s", (int)length - 6, name);
		i = columns_find(n->columns, key);
	}
	return (i >= 0 && i < n->usable) || options_find(&config_table, name);
}

/* Every name is good for 1: only the form of a formula matters here. */
static bool lookup(void *arg, const char *name, const char *elsewhere, double *value)
{
	const struct names *n = arg;
	char axis[STUDY_NAME_MAX];

	*value = 1;
	for (const char *at = elsewhere; at;) {
		const char *equals = strchr(at, '='), *comma = strchr(at, ',');

		if (!equals || (comma && comma < equals) || equals == at)
			return false;
		at += strspn(at, " ");
		snprintf(axis, sizeof(axis), "%.*s", (int)(equals - at), at);
		if (columns_find(n->columns, axis) < 0)
			return false;
		at = comma ? comma + 1 : NULL;
	}
	return is_known(n, name);
}

/* A formula that sees so many columns. */
static enum status check_formula(const struct names *n, const char *formula, const char *where,
				 struct error *err)
{
	struct error inner = {.code = OK};
	double value;

	if (formula_eval(formula, lookup, (void *)n, &value, &inner) == OK)
		return OK;
	FAIL(err, ERR_USAGE, "%s: %.300s", where, inner.msg);
	return HINT(err, "%s", inner.hint);
}

enum status columns_check_formula(const struct columns *c, const char *formula,
				  const struct constant *more, const char *where,
				  struct error *err)
{
	return check_formula(&(struct names){c, c->count, more}, formula, where, err);
}

static enum status check_formulas(const struct columns *c, const char *where, struct error *err)
{
	char place[256];
	enum status st = OK;

	for (int i = 0; i < c->count; i++) {
		snprintf(place, sizeof(place), "%s: column %s", where, c->list[i].key);
		if (c->list[i].formula)
			TRY(check_formula(&(struct names){c, i, NULL}, c->list[i].formula,
					  place, err));
	}
out:
	return st;
}

static enum status unknown_column(const struct columns *c, const char *name, const char *where,
				  struct error *err)
{
	const char *names[256], *nearest;
	size_t n = 0;

	for (; n < (size_t)c->count && n < ARRAY_SIZE(names); n++)
		names[n] = c->list[n].key;
	nearest = name_nearest(name, names, n);
	FAIL(err, ERR_USAGE, "%s: there is no column '%.40s'", where, name);
	if (nearest)
		return HINT(err, "did you mean '%s'?", nearest);
	return HINT(err, "define it in 'columns'; docs/studies.md lists those that exist");
}

/* An array of column names. */
static enum status check_list(const struct columns *c, const json_t *list, const char *where,
			      struct error *err)
{
	if (!json_array_size(list))
		return FAIL(err, ERR_USAGE, "%s: an empty list of columns", where);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (!name || columns_find(c, name) < 0)
			return unknown_column(c, name ? name : "?", where, err);
	}
	return OK;
}

static enum status check_where(const struct columns *c, const json_t *filter, const char *where,
			       struct error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)filter, name, value)
	{
		if (columns_find(c, name) < 0)
			return unknown_column(c, name, where, err);
	}
	return OK;
}

static const json_t *find_table(const struct study *s, const char *id)
{
	const json_t *tables = json_object_get(s->root, "tables");

	for (size_t i = 0; i < json_array_size(tables); i++) {
		const json_t *table = json_array_get(tables, i);

		if (!strcmp(json_string_value(json_object_get(table, "id")), id))
			return table;
	}
	return NULL;
}

static bool in_list(const json_t *list, const char *name)
{
	for (size_t i = 0; name && i < json_array_size(list); i++) {
		const char *one = json_string_value(json_array_get(list, i));

		if (one && !strcmp(one, name))
			return true;
	}
	return false;
}

/* A chart shows columns of its table. */
static enum status check_chart(const struct study *s, const json_t *chart, const char *where,
			       struct error *err)
{
	const char *id = json_string_value(json_object_get(chart, "table"));
	const char *split = json_string_value(json_object_get(chart, "split"));
	const char *kind = json_string_value(json_object_get(chart, "kind"));
	const json_t *table = find_table(s, id), *y = json_object_get(chart, "y");
	const json_t *columns = json_object_get(table, "columns");
	const char *x = json_string_value(json_object_get(chart, "x"));

	if (!table)
		return FAIL(err, ERR_USAGE, "%s: there is no table '%.40s'", where, id);
	if (strcmp(kind, "line") && strcmp(kind, "bar") && strcmp(kind, "stacked")) {
		FAIL(err, ERR_USAGE, "%s: kind '%.40s'", where, kind);
		return HINT(err, "line, bar or stacked");
	}
	if (!in_list(columns, x) || (split && !in_list(columns, split)))
		return FAIL(err, ERR_USAGE, "%s: table '%s' has no column '%.40s'", where, id,
			    in_list(columns, x) ? split : x);
	if (!json_array_size(y))
		return FAIL(err, ERR_USAGE, "%s: nothing is drawn", where);
	for (size_t i = 0; i < json_array_size(y); i++)
		if (!in_list(columns, json_string_value(json_array_get(y, i))))
			return FAIL(err, ERR_USAGE, "%s: table '%s' lacks what 'y' names",
				    where, id);
	return OK;
}

static enum status check_uses(const struct study *s, const struct columns *c, const char *where,
			      struct error *err)
{
	static const char *const lists[] = {"tables", "charts", "curves", "gantts"};
	char place[160];
	enum status st = OK;

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		const json_t *list = json_object_get(s->root, lists[k]);

		for (size_t i = 0; i < json_array_size(list); i++) {
			const json_t *one = json_array_get(list, i);
			const char *label = json_string_value(json_object_get(one, "label"));

			snprintf(place, sizeof(place), "%s: %s[%zu]", where, lists[k], i);
			TRY(check_where(c, json_object_get(one, "where"), place, err));
			if (k == 0)
				TRY(check_list(c, json_object_get(one, "columns"), place, err));
			if (k == 1)
				TRY(check_chart(s, one, place, err));
			if (k == 2 && columns_find(c, label) < 0)
				return unknown_column(c, label, place, err);
		}
	}
out:
	return st;
}

enum status columns_check(const struct study *s, const char *where, struct error *err)
{
	struct columns c;
	enum status st;

	st = columns_init(&c, s, err);
	if (st != OK)
		return st;
	TRY(check_formulas(&c, where, err));
	TRY(check_uses(s, &c, where, err));
out:
	columns_release(&c);
	return st;
}
