/* plot.h - a chart while it is drawn: between the files chart*.c. */
#ifndef KOLM_REPORT_PLOT_H
#define KOLM_REPORT_PLOT_H

#include "report/chart.h"

enum { CATEGORY_LINES = 3 }; /* of a label below a bar */

struct plot {
	const struct chart *chart;
	struct canvas *canvas; /* NULL while the size is made out */
	double width;
	double left, right, top, bottom; /* of the area with the data */
	double height;
	struct ticks x, y;
	double scale;	    /* of y: what is written is value times scale, ... */
	const char *suffix; /* ... and then this */
	bool upward;	    /* labels of the categories are turned */
	bool cut;	    /* an error bar goes below 0, where the axis begins */
	double below;	    /* room for labels below the area */
};

static const struct font plot_font = {.size = 12};
static const struct font plot_small = {.size = 11};

/* Lay it out: ticks, margins, height. */
void plot_init(struct plot *p, const struct chart *chart, double width, struct canvas *canvas);

double plot_x(const struct plot *p, double x);
double plot_y(const struct plot *p, double y);

/* What the axes have to show, a chart beside it included. */
struct range {
	double low, high;
};
struct range plot_range(const struct chart *c, bool of_x);
/* Can it be shown on these axes? */
bool plot_shows(const struct chart *c, double x, double y);
/* Does its error bar go below 0, where the axis of what can't be negative begins? */
bool plot_is_cut(const struct chart *c, const struct chart_point *q);
bool plot_has_bars(const struct chart *c);

/* The series and the dashed lines of the ideal; height of the legend. */
double plot_legend(struct plot *p, struct canvas *canvas);
void plot_axes(struct plot *p);
void plot_lines(struct plot *p);
/* The mark of a point: a shape of its own for each series. */
void plot_mark(struct canvas *canvas, int series, struct point at, const char *tip);
void plot_bars(struct plot *p);

/* A value of y with its unit. */
void plot_format_y(const struct plot *p, double y, struct text *out);

#endif
