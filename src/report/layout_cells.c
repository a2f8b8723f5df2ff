/* layout_cells.c - see layout_cells.h */
#include "report/layout_cells.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEPT = 22,	  /* letters of a text that stays on a line */
	COLUMNS_MANY = 5, /* beside a column of texts with so many letters */
	LONG = 40,
};

/* From the most comfortable on. */
static const struct type {
	double size, gap; /* gap: between the texts of neighbouring columns */
	bool brief;	  /* large numbers with fewer digits behind the point */
	bool broken;	  /* short texts may go on below, too */
} types[] = {
	{7.5, 10, false, false}, {7.3, 7.5, false, false}, {7, 5.6, false, false},
	{7, 4.2, false, false},	 {7, 4.2, true, false},	   {7, 4.2, true, true},
};

/* What is larger needs fewer; losses, which are small, keep all. */
static int brief_digits(const struct column *c, double number)
{
	double size = fabs(number);

	return imin(c->digits, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : c->digits);
}

void cells_text(const struct grid_of_cells *g, int row, int column, struct text *out)
{
	struct column c = g->t->columns[column];
	const struct value *v = row < 0 ? NULL : &g->t->rows[row].values[column];

	if (v && g->brief && c.kind == COLUMN_NUMBER)
		c.digits = brief_digits(&c, v->number);
	if (!v)
		column_format(&c, out);
	else if (c.kind == COLUMN_PAGE)
		text_addf(out, "%d", layout_page_of(g->l, v->link));
	else
		value_format(&c, v, out);
}

bool cells_shows(const struct grid_of_cells *g, int row, int column)
{
	const struct row *r;

	if (column == g->below)
		return false;
	if (row < 0)
		return true;
	r = &g->t->rows[row];
	return !r->failed || column < row_shown_cells(g->t, r);
}

/* Among many columns a long text would make rows high: sentences in the last column. */
static int column_below(const struct table *t)
{
	int last = t->column_count - 1;
	size_t letters = 0;

	if (last < COLUMNS_MANY || t->columns[last].kind != COLUMN_TEXT)
		return -1;
	for (int i = 0; i < t->row_count; i++) {
		const struct value *v = &t->rows[i].values[last];

		letters += v->present && v->text ? strlen(v->text) : 0;
	}
	return letters > (size_t)t->row_count * LONG ? last : -1;
}

/* What a column wants to have, headings in two lines or as narrow as they can be, and what
   it needs so that no word is broken. */
static void measure(const struct grid_of_cells *g, int column, bool heads, double *wanted,
		    double *needed)
{
	*wanted = *needed = column == g->below ? 0 : 8;
	for (int row = -1; row < g->t->row_count; row++) {
		const struct font *font = row < 0 ? &g->head.font : &g->cell.font;
		struct text t;
		double width, word;

		if (!cells_shows(g, row, column))
			continue;
		text_init(&t);
		cells_text(g, row, column, &t);
		width = canvas_text_width(g->l->canvas, *font, t.data);
		word = layout_longest_word(g->l, font, t.data);
		/* Numbers stay on a line, and so do short texts; headings may go on below. */
		if (row >= 0 && (column_is_numeric(&g->t->columns[column]) ||
				 (!g->broken && t.len <= KEPT)))
			word = width;
		*wanted = fmax(*wanted, row >= 0 ? width
					: heads	 ? fmax(word, width / 2 + 6)
						 : word);
		*needed = fmax(*needed, word);
		text_release(&t);
	}
}

/* What all columns want and need; wants are kept in wants, needs in the widths. */
static void measure_all(struct grid_of_cells *g, bool heads, double *wants, double *wanted,
			double *needed)
{
	*wanted = *needed = 0;
	for (int i = 0; i < g->t->column_count; i++) {
		measure(g, i, heads, &wants[i], &g->widths[i]);
		*wanted += wants[i];
		*needed += g->widths[i];
	}
}

/* Give every column what it wants if there is room, otherwise what it needs and a share of
   the rest: text first, as it makes many rows high and a heading only one. False: not even
   that fits. */
static bool share_out(struct grid_of_cells *g)
{
	double room = CONTENT_WIDTH - g->gap * g->t->column_count, wanted, needed, part;
	double *wants = calloc((size_t)g->t->column_count, sizeof(double));

	if (!wants)
		return true;
	measure_all(g, true, wants, &wanted, &needed);
	if (wanted > room)
		measure_all(g, false, wants, &wanted, &needed);
	/* Of what a column wants beyond its need; where that is too much, words are broken. */
	part = fmax(fmin((room - needed) / fmax(wanted - needed, 1e-9), 1), 0);
	for (int i = 0; i < g->t->column_count; i++) {
		g->widths[i] += part * (wants[i] - g->widths[i]);
		g->widths[i] *= fmin(room / needed, 1);
	}
	free(wants);
	return needed <= room;
}

static void choose_type(struct grid_of_cells *g, const struct type *type)
{
	double size = type->size;

	g->gap = type->gap;
	g->brief = type->brief;
	g->broken = type->broken;
	g->cell = (struct setting){{.size = size}, size * 1.2, INK_TEXT, 0, false};
	g->head =
		(struct setting){{.size = size, .bold = true}, size * 1.2, INK_TEXT, 0, false};
}

bool cells_init(struct grid_of_cells *g, struct layout *l, const struct table *t, bool loose)
{
	bool fits = false;

	*g = (struct grid_of_cells){.l = l, .t = t, .left = MARGIN, .below = column_below(t)};
	g->widths = calloc((size_t)t->column_count + 1, sizeof(double));
	for (size_t i = loose ? 0 : ARRAY_SIZE(types) - 1;
	     g->widths && !fits && i < ARRAY_SIZE(types); i++) {
		choose_type(g, &types[i]);
		fits = share_out(g);
	}
	return fits;
}

void cells_release(struct grid_of_cells *g)
{
	free(g->widths);
}
