/* table.c - see table.h */
#include "report/table.h"
#include "base/units.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum column_kind column_kind_of(const char *name)
{
	static const char *const names[] = {NAMES_OF(COLUMN_KINDS)};
	size_t i = 0;

	while (names[i] && strcmp(names[i], name))
		i++;
	return (enum column_kind)i;
}

struct table *table_new(struct arena *a, int columns, int rows)
{
	struct table *t = arena_get(a, 1, sizeof(*t));
	struct value *values;

	if (!t)
		return NULL;
	t->title = t->note = t->caption = "";
	t->columns = arena_get(a, (size_t)columns, sizeof(*t->columns));
	t->rows = arena_get(a, (size_t)rows, sizeof(*t->rows));
	values = arena_get(a, (size_t)rows * (size_t)columns, sizeof(*values));
	if (a->failed)
		return NULL;
	for (int i = 0; i < columns; i++)
		t->columns[i] = (struct column){"", "", COLUMN_TEXT, -1};
	for (int i = 0; i < rows; i++)
		t->rows[i].values = values + (size_t)i * (size_t)columns;
	t->column_count = columns;
	t->row_count = rows;
	return t;
}

static bool is_empty(const struct table *t, int column)
{
	for (int i = 0; i < t->row_count; i++) {
		const struct value *v = &t->rows[i].values[column];

		if (v->present && !(t->columns[column].kind == COLUMN_FLAG && v->number == 0))
			return false;
	}
	return true;
}

static void drop_column(struct table *t, int column)
{
	size_t behind = (size_t)(--t->column_count - column);

	for (int i = 0; i < t->row_count; i++) {
		struct value *v = t->rows[i].values + column;

		memmove(v, v + 1, behind * sizeof(*v));
	}
	memmove(t->columns + column, t->columns + column + 1, behind * sizeof(*t->columns));
}

void table_drop_empty(struct table *t)
{
	for (int k = t->column_count - 1; k >= 0; k--)
		if (is_empty(t, k))
			drop_column(t, k);
}

static bool are_equal(const struct value *a, const struct value *b)
{
	return a->present && b->present && a->number == b->number && a->spread == b->spread &&
	       !strcmp(a->text ? a->text : "", b->text ? b->text : "");
}

/* Rows that failed do not count. */
static bool is_constant(const struct table *t, int column)
{
	const struct value *first = NULL;
	int n = 0;

	for (int i = 0; i < t->row_count; i++) {
		const struct value *v = &t->rows[i].values[column];

		if (t->rows[i].failed)
			continue;
		if (first && !are_equal(first, v))
			return false;
		first = v;
		n++;
	}
	return n > 2 && first->present;
}

/* The first row that has not failed tells the value. */
static const struct value *first_value(const struct table *t, int column)
{
	int row = 0;

	while (t->rows[row].failed)
		row++;
	return &t->rows[row].values[column];
}

void table_drop_constant(struct table *t, struct text *out)
{
	for (int k = 1; k < t->column_count;) {
		if (!is_constant(t, k)) {
			k++;
			continue;
		}
		text_add(out, out->len ? ", " : "In every row: ");
		column_format(&t->columns[k], out);
		text_add(out, " ");
		value_format(&t->columns[k], first_value(t, k), out);
		drop_column(t, k);
	}
	if (out->len)
		text_add(out, ".");
}

static bool are_alike(const struct column *c, const struct value *a, const struct value *b)
{
	struct text x, y;
	bool alike;

	text_init(&x);
	text_init(&y);
	value_format(c, a, &x);
	value_format(c, b, &y);
	alike = !strcmp(x.data, y.data);
	text_release(&x);
	text_release(&y);
	return alike;
}

/* Does row i go on with what row first has begun? */
static bool goes_on(const struct table *t, int column, int first, int i)
{
	const struct row *a = &t->rows[first], *b = &t->rows[i];

	if (a->failed || b->failed || table_begins_group(t, i) || !a->values[column].present ||
	    !b->values[column].present ||
	    b->values[column].number != a->values[column].number + i - first)
		return false;
	for (int k = 0; k < t->column_count; k++)
		if (k != column && !are_alike(&t->columns[k], &a->values[k], &b->values[k]))
			return false;
	return true;
}

void table_join(struct table *t, int column)
{
	int kept = 0, next;

	for (int i = 0; i < t->row_count; i = next) {
		struct value *v = &t->rows[i].values[column];

		for (next = i + 1; next < t->row_count && goes_on(t, column, i, next);)
			next++;
		v->last = next > i + 1 ? v->number + next - 1 - i : 0;
		t->rows[kept++] = t->rows[i];
	}
	t->row_count = kept;
}

int table_find(const struct table *t, const char *label, enum column_kind kind)
{
	for (int k = 0; k < t->column_count; k++)
		if (t->columns[k].kind == kind && !strcmp(t->columns[k].label, label))
			return k;
	return -1;
}

bool table_begins_group(const struct table *t, int row)
{
	const char *group = t->rows[row].group;

	return group &&
	       (row == 0 || !t->rows[row - 1].group || strcmp(t->rows[row - 1].group, group));
}

bool column_is_numeric(const struct column *c)
{
	return c->kind <= COLUMN_BYTES;
}

void column_format(const struct column *c, struct text *out)
{
	text_add(out, c->label);
	/* Percent and bytes have their unit in every cell. */
	if (*c->unit && c->kind != COLUMN_PERCENT && c->kind != COLUMN_BYTES)
		text_addf(out, " (%s)", c->unit);
}

/* Thousands are set apart from five digits on: 8192 is a dimension, 12,345 a quantity. */
static void add_grouped(const char *digits, struct text *out)
{
	const char *first = digits + (*digits == '-');
	size_t whole = strspn(first, "0123456789");

	text_add_n(out, digits, (size_t)(first - digits));
	for (size_t i = 0; i < whole; i++) {
		if (i && whole > 4 && (whole - i) % 3 == 0)
			text_add(out, ",");
		text_add_n(out, first + i, 1);
	}
	text_add(out, first + whole);
}

/* Three digits that say something, four below 0.1. */
static int digits_for(double number)
{
	double size = fabs(number);

	if (size >= 100 || number == round(number))
		return 0;
	return size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4;
}

void number_format(double number, int digits, struct text *out)
{
	double size = fabs(number);
	char buf[400];

	if (!isfinite(number)) {
		text_add(out, isnan(number) ? "not a number" : number > 0 ? "∞" : "-∞");
		return;
	}
	if (size >= 1e12 || (size > 0 && size < 1e-4 && digits < 0)) {
		text_addf(out, "%.3g", number);
		return;
	}
	if (digits == NUMBER_SHORT) {
		snprintf(buf, sizeof(buf), size < 1e6 ? "%.6g" : "%.0f", number);
		add_grouped(buf, out);
		return;
	}
	if (digits < 0)
		digits = digits_for(number);

	snprintf(buf, sizeof(buf), "%.*f", digits, number);
	add_grouped(buf, out);
}

static void add_bytes(double bytes, struct text *out)
{
	char buf[32];

	if (!(bytes >= 0 && bytes < 0x1p63)) {
		text_addf(out, "%g B", bytes);
		return;
	}
	units_format_size((uint64_t)bytes, buf, sizeof(buf));
	text_add(out, buf);
}

static bool rounds_to_nothing(const struct column *c, double number, int digits)
{
	double size = fabs(number) * (c->kind == COLUMN_PERCENT ? 100 : 1);

	return digits >= 0 && size > 0 && size < 0.5 * pow(10, -digits);
}

/* What is behind the point, where the column does not say: the same for value and spread. */
static int column_digits(const struct column *c, double number)
{
	if (c->digits >= 0)
		return c->digits;
	if (c->kind == COLUMN_PERCENT)
		return fabs(number) >= 0.0995 || number == 0 ? 0 : 1;
	if (c->kind == COLUMN_INTEGER)
		return number == round(number) ? 0 : 2;
	return number != 0 && fabs(number) < 1e-4 ? -1 : digits_for(number);
}

static void add_amount(const struct column *c, double number, int digits, struct text *out)
{
	if (c->kind == COLUMN_PERCENT)
		number_format(number * 100, digits, out);
	else if (c->kind == COLUMN_BYTES)
		add_bytes(number, out);
	else
		number_format(number, digits, out);
}

void value_format(const struct column *c, const struct value *v, struct text *out)
{
	int digits;

	if (!v->present)
		return;
	if (c->kind == COLUMN_TEXT) {
		text_add(out, v->text ? v->text : "");
		return;
	}
	if (c->kind == COLUMN_PAGE) {
		text_add(out, "→");
		return;
	}
	if (c->kind == COLUMN_FLAG) {
		text_add(out, v->number != 0 ? "yes" : "");
		return;
	}
	digits = column_digits(c, v->number);
	/* Something is not written as nothing, if two digits more can help it. */
	for (int more = 0; more < 2 && rounds_to_nothing(c, v->number, digits); more++)
		digits++;
	if (rounds_to_nothing(c, v->number, digits))
		digits = column_digits(c, v->number);
	add_amount(c, v->number, digits, out);
	if (v->last > 0)
		text_addf(out, "-%.0f", v->last);
	if (v->spread > 0) {
		text_add(out, " ± ");
		add_amount(c, v->spread, digits, out);
	}
	if (c->kind == COLUMN_PERCENT)
		text_add(out, " %");
}

int row_shown_cells(const struct table *t, const struct row *r)
{
	int n = 0, half = t->column_count / 2;

	while (n < half && r->values[n].present)
		n++;
	return n;
}
