/* study_table.c - the tables of a study's result; see study_result.h */
#include "report/study_result.h"
#include "report/fields.h"
#include "base/util.h"

#include <math.h>
#include <string.h>

enum { COLUMNS_MAX = 64, ROWS_MAX = 10000, COLUMNS_READ = 8 };

/* What a row comes from: not a column, but the group that it stands in. */
static const char *const groups[] = {
	"On this machine",
	"On this machine, more ranks than cores",
	"Simulated",
};

static bool names_group(const char *key)
{
	return !strcmp(key, "device") || !strcmp(key, "oversubscribed");
}

static const char *group_of(const json_t *row)
{
	const char *device = json_string_value(json_object_get(row, "device"));

	if (device && !strcmp(device, "simulated"))
		return groups[2];
	return groups[json_is_true(json_object_get(row, "oversubscribed"))];
}

/* Groups one after the other, each with its rows as they were; where all is as usual, there is
   nothing to be said. */
static void sort_by_group(struct table *t, struct arena *a)
{
	struct row *sorted = arena_get(a, (size_t)t->row_count, sizeof(*sorted));
	bool usual = true;
	int n = 0;

	for (size_t g = 0; sorted && g < ARRAY_SIZE(groups); g++)
		for (int i = 0; i < t->row_count; i++)
			if (t->rows[i].group == groups[g]) {
				usual &= g == 0;
				sorted[n++] = t->rows[i];
			}
	if (!sorted)
		return;
	for (int i = 0; usual && i < n; i++)
		sorted[i].group = NULL;
	t->rows = sorted;
}

struct keys {
	const char *key[COLUMNS_MAX], *spread[COLUMNS_MAX];
	struct column column[COLUMNS_MAX];
	int count;
};

static void read_column(struct fields *f, const json_t *o, struct document *d, struct keys *k)
{
	const char *kind = field_string(f, o, "kind", "text");
	double digits = field_number(f, o, "digits", -1);
	struct column *c = &k->column[k->count];

	k->key[k->count] = field_string(f, o, "key", NULL);
	k->spread[k->count] = field_string(f, o, "spread", "");
	c->kind = column_kind_of(kind);
	if (c->kind == COLUMN_KIND_COUNT)
		fields_fail(f, "kind", "'%.32s' is no kind of column", kind);
	c->label = document_string(d, field_string(f, o, "label", k->key[k->count]));
	c->unit = document_string(d, field_string(f, o, "unit", ""));
	c->digits = digits >= 0 && digits <= 12 ? (int)digits : -1;
	if (!names_group(k->key[k->count]))
		k->count++;
}

static void read_columns(struct fields *f, const json_t *spec, struct document *d,
			 struct keys *k)
{
	json_t *columns = field_array(f, spec, "columns");

	k->count = 0;
	if (json_array_size(columns) > COLUMNS_MAX) {
		fields_fail(f, "columns", "has more than %d elements", COLUMNS_MAX);
		return;
	}
	for (size_t i = 0; i < json_array_size(columns); i++) {
		size_t back = fields_enter(f, "columns", i);

		read_column(f, field_element(f, columns, i), d, k);
		fields_leave(f, back);
	}
	if (k->count == 0)
		fields_fail(f, "columns", "is empty");
}

static void read_value(struct fields *f, const json_t *row, const char *key,
		       const struct column *c, struct document *d, struct value *v)
{
	const json_t *value = json_object_get(row, key);

	if (!value || json_is_null(value))
		return;
	v->present = true;
	if (c->kind == COLUMN_TEXT && json_is_number(value))
		v->text = document_stringf(d, "%.6g", json_number_value(value));
	else if (c->kind == COLUMN_TEXT && json_is_boolean(value))
		v->text = json_is_true(value) ? "yes" : "no";
	else if (c->kind == COLUMN_TEXT && json_is_string(value))
		v->text = document_string(d, json_string_value(value));
	else if (c->kind == COLUMN_TEXT)
		fields_fail(f, key, "is not a string");
	else if (c->kind == COLUMN_FLAG)
		v->number = field_bool(f, row, key, false);
	else
		v->number = field_number(f, row, key, 0);
}

static void read_row(struct fields *f, const json_t *row, struct document *d,
		     const struct keys *k, struct row *out)
{
	const char *failed = field_string(f, row, "failed", "");

	out->group = group_of(row);
	if (*failed)
		out->failed = document_stringf(d, "failed: %s", failed);
	for (int i = 0; i < k->count; i++) {
		read_value(f, row, k->key[i], &k->column[i], d, &out->values[i]);
		if (*k->spread[i])
			out->values[i].spread = field_number(f, row, k->spread[i], 0);
	}
}

/* Then columns are empty for another reason, and the row needs its place for it. */
static bool all_failed(const struct table *t)
{
	for (int i = 0; i < t->row_count; i++)
		if (!t->rows[i].failed)
			return false;
	return true;
}

/* A table of many columns leaves those out that can be told in a sentence. */
static void add_note(struct table *t, const char *note, struct document *d)
{
	struct text text;

	text_init(&text);
	if (t->column_count > COLUMNS_READ)
		table_drop_constant(t, &text);
	if (text.len && *note)
		text_add(&text, " ");
	text_add(&text, note);
	t->note = document_string(d, text.data);
	text_release(&text);
}

struct table *study_table(struct fields *f, const json_t *spec, struct document *d)
{
	json_t *rows = field_array(f, spec, "rows");
	struct table *t;
	struct keys k;
	int rank;

	if (json_array_size(rows) > ROWS_MAX)
		fields_fail(f, "rows", "has more than %d elements", ROWS_MAX);
	read_columns(f, spec, d, &k);
	if (f->status != OK)
		return NULL;
	t = table_new(&d->arena, k.count, (int)json_array_size(rows));
	if (!t)
		return NULL;
	t->title = document_string(d, field_string(f, spec, "title", ""));
	t->caption = document_string(d, field_string(f, spec, "caption", ""));
	memcpy(t->columns, k.column, (size_t)k.count * sizeof(*t->columns));
	for (int i = 0; i < t->row_count; i++) {
		size_t back = fields_enter(f, "rows", (size_t)i);

		read_row(f, field_element(f, rows, (size_t)i), d, &k, &t->rows[i]);
		fields_leave(f, back);
	}
	sort_by_group(t, &d->arena);
	if (!all_failed(t))
		table_drop_empty(t);
	rank = table_find(t, "rank", COLUMN_INTEGER);
	if (rank >= 0)
		table_join(t, rank);
	add_note(t, field_string(f, spec, "note", ""), d);
	return t;
}
