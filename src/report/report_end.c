/* report_end.c - the end of a report: bottlenecks, and where each requirement is answered. */
#include "report/report.h"
#include "base/util.h"
#include "report/requirements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct value text_value(const char *s)
{
	return (struct value){.present = *s != '\0', .text = s};
}

static struct value number_value(double x)
{
	return (struct value){.present = !isnan(x), .number = x};
}

/* The largest share of a step first; what is not known last. */
static int by_cost(const void *a, const void *b)
{
	const struct bottleneck *x = a, *y = b;
	double p = isnan(x->share) ? -1 : x->share, q = isnan(y->share) ? -1 : y->share;

	if (p != q)
		return p < q ? 1 : -1;
	p = isnan(x->ms) ? -1 : x->ms;
	q = isnan(y->ms) ? -1 : y->ms;
	return (p < q) - (p > q);
}

static struct bottleneck *collect(const struct sources *s, size_t *count)
{
	struct bottleneck *all = NULL, one;
	size_t n = 0;

	for (int i = 0; i < s->study_count; i++)
		for (size_t k = 0; study_bottleneck(&s->studies[i], k, &one); k++) {
			struct bottleneck *more = realloc(all, (n + 1) * sizeof(*more));

			if (!more)
				break;
			all = more;
			all[n++] = one;
		}
	if (n)
		qsort(all, n, sizeof(*all), by_cost);
	*count = n;
	return all;
}

/* Which kind of cost, in how many cases, and how much at worst and in the middle. */
struct kind_of_cost {
	const char *what;
	int cases;
	double worst, middle;
};

static int sum_up(const struct bottleneck *all, size_t n, struct kind_of_cost *kinds)
{
	int count = 0;

	for (size_t i = 0; i < n; i++) {
		int seen = 0, cases = 0, at;

		while (seen < count && strcmp(kinds[seen].what, all[i].what))
			seen++;
		if (seen < count)
			continue;
		for (size_t k = i; k < n; k++)
			cases += !strcmp(all[k].what, all[i].what);
		kinds[count] = (struct kind_of_cost){all[i].what, cases, all[i].share, NAN};
		/* They are sorted: the middle one is the median. */
		at = cases / 2;
		for (size_t k = i; k < n; k++)
			if (!strcmp(all[k].what, all[i].what) && at-- == 0)
				kinds[count].middle = all[k].share;
		count++;
	}
	return count;
}

static void add_kinds(struct document *d, const struct bottleneck *all, size_t n)
{
	struct kind_of_cost *kinds = calloc(n, sizeof(*kinds));
	int count = kinds ? sum_up(all, n, kinds) : 0;
	struct table *t = table_new(&d->arena, 4, count);

	if (t && count) {
		t->title = "Bottlenecks by kind, the largest first";
		t->columns[0].label = "what costs time";
		t->columns[1] = (struct column){"cases", "", COLUMN_INTEGER, 0};
		t->columns[2] =
			(struct column){"share of the step, at worst", "", COLUMN_PERCENT, -1};
		t->columns[3] = (struct column){"in the middle", "", COLUMN_PERCENT, -1};
		for (int i = 0; i < count; i++) {
			struct value *v = t->rows[i].values;

			v[0] = text_value(document_string(d, kinds[i].what));
			v[1] = number_value(kinds[i].cases);
			v[2] = number_value(kinds[i].worst);
			v[3] = number_value(kinds[i].middle);
		}
		document_table(d, t);
	}
	free(kinds);
}

static void add_ranking(struct document *d, const struct bottleneck *all, size_t n)
{
	struct table *t = table_new(&d->arena, 5, (int)n);

	if (!t)
		return;
	t->title = "All bottlenecks, ranked by their share of the step";
	t->columns[0].label = "what";
	t->columns[1].label = "where";
	t->columns[2].label = "study";
	t->columns[3] = (struct column){"cost", "ms", COLUMN_NUMBER, 2};
	t->columns[4] = (struct column){"share of the step", "", COLUMN_PERCENT, -1};
	for (size_t i = 0; i < n; i++) {
		struct value *v = t->rows[i].values;

		v[0] = text_value(document_string(d, all[i].what));
		v[1] = text_value(document_string(d, all[i].where));
		v[2] = text_value(document_string(d, all[i].study->title));
		v[2].link = all[i].study->section.anchor;
		v[3] = number_value(all[i].ms);
		v[4] = number_value(all[i].share);
	}
	document_table(d, t);
}

void report_add_bottlenecks(struct document *d, const struct sources *s)
{
	size_t n;
	struct bottleneck *all = collect(s, &n);

	if (n) {
		document_new_page(d);
		document_heading(d, 1, "bottlenecks", "Conclusion: the bottlenecks");
		if (!isnan(all[0].share))
			document_paragraphf(
				d,
				"The largest cost that was measured is '%s': %.0f %% of the step "
				"(%s; study '%s'). Below, costs are ranked by the share of the "
				"step that they take.",
				all[0].what, all[0].share * 100, all[0].where,
				all[0].study->title);
		add_kinds(d, all, n);
		add_ranking(d, all, n);
	}
	free(all);
}

/* ---- the index ---- */

/* The section of the report itself that answers a requirement. */
static struct section own_section(const struct report_sections *own, const char *id)
{
	if (!strcmp(id, "A1") || !strcmp(id, "A2"))
		return own->grid;
	if (!strcmp(id, "A3"))
		return own->overlap;
	if (!strcmp(id, "B2"))
		return own->runs;
	return (struct section){NULL, NULL};
}

static bool answers(const struct study *s, const char *id)
{
	const char *other;

	for (int i = 0; (other = study_requirement(s, i)); i++)
		if (!strcmp(other, id))
			return true;
	return false;
}

static int count_rows(const struct sources *s, const struct report_sections *own,
		      const char *id)
{
	int n = own_section(own, id).anchor != NULL || !strcmp(id, "A7");

	for (int i = 0; i < s->study_count; i++)
		n += answers(&s->studies[i], id);
	return imax(n, 1);
}

static struct value link_value(const struct section *section)
{
	return (struct value){.present = true, .text = section->label, .link = section->anchor};
}

/* The rows of a requirement: one for each section that answers it. */
static int fill_rows(struct document *d, const struct sources *s,
		     const struct report_sections *own, const struct requirement *r,
		     struct row *rows)
{
	struct section section = own_section(own, r->id);
	int n = 0;

	if (!strcmp(r->id, "A7"))
		rows[n++].values[2] =
			text_value("this report, with the commands of every study");
	if (section.anchor)
		rows[n++].values[2] = link_value(&section);
	for (int i = 0; i < s->study_count; i++)
		if (answers(&s->studies[i], r->id))
			rows[n++].values[2] = link_value(&s->studies[i].section);
	if (!n)
		rows[n++].values[2] = text_value(document_stringf(d, "not here: %s", r->how));
	rows[0].values[0] = text_value(r->id);
	rows[0].values[1] = text_value(r->what);
	return n;
}

void report_add_index(struct document *d, const struct sources *s,
		      const struct report_sections *own)
{
	struct table *t;
	int rows = 0;

	for (size_t i = 0; i < requirement_count; i++)
		rows += count_rows(s, own, requirements[i].id);
	t = table_new(&d->arena, 3, rows);
	if (!t)
		return;
	document_heading(d, 1, "requirements", "Where each requirement is answered");
	t->columns[0].label = "id";
	t->columns[1].label = "requirement";
	t->columns[2].label = "section";
	rows = 0;
	for (size_t i = 0; i < requirement_count; i++)
		rows += fill_rows(d, s, own, &requirements[i], &t->rows[rows]);
	document_table(d, t);
}
