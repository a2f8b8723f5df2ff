/* results.c - see results.h */
#include "study/results.h"
#include "base/stats.h"
#include "study/calibrate.h"
#include "study/formula.h"
#include "study/path.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double spread_of(double *v, int n)
{
	struct statistics s = statistics_of(v, n); /* sorts */
	double quartile[2];

	if (n < 4)
		return (s.max - s.min) / 2;
	for (int i = 0; i < 2; i++) {
		double at = (i ? 0.75 : 0.25) * (n - 1);
		int low = (int)at;

		quartile[i] = v[low] + (at - low) * (v[low + (low < n - 1)] - v[low]);
	}
	return (quartile[1] - quartile[0]) / 2;
}

const struct cell *row_cell(const struct results *r, const struct row *row, const char *key)
{
	return &row->cells[columns_find(r->columns, key)];
}

double row_value(const struct results *r, const struct row *row, const char *key)
{
	return row_cell(r, row, key)->value;
}

void row_text(const struct results *r, const struct row *row, const char *key, char *buf,
	      size_t size)
{
	const struct cell *cell = row_cell(r, row, key);

	buf[0] = '\0';
	if (cell->text)
		snprintf(buf, size, "%s", cell->text);
	else if (!isnan(cell->value))
		column_text(&r->columns->list[columns_find(r->columns, key)], cell->value, buf,
			    size);
}

/* Where a formula looks its names up: in one repetition of all rows, or (-1) the medians. */
struct context {
	const struct results *results;
	const struct row *row;
	const struct constant *more;
	int rep;
	bool shared; /* found on the way */
};

static double option_value(const struct run_case *c, const char *name)
{
	char key[STUDY_NAME_MAX];

	snprintf(key, sizeof(key), "%s", name);
	for (char *p = key; *p; p++)
		if (*p == '_')
			*p = '-';
	return json_is_number(json_object_get(c->options, key))
		       ? json_number_value(json_object_get(c->options, key))
		       : NAN;
}

/* How far the repetitions of a cell lie apart: 0 if all are the same. */
static double range_of(const struct cell *cell, int reps)
{
	double least = INFINITY, most = -INFINITY;
	int n = 0;

	for (int i = 0; i < reps; i++)
		if (!isnan(cell->reps[i])) {
			least = fmin(least, cell->reps[i]);
			most = fmax(most, cell->reps[i]);
			n++;
		}
	return n > 1 ? most - least : NAN;
}

/* A column by its key, or with "_range" behind it how far its repetitions lie apart. */
static int find_column(const struct columns *c, const char *name, bool *range)
{
	static const char suffix[] = "_range";
	char key[STUDY_NAME_MAX];
	size_t n = strlen(name);
	int column = columns_find(c, name);

	*range = column < 0 && n > sizeof(suffix) - 1 && n < sizeof(key) &&
		 !strcmp(name + n - (sizeof(suffix) - 1), suffix);
	if (!*range)
		return column;
	snprintf(key, sizeof(key), "%.*s", (int)(n - (sizeof(suffix) - 1)), name);
	return columns_find(c, key);
}

static bool lookup(void *arg, const char *name, const char *elsewhere, double *value)
{
	struct context *c = arg;
	const struct results *r = c->results;
	const struct row *row = c->row;
	const struct cell *cell;
	bool range;
	int column;

	*value = NAN;
	for (const struct constant *k = c->more; k && k->name; k++)
		if (!strcmp(k->name, name) && !elsewhere) {
			*value = k->value;
			return true;
		}
	if (elsewhere)
		row = row_elsewhere(r, row, elsewhere);
	if (!row)
		return true;
	column = find_column(r->columns, name, &range);
	if (column < 0) {
		*value = option_value(row->run_case, name);
		return true;
	}
	cell = &row->cells[column];
	c->shared = c->shared || cell->shared;
	if (range)
		*value = range_of(cell, r->reps);
	else
		*value = c->rep < 0 ? cell->value : cell->reps[c->rep];
	return true;
}

enum status results_eval(const struct results *r, const struct row *row, const char *formula,
			 const struct constant *more, struct quantity *q, struct error *err)
{
	struct context c = {.results = r, .row = row, .more = more, .rep = -1};
	enum status st;

	*q = (struct quantity){.value = NAN, .total = r->reps};
	TRY(formula_eval(formula, lookup, &c, &q->value, err));
	for (c.rep = 0; c.rep < r->reps; c.rep++) {
		TRY(formula_eval(formula, lookup, &c, &q->reps[c.rep], err));
		q->count += !isnan(q->reps[c.rep]);
	}
	q->shared = c.shared;
out:
	return st;
}

static void fill_formula(struct results *r, struct row *row, int column)
{
	const char *formula = r->columns->list[column].formula;
	struct cell *cell = &row->cells[column];
	struct context c = {.results = r, .row = row, .rep = -1};
	double *sorted = r->values; /* room of the first cell, which is a text */
	int n = 0;

	assert(row->cells);
	formula_eval(formula, lookup, &c, &cell->value, NULL);
	for (c.rep = 0; c.rep < r->reps; c.rep++) {
		formula_eval(formula, lookup, &c, &cell->reps[c.rep], NULL);
		if (!isnan(cell->reps[c.rep]))
			sorted[n++] = cell->reps[c.rep];
	}
	cell->spread = n ? spread_of(sorted, n) : NAN;
	cell->shared = c.shared;
}

static void fill_measured(struct results *r, struct row *row, int column, json_t **documents)
{
	const struct column *c = &r->columns->list[column];
	struct cell *cell = &row->cells[column];
	double *sorted = r->values;
	int n = 0;

	for (int rep = 0; rep < r->reps; rep++) {
		if (!documents[rep])
			continue;
		if (c->kind == KIND_TEXT && !cell->text)
			cell->text = path_text(documents[rep], c->from, row->rank);
		else if (c->kind != KIND_TEXT)
			cell->reps[rep] = path_value(documents[rep], c->from, row->rank);
		if (!isnan(cell->reps[rep]))
			sorted[n++] = cell->reps[rep];
	}
	if (!n)
		return;
	cell->spread = spread_of(sorted, n);
	cell->value = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* The same in all repetitions. */
static void fill_number(const struct results *r, struct cell *cell, double value)
{
	cell->value = value;
	for (int rep = 0; rep < r->reps; rep++)
		cell->reps[rep] = value;
}

/* What is known before anything runs. */
static void fill_known(struct results *r, struct row *row, int column)
{
	const struct column *c = &r->columns->list[column];
	struct cell *cell = &row->cells[column];
	const struct run_case *k = row->run_case;
	const char *text = NULL;

	if (!strcmp(c->key, "case"))
		text = k->name;
	else if (!strcmp(c->key, "group"))
		text = k->group;
	else if (!strcmp(c->key, "device"))
		text = strcmp(k->command, "train") ? "" : place_names[k->place];
	else if (!strcmp(c->key, "link_gb_per_s"))
		fill_number(r, cell, r->link_gb_per_s);
	for (int i = 0; i < k->axis_count && !text; i++)
		if (!strcmp(k->axes[i].axis, c->key)) {
			text = c->kind == KIND_TEXT ? k->axes[i].text : NULL;
			fill_number(r, cell, k->axes[i].number);
		}
	if (text)
		cell->text = strdup(text);
}

static void fill_row(struct results *r, struct row *row, json_t **documents)
{
	for (int rep = 0; rep < r->reps; rep++)
		row->good += documents[rep] != NULL;
	for (int i = 0; i < r->columns->count; i++) {
		const struct column *c = &r->columns->list[i];

		if (c->axis || (!c->from && !c->formula))
			fill_known(r, row, i);
		/* An axis of another group may be measured here. */
		if (c->from && !row->cells[i].text && isnan(row->cells[i].value))
			fill_measured(r, row, i, documents);
	}
	/* Virtual devices sleep: they share no cores. */
	if (row->run_case->place == PLACE_VIRTUAL && row->good)
		row->cells[columns_find(r->columns, "oversubscribed")].value = 0;
	for (int i = 0; row_value(r, row, "oversubscribed") == 1 && i < r->columns->count; i++)
		row->cells[i].shared = r->columns->list[i].timed;
}

/* How many rows a case has. */
static int rows_of(const struct run_case *c, bool per_rank)
{
	return per_rank ? strcmp(c->command, "train") ? 0 : c->ranks : 1;
}

static enum status allocate(struct results *r, int rows, struct error *err)
{
	size_t n = (size_t)rows * (size_t)r->columns->count;

	r->rows = calloc((size_t)rows + 1, sizeof(*r->rows));
	r->cells = calloc(n + 1, sizeof(*r->cells));
	r->values = calloc((n + 1) * (size_t)r->reps, sizeof(*r->values));
	if (!r->rows || !r->cells || !r->values)
		return FAIL(err, ERR_MEMORY, "no memory for the results of %d cases", rows);
	for (size_t i = 0; i < n; i++)
		r->cells[i] = (struct cell){.value = NAN,
					    .spread = NAN,
					    .reps = r->values + (i + 1) * (size_t)r->reps};
	for (size_t i = 0; i < (n + 1) * (size_t)r->reps; i++)
		r->values[i] = NAN;
	return OK;
}

enum status results_init(struct results *r, const struct columns *c, const struct plan *p,
			 const struct evidence *e, bool per_rank, struct error *err)
{
	int rows = 0;
	enum status st;

	*r = (struct results){
		.columns = c, .reps = p->reps, .link_gb_per_s = calibrate_speed(p, "link")};
	for (int i = 0; i < p->count; i++)
		rows += rows_of(&p->cases[i], per_rank);
	TRY(allocate(r, rows, err));
	for (int i = 0; i < p->count; i++)
		for (int k = 0; k < rows_of(&p->cases[i], per_rank); k++) {
			struct row *row = &r->rows[r->count];

			row->run_case = &p->cases[i];
			row->rank = per_rank ? k : -1;
			row->cells = r->cells + (size_t)r->count++ * (size_t)c->count;
			fill_row(r, row, e->documents + i * p->reps);
			row->failed = row->good ? NULL : e->failed[i];
		}
	for (int k = 0; k < c->count; k++)
		for (int i = 0; c->list[k].formula && i < r->count; i++)
			fill_formula(r, &r->rows[i], k);
out:
	if (st != OK)
		results_release(r);
	return st;
}

void results_release(struct results *r)
{
	for (int i = 0; r->cells && i < r->count * r->columns->count; i++)
		free(r->cells[i].text);
	free(r->rows);
	free(r->cells);
	free(r->values);
	*r = (struct results){0};
}
