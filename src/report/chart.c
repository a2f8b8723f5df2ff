/* chart.c - a chart as a whole: legend, size, what comes after what; see chart.h */
#include "report/plot.h"
#include "base/util.h"

#include <math.h>
#include <string.h>

enum { LEGEND_ROW = 18, SIGN = 26, GAP = 18 };
#define HIDDEN 0.012 /* of the axis: less than half a mark */

struct chart *chart_new(struct arena *a, enum chart_kind kind, int series)
{
	struct chart *c = arena_get(a, 1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct chart){.kind = kind,
			    .title = "",
			    .caption = "",
			    .x_label = "",
			    .y_label = "",
			    .y_kind = COLUMN_NUMBER};
	c->series = arena_get(a, (size_t)series, sizeof(*c->series));
	c->series_count = c->series ? series : 0;
	for (int i = 0; i < c->series_count; i++)
		c->series[i].name = "";
	return c;
}

bool chart_has_points(const struct chart *c)
{
	for (int i = 0; i < c->series_count; i++)
		for (int k = 0; k < c->series[i].count; k++)
			if (plot_shows(c, c->series[i].points[k].x, c->series[i].points[k].y))
				return true;
	return false;
}

/* Neighbours in this order differ most. */
enum hue chart_hue(int series)
{
	static const enum hue order[] = {HUE_SKY,    HUE_VERMILLION, HUE_GREEN, HUE_PINK,
					 HUE_ORANGE, HUE_VIOLET,     HUE_GREY,	HUE_YELLOW};

	return order[(size_t)series % ARRAY_SIZE(order)];
}

/* The name cut so that it fits into the width of the chart. */
static void fit_name(const char *name, double width, struct text *out)
{
	size_t n = strlen(name);

	text_add(out, name);
	while (n > 1 && font_width(&plot_font, out->data) > width) {
		do
			n--;
		while (n > 1 && ((unsigned char)name[n] & 0xc0) == 0x80);
		out->len = 0;
		text_add_n(out, name, n);
		text_add(out, "…");
	}
}

static void draw_sign(struct canvas *canvas, const struct chart *c, int series, double x,
		      double y)
{
	enum hue hue = chart_hue(series);

	if (c->kind == CHART_BAR || c->kind == CHART_STACKED) {
		canvas_rectangle(canvas, x + 4, y - 10, 14, 12, 0,
				 (struct paint){.fill = ink_of(INK_FILL, hue)});
		return;
	}
	canvas_line(canvas, x, y - 4, x + 20, y - 4,
		    (struct paint){.stroke = ink_of(INK_STRONG, hue), .width = 2});
	if (c->kind == CHART_LINE)
		plot_mark(canvas, series, (struct point){x + 10, y - 4}, NULL);
}

static void legend_entry(struct plot *p, struct canvas *canvas, struct point *at, int series,
			 const char *name)
{
	struct text fitted;
	double length;

	text_init(&fitted);
	fit_name(name, p->width - SIGN - 8, &fitted);
	length = SIGN + font_width(&plot_font, fitted.data);
	if (at->x > 0 && at->x + length > p->width)
		*at = (struct point){0, at->y + LEGEND_ROW};
	if (canvas && series >= 0)
		draw_sign(canvas, p->chart, series, at->x, at->y);
	if (canvas && series < 0)
		canvas_line(canvas, at->x, at->y - 4, at->x + 20, at->y - 4,
			    (struct paint){.stroke = INK_MUTED, .width = 1.5, .dashed = true});
	if (canvas)
		canvas_text(canvas, at->x + SIGN, at->y, (struct label){.font = plot_font},
			    fitted.data);
	at->x += length + GAP;
	text_release(&fitted);
}

static bool are_near(const struct plot *p, double a, double b)
{
	if (p->chart->log_y)
		return fabs(log(a / b)) < HIDDEN * log(p->y.high / p->y.low);
	return fabs(a - b) * p->scale < HIDDEN * (p->y.high - p->y.low);
}

static bool covers(const struct plot *p, const struct chart_point *a,
		   const struct chart_point *b)
{
	return a->x == b->x && are_near(p, a->y, b->y);
}

/* Is every point of a under one of b? Mostly that is the one with the same number. */
static bool is_under(const struct plot *p, const struct chart_series *a,
		     const struct chart_series *b)
{
	for (int i = 0; i < a->count; i++) {
		int k = 0;

		if (i < b->count && covers(p, &a->points[i], &b->points[i]))
			continue;
		while (k < b->count && !covers(p, &a->points[i], &b->points[k]))
			k++;
		if (k == b->count)
			return false;
	}
	return a->count > 0;
}

/* A line that another one hides says so. */
static void legend_name(const struct plot *p, int series, struct text *out)
{
	const struct chart *c = p->chart;
	bool lines = c->kind == CHART_LINE || c->kind == CHART_CURVE;

	text_add(out, c->series[series].name);
	for (int i = series + 1; lines && i < c->series_count; i++)
		if (is_under(p, &c->series[series], &c->series[i])) {
			text_addf(out, " (under %s)", c->series[i].name);
			return;
		}
}

double plot_legend(struct plot *p, struct canvas *canvas)
{
	const struct chart *c = p->chart;
	struct point at = {0, 13};

	if (c->series_count < 2 && !c->ideal)
		return 0;
	for (int i = 0; i < c->series_count; i++) {
		struct text name;

		text_init(&name);
		legend_name(p, i, &name);
		legend_entry(p, canvas, &at, i, name.data);
		text_release(&name);
	}
	if (c->ideal)
		legend_entry(p, canvas, &at, -1, "ideal");
	return at.y + 9;
}

double chart_height(const struct chart *c, double width)
{
	struct plot p;

	plot_init(&p, c, width, NULL);
	return p.height;
}

bool chart_fits(const struct chart *c, double width)
{
	struct plot p;

	plot_init(&p, c, width, NULL);
	return !p.upward && c->series_count <= 5;
}

int chart_width(const struct chart *c)
{
	return chart_fits(c, CHART_NARROW) ? CHART_NARROW : CHART_WIDE;
}

void chart_draw(const struct chart *c, double width, struct canvas *canvas)
{
	struct plot p;

	plot_init(&p, c, width, canvas);
	plot_legend(&p, canvas);
	plot_axes(&p);
	if (c->kind == CHART_BAR || c->kind == CHART_STACKED)
		plot_bars(&p);
	else
		plot_lines(&p);
}
