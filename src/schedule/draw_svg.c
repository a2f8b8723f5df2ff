/* draw_svg.c - a timeline as an SVG document. */
#include "schedule/timeline.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>

enum {
	LEFT = 76,
	RIGHT = 28,
	TOP = 72,
	ROW = 34,
	BAR = 26,
	PLOT = 1100,
	DIGIT = 7, /* width of a digit, with a little air; and of a small one */
	SMALL_DIGIT = 6,
};

/* After Okabe and Ito: told apart with any kind of colour vision, light enough for labels. */
struct look {
	const char *name, *dark, *light; /* light: chunks with odd numbers */
};

static const struct look looks[] = {
	[ACTION_F] = {"forward", "#56b4e9", "#a9d8f3"},
	[ACTION_B] = {"backward", "#3cb890", "#a5dfcc"},
	[ACTION_I] = {"gradient of the input", "#3cb890", "#a5dfcc"},
	[ACTION_W] = {"gradient of the weights", "#e69f00", "#f3cf80"},
};

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

static void draw_axis(const struct timeline *t, double scale, struct text *out)
{
	int bottom = TOP + ROW * t->stages + 4;
	double step;

	if (t->makespan_ms <= 0)
		return;
	step = axis_step(t->makespan_ms);
	for (int i = 0; i * step <= t->makespan_ms * (1 + 1e-9); i++) {
		double x = LEFT + i * step * scale;

		text_addf(
			out,
			"<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\" stroke=\"#ddd\"/>\n"
			"<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%g"
			"</text>\n",
			x, TOP - 4, x, bottom + 4, x, bottom + 18, i * step);
	}
	text_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#555\">ms</text>\n",
		  LEFT - 12, bottom + 18);
}

static void draw_legend(const struct timeline *t, struct text *out)
{
	unsigned seen = 0;
	int x = LEFT, chunks = 1;

	for (int i = 0; i < t->count; i++) {
		seen |= 1u << t->spans[i].action.kind;
		chunks = imax(chunks, t->spans[i].action.chunk + 1);
	}
	for (int k = ACTION_F; k <= ACTION_W; k++) {
		int length = snprintf(NULL, 0, "%s", looks[k].name);

		if (!(seen & 1u << k))
			continue;
		text_addf(out,
			  "<rect x=\"%d\" y=\"38\" width=\"16\" height=\"14\" fill=\"%s\"/>\n"
			  "<text x=\"%d\" y=\"50\">%s</text>\n",
			  x, looks[k].dark, x + 22, looks[k].name);
		x += 46 + length * DIGIT;
	}
	text_addf(out,
		  "<rect x=\"%d\" y=\"38\" width=\"16\" height=\"14\" fill=\"#f2f2f2\" "
		  "stroke=\"#ccc\"/>\n<text x=\"%d\" y=\"50\">idle</text>\n"
		  "<text x=\"%d\" y=\"50\" fill=\"#555\">numbers: micro-batch%s</text>\n",
		  x, x + 22, x + 74,
		  chunks > 1 ? ".chunk; chunks with odd numbers are lighter" : "");
}

static void draw_span(const struct span *span, double scale, struct text *out)
{
	const struct look *look = &looks[span->action.kind];
	double x = LEFT + span->begin_ms * scale;
	double width = (span->end_ms - span->begin_ms) * scale;
	int y = TOP + ROW * span->stage + (ROW - BAR) / 2;
	char label[32];
	int length;

	text_addf(out,
		  "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" "
		  "stroke=\"#fff\" stroke-width=\"%s\"/>\n",
		  x, y, width, BAR, span->action.chunk % 2 ? look->light : look->dark,
		  width < 4 ? "0.2" : "1");
	length = snprintf(label, sizeof(label), "%d", span->action.micro_batch);
	if (span->action.chunk)
		length = snprintf(label, sizeof(label), "%d.%d", span->action.micro_batch,
				  span->action.chunk);
	if (width >= length * SMALL_DIGIT + 1)
		text_addf(out, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\"%s>%s</text>\n",
			  x + width / 2, y + BAR / 2 + 4,
			  width >= length * DIGIT + 3 ? "" : " font-size=\"9\"", label);
}

void timeline_draw_svg(const struct timeline *t, const char *title, struct text *out)
{
	double scale = t->makespan_ms > 0 ? PLOT / t->makespan_ms : 0;
	int width = LEFT + PLOT + RIGHT, height = TOP + ROW * t->stages + 34;

	text_addf(out,
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" "
		  "fill=\"#222\">\n"
		  "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
		  "<text x=\"%d\" y=\"24\" font-size=\"15\" font-weight=\"bold\">%s</text>\n",
		  width, height, width, height, width, height, LEFT, title);
	draw_legend(t, out);
	for (int stage = 0; stage < t->stages; stage++)
		text_addf(out,
			  "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">stage %d</text>\n"
			  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
			  "fill=\"#f2f2f2\"/>\n",
			  LEFT - 12, TOP + ROW * stage + ROW / 2 + 4, stage, LEFT,
			  TOP + ROW * stage + (ROW - BAR) / 2, PLOT, BAR);
	draw_axis(t, scale, out);
	for (int i = 0; i < t->count; i++)
		draw_span(&t->spans[i], scale, out);
	text_add(out, "</svg>\n");
}
