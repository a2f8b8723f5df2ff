/* chart_plot.c - the axes of a chart and the room that they take; see plot.h */
#include "report/plot.h"
#include "base/util.h"

#include <math.h>
#include <string.h>

enum { LINE = 14, UPWARD_MAX = 110 };

/* Loss scales are powers of two, and read best as such. */
static bool are_binary(const struct chart *c)
{
	for (int i = 0; i < c->series_count; i++)
		for (int k = 0; k < c->series[i].count; k++) {
			double y = c->series[i].points[k].y;

			if (plot_shows(c, 1, y) && (y < 2 || exp2(round(log2(y))) != y))
				return false;
		}
	return true;
}

static void choose_scale(struct plot *p, double high)
{
	static const char *const names[] = {" B", " KiB", " MiB", " GiB", " TiB"};
	size_t i = 0;

	p->scale = 1;
	p->suffix = "";
	if (p->chart->y_kind == COLUMN_PERCENT) {
		p->scale = 100;
		p->suffix = " %";
	}
	if (p->chart->y_kind != COLUMN_BYTES)
		return;
	for (; high >= 1024 && i + 1 < ARRAY_SIZE(names); high /= 1024)
		i++;
	p->scale = pow(1024, -(double)i);
	p->suffix = names[i];
}

static void tick_text(const struct plot *p, double at, int digits, struct text *out)
{
	number_format(at, digits, out);
	text_add(out, p->suffix);
}

static double tick_width(const struct plot *p)
{
	double most = 0;

	for (int i = 0; i < p->y.count; i++) {
		struct text t;

		text_init(&t);
		tick_text(p, p->y.at[i], p->y.digits, &t);
		most = fmax(most, font_width(&plot_small, t.data));
		text_release(&t);
	}
	return most;
}

/* Ticks at the points themselves, if these are few and far enough from each other. */
static bool ticks_at_points(struct plot *p)
{
	const struct chart *c = p->chart;
	struct ticks *t = &p->x;

	t->count = 0;
	t->digits = NUMBER_SHORT;
	for (int i = 0; i < c->series_count; i++)
		for (int k = 0; k < c->series[i].count; k++) {
			double x = c->series[i].points[k].x;
			int at = 0;

			if (!plot_shows(c, x, c->series[i].points[k].y))
				continue;
			while (at < t->count && t->at[at] < x)
				at++;
			if (at < t->count && t->at[at] == x)
				continue;
			if (t->count == TICKS_MAX)
				return false;
			memmove(&t->at[at + 1], &t->at[at],
				(size_t)(t->count++ - at) * sizeof(double));
			t->at[at] = x;
		}
	for (int i = 1; i < t->count; i++)
		if (plot_x(p, t->at[i]) - plot_x(p, t->at[i - 1]) < 36)
			return false;
	return t->count > 0;
}

static void choose_x(struct plot *p)
{
	const struct chart *c = p->chart;
	struct range r = plot_range(c, true);
	int most = imax((int)((p->right - p->left) / 45), 2);

	if (c->category_count)
		return;
	if (!(r.high > r.low))
		r = c->log_x ? (struct range){r.low / 2, r.high * 2}
			     : (struct range){r.low - 1, r.high + 1};
	p->x.low = r.low;
	p->x.high = r.high;
	if (c->kind == CHART_LINE && ticks_at_points(p))
		return;
	p->x = c->log_x ? ticks_log(r.low, r.high, false, most)
			: ticks_linear(r.low, r.high, most);
	/* There is no step 2.5. */
	while (!c->log_x && p->x.digits > 0 && r.low == round(r.low) &&
	       r.high == round(r.high) && r.high - r.low > 2 && most > 2)
		p->x = ticks_linear(r.low, r.high, --most);
	if (c->kind == CHART_CURVE && !c->log_x) {
		/* A curve fills the width: what is beyond its ends is not there. */
		p->x.low = r.low;
		p->x.high = r.high;
	}
}

/* One line of a category's label: as many words as fit, a line end ends it. */
static const char *category_line(const char *text, double width, struct text *out)
{
	out->len = 0;
	text_add(out, "");
	while (*text && *text != '\n') {
		size_t word = strcspn(text, " \n"), before = out->len;

		text_add_n(out, text, word);
		if (before && font_width(&plot_small, out->data) > width) {
			out->len = before;
			out->data[before] = '\0';
			return text;
		}
		text += word;
		if (*text == ' ') {
			text_add(out, " ");
			text++;
		}
	}
	return *text ? text + 1 : text;
}

/* Do all labels fit below their bars? Otherwise they are turned. */
static void choose_categories(struct plot *p)
{
	const struct chart *c = p->chart;
	double slot = (p->right - p->left) / imax(c->category_count, 1) - 4, longest = 0;
	int lines = 1;
	struct text t;

	text_init(&t);
	for (int i = 0; i < c->category_count; i++) {
		const char *rest = c->categories[i];
		int n = 0;

		for (; *rest && n <= CATEGORY_LINES; n++) {
			rest = category_line(rest, slot, &t);
			p->upward |= font_width(&plot_small, t.data) > slot;
		}
		p->upward |= n > CATEGORY_LINES;
		lines = imax(lines, n);
		longest = fmax(longest, font_width(&plot_small, c->categories[i]));
	}
	text_release(&t);
	p->below = p->upward ? fmin(longest, UPWARD_MAX) + 8 : lines * LINE + 6;
}

static bool starts_late(const struct plot *p)
{
	return !p->chart->log_y && p->y.low > 0;
}

static bool has_label(const struct plot *p)
{
	return *p->chart->y_label || p->cut || starts_late(p);
}

/* What the axis shows, and what to beware of. */
static void draw_label(struct plot *p)
{
	struct text t;

	text_init(&t);
	text_add(&t, p->chart->y_label);
	if (starts_late(p)) {
		text_add(&t, t.len ? ", axis from " : "axis from ");
		tick_text(p, p->y.low, p->y.digits, &t);
	}
	if (p->cut)
		text_add(&t, t.len ? ", error bars cut at 0" : "error bars cut at 0");
	canvas_text(p->canvas, 0, p->top - 10, (struct label){.font = plot_font}, t.data);
	text_release(&t);
}

void plot_init(struct plot *p, const struct chart *chart, double width, struct canvas *canvas)
{
	struct range y = plot_range(chart, false);
	double area = fmin(fmax(width * 0.36, 128), 225), legend;

	*p = (struct plot){.chart = chart, .canvas = canvas, .width = width};
	choose_scale(p, fmax(fabs(y.low), fabs(y.high)));
	p->y = chart->log_y
		       ? ticks_log(y.low * p->scale, y.high * p->scale, are_binary(chart), 8)
		       : ticks_linear(y.low * p->scale, y.high * p->scale, 7);
	for (int i = 0; i < chart->series_count; i++)
		for (int k = 0; k < chart->series[i].count; k++)
			p->cut |= plot_is_cut(chart, &chart->series[i].points[k]);
	legend = plot_legend(p, NULL);
	p->left = tick_width(p) + 10;
	p->right = width - 12;
	p->top = legend + (has_label(p) ? 24 : 10);
	p->bottom = p->top + area;
	p->below = LINE + 6;
	choose_x(p);
	if (chart->category_count)
		choose_categories(p);
	p->height = p->bottom + p->below + (*chart->x_label ? LINE + 4 : 0) + 4;
}

static double share(double value, double low, double high, bool is_log)
{
	if (is_log)
		return log(value / low) / log(high / low);
	return (value - low) / (high - low);
}

double plot_x(const struct plot *p, double x)
{
	double at, margin = p->chart->kind == CHART_CURVE ? 0 : 18;

	if (p->chart->category_count)
		at = (x + 0.5) / p->chart->category_count;
	else
		return p->left + margin +
		       (p->right - p->left - 2 * margin) *
			       share(x, p->x.low, p->x.high, p->chart->log_x);
	return p->left + (p->right - p->left) * at;
}

double plot_y(const struct plot *p, double y)
{
	double at = share(y * p->scale, p->y.low, p->y.high, p->chart->log_y);

	return p->bottom - (p->bottom - p->top) * fmin(fmax(at, 0), 1);
}

void plot_format_y(const struct plot *p, double y, struct text *out)
{
	struct column column = {"", "", p->chart->y_kind, -1};

	value_format(&column, &(struct value){.present = true, .number = y}, out);
}

static void draw_category(struct plot *p, int i)
{
	const char *rest = p->chart->categories[i];
	double x = plot_x(p, i), slot = (p->right - p->left) / p->chart->category_count - 4;
	struct label label = {.font = plot_small, .anchor = ANCHOR_MIDDLE, .ink = INK_MUTED};
	struct text line;

	text_init(&line);
	if (p->upward) {
		label.upward = true;
		label.anchor = ANCHOR_END;
		for (text_add(&line, rest); font_width(&plot_small, line.data) > UPWARD_MAX;) {
			do
				line.len--;
			while (((unsigned char)line.data[line.len] & 0xc0) == 0x80);
			line.data[line.len] = '\0';
		}
		for (char *c = line.data; *c; c++)
			if (*c == '\n')
				*c = ' ';
		canvas_text(p->canvas, x + 4, p->bottom + 6, label, line.data);
	}
	for (int n = 0; !p->upward && *rest && n < CATEGORY_LINES; n++) {
		rest = category_line(rest, slot, &line);
		canvas_text(p->canvas, x, p->bottom + 15 + n * LINE, label, line.data);
	}
	text_release(&line);
}

static void draw_x(struct plot *p)
{
	struct label label = {.font = plot_small, .anchor = ANCHOR_MIDDLE, .ink = INK_MUTED};

	for (int i = 0; i < p->chart->category_count; i++)
		draw_category(p, i);
	for (int i = 0; i < p->x.count; i++) {
		double x = plot_x(p, p->x.at[i]);
		struct text t;

		if (x < p->left - 1 || x > p->right + 1)
			continue;
		text_init(&t);
		number_format(p->x.at[i], p->x.digits, &t);
		canvas_line(p->canvas, x, p->bottom, x, p->bottom + 4,
			    (struct paint){.stroke = INK_FRAME});
		canvas_text(p->canvas, x, p->bottom + 16, label, t.data);
		text_release(&t);
	}
	canvas_text(p->canvas, (p->left + p->right) / 2, p->bottom + p->below + LINE,
		    (struct label){.font = plot_font, .anchor = ANCHOR_MIDDLE},
		    p->chart->x_label);
}

void plot_axes(struct plot *p)
{
	for (int i = 0; i < p->y.count; i++) {
		double y = plot_y(p, p->y.at[i] / p->scale);
		struct text t;

		text_init(&t);
		tick_text(p, p->y.at[i], p->y.digits, &t);
		canvas_line(p->canvas, p->left, y, p->right, y,
			    (struct paint){.stroke = INK_RULE});
		canvas_text(p->canvas, p->left - 6, y + 4,
			    (struct label){
				    .font = plot_small, .anchor = ANCHOR_END, .ink = INK_MUTED},
			    t.data);
		text_release(&t);
	}
	draw_label(p);
	draw_x(p);
	canvas_line(p->canvas, p->left, p->bottom, p->right, p->bottom,
		    (struct paint){.stroke = INK_FRAME});
	if (plot_has_bars(p->chart) && p->y.low < 0)
		canvas_line(p->canvas, p->left, plot_y(p, 0), p->right, plot_y(p, 0),
			    (struct paint){.stroke = INK_MUTED});
}
