/* figures.c - see figures.h */
#include "report/figures.h"
#include "grid/draw.h"

#include <string.h>

/* Wide: their text is 7 points on paper, or more; and so high. */
enum { TIMELINE_UNITS = 760, TIMELINE_ROWS = 36, GRID_UNITS = 840, GRID_HEIGHT = 1100 };

static void draw_grid(const void *arg, struct canvas *canvas)
{
	grid_draw(arg, canvas);
}

bool figure_grid_fits(const struct grid *g)
{
	struct point size = grid_draw_size(g);

	return size.x <= GRID_UNITS && size.y <= GRID_HEIGHT;
}

void figure_grid(struct document *d, const struct grid *g, const char *caption)
{
	struct grid *copy = arena_get(&d->arena, 1, sizeof(*copy));
	struct point size = grid_draw_size(g);

	if (!copy)
		return;
	*copy = *g;
	document_drawing(d,
			 &(struct drawing){.draw = draw_grid,
					   .arg = copy,
					   .width = size.x,
					   .height = size.y,
					   .what = "the ranks of the grid and their groups"},
			 caption);
}

struct timeline_figure {
	struct timeline timeline;
	const char *title;
};

static void draw_timeline(const void *arg, struct canvas *canvas)
{
	const struct timeline_figure *f = arg;

	timeline_draw(&f->timeline, f->title, TIMELINE_UNITS, canvas);
}

void figure_timeline(struct document *d, const struct timeline *t, const char *title,
		     const char *caption)
{
	struct timeline_figure *f = arena_get(&d->arena, 1, sizeof(*f));
	struct span *spans = arena_get(&d->arena, (size_t)t->count, sizeof(*spans));
	struct stage_time *totals = arena_get(&d->arena, (size_t)t->stages, sizeof(*totals));
	int *rows = t->rows ? arena_get(&d->arena, (size_t)t->stages, sizeof(*rows)) : NULL;

	if (t->stages > TIMELINE_ROWS)
		return;
	if (!f || !spans || !totals || (t->rows && !rows))
		return;
	if (rows)
		memcpy(rows, t->rows, (size_t)t->stages * sizeof(*rows));
	memcpy(spans, t->spans, (size_t)t->count * sizeof(*spans));
	memcpy(totals, t->totals, (size_t)t->stages * sizeof(*totals));
	f->timeline = *t;
	f->timeline.spans = spans;
	f->timeline.totals = totals;
	f->timeline.rows = rows;
	f->title = document_string(d, title);
	document_drawing(
		d,
		&(struct drawing){.draw = draw_timeline,
				  .arg = f,
				  .width = TIMELINE_UNITS,
				  .height = timeline_draw_height(&f->timeline, TIMELINE_UNITS),
				  .what = f->title,
				  .zoom = true},
		caption);
}

enum status figure_schedule(struct document *d, enum schedule_kind kind, int stages,
			    int micro_batches, const struct costs *costs, const char *caption,
			    struct error *err)
{
	enum status st;
	struct schedule s = {.stages = 0};
	struct timeline t = {.stages = 0};

	TRY(schedule_init(&s, kind, stages, micro_batches, 1, err));
	TRY(timeline_simulate(&t, &s, costs, err));
	figure_timeline(d, &t,
			document_stringf(d, "%s: %d micro-batches take %.4g ms, idle %.0f %%",
					 schedule_name(kind), micro_batches, t.makespan_ms,
					 t.bubble * 100),
			caption);
out:
	timeline_release(&t);
	schedule_release(&s);
	return st;
}
