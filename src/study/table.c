/* table.c - which rows and columns a table has; as JSON and CSV. See table.h */
#include "study/table_impl.h"
#include "base/util.h"
#include "study/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct results *table_results(const struct tables *t, const json_t *table)
{
	return json_object_get(table, "per") ? &t->by_rank : &t->by_case;
}

static const char *column_key(const json_t *table, size_t i)
{
	return json_string_value(json_array_get(json_object_get(table, "columns"), i));
}

size_t table_columns(const json_t *table)
{
	size_t n = json_array_size(json_object_get(table, "columns"));

	return n < TABLE_COLUMNS_MAX ? n : TABLE_COLUMNS_MAX;
}

const struct column *table_column(const struct results *r, const json_t *table, size_t i)
{
	return &r->columns->list[columns_find(r->columns, column_key(table, i))];
}

bool column_has_spread(const struct column *c)
{
	return !c->axis && (c->kind == KIND_NUMBER || c->kind == KIND_PERCENT);
}

bool table_shows(const struct results *r, const json_t *table, const struct row *row)
{
	return row_matches(r, row, json_object_get(table, "where"));
}

void table_add_title(const struct tables *t, const json_t *table, struct text *out)
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

		if (!table_shows(r, table, &r->rows[i]))
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
	static const char *const options[] = {"model",
					      "layers",
					      "heads",
					      "dim",
					      "depth",
					      "context",
					      "batch",
					      "micro-batches",
					      "micro-batch-size",
					      "dp",
					      "pp",
					      "mp",
					      "schedule",
					      "precision",
					      "steps"};
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
		partly += table_shows(r, table, &r->rows[i]) && r->rows[i].good &&
			  r->rows[i].good < r->reps;
	if (partly)
		text_addf(out, "%sOf %d rows some runs are missing or failed.",
			  out->len ? " " : "", partly);
	if (own)
		text_addf(out, "%s%s", out->len ? " " : "", own);
}

static void put_column(const struct results *r, const json_t *table, size_t i, struct json *j)
{
	const struct column *c = table_column(r, table, i);
	char spread[STUDY_NAME_MAX + 8];

	json_begin_object(j, NULL);
	json_put_string(j, "key", c->key);
	json_put_string(j, "label", c->label);
	json_put_string(j, "unit", c->unit);
	json_put_string(j, "kind", column_kinds[c->kind]);
	if (column_has_spread(c)) {
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
	if (!column_has_spread(c))
		return;
	snprintf(spread, sizeof(spread), "%s_spread", c->key);
	json_put_double(j, spread, cell->spread);
}

static void put_row(const struct results *r, const json_t *table, const struct row *row,
		    struct json *j)
{
	bool device = false, shared = false;

	json_begin_object(j, NULL);
	for (size_t i = 0; i < table_columns(table); i++) {
		const struct column *c = table_column(r, table, i);

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
	table_add_title(t, table, &note);
	json_put_string(j, "title", note.data);
	text_release(&note);
	text_init(&note);
	table_add_caption(t, table, &note);
	json_put_string(j, "caption", note.data);
	text_release(&note);
	json_begin_array(j, "columns");
	for (size_t i = 0; i < table_columns(table); i++)
		put_column(r, table, i, j);
	json_end_array(j);
	json_begin_array(j, "rows");
	for (int i = 0; i < r->count; i++)
		if (table_shows(r, table, &r->rows[i]))
			put_row(r, table, &r->rows[i], j);
	json_end_array(j);
	text_init(&note);
	table_add_note(t, table, &note);
	json_put_string(j, "note", note.data);
	text_release(&note);
	json_end_object(j);
}

static void add_csv_number(struct text *out, double value)
{
	if (!isnan(value))
		text_addf(out, "%.9g", value);
}

void table_add_csv(const struct tables *t, const json_t *table, struct text *out)
{
	const struct results *r = table_results(t, table);

	for (size_t i = 0; i < table_columns(table); i++) {
		const struct column *c = table_column(r, table, i);

		text_addf(out, "%s%s", c->key, column_has_spread(c) ? "," : "");
		if (column_has_spread(c))
			text_addf(out, "%s_spread", c->key);
		text_add(out, ",");
	}
	text_add(out, "failed\n");
	for (int k = 0; k < r->count; k++) {
		const struct row *row = &r->rows[k];

		if (!table_shows(r, table, row))
			continue;
		for (size_t i = 0; i < table_columns(table); i++) {
			const struct column *c = table_column(r, table, i);
			const struct cell *cell = row_cell(r, row, c->key);

			if (cell->text)
				text_add_csv(out, cell->text);
			else
				add_csv_number(out, cell->value);
			if (column_has_spread(c)) {
				text_add(out, ",");
				add_csv_number(out, cell->spread);
			}
			text_add(out, ",");
		}
		text_add_csv(out, row->failed ? row->failed : "");
		text_add(out, "\n");
	}
}
