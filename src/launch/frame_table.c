/* frame_table.c - see frame_table.h */
#include "launch/frame_table.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DOING_MIN = 28, BAR_WIDTH = 10 };

/* From left to right. Where it is narrow, those with the highest "goes" go first; what a
   rank does takes the rest of the line. */
enum column { RANK, PLACE, PID, BAR, BUSY, WAITS, NOW, PEAK, GPU, USED, HEAT, POWER };
enum { COLUMN_COUNT = POWER + 1 };
static const struct {
	const char *name;
	int width, goes;
} columns[COLUMN_COUNT] = {
	[RANK] = {"rank", 4, 0},   [PLACE] = {"dp pp mp", 10, 0},
	[PID] = {"pid", 9, 3},	   [BAR] = {"", BAR_WIDTH + 2, 4},
	[BUSY] = {"busy", 6, 0},   [WAITS] = {"waits", 7, 1},
	[NOW] = {"memory", 10, 2}, [PEAK] = {"peak", 10, 5},
	[GPU] = {"GPU", 6, 1},	   [USED] = {"GPU mem", 10, 3},
	[HEAT] = {"temp", 6, 4},   [POWER] = {"power", 7, 6},
};

struct table {
	bool shown[COLUMN_COUNT];
	int doing; /* columns left for what a rank does */
};

static void hide(struct table *t, int i)
{
	t->doing += t->shown[i] ? columns[i].width : 0;
	t->shown[i] = false;
}

static struct table plan(int width, bool pids, bool gpus)
{
	struct table t = {.doing = width - 2};

	for (int i = 0; i < COLUMN_COUNT; i++) {
		t.shown[i] = true;
		t.doing -= columns[i].width;
	}
	if (!pids)
		hide(&t, PID);
	for (int i = GPU; i <= POWER && !gpus; i++)
		hide(&t, i);
	for (int goes = COLUMN_COUNT; goes > 0; goes--)
		for (int i = 0; i < COLUMN_COUNT && t.doing < DOING_MIN; i++)
			if (columns[i].goes == goes)
				hide(&t, i);
	return t;
}

static void draw_heading(struct pen *p, const struct table *t)
{
	int end = 0;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		if (!t->shown[i])
			continue;
		end += columns[i].width;
		pen_move(p, end - (int)strlen(columns[i].name));
		pen_put(p, STYLE_DIM, columns[i].name);
	}
	pen_move(p, end + 2);
	pen_put(p, STYLE_DIM, "doing");
	pen_end_line(p);
}

static void format_share(double share, char *buf, size_t size)
{
	if (isnan(share))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.0f %%", 100 * share);
}

static void format_unit(double value, const char *unit, char *buf, size_t size)
{
	if (isnan(value))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.0f %s", value, unit);
}

/* What stands at the right end of a column. */
static void format_cell(const struct survey_rank *r, enum column column, char *buf, size_t size)
{
	switch (column) {
	case RANK:
		snprintf(buf, size, "%d", r->number);
		break;
	case PLACE:
		snprintf(buf, size, "%2d %2d %2d", r->at.dp, r->at.pp, r->at.mp);
		break;
	case PID:
		snprintf(buf, size, "%d", r->pid);
		break;
	case BUSY:
		format_share(r->compute, buf, size);
		break;
	case WAITS:
		format_share(r->lost, buf, size);
		break;
	case NOW:
		pen_size(buf, size, r->now_bytes);
		break;
	case PEAK:
		pen_size(buf, size, r->peak_bytes);
		break;
	case GPU:
		format_share(r->gpu_busy, buf, size);
		break;
	case USED:
		if (isnan(r->gpu_bytes))
			snprintf(buf, size, "-");
		else
			pen_size(buf, size, (uint64_t)r->gpu_bytes);
		break;
	case HEAT:
		format_unit(r->gpu_celsius, "C", buf, size);
		break;
	case POWER:
		format_unit(r->gpu_watts, "W", buf, size);
		break;
	case BAR: /* is drawn */
		buf[0] = '\0';
		break;
	}
}

static void draw_doing(struct pen *p, const struct survey_rank *r)
{
	const char *where = r->where;

	/* All are at about the same step, which stands above. */
	if (!strncmp(where, "step ", 5) && strchr(where + 5, ' '))
		where = strchr(where + 5, ' ') + 1;
	pen_put(p, STYLE_PLAIN, *where ? where : "starting");
	if (*r->waiting)
		pen_putf(p, STYLE_DIM, ", %s", r->waiting);
}

static void draw_rank(struct pen *p, const struct table *t, const struct survey_rank *r)
{
	int end = 0;

	for (int i = 0; i < COLUMN_COUNT; i++) {
		char text[64];

		if (!t->shown[i])
			continue;
		end += columns[i].width;
		format_cell(r, (enum column)i, text, sizeof(text));
		pen_move(p, end - (i == BAR ? BAR_WIDTH : (int)strlen(text)));
		if (i == BAR)
			pen_bar(p, BAR_WIDTH, r->compute, r->comm);
		else
			pen_put(p, STYLE_PLAIN, text);
	}
	pen_move(p, end + 2);
	draw_doing(p, r);
	pen_end_line(p);
}

void frame_draw_table(struct pen *p, const struct survey *s, bool pids, int lines)
{
	int shown = s->count < lines ? s->count : imax(0, lines - 2);
	bool gpus = false;
	struct table t;

	for (int i = 0; i < s->count; i++)
		gpus = gpus || s->ranks[i].measured;
	t = plan(p->columns, pids, gpus);

	draw_heading(p, &t);
	for (int i = 0; i < shown; i++)
		draw_rank(p, &t, &s->ranks[i]);
	if (shown < s->count) {
		pen_putf(p, STYLE_DIM, "and %d more ranks", s->count - shown);
		pen_end_line(p);
	}
}
