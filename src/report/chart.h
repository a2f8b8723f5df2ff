/*
 * chart.h - charts: series of points, drawn on a canvas.
 *
 * Lines have error bars where points have a spread; bars stand side by side or on top of
 * each other, one place per category. Points of a line chart whose x is text have
 * categories too.
 */
#ifndef KOLM_REPORT_CHART_H
#define KOLM_REPORT_CHART_H

#include "base/arena.h"
#include "base/canvas.h"
#include "report/table.h"

/* Those that a study can ask for. */
#define CHART_KINDS(X)  \
	X(LINE, "line") \
	X(BAR, "bar")   \
	X(STACKED, "stacked")
#define CHART_KIND(name, ...) CHART_##name,
enum chart_kind {
	CHART_KINDS(CHART_KIND) CHART_CURVE, /* a line of many points, without marks */
};

enum chart_ideal { IDEAL_NONE, IDEAL_X, IDEAL_CONSTANT };

struct chart_point {
	double x, y, spread; /* x is the number of the category where there are categories */
};

struct chart_series {
	const char *name;
	struct chart_point *points;
	int count;
};

struct chart {
	const char *title, *caption, *x_label, *y_label;
	enum chart_kind kind;
	enum column_kind y_kind; /* how its values are written */
	bool log_x, log_y;
	enum chart_ideal ideal;
	const char **categories; /* (category_count) */
	int category_count;	 /* 0: x are numbers */
	struct chart_series *series;
	int series_count;
	const struct chart *beside; /* shows the same: their axes are the same; or NULL */
};

struct chart *chart_new(struct arena *a, enum chart_kind kind, int series);
bool chart_has_points(const struct chart *c);

/* How high a chart so many units wide wants to be, and the chart. */
double chart_height(const struct chart *c, double width);
/* Can everything be read at that width? */
bool chart_fits(const struct chart *c, double width);
/* On a screen: narrow if it fits. */
enum { CHART_NARROW = 520, CHART_WIDE = 960 };
int chart_width(const struct chart *c);
void chart_draw(const struct chart *c, double width, struct canvas *canvas);

/* What the mark of series i looks like; for legends elsewhere. */
enum hue chart_hue(int series);

/*
 * Round values along an axis from low to high: at most max of them. A linear axis grows so
 * that it begins and ends at one. On a logarithmic axis they are powers of ten, with 2 and 5
 * times them where there are few, or powers of two.
 */
enum { TICKS_MAX = 16 };
struct ticks {
	double low, high;
	double at[TICKS_MAX];
	int count;
	int digits; /* behind the point, for number_format */
};
struct ticks ticks_linear(double low, double high, int max);
struct ticks ticks_log(double low, double high, bool binary, int max);

#endif
