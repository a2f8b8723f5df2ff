/* draw.c - a timeline as rows of text. */
#include "schedule/timeline.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double shortest_span(const struct timeline *t)
{
	double shortest = 0;

	for (int i = 0; i < t->count; i++) {
		double ms = t->spans[i].end_ms - t->spans[i].begin_ms;

		if (ms > 0 && (shortest == 0 || ms < shortest))
			shortest = ms;
	}
	return shortest;
}

/* Columns per ms. A whole number of columns for the shortest operation, if there is room:
   then the usual costs, small multiples of each other, come out without rounding. */
static double text_scale(const struct timeline *t, int columns)
{
	double shortest = shortest_span(t), whole;

	if (t->makespan_ms <= 0)
		return 0;
	whole = floor(columns * shortest / t->makespan_ms * (1 + 1e-9));
	return whole >= 1 ? fmin(whole, 4) / shortest : columns / t->makespan_ms;
}

/* Put the sign of an operation into cells begin .. end-1 of a row. */
static void put_span(char *row, int begin, int end, struct action a)
{
	static const char fills[2][ACTION_PAUSE + 1] = {
		{"=--+=????^oz"},
		{"#~~*#????^oz"},
	};
	char number[16];
	int width = end - begin, digits;

	if (width <= 0)
		return;
	memset(row + begin, fills[a.chunk % 2][a.kind], (size_t)width);
	if (!action_is_computed(a.kind))
		return;
	digits = snprintf(number, sizeof(number), "%d", a.micro_batch);
	if (digits < width)
		memcpy(row + begin, number, (size_t)digits);
	else if (width > 1 || a.kind == ACTION_F || a.kind == ACTION_E)
		row[begin] = number[digits - 1];
}

const char *timeline_row_name(const struct timeline *t, int stage, char buf[ROW_NAME_MAX])
{
	snprintf(buf, ROW_NAME_MAX, "%s %d", t->row ? t->row : "stage",
		 t->rows ? t->rows[stage] : stage);
	return buf;
}

void timeline_draw_text_at(const struct timeline *t, double scale, int width, struct text *out)
{
	char *row = malloc((size_t)width + 1), name[ROW_NAME_MAX];
	int at = 0;

	if (!row) {
		out->failed = true;
		return;
	}
	for (int stage = 0; stage < t->stages; stage++) {
		memset(row, '.', (size_t)width);
		row[width] = '\0';
		for (; at < t->count && t->spans[at].stage == stage; at++)
			put_span(row, (int)lround(t->spans[at].begin_ms * scale),
				 imin((int)lround(t->spans[at].end_ms * scale), width),
				 t->spans[at].action);
		text_addf(out, "%-9s %s\n", timeline_row_name(t, stage, name), row);
	}
	free(row);
}

void timeline_draw_text(const struct timeline *t, int columns, struct text *out)
{
	double scale = text_scale(t, columns);

	timeline_draw_text_at(t, scale, (int)ceil(t->makespan_ms * scale - 1e-6), out);
}
