/* layout_table.c - tables on paper: rows, groups, breaks; see layout.h */
#include "report/layout_cells.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>

#define ROW_PAD 2.4

static const struct setting title_setting = {
	{.size = 8.4, .bold = true}, 12, INK_TEXT, 0, false};
static const struct setting caption_setting = {{.size = 7.8}, 11, INK_MUTED, 0, false};
static const struct setting note_setting = {{.size = 7.4}, 10, INK_MUTED, 0, false};

static double table_width(const struct grid_of_cells *g)
{
	double sum = 0;

	for (int i = 0; i < g->t->column_count; i++)
		sum += g->widths[i] + g->gap;
	return sum;
}

/* The reason of a failed row takes what its cells leave. */
static void reason_place(const struct grid_of_cells *g, const struct row *r, double *x,
			 double *width)
{
	int shown = row_shown_cells(g->t, r);

	*x = g->left + g->gap / 2;
	for (int i = 0; i < shown; i++)
		*x += g->widths[i] + g->gap;
	*width = g->left + CONTENT_WIDTH - *x - g->gap / 2;
}

static bool is_below(const struct grid_of_cells *g, int row)
{
	return row >= 0 && g->below >= 0 && !g->t->rows[row].failed &&
	       g->t->rows[row].values[g->below].present;
}

static double below_width(const struct grid_of_cells *g)
{
	return CONTENT_WIDTH - 3 * g->gap;
}

static double row_height(const struct grid_of_cells *g, int row)
{
	const struct setting *s = row < 0 ? &g->head : &g->cell;
	int lines = 1;

	for (int i = 0; i < g->t->column_count; i++) {
		struct text t;

		if (!cells_shows(g, row, i))
			continue;
		text_init(&t);
		cells_text(g, row, i, &t);
		lines = imax(lines, layout_count_lines(g->l, s, g->widths[i], t.data));
		text_release(&t);
	}
	if (row >= 0 && g->t->rows[row].failed) {
		double x, width;

		reason_place(g, &g->t->rows[row], &x, &width);
		lines = imax(lines, layout_count_lines(g->l, s, width, g->t->rows[row].failed));
	}
	if (is_below(g, row))
		lines += layout_count_lines(g->l, s, below_width(g),
					    g->t->rows[row].values[g->below].text);
	/* A page has room for the heading and a row, however long their words are. */
	return fmin(lines * s->leading + ROW_PAD,
		    (CONTENT_BOTTOM - CONTENT_TOP) * (row < 0 ? 0.3 : 0.6));
}

/* The name of the group that begins with that row, or, on a new page, goes on. */
static double group_height(const struct grid_of_cells *g, int row, bool again)
{
	if (!table_begins_group(g->t, row) && !(again && g->t->rows[row].group))
		return 0;
	return g->cell.leading + ROW_PAD;
}

static void draw_group(const struct grid_of_cells *g, int row, bool again)
{
	double height = group_height(g, row, again);
	struct setting name = g->head;

	if (height == 0)
		return;
	name.ink = INK_MUTED;
	layout_put(g->l, &name, g->left + g->gap / 2, g->l->y + ROW_PAD / 2 + name.font.size,
		   CONTENT_WIDTH, ANCHOR_START, g->t->rows[row].group);
	g->l->y += height;
	canvas_line(g->l->canvas, g->left, g->l->y, g->left + table_width(g), g->l->y,
		    (struct paint){.stroke = INK_RULE, .width = 0.6});
}

static void draw_cell(const struct grid_of_cells *g, int row, int column, double x)
{
	const struct setting *s = row < 0 ? &g->head : &g->cell;
	struct setting linked = *s;
	enum anchor anchor = ANCHOR_START;
	const char *link = row < 0 ? NULL : g->t->rows[row].values[column].link;
	struct text t;

	if (column_is_numeric(&g->t->columns[column]))
		anchor = ANCHOR_END;
	text_init(&t);
	cells_text(g, row, column, &t);
	if (link)
		linked.ink = INK_LINK;
	if (link && g->l->sheet)
		g->l->sheet->begin_link(g->l->sheet, link);
	layout_put(g->l, &linked, x, g->l->y + ROW_PAD / 2 + s->font.size, g->widths[column],
		   anchor, t.data);
	if (link && g->l->sheet)
		g->l->sheet->end_link(g->l->sheet);
	text_release(&t);
}

static void draw_row(const struct grid_of_cells *g, int row)
{
	double x = g->left + g->gap / 2, height = row_height(g, row), width = table_width(g);
	struct setting alarm = g->cell;

	alarm.ink = INK_ALARM;
	if (row < 0)
		canvas_rectangle(g->l->canvas, g->left, g->l->y, width, height, 0,
				 (struct paint){.fill = INK_PANEL});
	for (int i = 0; i < g->t->column_count; i++) {
		if (cells_shows(g, row, i))
			draw_cell(g, row, i, x);
		x += g->widths[i] + g->gap;
	}
	if (row >= 0 && g->t->rows[row].failed) {
		reason_place(g, &g->t->rows[row], &x, &width);
		layout_put(g->l, &alarm, x, g->l->y + ROW_PAD / 2 + alarm.font.size, width,
			   ANCHOR_START, g->t->rows[row].failed);
		width = table_width(g);
	}
	if (is_below(g, row)) {
		struct setting s = g->cell;
		const char *text = g->t->rows[row].values[g->below].text;
		int lines = layout_count_lines(g->l, &s, below_width(g), text);

		s.ink = INK_MUTED;
		layout_put(g->l, &s, g->left + 2 * g->gap,
			   g->l->y + height - ROW_PAD / 2 - lines * s.leading + s.font.size,
			   below_width(g), ANCHOR_START, text);
	}
	g->l->y += height;
	canvas_line(g->l->canvas, g->left, g->l->y, g->left + width, g->l->y,
		    (struct paint){.stroke = row < 0 ? INK_FRAME : INK_RULE, .width = 0.6});
}

/* Both on a line, if there is room. */
static bool title_is_short(struct layout *l, const struct table *t)
{
	return canvas_text_width(l->canvas, title_setting.font, t->title) + 6 +
		       canvas_text_width(l->canvas, caption_setting.font, t->caption) <
	       CONTENT_WIDTH;
}

static double title_height(struct layout *l, const struct table *t)
{
	double height = layout_count_lines(l, &title_setting, CONTENT_WIDTH, t->title) *
			title_setting.leading;

	if (*t->caption && !title_is_short(l, t))
		height += layout_count_lines(l, &caption_setting, CONTENT_WIDTH, t->caption) *
			  caption_setting.leading;
	return height + 3;
}

static void put_title(struct layout *l, const struct table *t)
{
	if (*t->caption && title_is_short(l, t))
		canvas_text(l->canvas,
			    MARGIN + 6 +
				    canvas_text_width(l->canvas, title_setting.font, t->title),
			    l->y + title_setting.font.size,
			    (struct label){.font = caption_setting.font, .ink = INK_MUTED},
			    t->caption);
	layout_flow(l, &title_setting, MARGIN, CONTENT_WIDTH, t->title);
	if (*t->caption && !title_is_short(l, t))
		layout_flow(l, &caption_setting, MARGIN, CONTENT_WIDTH, t->caption);
	l->y += 3;
}

static double start_height(const struct grid_of_cells *g)
{
	double height = row_height(g, -1) + 6; /* and a little above it */
	double first = 0, all = 0, page;

	if (*g->t->title)
		height += title_height(g->l, g->t);
	/* A small table stays together, a large one begins with three rows, and rows as high as
	   pages begin wherever there is some room. */
	for (int row = 0; row < g->t->row_count; row++) {
		double own = group_height(g, row, false) + row_height(g, row);

		if (row < 3)
			first += own;
		all += own;
	}
	page = CONTENT_BOTTOM - CONTENT_TOP;
	return fmin(height + (all < page / 3 ? all : first), page / 2);
}

/* ---- tables that are too wide: several, each with the first columns ---- */

enum { KEYS_MAX = 4 };

/* The columns that say what a row is about: those before the first quantity. */
static int count_keys(const struct table *t)
{
	int n = 0;

	while (n < KEYS_MAX && n < t->column_count - 1 &&
	       (t->columns[n].kind == COLUMN_TEXT || t->columns[n].kind == COLUMN_INTEGER ||
		t->columns[n].kind == COLUMN_FLAG))
		n++;
	return n;
}

/* The first columns, and columns from .. to - 1. Released by part_release. */
static bool part_init(struct table *part, const struct table *t, int keys, int from, int to)
{
	int n = keys + to - from, rows = t->row_count;
	struct value *values = calloc((size_t)rows * (size_t)n + 1, sizeof(*values));

	*part = *t;
	part->columns = calloc((size_t)n, sizeof(*part->columns));
	part->rows = calloc((size_t)rows + 1, sizeof(*part->rows));
	if (!values || !part->columns || !part->rows) {
		free(values);
		free(part->columns);
		free(part->rows);
		return false;
	}
	part->column_count = n;
	part->rows[0].values = values;
	for (int k = 0; k < n; k++) {
		int column = k < keys ? k : from + k - keys;

		part->columns[k] = t->columns[column];
		for (int i = 0; i < rows; i++)
			values[(size_t)i * (size_t)n + (size_t)k] = t->rows[i].values[column];
	}
	for (int i = 0; i < rows; i++)
		part->rows[i] = (struct row){values + (size_t)i * (size_t)n, t->rows[i].failed,
					     t->rows[i].group};
	return true;
}

static void part_release(struct table *part)
{
	free(part->rows[0].values);
	free(part->rows);
	free(part->columns);
}

/* How many columns from that one on go beside the first ones; one at least. */
static int columns_that_fit(struct layout *l, const struct table *t, int keys, int from)
{
	int to = t->column_count;
	bool fits = false;

	for (; to > from + 1 && !fits; to -= !fits) {
		struct grid_of_cells g = {.widths = NULL};
		struct table part;

		if (!part_init(&part, t, keys, from, to))
			return to;
		fits = cells_init(&g, l, &part, false);
		cells_release(&g);
		part_release(&part);
	}
	return to;
}

static void put_table(struct layout *l, const struct table *t)
{
	struct grid_of_cells g;

	cells_init(&g, l, t, true);
	if (!g.widths)
		return;
	layout_need(l, start_height(&g));
	if (l->y > CONTENT_TOP)
		l->y += 6;
	if (*t->title)
		put_title(l, t);
	draw_row(&g, -1);
	for (int row = 0; row < t->row_count; row++) {
		int page = l->page;

		layout_need(l, group_height(&g, row, false) + row_height(&g, row));
		if (l->page != page)
			draw_row(&g, -1);
		draw_group(&g, row, l->page != page);
		draw_row(&g, row);
	}
	l->y += 3;
	if (*t->note)
		layout_flow(l, &note_setting, MARGIN, CONTENT_WIDTH, t->note);
	l->y += 8;
	cells_release(&g);
}

/* The part of a table that begins with that column, which moves on; false: no more. */
static bool next_part(struct layout *l, const struct table *t, int *from, struct table *part)
{
	int keys = count_keys(t), first = *from ? *from : keys, to;

	if (*from >= t->column_count)
		return false;
	to = columns_that_fit(l, t, keys, first);
	if (!part_init(part, t, keys, first, to))
		return false;
	if (*from)
		part->title = "";
	if (to < t->column_count)
		part->note = "";
	*from = to;
	return true;
}

/* Its first part; false: there is none. Both are released by the caller. */
static bool first_part(struct layout *l, const struct table *t, struct table *part,
		       struct grid_of_cells *g, int *end)
{
	*end = 0;
	if (!next_part(l, t, end, part))
		return false;
	cells_init(g, l, part, true);
	return true;
}

double layout_table_height(struct layout *l, const struct table *t)
{
	struct grid_of_cells g;
	struct table part;
	double height = 0;
	int end;

	if (!first_part(l, t, &part, &g, &end))
		return 0;
	if (g.widths && end == t->column_count) {
		height = row_height(&g, -1) + title_height(l, t) + 17;
		for (int row = 0; row < t->row_count; row++)
			height += group_height(&g, row, false) + row_height(&g, row);
		if (*t->note)
			height += layout_count_lines(l, &note_setting, CONTENT_WIDTH, t->note) *
				  note_setting.leading;
	}
	cells_release(&g);
	part_release(&part);
	return height;
}

double layout_table_start(struct layout *l, const struct table *t)
{
	struct grid_of_cells g;
	struct table part;
	double height = 0;
	int end;

	if (!first_part(l, t, &part, &g, &end))
		return 0;
	if (g.widths)
		height = start_height(&g);
	cells_release(&g);
	part_release(&part);
	return height;
}

void layout_table(struct layout *l, const struct table *t)
{
	struct table part;

	for (int from = 0; next_part(l, t, &from, &part);) {
		put_table(l, &part);
		part_release(&part);
	}
}
