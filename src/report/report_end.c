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

struct question {
	struct answer answer;
	const struct study *study;
};

/* 1.2.3 before 1.5.A1 before 2.1 before P.1, as bytes have it. */
static int by_id(const void *a, const void *b)
{
	const struct question *x = a, *y = b;

	return strcmp(x->answer.id, y->answer.id);
}

static struct question *collect_questions(const struct sources *s, int *count)
{
	struct question *all = NULL, one = {.study = NULL};
	int n = 0;

	for (int i = 0; i < s->study_count; i++)
		for (size_t k = 0; study_answer(&s->studies[i], k, &one.answer); k++) {
			struct question *more = realloc(all, (size_t)(n + 1) * sizeof(*more));

			if (!more)
				break;
			all = more;
			one.study = &s->studies[i];
			all[n++] = one;
		}
	if (n)
		qsort(all, (size_t)n, sizeof(*all), by_id);
	*count = n;
	return all;
}

void report_add_index(struct document *d, const struct sources *s)
{
	int n;
	struct question *all = collect_questions(s, &n);
	struct table *t = n ? table_new(&d->arena, 4, n) : NULL;

	if (t) {
		document_heading(d, 1, "answers", "Every question, its page and the verdict");
		t->columns[0].label = "id";
		t->columns[1].label = "question";
		t->columns[2] = (struct column){"page", "", COLUMN_PAGE, -1};
		t->columns[3].label = "verdict";
		for (int i = 0; i < n; i++) {
			const struct answer *a = &all[i].answer;
			struct value *v = t->rows[i].values;

			v[0] = text_value(document_string(d, a->id));
			v[0].link = a->anchor;
			v[1] = text_value(document_string(d, a->question));
			v[2] = (struct value){.present = true, .link = a->anchor};
			v[3] = text_value(document_string(d, a->verdict));
		}
		document_table(d, t);
	}
	free(all);
}
