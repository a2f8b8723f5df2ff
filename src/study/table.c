/* table.c - see table.h */
#include "study/table.h"
#include "base/util.h"
#include "study/calibrate.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH_MAX = 64, COLUMNS_MAX = 64 };

const struct results *table_results(const struct tables *t, const json_t *table)
{
	return json_object_get(table, "per") ? &t->by_rank : &t->by_case;
}

static const char *column_key(const json_t *table, size_t i)
{
	return json_string_value(json_array_get(json_object_get(table, "columns"), i));
}

static size_t column_count(const json_t *table)
{
	size_t n = json_array_size(json_object_get(table, "columns"));

	return n < COLUMNS_MAX ? n : COLUMNS_MAX;
}

static const struct column *column_of(const struct results *r, const json_t *table, size_t i)
{
	return &r->columns->list[columns_find(r->columns, column_key(table, i))];
}

/* Numbers that repetitions may change have a spread. */
static bool has_spread(const struct column *c)
{
	return !c->axis && (c->kind == KIND_NUMBER || c->kind == KIND_PERCENT);
}

static bool is_shown(const struct results *r, const json_t *table, const struct row *row)
{
	return row_matches(r, row, json_object_get(table, "where"));
}

static void add_title(const struct tables *t, const json_t *table, struct text *out)
{
	plan_add_text(t->plan, json_string_value(json_object_get(table, "title")), out);
}

/* The value of an option that all rows of the table have; false: they differ, or none has. */
static bool common_option(const struct results *r, const json_t *table, const char *name,
			  char *buf, size_t size)
{
	char own[STUDY_NAME_MAX];
	bool any = false;

	for (int i = 0; i < r->count; i++) {
		const json_t *value = json_object_get(r->rows[i].run_case->options, name);

		if (!is_shown(r, table, &r->rows[i]))
			continue;
		if (!value || !value_text(value, own, sizeof(own)) || (any && strcmp(own, buf)))
			return false;
		snprintf(buf, size, "%s", own);
		any = true;
	}
	return any;
}

void table_add_caption(const struct tables *t, const json_t *table, struct text *out)
{
	static const char *const options[] = {
		"dim", "depth",	   "batch",	"micro-batches", "micro-batch-size", "dp", "pp",
		"mp",  "schedule", "precision", "steps"};
	const struct results *r = table_results(t, table);
	char value[STUDY_NAME_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (common_option(r, table, options[i], value, sizeof(value)))
			text_addf(out, "%s%s %s", out->len ? ", " : "", options[i], value);
}

void tables_add_reading(const struct tables *t, struct text *out)
{
	if (t->plan->reps == 1)
		text_add(out, "One run each: the spread is not known.");
	else
		text_addf(out, "Median of %d runs, ± half %s.", t->plan->reps,
			  t->plan->reps > 3 ? "the distance of the quartiles"
					    : "of their range");
	calibrate_describe(t->plan, out);
}

void table_add_note(const struct tables *t, const json_t *table, struct text *out)
{
	const struct results *r = table_results(t, table);
	const char *own = json_string_value(json_object_get(table, "note"));
	int partly = 0;

	for (int i = 0; i < r->count; i++)
		partly += is_shown(r, table, &r->rows[i]) && r->rows[i].good &&
			  r->rows[i].good < r->reps;
	if (partly)
		text_addf(out, "%sOf %d rows some runs are missing or failed.",
			  out->len ? " " : "", partly);
	if (own)
		text_addf(out, "%s%s", out->len ? " " : "", own);
}

static void put_column(const struct results *r, const json_t *table, size_t i, struct json *j)
{
	const struct column *c = column_of(r, table, i);
	char spread[STUDY_NAME_MAX + 8];

	json_begin_object(j, NULL);
	json_put_string(j, "key", c->key);
	json_put_string(j, "label", c->label);
	json_put_string(j, "unit", c->unit);
	json_put_string(j, "kind", column_kinds[c->kind]);
	if (has_spread(c)) {
		if (c->digits >= 0)
			json_put_int(j, "digits", c->digits);
		snprintf(spread, sizeof(spread), "%s_spread", c->key);
		json_put_string(j, "spread", spread);
	}
	json_end_object(j);
}

static void put_cell(const struct column *c, const struct cell *cell, struct json *j)
{
	char spread[STUDY_NAME_MAX + 8];

	if (cell->text)
		json_put_string(j, c->key, cell->text);
	else if (c->kind == KIND_FLAG)
		json_put_bool(j, c->key, cell->value == 1);
	else
		json_put_double(j, c->key, cell->value);
	if (!has_spread(c))
		return;
	snprintf(spread, sizeof(spread), "%s_spread", c->key);
	json_put_double(j, spread, cell->spread);
}

static void put_row(const struct results *r, const json_t *table, const struct row *row,
		    struct json *j)
{
	bool device = false, shared = false;

	json_begin_object(j, NULL);
	for (size_t i = 0; i < column_count(table); i++) {
		const struct column *c = column_of(r, table, i);

		device = device || !strcmp(c->key, "device");
		shared = shared || !strcmp(c->key, "oversubscribed");
		put_cell(c, &row->cells[columns_find(r->columns, c->key)], j);
	}
	/* Every row says where it was measured, shown or not. */
	if (!device)
		json_put_string(j, "device",
				row_cell(r, row, "device")->text
					? row_cell(r, row, "device")->text
					: "");
	if (!shared)
		json_put_bool(j, "oversubscribed", row_value(r, row, "oversubscribed") == 1);
	if (row->failed)
		json_put_string(j, "failed", row->failed);
	else
		json_put_double(j, "failed", NAN);
	json_end_object(j);
}

void table_put_json(const struct tables *t, const json_t *table, struct json *j)
{
	const struct results *r = table_results(t, table);
	struct text note;

	json_begin_object(j, NULL);
	json_put_string(j, "id", json_string_value(json_object_get(table, "id")));
	text_init(&note);
	add_title(t, table, &note);
	json_put_string(j, "title", note.data);
	text_release(&note);
	text_init(&note);
	table_add_caption(t, table, &note);
	json_put_string(j, "caption", note.data);
	text_release(&note);
	json_begin_array(j, "columns");
	for (size_t i = 0; i < column_count(table); i++)
		put_column(r, table, i, j);
	json_end_array(j);
	json_begin_array(j, "rows");
	for (int i = 0; i < r->count; i++)
		if (is_shown(r, table, &r->rows[i]))
			put_row(r, table, &r->rows[i], j);
	json_end_array(j);
	text_init(&note);
	table_add_note(t, table, &note);
	json_put_string(j, "note", note.data);
	text_release(&note);
	json_end_object(j);
}

static void add_csv_text(struct text *out, const char *s)
{
	bool plain = !strpbrk(s, ",\"\n\r");

	if (!plain)
		text_add(out, "\"");
	for (; *s; s++) {
		if (*s == '"')
			text_add(out, "\"");
		text_add_n(out, s, 1);
	}
	if (!plain)
		text_add(out, "\"");
}

static void add_csv_number(struct text *out, double value)
{
	if (!isnan(value))
		text_addf(out, "%.9g", value);
}

void table_add_csv(const struct tables *t, const json_t *table, struct text *out)
{
	const struct results *r = table_results(t, table);

	for (size_t i = 0; i < column_count(table); i++) {
		const struct column *c = column_of(r, table, i);

		text_addf(out, "%s%s", c->key, has_spread(c) ? "," : "");
		if (has_spread(c))
			text_addf(out, "%s_spread", c->key);
		text_add(out, ",");
	}
	text_add(out, "failed\n");
	for (int k = 0; k < r->count; k++) {
		const struct row *row = &r->rows[k];

		if (!is_shown(r, table, row))
			continue;
		for (size_t i = 0; i < column_count(table); i++) {
			const struct column *c = column_of(r, table, i);
			const struct cell *cell = row_cell(r, row, c->key);

			if (cell->text)
				add_csv_text(out, cell->text);
			else
				add_csv_number(out, cell->value);
			if (has_spread(c)) {
				text_add(out, ",");
				add_csv_number(out, cell->spread);
			}
			text_add(out, ",");
		}
		add_csv_text(out, row->failed ? row->failed : "");
		text_add(out, "\n");
	}
}

/* "3.21 ± 0.11" */
static void format_cell(const struct results *r, const struct row *row, const struct column *c,
			char *buf, size_t size)
{
	const struct cell *cell = row_cell(r, row, c->key);
	char spread[48];
	size_t n;

	row_text(r, row, c->key, buf, size);
	n = strlen(buf);
	if (!n || !has_spread(c) || !(cell->spread > 0))
		return;
	column_text(c, cell->spread, spread, sizeof(spread));
	if (c->kind == KIND_PERCENT)
		snprintf(buf + n - 2, size - n + 2, " ± %s", spread);
	else
		snprintf(buf + n, size - n, " ± %s", spread);
}

static void format_heading(const struct column *c, char *buf, size_t size)
{
	snprintf(buf, size, *c->unit ? "%s (%s)" : "%s", c->label, c->unit);
}

/* What would be layout is shown as it is: a backslash before each of these marks. */
static void add_markdown(struct text *out, const char *s)
{
	struct text plain;

	text_init(&plain);
	text_add_printable(&plain, s);
	for (const char *c = plain.data; *c; c++) {
		bool inside = c > plain.data && isalnum((unsigned char)c[-1]) &&
			      isalnum((unsigned char)c[1]);

		if (strchr("\\`*[]<>|&~#", *c) || (*c == '_' && !inside))
			text_add(out, "\\");
		text_add_n(out, c, 1);
	}
	text_release(&plain);
}

static void add_markdown_cell(struct text *out, const char *s)
{
	text_add(out, " ");
	add_markdown(out, s);
	text_add(out, " |");
}

static bool any_failed(const struct results *r, const json_t *table)
{
	for (int k = 0; k < r->count; k++)
		if (r->rows[k].failed && is_shown(r, table, &r->rows[k]))
			return true;
	return false;
}

static void add_markdown_head(const struct tables *t, const json_t *table, bool failed,
			      struct text *out)
{
	const struct results *r = table_results(t, table);
	struct text title;
	char cell[512];

	text_init(&title);
	add_title(t, table, &title);
	text_add(out, "## ");
	add_markdown(out, title.data);
	text_add(out, "\n\n|");
	text_release(&title);
	for (size_t i = 0; i < column_count(table); i++) {
		format_heading(column_of(r, table, i), cell, sizeof(cell));
		add_markdown_cell(out, cell);
	}
	text_add(out, failed ? " failed |\n|" : "\n|");
	for (size_t i = 0; i < column_count(table); i++)
		text_add(out, column_of(r, table, i)->kind == KIND_TEXT ? "---|" : "---:|");
	text_add(out, failed ? "---|\n" : "\n");
}

void table_add_markdown(const struct tables *t, const json_t *table, struct text *out)
{
	const struct results *r = table_results(t, table);
	bool failed = any_failed(r, table);
	struct text note;
	char cell[512];

	add_markdown_head(t, table, failed, out);
	for (int k = 0; k < r->count; k++) {
		const struct row *row = &r->rows[k];

		if (!is_shown(r, table, row))
			continue;
		text_add(out, "|");
		for (size_t i = 0; i < column_count(table); i++) {
			format_cell(r, row, column_of(r, table, i), cell, sizeof(cell));
			add_markdown_cell(out, cell);
		}
		if (failed)
			add_markdown_cell(out, row->failed ? row->failed : "");
		text_add(out, "\n");
	}
	text_init(&note);
	tables_add_reading(t, &note);
	table_add_note(t, table, &note);
	text_add(out, "\n");
	add_markdown(out, note.data);
	text_add(out, "\n");
	text_release(&note);
}

/* Columns on a screen, not bytes: of UTF-8 only the first byte of each letter counts. */
static int width_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void add_padded(struct text *out, const char *s, int width, bool left)
{
	int blanks = width - width_of(s);

	text_addf(out, "%*s%s%*s", left || blanks < 0 ? 0 : blanks, "", s,
		  left && blanks > 0 ? blanks : 0, "");
	text_add(out, "  ");
}

static void add_note_below(const struct tables *t, const json_t *table, struct text *out)
{
	struct text note;

	text_init(&note);
	table_add_note(t, table, &note);
	if (note.len)
		text_addf(out, "\n%s\n", note.data);
	text_release(&note);
}

void table_add_text(const struct tables *t, const json_t *table, struct text *out)
{
	const struct results *r = table_results(t, table);
	int width[COLUMNS_MAX] = {0};
	char raw[512], cell[2 * sizeof(raw)];

	for (size_t i = 0; i < column_count(table); i++) {
		format_heading(column_of(r, table, i), raw, sizeof(raw));
		text_printable(cell, sizeof(cell), raw);
		width[i] = width_of(cell);
		for (int k = 0; k < r->count; k++) {
			format_cell(r, &r->rows[k], column_of(r, table, i), raw, sizeof(raw));
			text_printable(cell, sizeof(cell), raw);
			if (is_shown(r, table, &r->rows[k]) && width_of(cell) > width[i])
				width[i] = width_of(cell);
		}
	}
	add_title(t, table, out);
	text_add(out, "\n\n");
	for (size_t i = 0; i < column_count(table); i++) {
		format_heading(column_of(r, table, i), raw, sizeof(raw));
		text_printable(cell, sizeof(cell), raw);
		add_padded(out, cell, width[i], column_of(r, table, i)->kind == KIND_TEXT);
	}
	text_add(out, "\n");
	for (int k = 0; k < r->count; k++) {
		if (!is_shown(r, table, &r->rows[k]))
			continue;
		for (size_t i = 0; i < column_count(table); i++) {
			const struct column *c = column_of(r, table, i);

			format_cell(r, &r->rows[k], c, raw, sizeof(raw));
			text_printable(cell, sizeof(cell), raw);
			add_padded(out, cell, width[i], c->kind == KIND_TEXT);
		}
		if (r->rows[k].failed)
			text_addf(out, "failed: %s", r->rows[k].failed);
		text_add(out, "\n");
	}
	add_note_below(t, table, out);
	text_add(out, "\n");
}
