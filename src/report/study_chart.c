/* study_chart.c - the charts of a study's result, from the rows of its tables. */
#include "report/study_result.h"
#include "report/fields.h"
#include "base/util.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { Y_MAX = 16, SERIES_MAX = 32, CURVE_POINTS_MAX = 4000 };

/* A chart while it is made. */
struct maker {
	struct fields *f;
	struct document *d;
	const json_t *table, *spec;
	const json_t *columns, *rows;
	const char *x, *split;
	const char *y[Y_MAX];
	int y_count;
	struct chart *chart;
	struct {
		int y;
		const char *split;
	} series[SERIES_MAX];
};

static const json_t *find_table(struct fields *f, const json_t *root, const json_t *spec)
{
	const char *id = field_string(f, spec, "table", NULL);
	size_t i;
	json_t *t;

	json_array_foreach(json_object_get(root, "tables"), i, t)
	{
		const char *name = json_string_value(json_object_get(t, "id"));

		if (name && !strcmp(name, id))
			return t;
	}
	fields_fail(f, "table", "'%.40s' is the id of no table", id);
	return NULL;
}

static const json_t *find_column(const struct maker *m, const char *key)
{
	size_t i;
	json_t *c;

	json_array_foreach(m->columns, i, c)
	{
		const char *name = json_string_value(json_object_get(c, "key"));

		if (name && !strcmp(name, key))
			return c;
	}
	return NULL;
}

static const char *column_string(const struct maker *m, const char *key, const char *name)
{
	const char *s = json_string_value(json_object_get(find_column(m, key), name));

	return s ? s : "";
}

/* Columns and rows agree on the keys; a chart that names another was written wrongly. */
static void check_key(const struct maker *m, const char *name, const char *key)
{
	size_t i;
	json_t *row;

	if (!*key || find_column(m, key) || !json_array_size(m->rows))
		return;
	json_array_foreach(m->rows, i, row) if (json_object_get(row, key)) return;
	fields_fail(m->f, name, "'%.40s' is no column of its table", key);
}

static enum column_kind kind_of(const struct maker *m, const char *key)
{
	enum column_kind kind = column_kind_of(column_string(m, key, "kind"));

	return kind == COLUMN_KIND_COUNT ? COLUMN_NUMBER : kind;
}

/* A value of a row as text: the name of a category or of a series. */
static const char *value_text(const struct maker *m, const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);
	struct column c = {"", "", kind_of(m, key), -1};
	struct text t;
	const char *s;

	/* It has the same name as in tables and answers. */
	if (!strcmp(key, "device") && json_is_string(value) &&
	    !strcmp(json_string_value(value), "real"))
		return "this machine";
	if (json_is_string(value))
		return document_string(m->d, json_string_value(value));
	if (json_is_boolean(value))
		return json_is_true(value) ? "yes" : "no";
	if (!json_is_number(value))
		return "";
	text_init(&t);
	if (c.kind == COLUMN_TEXT || c.kind == COLUMN_FLAG)
		c.kind = COLUMN_NUMBER;
	value_format(&c, &(struct value){.present = true, .number = json_number_value(value)},
		     &t);
	s = document_string(m->d, t.data);
	text_release(&t);
	return s;
}

static bool matches(const struct maker *m, const json_t *row)
{
	const json_t *where = json_object_get(m->spec, "where"), *failed, *other;
	const char *key;
	json_t *wanted;

	failed = json_object_get(row, "failed");
	if (json_is_string(failed) && *json_string_value(failed))
		return false;
	json_object_foreach((json_t *)where, key, wanted)
	{
		other = json_object_get(row, key);
		if (json_is_number(wanted) && json_is_number(other)
			    ? json_number_value(wanted) != json_number_value(other)
			    : !json_equal(wanted, other))
			return false;
	}
	return true;
}

/* Bars stand on categories, and so do lines over something that is no number. */
static bool needs_categories(const struct maker *m)
{
	size_t i;
	json_t *row;

	if (m->chart->kind == CHART_BAR || m->chart->kind == CHART_STACKED)
		return true;
	json_array_foreach(m->rows, i, row)
	{
		const json_t *x = json_object_get(row, m->x);

		if (x && !json_is_null(x) && !json_is_number(x))
			return true;
	}
	return false;
}

static const char *series_name(const struct maker *m, int y, const char *split)
{
	const char *label = column_string(m, m->y[y], "label"), *of = "";

	label = *label ? label : m->y[y];
	if (!*split)
		return document_string(m->d, label);
	if (kind_of(m, m->split) <= COLUMN_BYTES && find_column(m, m->split))
		of = column_string(m, m->split, "label");
	if (m->y_count > 1)
		return document_stringf(m->d, "%s, %s%s%s", label, of, *of ? " " : "", split);
	return document_stringf(m->d, "%s%s%s", of, *of ? " " : "", split);
}

/* The series of a row's value, a new one if need be; -1: there are too many. */
static int series_of(struct maker *m, int y, const char *split)
{
	struct chart *c = m->chart;
	int i = 0;

	while (i < c->series_count &&
	       (m->series[i].y != y || strcmp(m->series[i].split, split)))
		i++;
	if (i < c->series_count)
		return i;
	if (i == SERIES_MAX) {
		fields_fail(m->f, "", "has more than %d series", SERIES_MAX);
		return -1;
	}
	m->series[i].y = y;
	m->series[i].split = split;
	c->series[i].name = series_name(m, y, split);
	c->series[i].points =
		arena_get(&m->d->arena, json_array_size(m->rows), sizeof(struct chart_point));
	c->series_count++;
	return i;
}

static bool is_taken(const struct chart *c, int series, int category)
{
	for (int i = 0; i < c->series[series].count; i++)
		if ((int)c->series[series].points[i].x == category)
			return true;
	return false;
}

/* The place of a row along x; a second value of a series for the same name gets a place
   of its own, so that nothing is hidden. */
static int category_of(struct maker *m, const char *name, int series)
{
	struct chart *c = m->chart;
	int i = 0;

	while (i < c->category_count &&
	       (strcmp(c->categories[i], name) || is_taken(c, series, i)))
		i++;
	if (i == c->category_count)
		c->categories[c->category_count++] = name;
	return i;
}

static void add_point(struct maker *m, const json_t *row, int y, bool categories)
{
	const json_t *value = json_object_get(row, m->y[y]), *x = json_object_get(row, m->x);
	const char *spread = column_string(m, m->y[y], "spread");
	bool stacked = m->chart->kind == CHART_STACKED;
	const char *split = *m->split ? value_text(m, row, m->split) : "";
	const char *place = value_text(m, row, m->x);
	struct chart_series *s;
	int i;

	if (!json_is_number(value) || !x || json_is_null(x))
		return;
	/* Parts of a bar are the series: what splits stands beside it. */
	if (stacked && *split)
		place = document_stringf(m->d, "%s\n%s", place, split);
	i = series_of(m, y, stacked ? "" : split);
	if (i < 0 || !m->chart->series[i].points)
		return;
	s = &m->chart->series[i];
	s->points[s->count] = (struct chart_point){
		.x = categories ? category_of(m, place, i) : json_number_value(x),
		.y = json_number_value(value),
		.spread = json_number_value(json_object_get(row, spread)),
	};
	s->count++;
}

static int by_x(const void *a, const void *b)
{
	double x = ((const struct chart_point *)a)->x, y = ((const struct chart_point *)b)->x;

	return (x > y) - (x < y);
}

static void add_rows(struct maker *m)
{
	bool categories = needs_categories(m);
	size_t n = json_array_size(m->rows), i;
	json_t *row;

	m->chart->categories = arena_get(&m->d->arena, n * (size_t)m->y_count, sizeof(char *));
	if (!m->chart->categories)
		return;
	json_array_foreach(m->rows, i, row) for (int y = 0; y < m->y_count;
						 y++) if (matches(m, row))
		add_point(m, row, y, categories);
	for (int s = 0; s < m->chart->series_count; s++)
		qsort(m->chart->series[s].points, (size_t)m->chart->series[s].count,
		      sizeof(struct chart_point), by_x);
}

static void read_keys(struct maker *m)
{
	json_t *y = json_object_get(m->spec, "y");

	m->x = field_string(m->f, m->spec, "x", NULL);
	m->split = field_string(m->f, m->spec, "split", "");
	if (json_is_string(y))
		m->y[m->y_count++] = json_string_value(y);
	else
		y = field_array(m->f, m->spec, "y");
	for (size_t i = 0; json_is_array(y) && i < json_array_size(y) && i < Y_MAX; i++) {
		m->y[m->y_count] = json_string_value(json_array_get(y, i));
		if (!m->y[m->y_count]) {
			fields_fail(m->f, "y", "has an element that is not a string");
			m->y[m->y_count] = "";
		}
		m->y_count++;
	}
	if (!m->y_count)
		fields_fail(m->f, "y", "names no column");
	check_key(m, "x", m->x);
	check_key(m, "split", m->split);
	for (int i = 0; i < m->y_count; i++)
		check_key(m, "y", m->y[i]);
	field_object(m->f, m->spec, "where");
}

static enum chart_kind read_kind(struct fields *f, const json_t *spec)
{
	static const char *const kinds[] = {NAMES_OF(CHART_KINDS)};
	const char *name = field_string(f, spec, "kind", "line");
	size_t i = 0;

	while (kinds[i] && strcmp(kinds[i], name))
		i++;
	if (!kinds[i])
		fields_fail(f, "kind", "'%.32s' is not line, bar or stacked", name);
	return (enum chart_kind)i;
}

static void read_looks(struct fields *f, const json_t *spec, struct document *d,
		       struct chart *c)
{
	const char *ideal = field_string(f, spec, "ideal", "");

	c->title = document_string(d, field_string(f, spec, "title", ""));
	c->caption = document_string(d, field_string(f, spec, "caption", ""));
	c->x_label = document_string(d, field_string(f, spec, "x_label", ""));
	c->y_label = document_string(d, field_string(f, spec, "y_label", ""));
	c->log_x = field_bool(f, spec, "log_x", false);
	c->log_y = field_bool(f, spec, "log_y", false);
	c->ideal = !strcmp(ideal, "x")		? IDEAL_X
		   : !strcmp(ideal, "constant") ? IDEAL_CONSTANT
						: IDEAL_NONE;
	if (*ideal && !c->ideal)
		fields_fail(f, "ideal", "'%.32s' is neither x nor constant", ideal);
}

struct chart *study_chart(struct fields *f, const json_t *root, const json_t *spec,
			  struct document *d)
{
	struct maker m = {.f = f, .d = d, .spec = spec, .x = "", .split = ""};
	enum chart_kind kind = read_kind(f, spec);

	m.table = find_table(f, root, spec);
	m.columns = json_object_get(m.table, "columns");
	m.rows = json_object_get(m.table, "rows");
	read_keys(&m);
	if (f->status != OK)
		return NULL;
	assert(m.y_count > 0); /* or the keys would have failed */
	m.chart = chart_new(&d->arena, kind, SERIES_MAX);
	if (!m.chart || !m.chart->series)
		return NULL;
	m.chart->series_count = 0;
	read_looks(f, spec, d, m.chart);
	m.chart->y_kind = kind_of(&m, m.y[0]);
	if (m.chart->y_kind > COLUMN_BYTES)
		m.chart->y_kind = COLUMN_NUMBER;
	if (m.chart->y_kind == COLUMN_INTEGER)
		m.chart->y_kind = COLUMN_NUMBER;
	add_rows(&m);
	return m.chart;
}

static void read_points(struct fields *f, const json_t *points, struct document *d,
			struct chart_series *s)
{
	size_t n = json_array_size(points), every = n / CURVE_POINTS_MAX + 1;

	s->points = arena_get(&d->arena, n, sizeof(*s->points));
	for (size_t i = 0; s->points && i < n; i += every) {
		const json_t *p = json_array_get(points, i), *x = json_array_get(p, 0),
			     *y = json_array_get(p, 1);

		if (!json_is_number(x) || !(json_is_number(y) || json_is_null(y))) {
			fields_fail(f, "points",
				    "has an element that is not a pair of numbers");
			return;
		}
		if (json_is_number(y))
			s->points[s->count++] = (struct chart_point){.x = json_number_value(x),
								     .y = json_number_value(y)};
	}
}

struct chart *study_curve(struct fields *f, const json_t *spec, struct document *d)
{
	json_t *series = field_array(f, spec, "series");
	int n = (int)json_array_size(series);
	struct chart *c;

	if (n > SERIES_MAX)
		fields_fail(f, "series", "has more than %d elements", SERIES_MAX);
	if (f->status != OK)
		return NULL;
	c = chart_new(&d->arena, CHART_CURVE, n);
	if (!c)
		return NULL;
	read_looks(f, spec, d, c);
	for (int i = 0; i < c->series_count; i++) {
		size_t back = fields_enter(f, "series", (size_t)i);
		const json_t *one = field_element(f, series, (size_t)i);

		c->series[i].name = document_string(d, field_string(f, one, "name", ""));
		read_points(f, field_array(f, one, "points"), d, &c->series[i]);
		fields_leave(f, back);
	}
	return c;
}
