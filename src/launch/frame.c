/* frame.c - see frame.h */
#include "launch/frame.h"
#include "base/util.h"
#include "launch/pen.h"
#include "launch/frame_table.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	LABEL = 10, /* columns of a cell's name */
	VALUE = 8,  /* and of what it says */
	CELL_MIN = LABEL + VALUE + 1,
	CELL_MAX = 25,
	CELLS = 20,
};

/* A figure and its name. All have the same size, so that nothing moves as they change. */
struct cell {
	const char *label;
	char value[32];
};

struct cells {
	struct cell list[CELLS];
	int count;
};

static char *add_cell(struct cells *cells, const char *label)
{
	struct cell *cell = &cells->list[cells->count++];

	cell->label = label;
	return cell->value;
}

static void add_figure(struct cells *cells, const char *label, double value)
{
	char *text = add_cell(cells, label);

	if (isnan(value))
		snprintf(text, sizeof(cells->list[0].value), "nan");
	else
		pen_figure(text, sizeof(cells->list[0].value), value);
}

static void add_share(struct cells *cells, const char *label, double share)
{
	if (!isnan(share))
		snprintf(add_cell(cells, label), sizeof(cells->list[0].value), "%.0f %%",
			 100 * share);
}

static void add_time(struct cells *cells, const char *label, double ms)
{
	char *text = add_cell(cells, label);
	bool long_one = ms >= 1e4;

	if (isnan(ms))
		snprintf(text, sizeof(cells->list[0].value), "-");
	else
		snprintf(text, sizeof(cells->list[0].value), "%.*f %s",
			 ms < 10		 ? 2
			 : ms < 1000 || long_one ? 1
						 : 0,
			 long_one ? ms / 1e3 : ms, long_one ? "s" : "ms");
}

static void add_peak_memory(struct cells *cells, const struct survey *s)
{
	uint64_t most = 0;

	for (int i = 0; i < s->count; i++)
		most = s->ranks[i].peak_bytes > most ? s->ranks[i].peak_bytes : most;
	pen_size(add_cell(cells, "memory"), sizeof(cells->list[0].value), most);
}

/* What the hottest of them has, and the fullest. */
static void add_gpus(struct cells *cells, const struct survey *s)
{
	double celsius = NAN, bytes = NAN;

	for (int i = 0; i < s->count; i++) {
		celsius = fmax(celsius, s->ranks[i].gpu_celsius);
		bytes = fmax(bytes, s->ranks[i].gpu_bytes);
	}
	add_share(cells, "GPU busy", survey_mean(s, offsetof(struct survey_rank, gpu_busy)));
	if (!isnan(bytes))
		pen_size(add_cell(cells, "GPU mem"), sizeof(cells->list[0].value),
			 (uint64_t)bytes);
	if (!isnan(celsius))
		snprintf(add_cell(cells, "GPU temp"), sizeof(cells->list[0].value), "%.0f C",
			 celsius);
}

#define MEAN(s, member) survey_mean(s, offsetof(struct survey_rank, member))

static void fill_cells(struct cells *cells, const struct survey *s)
{
	const struct survey_rank *slowest = survey_slowest(s);

	if (!s->step) {
		snprintf(add_cell(cells, "starting"), sizeof(cells->list[0].value), "...");
		add_peak_memory(cells, s);
		return;
	}
	if (s->simulated)
		snprintf(add_cell(cells, "loss"), sizeof(cells->list[0].value), "-");
	else
		add_figure(cells, "loss", s->loss);
	if (s->evaluated)
		add_figure(cells, "held out", s->held_out_loss);
	if (s->scheduled)
		snprintf(add_cell(cells, "lr"), sizeof(cells->list[0].value), "%.2g", s->lr);
	if (s->tokens)
		add_figure(cells, "tokens/s", s->samples_per_s * s->tokens);
	else
		add_figure(cells, "samples/s", s->samples_per_s);
	add_time(cells, "step", s->step_ms);
	add_peak_memory(cells, s);
	add_figure(cells, "GFLOP/s", s->gflops);
	add_share(cells, "of peak", s->gflops / s->peak_gflops);
	if (grid_size(&s->grid) > 1) {
		add_share(cells, "busy", MEAN(s, compute));
		add_share(cells, "messages", MEAN(s, comm));
		add_share(cells, "waiting", MEAN(s, lost));
		if (slowest)
			snprintf(add_cell(cells, "slowest"), sizeof(cells->list[0].value),
				 "rank %d", slowest->number);
		else if (!isnan(MEAN(s, lost)))
			snprintf(add_cell(cells, "slowest"), sizeof(cells->list[0].value),
				 "none");
	}
	add_gpus(cells, s);
	if (s->loss_scale != 1 || s->skipped) {
		pen_number(add_cell(cells, "scale"), sizeof(cells->list[0].value),
			   s->loss_scale);
		snprintf(add_cell(cells, "skipped"), sizeof(cells->list[0].value), "%d",
			 s->skipped);
	}
}

/* As many columns of cells as fit, then as few lines as that allows, filled evenly. */
static void draw_cells(struct pen *p, const struct survey *s)
{
	struct cells cells = {.count = 0};
	int across, lines, width;

	fill_cells(&cells, s);
	across = imax(1, p->columns / CELL_MIN);
	lines = (int)ceil_div(cells.count, across);
	across = (int)ceil_div(cells.count, lines);
	width = imin(p->columns / across, CELL_MAX);
	for (int i = 0; i < cells.count; i++) {
		int at = i % across * width;

		pen_move(p, at);
		pen_put(p, STYLE_DIM, cells.list[i].label);
		pen_move(p, at + LABEL);
		pen_put(p, STYLE_PLAIN, cells.list[i].value);
		if (i % across == across - 1 || i == cells.count - 1)
			pen_end_line(p);
	}
}

/* 0:42, 1:02:03, 2 d 3 h. */
static void format_time(double ms, char *buf, size_t size)
{
	double s = ceil(ms / 1e3);

	if (s < 3600)
		snprintf(buf, size, "%d:%02d", (int)s / 60, (int)s % 60);
	else if (s < 86400)
		snprintf(buf, size, "%d:%02d:%02d", (int)s / 3600, (int)s / 60 % 60,
			 (int)s % 60);
	else
		snprintf(buf, size, "%.0f d %.0f h", floor(s / 86400),
			 floor(fmod(s, 86400) / 3600));
}

static void draw_bar(struct pen *p, const struct survey *s)
{
	double share = s->steps > 0 ? (double)s->step / s->steps : 0;
	char before[48], after[64], left[32] = "";
	int width, digits = snprintf(NULL, 0, "%d", s->steps);

	if (!isnan(s->left_ms))
		format_time(s->left_ms, left, sizeof(left));
	snprintf(before, sizeof(before), "step %*d of %d  ", digits, s->step, s->steps);
	snprintf(after, sizeof(after), "  %3d %%  %s%s", (int)(100 * share),
		 s->step >= s->steps ? "done" : left,
		 *left && s->step < s->steps ? " left" : "");
	/* Room for a time that is longer than this one: the bar keeps its length. */
	width = imin(p->columns, 100) - (int)strlen(before) - imax((int)strlen(after), 21);
	pen_put(p, STYLE_BOLD, before + (width < 8 ? strlen("step ") : 0));
	if (width < 8)
		width = p->columns - p->column - (int)strlen(after);
	pen_bar(p, imax(0, width), share, 0);
	pen_put(p, STYLE_PLAIN, after);
	pen_end_line(p);
}

/* Nothing has moved for a while: whom do they wait for, and what does that one do? */
static void draw_standstill(struct pen *p, const struct survey *s)
{
	int victims;
	const struct survey_rank *culprit = survey_culprit(s, &victims);

	if (!s->stands)
		return;
	pen_putf(p, STYLE_YELLOW, "no step for %.0f s", s->still_ms / 1e3);
	if (culprit && victims)
		pen_putf(p, STYLE_PLAIN, ": %d rank%s wait%s for rank %d, at %s", victims,
			 victims == 1 ? "" : "s", victims == 1 ? "s" : "", culprit->number,
			 culprit->where);
	else if (culprit)
		pen_putf(p, STYLE_PLAIN, ": rank %d is at %s", culprit->number, culprit->where);
	pen_end_line(p);
}

/* No more lines than that. */
static void cut(struct text *out, size_t begin, int lines)
{
	char *p = out->data + begin;

	while (lines-- > 0 && strchr(p, '\n'))
		p = strchr(p, '\n') + 1;
	out->len = (size_t)(p - out->data);
	out->data[out->len] = '\0';
}

void frame_draw(const struct frame *f, const struct survey *s, struct text *out)
{
	struct pen p = {.out = out,
			.columns = f->columns - 1, /* in the last one terminals differ */
			.utf8 = f->utf8,
			.colour = f->colour};
	size_t begin = out->len;

	if (f->title) {
		pen_put(&p, STYLE_BOLD, f->title);
		pen_end_line(&p);
	}
	draw_bar(&p, s);
	draw_cells(&p, s);
	draw_standstill(&p, s);
	if (f->table)
		frame_draw_table(&p, s, f->pids, f->lines ? f->lines - 1 - p.lines : INT_MAX);
	if (f->lines && !out->failed)
		cut(out, begin, f->lines - 1);
}
