/* chart_marks.c - the data of a chart: lines with marks, bars; see plot.h */
#include "report/plot.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a point tells when it is pointed at. */
static void point_text(const struct plot *p, const struct chart_series *s,
		       const struct chart_point *q, struct text *out)
{
	const struct chart *c = p->chart;

	if (*s->name)
		text_addf(out, "%s: ", s->name);
	if (c->category_count)
		text_add(out, c->categories[(int)q->x]);
	else
		number_format(q->x, NUMBER_SHORT, out);
	text_add(out, " → ");
	plot_format_y(p, q->y, out);
	if (q->spread > 0) {
		text_add(out, " ± ");
		plot_format_y(p, q->spread, out);
	}
	for (char *at = out->data; *at; at++)
		if (*at == '\n')
			*at = ' ';
}

void plot_mark(struct canvas *canvas, int series, struct point at, const char *tip)
{
	static const struct point square[] = {{-4, -4}, {4, -4}, {4, 4}, {-4, 4}};
	static const struct point diamond[] = {{0, -5.5}, {5.5, 0}, {0, 5.5}, {-5.5, 0}};
	static const struct point up[] = {{0, -5.5}, {5, 4}, {-5, 4}};
	static const struct point down[] = {{0, 5.5}, {5, -4}, {-5, -4}};
	static const struct point disc[] = {
		{4.5, 0},  {3.9, 2.25},	  {2.25, 3.9},	 {0, 4.5},  {-2.25, 3.9}, {-3.9, 2.25},
		{-4.5, 0}, {-3.9, -2.25}, {-2.25, -3.9}, {0, -4.5}, {2.25, -3.9}, {3.9, -2.25}};
	static const struct {
		const struct point *points;
		int count;
	} shapes[] = {{disc, 12}, {square, 4}, {up, 3}, {diamond, 4}, {down, 3}};
	size_t i = (size_t)series % ARRAY_SIZE(shapes);
	struct point points[12];

	for (int k = 0; k < shapes[i].count; k++)
		points[k] = (struct point){at.x + shapes[i].points[k].x,
					   at.y + shapes[i].points[k].y};
	canvas_polygon(canvas, points, shapes[i].count, true,
		       (struct paint){.fill = ink_of(INK_STRONG, chart_hue(series)),
				      .stroke = INK_PAPER,
				      .tip = tip});
}

static void draw_spread(struct plot *p, double x, const struct chart_point *q, enum ink ink)
{
	struct paint paint = {.stroke = ink, .width = 1.25};
	double low = q->y - q->spread, top, bottom;

	if (!(q->spread > 0 && q->spread < 1e30))
		return;
	/* A logarithmic axis ends above 0. */
	if (p->chart->log_y && low <= 0)
		low = p->y.low / p->scale;
	top = plot_y(p, q->y + q->spread);
	bottom = plot_y(p, low);
	canvas_line(p->canvas, x, top, x, bottom, paint);
	canvas_line(p->canvas, x - 4, top, x + 4, top, paint);
	canvas_line(p->canvas, x - 4, bottom, x + 4, bottom, paint);
}

static void draw_ideal(struct plot *p)
{
	const struct chart *c = p->chart;
	struct paint paint = {.stroke = INK_MUTED, .width = 1.5, .dashed = true};

	if (c->ideal == IDEAL_X && !c->category_count) {
		struct point ends[33];
		int n = ARRAY_SIZE(ends);

		/* A straight line is bent where one axis only is logarithmic. */
		for (int i = 0; i < n; i++) {
			double x = p->x.low + (p->x.high - p->x.low) * i / (n - 1);

			ends[i] = (struct point){plot_x(p, x), plot_y(p, x)};
		}
		canvas_polygon(p->canvas, ends, n, false, paint);
	}
	for (int i = 0; c->ideal == IDEAL_CONSTANT && i < c->series_count; i++) {
		double y;

		if (!c->series[i].count)
			continue;
		y = plot_y(p, c->series[i].points[0].y);
		canvas_line(p->canvas, p->left, y, p->right, y, paint);
	}
}

static void draw_line(struct plot *p, int i)
{
	const struct chart_series *s = &p->chart->series[i];
	enum ink ink = ink_of(INK_STRONG, chart_hue(i));
	struct point *points = calloc((size_t)imax(s->count, 1), sizeof(*points));
	int n = 0;

	if (!points)
		return;
	for (int k = 0; k < s->count; k++)
		if (plot_shows(p->chart, s->points[k].x, s->points[k].y))
			points[n++] = (struct point){plot_x(p, s->points[k].x),
						     plot_y(p, s->points[k].y)};
	if (n > 1)
		canvas_polygon(p->canvas, points, n, false,
			       (struct paint){.stroke = ink, .width = 2});
	free(points);
	for (int k = 0; k < s->count; k++) {
		const struct chart_point *q = &s->points[k];
		struct text tip;

		if (!plot_shows(p->chart, q->x, q->y) ||
		    (p->chart->kind == CHART_CURVE && n > 1))
			continue;
		text_init(&tip);
		point_text(p, s, q, &tip);
		draw_spread(p, plot_x(p, q->x), q, ink);
		plot_mark(p->canvas, i, (struct point){plot_x(p, q->x), plot_y(p, q->y)},
			  tip.data);
		text_release(&tip);
	}
}

void plot_lines(struct plot *p)
{
	draw_ideal(p);
	for (int i = 0; i < p->chart->series_count; i++)
		draw_line(p, i);
}

/* A number above a bar; or, without drawing, whether it fits between the neighbours. */
static bool put_amount(struct plot *p, double x, double y, double room, double amount,
		       bool draw)
{
	struct text t;
	bool fits;

	text_init(&t);
	plot_format_y(p, amount, &t);
	fits = font_width(&plot_small, t.data) < room && y > 12;
	if (draw)
		canvas_text(p->canvas, x, y - 4,
			    (struct label){.font = plot_small,
					   .anchor = ANCHOR_MIDDLE,
					   .ink = INK_MUTED},
			    t.data);
	text_release(&t);
	return fits;
}

static void draw_bar(struct plot *p, int series, const struct chart_point *q, double x,
		     double width, double from)
{
	const struct chart_series *s = &p->chart->series[series];
	double base = p->chart->log_y ? p->bottom : plot_y(p, from);
	double end = plot_y(p, from + q->y);
	struct text tip;

	text_init(&tip);
	point_text(p, s, q, &tip);
	canvas_rectangle(p->canvas, x, fmin(base, end), width, fabs(base - end), 0,
			 (struct paint){.fill = ink_of(INK_FILL, chart_hue(series)),
					.stroke = INK_PAPER,
					.width = 0.5,
					.tip = tip.data});
	text_release(&tip);
}

/* The numbers above the bars of a series; do they fit? */
static bool put_amounts(struct plot *p, int series, double slot, bool draw)
{
	const struct chart_series *s = &p->chart->series[series];
	int n = p->chart->series_count;
	double width = fmin(slot * 0.8 / n, 60);
	bool fit = true;

	for (int k = 0; k < s->count; k++) {
		const struct chart_point *q = &s->points[k];
		double x = plot_x(p, q->x) + (series + 0.5 - n / 2.0) * width;

		if (plot_shows(p->chart, q->x, q->y))
			fit &= put_amount(p, x, plot_y(p, q->y + fmax(q->spread, 0)),
					  n > 1 ? width : slot - 4, q->y, draw);
	}
	return fit;
}

static void draw_group(struct plot *p, int series, double slot)
{
	const struct chart_series *s = &p->chart->series[series];
	int n = p->chart->series_count;
	double width = fmin(slot * 0.8 / n, 60);

	for (int k = 0; k < s->count; k++) {
		const struct chart_point *q = &s->points[k];
		double x = plot_x(p, q->x) + (series - n / 2.0) * width;

		if (!plot_shows(p->chart, q->x, q->y))
			continue;
		draw_bar(p, series, q, x, width, 0);
		draw_spread(p, x + width / 2, q, INK_TEXT);
	}
}

/* How far the bars of a category reach up and down; false: there are none. */
static bool stack_ends(const struct chart *c, int category, double *up, double *down)
{
	bool any = false;

	*up = *down = 0;
	for (int i = 0; i < c->series_count; i++)
		for (int k = 0; k < c->series[i].count; k++) {
			const struct chart_point *q = &c->series[i].points[k];

			if ((int)q->x != category || !plot_shows(c, q->x, q->y))
				continue;
			*(q->y > 0 ? up : down) += q->y;
			any = true;
		}
	return any;
}

static void draw_stack(struct plot *p, int category, double slot)
{
	double width = fmin(slot * 0.7, 80), up = 0, down = 0;
	double x = plot_x(p, category) - width / 2;

	for (int i = 0; i < p->chart->series_count; i++)
		for (int k = 0; k < p->chart->series[i].count; k++) {
			const struct chart_point *q = &p->chart->series[i].points[k];

			if ((int)q->x != category || !plot_shows(p->chart, q->x, q->y))
				continue;
			draw_bar(p, i, q, x, width, q->y > 0 ? up : down);
			*(q->y > 0 ? &up : &down) += q->y;
		}
}

static bool put_sums(struct plot *p, double slot, bool draw)
{
	bool fit = true;
	double up, down;

	for (int i = 0; i < p->chart->category_count; i++)
		if (stack_ends(p->chart, i, &up, &down))
			fit &= put_amount(p, plot_x(p, i), plot_y(p, up), slot, up + down,
					  draw);
	return fit;
}

/* Numbers above all bars; do they fit? */
static bool put_all(struct plot *p, bool draw)
{
	double slot = (p->right - p->left) / imax(p->chart->category_count, 1);
	bool fit = true;

	if (p->chart->kind == CHART_STACKED)
		return put_sums(p, slot, draw);
	for (int i = 0; i < p->chart->series_count; i++)
		fit &= put_amounts(p, i, slot, draw);
	return fit;
}

void plot_bars(struct plot *p)
{
	const struct chart *c = p->chart;
	double slot = (p->right - p->left) / imax(c->category_count, 1);
	bool fit = put_all(p, false);

	for (int i = 0; c->kind == CHART_BAR && i < c->series_count; i++)
		draw_group(p, i, slot);
	for (int i = 0; c->kind == CHART_STACKED && i < c->category_count; i++)
		draw_stack(p, i, slot);
	/* All bars have their number or none has, those beside it included. */
	if (c->beside) {
		struct plot other;

		plot_init(&other, c->beside, p->width, NULL);
		fit &= put_all(&other, false);
	}
	if (fit)
		put_all(p, true);
}
