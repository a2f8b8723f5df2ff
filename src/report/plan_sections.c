/* plan_sections.c - see plan_sections.h */
#include "report/plan_sections.h"
#include "base/util.h"
#include "base/version.h"
#include "plan/draw.h"
#include "plan/simulate.h"
#include "report/figures.h"

#include <math.h>
#include <stdio.h>

enum { STAGES_SHOWN = 32, SPANS_SHOWN = 4000 };

static const double GIB = 1024.0 * 1024 * 1024;

const char *plan_title(const struct plan *p, char *buf, size_t size)
{
	snprintf(buf, size, "%.4g G parameters on %d devices of %s",
		 p->outline.parameters / 1e9, p->space.setup.gpus, p->cluster.name);
	return buf;
}

const char *plan_grids_title(const struct plan *p, char *buf, size_t size)
{
	char title[160];

	snprintf(buf, size, "%s, grid by grid", plan_title(p, title, sizeof(title)));
	return buf;
}

static struct value number(double x)
{
	return (struct value){.present = isfinite(x), .number = x};
}

static struct value word(const char *s)
{
	return (struct value){.present = *s != '\0', .text = s};
}

/* ---- tables ---- */

static const struct column columns[] = {
	{"devices", "", COLUMN_INTEGER, 0},
	{"step", "ms", COLUMN_NUMBER, 1},
	{"simulated", "ms", COLUMN_NUMBER, 1},
	{"tokens per second", "", COLUMN_NUMBER, 0},
	{"MFU", "", COLUMN_PERCENT, -1},
	{"bubble", "", COLUMN_PERCENT, -1},
	{"exposed", "", COLUMN_PERCENT, -1},
	{"memory", "GiB", COLUMN_NUMBER, 2},
	{"dp", "", COLUMN_INTEGER, 0},
	{"pp", "", COLUMN_INTEGER, 0},
	{"mp", "", COLUMN_INTEGER, 0},
	{"micro-batch", "", COLUMN_INTEGER, 0},
	{"schedule", "", COLUMN_TEXT, -1},
	{"recompute", "", COLUMN_TEXT, -1},
	{"sequence parallel", "", COLUMN_FLAG, -1},
	{"ZeRO", "", COLUMN_INTEGER, 0},
};

static void fill_row(struct document *d, struct row *row, const struct search_found *found,
		     const struct cluster *c)
{
	const struct setup *s = &found->setup;
	const struct forecast *f = &found->forecast;
	struct value *v = row->values;

	*v++ = number(s->gpus);
	*v++ = number(f->step * 1e3);
	*v++ = number(found->simulated * 1e3);
	*v++ = number(forecast_tokens_per_s(f, s));
	*v++ = number(forecast_mfu(f, s, c));
	*v++ = number(forecast_bubble(f));
	*v++ = number((f->sums + f->messages + f->gradients) / f->step);
	*v++ = number(f->memory / GIB);
	*v++ = number(s->dp);
	*v++ = number(s->pp);
	*v++ = number(s->tp);
	*v++ = number(s->micro_batch);
	*v++ = word(s->pp == 1	     ? ""
		    : s->chunks == 1 ? schedule_name(s->schedule)
				     : document_stringf(d, "%s %d", schedule_name(s->schedule),
							s->chunks));
	*v++ = word(setup_recompute_names[s->recompute]);
	*v++ = (struct value){.present = true, .number = s->sequence_parallel};
	*v = s->zero ? number(s->zero) : (struct value){.present = false};
}

static void add_table(struct document *d, const char *title, const char *note,
		      const struct search_found *list, int count, const struct cluster *c)
{
	struct table *t = table_new(&d->arena, ARRAY_SIZE(columns), count);

	if (!t || !count)
		return;
	t->title = title;
	t->note = note;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		t->columns[i] = columns[i];
	for (int i = 0; i < count; i++)
		fill_row(d, &t->rows[i], &list[i], c);
	table_drop_empty(t);
	document_table(d, t);
}

/* ---- where time and memory go ---- */

struct part {
	const char *name;
	double value;
};

/* One bar of the stack: category i of so many. */
static void set_bar(struct chart *c, int i, const struct part *parts)
{
	for (int k = 0; k < c->series_count; k++) {
		struct chart_series *s = &c->series[k];

		s->name = parts[k].name;
		if (s->points)
			s->points[s->count++] =
				(struct chart_point){.x = i, .y = parts[k].value};
	}
}

static struct chart *stack_of(struct document *d, int parts, int bars)
{
	struct chart *c = chart_new(&d->arena, CHART_STACKED, parts);

	if (!c)
		return NULL;
	c->categories = arena_get(&d->arena, (size_t)bars, sizeof(char *));
	c->category_count = c->categories ? bars : 0;
	for (int k = 0; k < parts; k++)
		c->series[k].points =
			arena_get(&d->arena, (size_t)bars, sizeof(struct chart_point));
	return c->categories ? c : NULL;
}

static void add_times(struct document *d, const struct plan *p)
{
	int n = imin(p->search.best_count, 12);
	struct chart *c = stack_of(d, 6, n);

	if (!c)
		return;
	c->title = "Where the time of a step goes";
	c->y_label = "ms";
	c->x_label = "the best ones";
	for (int i = 0; i < n; i++) {
		const struct forecast *f = &p->search.best[i].forecast;
		const struct setup *s = &p->search.best[i].setup;
		struct part parts[] = {{"work", f->work * 1e3},
				       {"tensor-parallel sums", f->sums * 1e3},
				       {"messages", f->messages * 1e3},
				       {"filling and draining", f->fill * 1e3},
				       {"gradient sums", f->gradients * 1e3},
				       {"update", f->update * 1e3}};

		c->categories[i] =
			document_stringf(d, "%d: %dx%dx%d", i + 1, s->dp, s->pp, s->tp);
		set_bar(c, i, parts);
	}
	document_chart(d, c);
}

static void add_memory(struct document *d, const struct plan *p)
{
	int n = imin(p->first.timeline.stages, STAGES_SHOWN);
	struct chart *c = stack_of(d, 5, n);

	if (!c || !n)
		return;
	c->title = "Memory of a device, by stage";
	c->x_label = "stage of the fastest";
	c->y_kind = COLUMN_BYTES;
	for (int i = 0; i < n; i++) {
		const struct forecast_memory *m = &p->first.stages[i].memory;
		struct part parts[] = {{"parameters", m->parameters},
				       {"gradients", m->gradients},
				       {"optimizer", m->optimizer},
				       {"activations", m->activations},
				       {"reserved", m->reserved}};

		c->categories[i] = document_stringf(d, "%d", i);
		set_bar(c, i, parts);
	}
	document_chart(d, c);
}

/* ---- pictures ---- */

/* Steps against memory, or devices; what fits and what does not are two lines. */
static struct chart *pareto(struct document *d, const struct plan *p, bool devices)
{
	const struct search_found *list = devices ? p->devices : p->search.front;
	int count = devices ? p->device_count : p->search.front_count;
	struct chart *c = chart_new(&d->arena, CHART_LINE, devices ? 1 : 2);

	for (int k = 0; c && k < c->series_count; k++) {
		struct chart_series *s = &c->series[k];

		s->name = devices ? "" : k ? "does not fit" : "fits";
		s->points = arena_get(&d->arena, (size_t)count + 1, sizeof(*s->points));
		for (int i = 0; s->points && i < count; i++) {
			double memory = list[i].forecast.memory;
			bool over = memory > p->space.memory;

			if (devices || over == (k == 1))
				s->points[s->count++] = (struct chart_point){
					.x = devices ? list[i].setup.gpus : memory / GIB,
					.y = list[i].forecast.step * 1e3};
		}
	}
	if (!c)
		return NULL;
	c->title = devices ? "Step against devices" : "Step against memory";
	c->caption = devices ? "The fastest that fits on so many devices, where more of them "
			       "make it faster."
			     : "Nothing is faster with less memory.";
	c->x_label = devices ? "devices" : "GiB of the fullest device";
	c->y_label = "ms";
	c->log_x = c->log_y = true;
	return c;
}

enum status plan_pareto_svg(const struct plan *p, bool devices, struct text *out,
			    struct error *err)
{
	struct document d;
	struct canvas_svg svg;
	struct chart *c;
	enum status st;

	document_init(&d);
	c = pareto(&d, p, devices);
	st = document_check(&d, err);
	if (st == OK && c) {
		canvas_svg_begin(&svg, out, CHART_NARROW, chart_height(c, CHART_NARROW));
		chart_draw(c, CHART_NARROW, &svg.canvas);
		canvas_svg_end(&svg);
	}
	document_release(&d);
	return st;
}

struct map {
	const struct search *search;
	const char *title;
};

static void draw_map(const void *arg, struct canvas *canvas)
{
	const struct map *m = arg;

	draw_grids(m->search, m->title, canvas);
}

static void add_map(struct document *d, const struct plan *p)
{
	struct map *m = arena_get(&d->arena, 1, sizeof(*m));
	struct point size = draw_grids_size(&p->search);
	char title[200];

	if (!m || !p->search.grid_count)
		return;
	*m = (struct map){&p->search,
			  document_string(d, plan_grids_title(p, title, sizeof(title)))};
	document_drawing(
		d,
		&(struct drawing){.draw = draw_map,
				  .arg = m,
				  .width = size.x,
				  .height = size.y,
				  .what = m->title,
				  .zoom = true},
		"Every grid of these devices: its fastest way that fits, or the memory "
		"that its smallest needs.");
}

static void add_step(struct document *d, const struct plan *p)
{
	const struct explained_step *x = &p->first.step;
	char title[160];

	if (!p->first.stages)
		return;
	document_paragraphf(
		d,
		"The fastest takes %.1f ms: compute %.1f %%, exposed communication %.1f %%, "
		"bubble %.1f %%, imbalance %.1f %%, other %.1f %%.",
		x->step * 1e3, explained_compute(x) / x->step * 100,
		explained_comm(x) / x->step * 100, x->bubble / x->step * 100,
		x->imbalance / x->step * 100, x->other / x->step * 100);
	if (p->first.timeline.stages > 1 && p->first.timeline.count <= SPANS_SHOWN)
		figure_timeline(d, &p->first.timeline,
				simulate_title(&p->search.best[0].setup, title, sizeof(title)),
				"The pipeline of the fastest, simulated.");
}

void plan_add(struct document *d, const struct plan *p, int level)
{
	const struct search *r = &p->search;
	char title[200];

	plan_title(p, title, sizeof(title));
	document_heading(d, level, title, title);
	document_paragraphf(
		d,
		"%lld ways to train it were forecast, %lld of them fit into %.4g GiB. Nothing "
		"of this was measured here.",
		(long long)r->tried, (long long)r->fits, p->space.memory / GIB);
	add_table(d, "The fastest that fit", "", r->best, r->best_count, &p->cluster);
	add_step(d, p);
	add_times(d, p);
	add_memory(d, p);
	add_map(d, p);
	if (r->front_count > 1)
		document_chart(d, pareto(d, p, false));
	if (p->device_count > 1)
		document_chart(d, pareto(d, p, true));
	add_table(d, "Faster, but too large", "", r->too_large, r->too_large_count,
		  &p->cluster);
}

void plan_document(struct document *d, const struct plan *p)
{
	d->title = "A plan";
	d->subtitle = "written by kolm " KOLM_VERSION;
	d->date = "";
	plan_add(d, p, 1);
}
