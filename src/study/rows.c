/* rows.c - which rows are meant: those that match, and the same ones elsewhere; see results.h
 */
#include "study/results.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The same value? Of numbers as numbers: 1 is 1.0. */
static bool cell_is(const struct cell *cell, const char *text)
{
	double number;

	if (cell->text)
		return !strcmp(cell->text, text);
	return units_parse_float(text, &number) && cell->value == number;
}

static bool cell_matches(const struct cell *cell, const json_t *wanted)
{
	char text[STUDY_NAME_MAX];

	for (size_t i = 0; i < json_array_size(wanted); i++)
		if (cell_matches(cell, json_array_get(wanted, i)))
			return true;
	if (json_is_boolean(wanted))
		return (cell->value != 0) == json_is_true(wanted);
	return !json_is_array(wanted) && value_text(wanted, text, sizeof(text)) &&
	       cell_is(cell, text);
}

bool row_matches(const struct results *r, const struct row *row, const json_t *where)
{
	const char *key;
	json_t *wanted;

	json_object_foreach((json_t *)where, key, wanted)
	{
		if (!cell_matches(row_cell(r, row, key), wanted))
			return false;
	}
	return true;
}

/* "first", "last" and "prev" choose among the values that an axis takes. */
static bool is_choice(const char *value)
{
	return !strcmp(value, "first") || !strcmp(value, "last") || !strcmp(value, "prev");
}

/* The value of an axis that elsewhere ("ranks=1,delay=none") names, or NULL. */
static const char *named_value(const char *elsewhere, const char *axis, char *buf, size_t size)
{
	size_t n = strlen(axis);

	while (elsewhere && *elsewhere) {
		elsewhere += strspn(elsewhere, " ");
		if (!strncmp(elsewhere, axis, n) && elsewhere[n] == '=') {
			snprintf(buf, size, "%.*s", (int)strcspn(elsewhere + n + 1, ","),
				 elsewhere + n + 1);
			return buf;
		}
		elsewhere = strchr(elsewhere, ',');
		if (elsewhere)
			elsewhere++;
	}
	return NULL;
}

/* Is other what row would be if the axes named in elsewhere were so? All other axes, and
   the device, are the same; an axis with a choice may be anything. */
static bool is_elsewhere(const struct results *r, const struct row *row,
			 const struct row *other, const char *elsewhere)
{
	const struct columns *c = r->columns;
	char value[STUDY_NAME_MAX];

	if (other->rank != row->rank && !named_value(elsewhere, "rank", value, sizeof(value)))
		return false;
	for (int i = 0; i < c->count; i++) {
		const struct cell *a = &row->cells[i], *b = &other->cells[i];
		bool device = !strcmp(c->list[i].key, "device");

		if (named_value(elsewhere, c->list[i].key, value, sizeof(value))) {
			if (!is_choice(value) && !cell_is(b, value))
				return false;
			continue;
		}
		if (!c->list[i].axis && !device && strcmp(c->list[i].key, "group"))
			continue;
		/* Commands that measure no time belong to every device. */
		if (device && strcmp(row->run_case->command, other->run_case->command))
			continue;
		/* An axis that one of them does not have can't differ. */
		if ((!a->text && isnan(a->value)) || (!b->text && isnan(b->value)))
			continue;
		if (a->text && b->text ? strcmp(a->text, b->text) : a->value != b->value)
			return false;
	}
	return true;
}

bool row_differs_only_in(const struct results *r, const struct row *row,
			 const struct row *other, const char *axis)
{
	char elsewhere[STUDY_NAME_MAX + 8];

	snprintf(elsewhere, sizeof(elsewhere), "%s=last", axis);
	return is_elsewhere(r, row, other, elsewhere);
}

/* Rows are in the order of the axes' values. */
const struct row *row_elsewhere(const struct results *r, const struct row *row,
				const char *elsewhere)
{
	const struct row *found = NULL;
	bool last = strstr(elsewhere, "=last"), prev = strstr(elsewhere, "=prev");

	for (int i = 0; i < r->count; i++) {
		if (prev && &r->rows[i] == row)
			return found;
		if (!is_elsewhere(r, row, &r->rows[i], elsewhere))
			continue;
		found = &r->rows[i];
		if (!last && !prev)
			return found;
	}
	return prev ? NULL : found;
}
