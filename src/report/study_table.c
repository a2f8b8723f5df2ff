/* study_table.c - the tables of a study's result; see study_result.h */
#include "report/study_result.h"
#include "report/fields.h"
#include "base/util.h"

#include <math.h>
#include <string.h>

enum { COLUMNS_MAX = 64, ROWS_MAX = 10000 };

/* Rows may say more than columns show; these two must be seen. */
static const struct {
	const char *key;
	struct column column;
} implied[] = {
	{"device", {"device", "", COLUMN_TEXT, -1}},
	{"oversubscribed", {"over-subscribed", "", COLUMN_FLAG, -1}},
};

static bool has_column(const json_t *columns, const char *key)
{
	size_t i;
	json_t *c;

	json_array_foreach(columns, i, c)
	{
		const char *name = json_string_value(json_object_get(c, "key"));

		if (name && !strcmp(name, key))
			return true;
	}
	return false;
}

static bool rows_have(const json_t *rows, const char *key)
{
	size_t i;
	json_t *r;

	json_array_foreach(rows, i, r)
	{
		json_t *value = json_object_get(r, key);

		if (value && !json_is_null(value) && !json_is_false(value))
			return true;
	}
	return false;
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
	k->count++;
}

static void read_columns(struct fields *f, const json_t *spec, struct document *d,
			 struct keys *k)
{
	json_t *columns = field_array(f, spec, "columns"), *rows = field_array(f, spec, "rows");

	k->count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(implied); i++)
		if (!has_column(columns, implied[i].key) && rows_have(rows, implied[i].key)) {
			k->key[k->count] = implied[i].key;
			k->spread[k->count] = "";
			k->column[k->count++] = implied[i].column;
		}
	if (json_array_size(columns) > COLUMNS_MAX - ARRAY_SIZE(implied)) {
		fields_fail(f, "columns", "has more than %zu elements",
			    COLUMNS_MAX - ARRAY_SIZE(implied));
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

	if (*failed)
		out->failed = document_stringf(d, "failed: %s", failed);
	for (int i = 0; i < k->count; i++) {
		read_value(f, row, k->key[i], &k->column[i], d, &out->values[i]);
		if (*k->spread[i])
			out->values[i].spread = field_number(f, row, k->spread[i], 0);
	}
}

struct table *study_table(struct fields *f, const json_t *spec, struct document *d)
{
	json_t *rows = field_array(f, spec, "rows");
	struct table *t;
	struct keys k;

	if (json_array_size(rows) > ROWS_MAX)
		fields_fail(f, "rows", "has more than %d elements", ROWS_MAX);
	read_columns(f, spec, d, &k);
	if (f->status != OK)
		return NULL;
	t = table_new(&d->arena, k.count, (int)json_array_size(rows));
	if (!t)
		return NULL;
	t->title = document_string(d, field_string(f, spec, "title", ""));
	t->note = document_string(d, field_string(f, spec, "note", ""));
	memcpy(t->columns, k.column, (size_t)k.count * sizeof(*t->columns));
	for (int i = 0; i < t->row_count; i++) {
		size_t back = fields_enter(f, "rows", (size_t)i);

		read_row(f, field_element(f, rows, (size_t)i), d, &k, &t->rows[i]);
		fields_leave(f, back);
	}
	return t;
}
