/* table_csv.c - a table for a spreadsheet: numbers as they are, spreads beside them; see
 * table.h */
#include "report/table.h"

#include <math.h>
#include <string.h>

static bool has_spread(const struct table *t, int column)
{
	for (int i = 0; i < t->row_count; i++)
		if (t->rows[i].values[column].spread > 0)
			return true;
	return false;
}

/* The groups of the rows are a column of their own. */
static bool has_groups(const struct table *t)
{
	for (int i = 0; i < t->row_count; i++)
		if (t->rows[i].group)
			return true;
	return false;
}

static void add_heading(const struct table *t, struct text *out)
{
	text_add(out, has_groups(t) ? "where," : "");
	for (int i = 0; i < t->column_count; i++) {
		struct text heading;

		text_init(&heading);
		text_add(&heading, t->columns[i].label);
		if (*t->columns[i].unit)
			text_addf(&heading, " (%s)", t->columns[i].unit);
		text_add(out, i ? "," : "");
		text_add_csv(out, heading.data);
		if (has_spread(t, i))
			text_add(out, ",±");
		text_release(&heading);
	}
	text_add(out, "\n");
}

static void add_number(double number, struct text *out)
{
	if (!isnan(number))
		text_addf(out, "%.10g", number);
}

static void add_row(const struct table *t, const struct row *r, struct text *out)
{
	if (has_groups(t)) {
		text_add_csv(out, r->group ? r->group : "");
		text_add(out, ",");
	}
	for (int i = 0; i < t->column_count; i++) {
		const struct column *c = &t->columns[i];
		const struct value *v = &r->values[i];

		text_add(out, i ? "," : "");
		if (v->present && column_is_numeric(c))
			add_number(v->number, out);
		if (v->present && v->last > 0)
			text_addf(out, "-%.10g", v->last);
		if (v->present && c->kind == COLUMN_FLAG)
			text_add(out, v->number != 0 ? "yes" : "");
		else if (v->present && c->kind == COLUMN_TEXT)
			text_add_csv(out, v->text ? v->text : "");
		if (has_spread(t, i)) {
			text_add(out, ",");
			if (v->present)
				add_number(v->spread, out);
		}
	}
	if (r->failed) {
		text_add(out, ",");
		text_add_csv(out, r->failed);
	}
	text_add(out, "\n");
}

void table_csv(const struct table *t, struct text *out)
{
	add_heading(t, out);
	for (int i = 0; i < t->row_count; i++)
		add_row(t, &t->rows[i], out);
}
