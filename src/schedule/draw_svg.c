/* draw_svg.c - a timeline on a canvas, and as an SVG document. */
#include "schedule/timeline.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>

enum {
	LEFT = 76,
	RIGHT = 28,
	TOP = 54, /* with a legend of one line, whose base line is here: */
	LEGEND = 38,
	ROW = 22,
	BAR = 18,
	LEGEND_ROW = 20,
	DIGIT = 7, /* width of a digit, with a little air */
};

struct look {
	const char *name;
	enum hue hue; /* its fill; its tint in chunks with odd numbers */
};

/* By enum action_kind. A simulated timeline has what is computed, a measured one may have all.
 */
static const struct look looks[] = {
	[ACTION_F] = {"forward", HUE_SKY},
	[ACTION_B] = {"backward", HUE_GREEN},
	[ACTION_I] = {"input gradient", HUE_GREEN},
	[ACTION_W] = {"weight gradient", HUE_ORANGE},
	[ACTION_E] = {"evaluation", HUE_SKY},
	[ACTION_SEND_F] = {"sending activations", HUE_VIOLET},
	[ACTION_RECV_F] = {"receiving activations", HUE_VIOLET},
	[ACTION_SEND_B] = {"sending gradients", HUE_PINK},
	[ACTION_RECV_B] = {"receiving gradients", HUE_PINK},
	[ACTION_REDUCE] = {"exposed collectives", HUE_VERMILLION},
	[ACTION_STEP] = {"optimizer", HUE_YELLOW},
	[ACTION_PAUSE] = {"sleep", HUE_PINK},
};

static const struct font plain = {.size = 12};

/* A round step for the axis: 1, 2 or 5 times a power of ten, at most 12 of them. */
static double axis_step(double length)
{
	double power = pow(10, floor(log10(length / 12)));
	double steps[] = {1, 2, 5, 10};
	size_t i = 0;

	while (i < ARRAY_SIZE(steps) - 1 && length / (power * steps[i]) > 12)
		i++;
	return power * steps[i];
}

static void draw_axis(const struct timeline *t, double top, double length_ms, double scale,
		      struct canvas *canvas)
{
	double bottom = top + ROW * t->stages + 4, step;

	if (!(length_ms > 0))
		return;
	step = axis_step(length_ms);
	for (int i = 0; i * step <= length_ms * (1 + 1e-9); i++) {
		double x = LEFT + i * step * scale;

		canvas_line(canvas, x, top - 4, x, bottom + 4,
			    (struct paint){.stroke = INK_RULE});
		canvas_textf(canvas, x, bottom + 18,
			     (struct label){.anchor = ANCHOR_MIDDLE, .ink = INK_MUTED}, "%g",
			     i * step);
	}
	canvas_text(canvas, LEFT - 12, bottom + 18,
		    (struct label){.anchor = ANCHOR_END, .ink = INK_MUTED}, "ms");
}

/* One entry of the legend: where the one before it ends is moved on; a line that is full
   goes on below. Nothing is drawn where canvas is NULL. */
static void legend_entry(struct point *at, double width, const struct paint *paint,
			 const char *name, struct canvas *canvas)
{
	double sign = paint ? 22 : 0, length = sign + font_width(&plain, name);

	if (at->x > LEFT && at->x + length > width - 4)
		*at = (struct point){LEFT, at->y + LEGEND_ROW};
	if (canvas && paint)
		canvas_rectangle(canvas, at->x, at->y - 12, 16, 14, 0, *paint);
	if (canvas)
		canvas_text(canvas, at->x + sign, at->y,
			    (struct label){.anchor = ANCHOR_START,
					   .ink = paint ? INK_TEXT : INK_MUTED},
			    name);
	at->x += length + 14;
}

/* Which kinds of operations a timeline has, as bits; and at least so many chunks. */
static unsigned kinds_of(const struct timeline *t, int *chunks)
{
	unsigned seen = 0;

	for (int i = 0; t && i < t->count; i++) {
		seen |= 1u << t->spans[i].action.kind;
		*chunks = imax(*chunks, t->spans[i].action.chunk + 1);
	}
	return seen;
}

double timeline_draw_legend(const struct timeline *a, const struct timeline *b, double y,
			    double width, struct canvas *canvas)
{
	const struct paint idle = {.fill = INK_PANEL, .stroke = INK_FRAME};
	struct point at = {LEFT, y};
	int chunks = 1;
	unsigned seen = kinds_of(a, &chunks) | kinds_of(b, &chunks);

	for (size_t k = 0; k < ARRAY_SIZE(looks); k++) {
		struct paint paint = {.fill = ink_of(INK_FILL, looks[k].hue)};

		if (seen & 1u << k)
			legend_entry(&at, width, &paint, looks[k].name, canvas);
	}
	legend_entry(&at, width, &idle, "idle", canvas);
	legend_entry(&at, width, NULL,
		     chunks > 1 ? "numbers: micro-batch.chunk; odd chunks are lighter"
				: "numbers: micro-batch",
		     canvas);
	return at.y;
}

/* "stage 1: backward of micro-batch 3, 4 to 6 ms (2 ms)" */
static void describe(const struct timeline *t, const struct span *span, const char *label,
		     char *tip, size_t size)
{
	char row[ROW_NAME_MAX];
	bool counted = span->action.kind < ACTION_REDUCE;

	snprintf(tip, size, "%s: %s%s%s, %.4g to %.4g ms (%.3g ms)",
		 timeline_row_name(t, span->stage, row), looks[span->action.kind].name,
		 counted ? " of micro-batch " : "", counted ? label : "", span->begin_ms,
		 span->end_ms, span->end_ms - span->begin_ms);
}

static void draw_span(const struct timeline *t, const struct span *span, double top,
		      double scale, struct canvas *canvas)
{
	const struct look *look = &looks[span->action.kind];
	double x = LEFT + span->begin_ms * scale;
	double width = (span->end_ms - span->begin_ms) * scale;
	double y = top + ROW * span->stage + (ROW - BAR) / 2.0;
	bool odd = span->action.chunk % 2;
	char label[32], tip[160];
	int length;

	length = snprintf(label, sizeof(label), "%d", span->action.micro_batch);
	if (span->action.chunk)
		length = snprintf(label, sizeof(label), "%d.%d", span->action.micro_batch,
				  span->action.chunk);
	describe(t, span, label, tip, sizeof(tip));
	canvas_rectangle(canvas, x, y, width, BAR, 0,
			 (struct paint){.fill = ink_of(odd ? INK_TINT : INK_FILL, look->hue),
					.stroke = INK_PAPER,
					.width = width < 4 ? 0.2 : 1,
					.tip = tip});
	if (width >= length * DIGIT + 1 && span->action.kind < ACTION_REDUCE)
		canvas_text(canvas, x + width / 2, y + BAR / 2.0 + 4,
			    (struct label){.anchor = ANCHOR_MIDDLE, .ink = INK_ON_COLOR},
			    label);
}

double timeline_rows_height(const struct timeline *t)
{
	return ROW * t->stages + 34;
}

void timeline_draw_rows(const struct timeline *t, double y, double width, double length_ms,
			struct canvas *canvas)
{
	double plot = width - LEFT - RIGHT, scale = length_ms > 0 ? plot / length_ms : 0;
	char name[ROW_NAME_MAX];

	for (int stage = 0; stage < t->stages; stage++) {
		canvas_text(canvas, LEFT - 12, y + ROW * stage + ROW / 2.0 + 4,
			    (struct label){.anchor = ANCHOR_END},
			    timeline_row_name(t, stage, name));
		canvas_rectangle(canvas, LEFT, y + ROW * stage + (ROW - BAR) / 2.0,
				 t->makespan_ms * scale, BAR, 0,
				 (struct paint){.fill = INK_PANEL});
	}
	draw_axis(t, y, length_ms, scale, canvas);
	for (int i = 0; i < t->count; i++)
		draw_span(t, &t->spans[i], y, scale, canvas);
}

static double top_of(const struct timeline *t, double width)
{
	return TOP - LEGEND + timeline_draw_legend(t, NULL, LEGEND, width, NULL);
}

double timeline_draw_height(const struct timeline *t, double width)
{
	return top_of(t, width) + timeline_rows_height(t);
}

void timeline_draw(const struct timeline *t, const char *title, double width,
		   struct canvas *canvas)
{
	canvas_text(canvas, LEFT, 16,
		    (struct label){.font = {.size = 15, .bold = true}, .anchor = ANCHOR_START},
		    title);
	timeline_draw_legend(t, NULL, LEGEND, width, canvas);
	timeline_draw_rows(t, top_of(t, width), width, t->makespan_ms, canvas);
}

void timeline_draw_svg(const struct timeline *t, const char *title, struct text *out)
{
	struct canvas_svg svg;

	canvas_svg_begin(&svg, out, TIMELINE_WIDTH, timeline_draw_height(t, TIMELINE_WIDTH));
	timeline_draw(t, title, TIMELINE_WIDTH, &svg.canvas);
	canvas_svg_end(&svg);
}
