/* draw.c - see draw.h */
#include "plan/draw.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	LEFT = 90,
	TOP = 116,
	CELL_W = 78,
	CELL_H = 40,
	LEGEND_W = 132,
	SIDE_MAX = 64, /* different numbers of stages, or of ways */
	MARGIN = 20,
};

static const double GIB = 1024.0 * 1024 * 1024;

/* The numbers of stages and of ways that there are, ascending. */
struct axes {
	int pp[SIDE_MAX], tp[SIDE_MAX];
	int columns, rows;
	double best; /* s */
};

static void add_value(int *values, int *count, int value)
{
	int at = 0;

	while (at < *count && values[at] < value)
		at++;
	if ((at < *count && values[at] == value) || *count == SIDE_MAX)
		return;
	memmove(values + at + 1, values + at, (size_t)(*count - at) * sizeof(*values));
	values[at] = value;
	++*count;
}

static struct axes axes_of(const struct search *r)
{
	struct axes a = {.best = INFINITY};

	for (int i = 0; i < r->grid_count; i++) {
		add_value(a.pp, &a.columns, r->grids[i].pp);
		add_value(a.tp, &a.rows, r->grids[i].tp);
		a.best = fmin(a.best, r->grids[i].step);
	}
	return a;
}

static int place_of(const int *values, int count, int value)
{
	int at = 0;

	while (at < count && values[at] != value)
		at++;
	return at < count ? at : -1;
}

/* By how many times as long as the fastest a step may take. */
static const struct {
	double most;
	enum ink ink;
	const char *name;
} levels[] = {
	{1.0001, INK_FILL + HUE_GREEN, "the fastest"},
	{1.1, INK_TINT + HUE_GREEN, "to 10 % longer"},
	{1.5, INK_TINT + HUE_YELLOW, "to 50 % longer"},
	{INFINITY, INK_TINT + HUE_ORANGE, "longer"},
};

static enum ink ink_for(double step, double best)
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(levels) && step > best * levels[i].most)
		i++;
	return levels[i].ink;
}

static void draw_legend(struct canvas *canvas)
{
	double x = LEFT;

	for (size_t i = 0; i <= ARRAY_SIZE(levels); i++, x += LEGEND_W) {
		bool last = i == ARRAY_SIZE(levels);
		struct paint paint = {.fill = last ? INK_PANEL : levels[i].ink,
				      .stroke = INK_FRAME};

		canvas_rectangle(canvas, x, 40, 14, 14, 0, paint);
		canvas_text(canvas, x + 20, 52, (struct label){.anchor = ANCHOR_START},
			    last ? "does not fit" : levels[i].name);
	}
}

/* "dp 8, pp 4, mp 2: 14444 ms with 1f1b, micro-batches of 1 and selective recomputation" */
static void describe(const struct search_grid *g, char *tip, size_t size)
{
	const struct setup *s = &g->setup;

	if (isinf(g->step))
		snprintf(tip, size, "dp %d, pp %d, mp %d: the smallest needs %.4g GiB", g->dp,
			 g->pp, g->tp, g->least / GIB);
	else
		snprintf(
			tip, size,
			"dp %d, pp %d, mp %d: %.1f ms with %s, micro-batches of %d, recompute %s%s",
			g->dp, g->pp, g->tp, g->step * 1e3, schedule_name(s->schedule),
			s->micro_batch, setup_recompute_names[s->recompute],
			s->sequence_parallel ? ", sequence parallel" : "");
}

/* What its cell says. */
static const char *value_of(const struct search_grid *g, char *buf, size_t size)
{
	if (isinf(g->step))
		snprintf(buf, size, "%.4g GiB", g->least / GIB);
	else if (g->step >= 1)
		snprintf(buf, size, "%.*f s", g->step < 100 ? 2 : 0, g->step);
	else
		snprintf(buf, size, "%.1f ms", g->step * 1e3);
	return buf;
}

static void draw_cell(const struct axes *a, const struct search_grid *g, struct canvas *canvas)
{
	int column = place_of(a->pp, a->columns, g->pp), row = place_of(a->tp, a->rows, g->tp);
	double x = LEFT + column * CELL_W, y = TOP + row * CELL_H;
	bool fits = !isinf(g->step);
	char tip[200], value[32];

	if (column < 0 || row < 0 || isinf(g->least))
		return;
	describe(g, tip, sizeof(tip));
	canvas_rectangle(canvas, x + 1, y + 1, CELL_W - 2, CELL_H - 2, 3,
			 (struct paint){.fill = fits ? ink_for(g->step, a->best) : INK_PANEL,
					.stroke = INK_FRAME,
					.tip = tip});
	canvas_text(
		canvas, x + CELL_W / 2.0, y + 17,
		(struct label){.anchor = ANCHOR_MIDDLE, .ink = fits ? INK_ON_COLOR : INK_MUTED},
		value_of(g, value, sizeof(value)));
	canvas_textf(canvas, x + CELL_W / 2.0, y + 32,
		     (struct label){.font.size = 10,
				    .anchor = ANCHOR_MIDDLE,
				    .ink = fits ? INK_ON_COLOR : INK_MUTED},
		     "dp %d", g->dp);
}

struct point draw_grids_size(const struct search *r)
{
	struct axes a = axes_of(r);

	return (struct point){
		imax(LEFT + a.columns * CELL_W, LEFT + LEGEND_W * (ARRAY_SIZE(levels) + 1)) +
			MARGIN,
		TOP + a.rows * CELL_H + MARGIN};
}

void draw_grids(const struct search *r, const char *title, struct canvas *canvas)
{
	struct axes a = axes_of(r);

	canvas_text(canvas, LEFT, 20,
		    (struct label){.font = {.size = 15, .bold = true}, .anchor = ANCHOR_START},
		    title);
	draw_legend(canvas);
	canvas_text(
		canvas, LEFT, TOP - 30,
		(struct label){.anchor = ANCHOR_START, .ink = INK_MUTED},
		"pp: pipeline stages, to the right; mp: ways that layers are split, downward");
	for (int i = 0; i < a.columns; i++)
		canvas_textf(canvas, LEFT + i * CELL_W + CELL_W / 2.0, TOP - 8,
			     (struct label){.anchor = ANCHOR_MIDDLE}, "pp %d", a.pp[i]);
	for (int i = 0; i < a.rows; i++)
		canvas_textf(canvas, LEFT - 10, TOP + i * CELL_H + CELL_H / 2.0 + 4,
			     (struct label){.anchor = ANCHOR_END}, "mp %d", a.tp[i]);
	for (int i = 0; i < r->grid_count; i++)
		draw_cell(&a, &r->grids[i], canvas);
}

void draw_grids_svg(const struct search *r, const char *title, struct text *out)
{
	struct point size = draw_grids_size(r);
	struct canvas_svg svg;

	canvas_svg_begin(&svg, out, size.x, size.y);
	draw_grids(r, title, &svg.canvas);
	canvas_svg_end(&svg);
}
