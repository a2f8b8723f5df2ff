/* answer.c - see answer.h */
#include "study/answer.h"
#include "base/util.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	analysis_fn *fn;
} analyses[] = {
	{"scaling", answer_scaling},
	{"bound", answer_bound},
	{"roofline", answer_roofline},
	{"delay", answer_delay},
	{"saturation", answer_saturation},
	{"imbalance", answer_imbalance},
	{"master", answer_master},
	{"accumulation", answer_accumulation},
	{"variants", answer_variants},
	{"stability", answer_stability},
	{"effective-batch", answer_effective_batch},
	{"linear", answer_linear},
	{"busy", answer_busy},
	{"transfers", answer_transfers},
	{"layers", answer_layers},
	{"largest-batch", answer_largest_batch},
	{"schedules", answer_schedules},
	{"best", answer_best},
};

static analysis_fn *find_analysis(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(analyses); i++)
		if (!strcmp(analyses[i].name, name))
			return analyses[i].fn;
	return NULL;
}

/* Parameters of questions that name columns. */
static const char *const column_parameters[] = {"x", "y", "axis", "each"};

static enum status check_question(const struct columns *c, const json_t *question,
				  const char *where, struct error *err)
{
	const char *analysis = json_string_value(json_object_get(question, "analysis"));
	const json_t *filter = json_object_get(question, "where");
	const char *key;
	json_t *value;

	if (!json_is_string(json_object_get(question, "question")) ||
	    !find_analysis(analysis)) {
		FAIL(err, ERR_USAGE, "%s: no question, or no analysis '%.40s'", where,
		     analysis ? analysis : "");
		return HINT(err, "docs/studies.md lists the analyses");
	}
	for (size_t i = 0; i < ARRAY_SIZE(column_parameters); i++) {
		const json_t *named = json_object_get(question, column_parameters[i]);

		if (named &&
		    (!json_is_string(named) || columns_find(c, json_string_value(named)) < 0))
			return FAIL(err, ERR_USAGE, "%s: '%s' does not name a column", where,
				    column_parameters[i]);
	}
	if (filter && !json_is_object(filter))
		return FAIL(err, ERR_USAGE, "%s: 'where' must be an object", where);
	json_object_foreach((json_t *)filter, key, value)
	{
		if (columns_find(c, key) < 0)
			return FAIL(err, ERR_USAGE, "%s: there is no column '%.40s'", where,
				    key);
	}
	return OK;
}

enum status questions_check(const struct study *s, const char *where, struct error *err)
{
	const json_t *questions = json_object_get(s->root, "questions");
	struct columns c;
	char place[160];
	enum status st;

	st = columns_init(&c, s, err);
	if (st != OK)
		return st;
	for (size_t i = 0; i < json_array_size(questions); i++) {
		snprintf(place, sizeof(place), "%s: questions[%zu]", where, i);
		TRY(check_question(&c, json_array_get(questions, i), place, err));
	}
out:
	columns_release(&c);
	return st;
}

void say(struct answer *a, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	text_add(&a->text, line);
}

void say_unsupported(struct answer *a, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	text_add(&a->text, line);
	a->supported = false;
}

void say_value(struct answer *a, const struct inquiry *q, const struct row *row,
	       const char *key)
{
	const struct column *c =
		&q->results->columns->list[columns_find(q->results->columns, key)];
	char text[256];

	row_text(q->results, row, key, text, sizeof(text));
	say(a, "%s%s%s", *text ? text : "unknown", *c->unit && *text ? " " : "",
	    *text ? c->unit : "");
}

const char *inquiry_text(const struct inquiry *q, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(q->question, name));

	return text ? text : otherwise;
}

double inquiry_value(const struct inquiry *q, const struct row *row, const char *key)
{
	return row_value(q->results, row, key);
}

struct measured inquiry_measured(const struct inquiry *q, const struct row *row,
				 const char *key)
{
	const struct cell *cell = row_cell(q->results, row, key);

	return (struct measured){cell->value, cell->spread, row->good};
}

const struct row *inquiry_find(const struct inquiry *q, const char *key, const char *text)
{
	char own[256];

	for (int i = 0; i < q->count; i++) {
		row_text(q->results, q->rows[i], key, own, sizeof(own));
		if (!strcmp(own, text))
			return q->rows[i];
	}
	return NULL;
}

void points_take(struct points *p, const struct inquiry *q, const char *x, const char *y)
{
	p->count = 0;
	for (int i = 0; i < q->count; i++) {
		double at = inquiry_value(q, q->rows[i], x),
		       value = inquiry_value(q, q->rows[i], y);
		int k = p->count;

		if (isnan(at) || isnan(value))
			continue;
		for (; k > 0 && p->x[k - 1] > at; k--) {
			p->x[k] = p->x[k - 1];
			p->y[k] = p->y[k - 1];
			p->rows[k] = p->rows[k - 1];
		}
		p->x[k] = at;
		p->y[k] = value;
		p->rows[k] = q->rows[i];
		p->count++;
	}
}

/* The rows of one device and one value of "each"; is there any? */
static bool gather(struct inquiry *q, const struct results *r, const char *device,
		   const char *each, const char *value)
{
	char own[256];

	q->count = 0;
	for (int i = 0; i < r->count && q->count < STUDY_CASES_MAX; i++) {
		const struct row *row = &r->rows[i];

		row_text(r, row, "device", own, sizeof(own));
		if (row->failed || !row->good || strcmp(own, device) ||
		    !row_matches(r, row, json_object_get(q->question, "where")))
			continue;
		if (each)
			row_text(r, row, each, own, sizeof(own));
		if (!each || !strcmp(own, value))
			q->rows[q->count++] = row;
	}
	return q->count > 0;
}

/* Ask for every value that "each" takes in these rows, or once. */
static void ask_each(struct inquiry *q, const struct results *r, const char *device,
		     analysis_fn *fn, struct answer *a)
{
	const char *each = inquiry_text(q, "each", NULL);
	char value[256], before[256];

	if (!each) {
		if (gather(q, r, device, NULL, NULL))
			fn(q, a);
		return;
	}
	for (int i = 0; i < r->count; i++) {
		bool seen = false;

		row_text(r, &r->rows[i], each, value, sizeof(value));
		for (int k = 0; k < i; k++) {
			row_text(r, &r->rows[k], each, before, sizeof(before));
			seen = seen || !strcmp(before, value);
		}
		if (seen || !*value || !gather(q, r, device, each, value))
			continue;
		if (a->text.len && a->text.data[a->text.len - 1] != ' ')
			say(a, " ");
		say(a, "%s %s: ", r->columns->list[columns_find(r->columns, each)].label,
		    value);
		fn(q, a);
	}
}

static void answer_one(const struct tables *t, const json_t *question, struct answer *a)
{
	static struct inquiry q;
	static const char *const devices[] = {"real", "virtual", ""};
	static const char *const names[] = {"On this machine: ", "On virtual devices: ", ""};
	bool supported = false;

	q = (struct inquiry){.results = &t->by_case, .question = question};
	if (json_object_get(question, "per"))
		q.results = &t->by_rank;
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		size_t before = a->text.len;

		a->supported = true;
		say(a, "%s%s", before ? " " : "", names[i]);
		ask_each(
			&q, q.results, devices[i],
			find_analysis(json_string_value(json_object_get(question, "analysis"))),
			a);
		if (a->text.len == before + strlen(names[i]) + (before > 0)) {
			a->text.len = before; /* no row of that device */
			if (a->text.cap)
				a->text.data[before] = '\0';
			continue;
		}
		supported = supported || a->supported;
	}
	a->supported = supported;
	if (!a->text.len)
		say_unsupported(a, "Inconclusive: there is no finished run to tell from.");
}

struct answer *answers_make(const struct tables *t, size_t *count)
{
	const json_t *questions = json_object_get(t->study->root, "questions");
	struct answer *answers = calloc(json_array_size(questions) + 1, sizeof(*answers));

	*count = answers ? json_array_size(questions) : 0;
	for (size_t i = 0; i < *count; i++) {
		text_init(&answers[i].text);
		answer_one(t, json_array_get(questions, i), &answers[i]);
	}
	return answers;
}

void answers_free(struct answer *answers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text_release(&answers[i].text);
	free(answers);
}
