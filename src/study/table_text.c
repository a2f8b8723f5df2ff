/* table_text.c - a table for people: Markdown, and columns on a screen; see table.h */
#include "study/table_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* "3.21 ± 0.11" */
static void format_cell(const struct results *r, const struct row *row, const struct column *c,
			char *buf, size_t size)
{
	const struct cell *cell = row_cell(r, row, c->key);
	char spread[48];
	size_t n;

	row_text(r, row, c->key, buf, size);
	n = strlen(buf);
	if (!n || !column_has_spread(c) || !(cell->spread > 0))
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
		if (r->rows[k].failed && table_shows(r, table, &r->rows[k]))
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
	table_add_title(t, table, &title);
	text_add(out, "## ");
	add_markdown(out, title.data);
	text_add(out, "\n\n|");
	text_release(&title);
	for (size_t i = 0; i < table_columns(table); i++) {
		format_heading(table_column(r, table, i), cell, sizeof(cell));
		add_markdown_cell(out, cell);
	}
	text_add(out, failed ? " failed |\n|" : "\n|");
	for (size_t i = 0; i < table_columns(table); i++)
		text_add(out, table_column(r, table, i)->kind == KIND_TEXT ? "---|" : "---:|");
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

		if (!table_shows(r, table, row))
			continue;
		text_add(out, "|");
		for (size_t i = 0; i < table_columns(table); i++) {
			format_cell(r, row, table_column(r, table, i), cell, sizeof(cell));
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
	int width[TABLE_COLUMNS_MAX] = {0};
	char raw[512], cell[2 * sizeof(raw)];

	for (size_t i = 0; i < table_columns(table); i++) {
		format_heading(table_column(r, table, i), raw, sizeof(raw));
		text_printable(cell, sizeof(cell), raw);
		width[i] = width_of(cell);
		for (int k = 0; k < r->count; k++) {
			format_cell(r, &r->rows[k], table_column(r, table, i), raw,
				    sizeof(raw));
			text_printable(cell, sizeof(cell), raw);
			if (table_shows(r, table, &r->rows[k]) && width_of(cell) > width[i])
				width[i] = width_of(cell);
		}
	}
	table_add_title(t, table, out);
	text_add(out, "\n\n");
	for (size_t i = 0; i < table_columns(table); i++) {
		format_heading(table_column(r, table, i), raw, sizeof(raw));
		text_printable(cell, sizeof(cell), raw);
		add_padded(out, cell, width[i], table_column(r, table, i)->kind == KIND_TEXT);
	}
	text_add(out, "\n");
	for (int k = 0; k < r->count; k++) {
		if (!table_shows(r, table, &r->rows[k]))
			continue;
		for (size_t i = 0; i < table_columns(table); i++) {
			const struct column *c = table_column(r, table, i);

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
