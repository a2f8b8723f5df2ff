/* layout_figures.c - charts and drawings on paper; see layout.h */
#include "report/layout_impl.h"

#include <math.h>

/* So many units of a chart go into a width: no text is smaller than 7 points. */
#define WHOLE_UNITS 700.0
#define HALF_UNITS  364.0
#define PAIR_GAP    14.0
#define HALF	    ((CONTENT_WIDTH - PAIR_GAP) / 2)

static const struct setting small_print = {{.size = 7.6}, 10.4, INK_MUTED, 0, false};
static const struct setting figure_title = {
	{.size = 8.4, .bold = true}, 11.6, INK_TEXT, 0, false};

static bool is_slim(const struct block *b)
{
	return b->kind == BLOCK_CHART && chart_fits(b->chart, HALF_UNITS);
}

/* Charts with few points take half of the width, two of them share it. */
static double width_of(const struct block *b)
{
	return is_slim(b) ? HALF : CONTENT_WIDTH;
}

static bool is_pair(const struct layout *l, size_t i)
{
	return i + 1 < l->document->count && is_slim(&l->document->blocks[i]) &&
	       is_slim(&l->document->blocks[i + 1]);
}

static double units_of(double width)
{
	return width < CONTENT_WIDTH ? HALF_UNITS : WHOLE_UNITS;
}

static double chart_block_height(struct layout *l, const struct chart *c, double width)
{
	double height = chart_height(c, units_of(width)) * width / units_of(width) + 6;

	if (*c->title)
		height += layout_count_lines(l, &figure_title, width, c->title) *
			  figure_title.leading;
	if (*c->caption)
		height += layout_count_lines(l, &small_print, width, c->caption) *
				  small_print.leading +
			  2;
	return height;
}

static void put_chart(struct layout *l, const struct chart *c, double x, double width)
{
	double y = l->y, height = chart_height(c, units_of(width)) * width / units_of(width);

	if (*c->title) {
		layout_put(l, &figure_title, x, y + figure_title.font.size, width, ANCHOR_START,
			   c->title);
		y += layout_count_lines(l, &figure_title, width, c->title) *
		     figure_title.leading;
	}
	y += 4;
	if (l->sheet) {
		l->sheet->place(l->sheet, x, y, width / units_of(width));
		chart_draw(c, units_of(width), l->canvas);
		l->sheet->restore(l->sheet);
	}
	if (*c->caption)
		layout_put(l, &small_print, x, y + height + 2 + small_print.font.size, width,
			   ANCHOR_START, c->caption);
}

static double charts_height(struct layout *l, size_t i)
{
	const struct block *b = &l->document->blocks[i];

	if (is_pair(l, i))
		return fmax(chart_block_height(l, b[0].chart, HALF),
			    chart_block_height(l, b[1].chart, HALF));
	return chart_block_height(l, b->chart, width_of(b));
}

static void put_charts(struct layout *l, size_t i)
{
	const struct block *b = &l->document->blocks[i];
	double height = charts_height(l, i);
	bool pair = is_pair(l, i);

	layout_need(l, height);
	put_chart(l, b[0].chart, MARGIN, width_of(&b[0]));
	if (pair)
		put_chart(l, b[1].chart, MARGIN + HALF + PAIR_GAP, HALF);
	l->y += height + 8;
}

static double drawing_scale(const struct drawing *d)
{
	double room = CONTENT_BOTTOM - CONTENT_TOP - 60;

	return fmin(fmin(CONTENT_WIDTH / d->width, room / d->height), 0.66);
}

static double drawing_height(struct layout *l, const struct block *b)
{
	double height = b->drawing.height * drawing_scale(&b->drawing) + 6;

	if (*b->caption)
		height += layout_count_lines(l, &small_print, CONTENT_WIDTH, b->caption) *
			  small_print.leading;
	return height;
}

static void put_drawing(struct layout *l, const struct block *b)
{
	double scale = drawing_scale(&b->drawing);

	layout_need(l, drawing_height(l, b));
	if (l->sheet) {
		l->sheet->place(l->sheet, MARGIN, l->y, scale);
		b->drawing.draw(b->drawing.arg, l->canvas);
		l->sheet->restore(l->sheet);
	}
	l->y += b->drawing.height * scale + 6;
	if (*b->caption)
		layout_flow(l, &small_print, MARGIN, CONTENT_WIDTH, b->caption);
	l->y += 8;
}

void layout_figure(struct layout *l, size_t i)
{
	const struct block *b = &l->document->blocks[i];

	if (b->kind == BLOCK_CHART)
		put_charts(l, i);
	else if (b->kind == BLOCK_TABLE)
		layout_table(l, b->table);
	else
		put_drawing(l, b);
}

double layout_figure_height(struct layout *l, size_t i)
{
	const struct block *b = &l->document->blocks[i];

	return b->kind == BLOCK_CHART	? charts_height(l, i)
	       : b->kind == BLOCK_TABLE ? layout_table_height(l, b->table)
					: drawing_height(l, b);
}

size_t layout_figure_end(const struct layout *l, size_t i)
{
	return is_pair(l, i) ? i + 2 : i + 1;
}
