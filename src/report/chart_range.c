/* chart_range.c - what the axes of a chart have to show; see plot.h */
#include "report/plot.h"

#include <float.h>
#include <math.h>

#define FLAT 0.5 /* a curve from more than that of its highest value on */

bool plot_shows(const struct chart *c, double x, double y)
{
	if (!(fabs(x) < 1e30 && fabs(y) < 1e30))
		return false;
	if (c->log_y && y <= 1e-30)
		return false;
	return c->category_count > 0 || !c->log_x || x > 1e-30;
}

bool plot_has_bars(const struct chart *c)
{
	return c->kind == CHART_BAR || c->kind == CHART_STACKED;
}

static void include(struct range *r, double value)
{
	if (fabs(value) < 1e-30)
		value = 0; /* too small for any arithmetic with ticks */
	r->low = fmin(r->low, value);
	r->high = fmax(r->high, value);
}

/* The sums of stacked bars, up and down. */
static void include_stacks(const struct chart *c, struct range *r)
{
	for (int at = 0; at < c->category_count; at++) {
		double up = 0, down = 0;

		for (int i = 0; i < c->series_count; i++)
			for (int k = 0; k < c->series[i].count; k++) {
				double y = c->series[i].points[k].y;

				if ((int)c->series[i].points[k].x != at || !plot_shows(c, 0, y))
					continue;
				*(y > 0 ? &up : &down) += y;
			}
		include(r, up);
		include(r, down);
	}
}

bool plot_is_cut(const struct chart *c, const struct chart_point *q)
{
	bool shown = c->kind == CHART_LINE || c->kind == CHART_BAR;

	return shown && !c->log_y && q->spread < 1e30 && q->y >= 0 && q->spread > q->y;
}

static struct range points_range(const struct chart *c, bool of_x)
{
	struct range r = {DBL_MAX, -DBL_MAX};

	for (int i = 0; i < c->series_count; i++)
		for (int k = 0; k < c->series[i].count; k++) {
			const struct chart_point *q = &c->series[i].points[k];
			double spread = q->spread < 1e30 ? q->spread : 0;

			if (!plot_shows(c, q->x, q->y))
				continue;
			include(&r, of_x ? q->x : q->y);
			if (!of_x && spread > 0) {
				include(&r, q->y + spread);
				if (!c->log_y)
					include(&r, plot_is_cut(c, q) ? 0 : q->y - spread);
			}
		}
	if (!of_x && c->kind == CHART_STACKED)
		include_stacks(c, &r);
	return r;
}

struct range plot_range(const struct chart *c, bool of_x)
{
	struct range r = points_range(c, of_x);

	if (c->beside) {
		struct range other = points_range(c->beside, of_x);

		if (other.low <= other.high) {
			include(&r, other.low);
			include(&r, other.high);
		}
	}
	if (!of_x && c->ideal == IDEAL_X && !c->category_count) {
		struct range x = plot_range(c, true);

		if (!c->log_y || x.low > 0)
			include(&r, x.low);
		include(&r, x.high);
	}
	/* What is compared by its length begins at 0; a curve that would be flat does not. */
	if (!of_x && !c->log_y && (c->kind != CHART_CURVE || r.low < FLAT * r.high))
		include(&r, 0);
	/* Room for the numbers above bars, and around what is on a logarithmic axis. */
	if (!of_x && plot_has_bars(c) && !c->log_y)
		r.high += 0.06 * fmax(r.high, 0);
	if (!of_x && c->log_y && r.high > r.low) {
		r.low /= pow(r.high / r.low, 0.04);
		r.high *= pow(r.high / r.low, 0.04);
	}
	if (r.low > r.high)
		r = (struct range){0, 1};
	return r;
}
