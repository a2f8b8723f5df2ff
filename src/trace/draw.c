/* draw.c - measured and predicted, one above the other on the same scale; see compare.h */
#include "base/canvas.h"
#include "base/util.h"
#include "trace/compare.h"

#include <math.h>
#include <stdio.h>

enum {
	LEFT = 76, /* where the rows of a timeline begin */
	TITLE_Y = 24,
	LEGEND_Y = 50,
	HEADING = 30, /* above each of the two */
	GAP = 12,
	LINE = 20,
	SENTENCE_MAX = 480,
};

static double length_of(const struct comparison *c)
{
	return fmax(c->measured.makespan_ms, c->predicted.makespan_ms);
}

static const struct part {
	const char *name;
	size_t offset;
	bool always;
} parts[] = {
	{"computing", offsetof(struct time_account, compute), true},
	{"exposed messages", offsetof(struct time_account, messages), true},
	{"waiting", offsetof(struct time_account, waiting), true},
	{"pauses", offsetof(struct time_account, pause), false},
	{"other", offsetof(struct time_account, other), true},
};

static double part_of(const struct time_account *a, const struct part *p)
{
	return *(const double *)((const char *)a + p->offset);
}

/* Digits behind the point, so that a thousandth of the step is seen. */
static int digits_for(double ms)
{
	return ms >= 100 ? 1 : ms >= 10 ? 2 : ms >= 1 ? 3 : 4;
}

/* What rounds to nothing has no sign. */
static double plain(double ms, int digits)
{
	return fabs(ms) < 0.5 * pow(10, -digits) ? 0 : ms;
}

/* What the step is called that was not predicted. */
static const char *found(const struct comparison *c)
{
	return c->simulated ? "simulated" : "measured";
}

static void explain_difference(const struct comparison *c, struct text *out)
{
	double took = c->took.total, expected = c->expected.total;
	int digits = digits_for(took);

	text_addf(out, "%s %.*f ms, predicted %.*f ms (%+.*f):", found(c), digits, took, digits,
		  expected, digits, plain(took - expected, digits));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		double by = part_of(&c->took, &parts[i]) - part_of(&c->expected, &parts[i]);

		if (parts[i].always || fabs(by) > took * 1e-4)
			text_addf(out, "%s %s %+.*f", i ? "," : "", parts[i].name, digits,
				  plain(by, digits));
	}
}

static bool explain_slowest(const struct comparison *c, const char *group, struct text *out)
{
	if (c->slowest < 0)
		return false;
	text_addf(out, "%s %d is busy %.*f %% longer than the mean", group, c->slowest,
		  c->excess < 0.1 ? 1 : 0, c->excess * 100);
	return true;
}

static bool explain_before(const struct comparison *c, struct text *out)
{
	const struct trace_prediction *p = &c->before;
	int digits = digits_for(c->took.total);

	if (p->step_ms <= 0)
		return false;
	text_addf(out, "before the first step %.*f ms", digits, p->step_ms);
	if (p->low_ms < p->high_ms)
		text_addf(out, " (%.*f to %.*f)", digits, p->low_ms, digits, p->high_ms);
	text_add(out, " were predicted");
	return true;
}

static const char *group_of(const struct comparison *c)
{
	return c->predicted.stages > 1 ? "stage" : "rank";
}

void comparison_explain(const struct comparison *c, struct text *out)
{
	explain_difference(c, out);
	text_add(out, "\n");
	if (explain_before(c, out))
		text_add(out, "\n");
	if (explain_slowest(c, group_of(c), out))
		text_add(out, "\n");
}

static void draw_table(const struct comparison *c, struct text *out)
{
	int digits = digits_for(c->took.total);

	text_addf(out, "%-18s %10s %10s %10s\n", "ms, mean over ranks", found(c), "predicted",
		  "difference");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		double a = part_of(&c->took, &parts[i]), b = part_of(&c->expected, &parts[i]);

		if (parts[i].always || a > 0 || b > 0)
			text_addf(out, "%-19s %10.*f %10.*f %+10.*f\n", parts[i].name, digits,
				  plain(a, digits), digits, plain(b, digits), digits,
				  plain(a - b, digits));
	}
	text_addf(out, "%-19s %10.*f %10.*f %+10.*f\n", "the step", digits, c->took.total,
		  digits, c->expected.total, digits,
		  plain(c->took.total - c->expected.total, digits));
}

void comparison_draw_text(const struct comparison *c, int columns, struct text *out)
{
	double length = length_of(c), scale = length > 0 ? columns / length : 0;

	text_addf(out, "%s, step %d%s\n", found(c), c->step,
		  c->part ? ", the first rank of each stage" : "");
	timeline_draw_text_at(&c->measured, scale,
			      imin(columns, (int)ceil(c->measured.makespan_ms * scale)), out);
	text_add(out, "predicted from the means of this run\n");
	timeline_draw_text_at(&c->predicted, scale,
			      imin(columns, (int)ceil(c->predicted.makespan_ms * scale)), out);
	text_add(out, "\n");
	draw_table(c, out);
	text_add(out, "\n");
	comparison_explain(c, out);
}

/* ---- as a picture ---- */

static double draw_one(const struct timeline *t, const char *heading, double y, double length,
		       struct canvas *canvas)
{
	canvas_text(canvas, LEFT, y + HEADING - 12,
		    (struct label){.font = {.size = 13, .bold = true}, .anchor = ANCHOR_START},
		    heading);
	timeline_draw_rows(t, y + HEADING, TIMELINE_WIDTH, length, canvas);
	return y + HEADING + timeline_rows_height(t) + GAP;
}

static void draw_sentence(struct canvas *canvas, double y, const char *text)
{
	canvas_text(canvas, LEFT, y, (struct label){.anchor = ANCHOR_START}, text);
}

static void name_run(const struct trace *t, int step, char *buf, size_t size)
{
	snprintf(buf, size, "Step %d of dp %d x pp %d x mp %d, %s%s, %d micro-batch%s; %s",
		 step, t->grid.dp, t->grid.pp, t->grid.mp, schedule_name(t->schedule),
		 t->base ? " (base engine)" : "", t->micro_batches,
		 t->micro_batches == 1 ? "" : "es", t->device);
}

void comparison_draw_svg(const struct comparison *c, const struct trace *t, struct text *out)
{
	double length = length_of(c), top, y;
	double legend = timeline_draw_legend(&c->measured, &c->predicted, LEGEND_Y,
					     TIMELINE_WIDTH, NULL);
	char title[256], heading[SENTENCE_MAX];
	int digits = digits_for(c->took.total);
	struct canvas_svg svg;
	struct text sentence;

	text_init(&sentence);
	top = legend + 10;
	canvas_svg_begin(&svg, out, TIMELINE_WIDTH,
			 top + 2 * (HEADING + GAP) + timeline_rows_height(&c->measured) +
				 timeline_rows_height(&c->predicted) +
				 (1 + (c->before.step_ms > 0) + (c->slowest >= 0)) * LINE +
				 GAP);
	name_run(t, c->step, title, sizeof(title));
	canvas_text(&svg.canvas, LEFT, TITLE_Y,
		    (struct label){.font = {.size = 15, .bold = true}, .anchor = ANCHOR_START},
		    title);
	timeline_draw_legend(&c->measured, &c->predicted, LEGEND_Y, TIMELINE_WIDTH,
			     &svg.canvas);
	snprintf(heading, sizeof(heading), "%s%s: %.*f ms, bubble %.1f %%", found(c),
		 c->part ? ", the first rank of each stage" : "", digits, c->took.total,
		 c->measured.bubble * 100);
	y = draw_one(&c->measured, heading, top, length, &svg.canvas);
	snprintf(heading, sizeof(heading),
		 "predicted from the means of this run: %.*f ms, bubble %.1f %%", digits,
		 c->expected.total, c->predicted.bubble * 100);
	y = draw_one(&c->predicted, heading, y, length, &svg.canvas);
	explain_difference(c, &sentence);
	y += GAP;
	draw_sentence(&svg.canvas, y, sentence.data);
	text_release(&sentence);
	if (explain_before(c, &sentence))
		draw_sentence(&svg.canvas, y += LINE, sentence.data);
	text_release(&sentence);
	if (explain_slowest(c, group_of(c), &sentence))
		draw_sentence(&svg.canvas, y + LINE, sentence.data);
	out->failed |= sentence.failed;
	text_release(&sentence);
	canvas_svg_end(&svg);
}
