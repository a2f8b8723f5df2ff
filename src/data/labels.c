/*
 * labels.c - what the column to be learned holds: classes or numbers. See reading.h
 *
 * Whole numbers without a point are labels if each class has SAMPLES_PER_CLASS samples on
 * average; half of a file of years or prices would never do. Classes that are 0..k-1 without a
 * gap are hardly anything else, and need FEW_SAMPLES only, so that small files pass.
 */
#include "base/util.h"
#include "data/reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES_PER_CLASS = 5, FEW_SAMPLES = 2 };

/* What is known of a column when all its cells were looked at. */
struct survey {
	int column;	  /* its index in the file */
	int64_t text;	  /* a sample whose cell is no number, or -1 */
	int64_t number;	  /* a sample whose cell is one, or -1 */
	int64_t broken;	  /* a sample whose number is not whole, or -1 */
	bool written;	  /* all are whole, and written so */
	int64_t *values;  /* (samples): if all are whole */
	int64_t *classes; /* (count): the different ones, in order */
	int64_t count;
};

static int target_column(const struct reading *r, int k)
{
	for (int i = 0; i < r->columns; i++)
		if (r->roles[i].kind == ROLE_TARGET && r->roles[i].k == k)
			return i;
	return -1;
}

static enum status refuse(const struct reading *r, int k, int64_t sample, const char *what,
			  struct error *err)
{
	const struct cell *c = &r->targets[sample * r->n_targets + k];
	char label[COLUMN_LABEL];

	return FAIL(err, ERR_USAGE, "%.200s line %lld, %s: '%.*s' is %s", r->csv.where,
		    (long long)r->lines[sample], reading_label(r, target_column(r, k), label),
		    (int)min64((int64_t)c->size, 40), c->at, what);
}

/* ---- targets ---- */

static enum status read_targets(const struct reading *r, struct table *t, struct error *err)
{
	int n = r->n_targets;

	t->outputs = n;
	t->targets = calloc((size_t)t->samples * (size_t)n, sizeof(*t->targets));
	if (!t->targets)
		return FAIL(err, ERR_MEMORY, "no memory for %lld targets",
			    (long long)t->samples);
	for (int64_t i = 0; i < t->samples * n; i++) {
		bool number = cell_number(&r->targets[i], &t->targets[i]);

		if (number && isfinite(t->targets[i]))
			continue;
		refuse(r, (int)(i % n), i / n, number ? "not finite" : "not a number", err);
		return HINT(err, "targets are numbers%s",
			    n == 1 ? "; --loss cross-entropy takes texts as labels" : "");
	}
	return OK;
}

/* ---- labels ---- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum status take_survey(const struct reading *r, const struct table *t, struct survey *s,
			       struct error *err)
{
	size_t n = (size_t)t->samples;
	int64_t value;
	float number;

	*s = (struct survey){.column = target_column(r, 0),
			     .text = -1,
			     .number = -1,
			     .broken = -1,
			     .written = true};
	s->values = calloc(n, sizeof(*s->values));
	s->classes = calloc(n, sizeof(*s->classes));
	if (!s->values || !s->classes)
		return FAIL(err, ERR_MEMORY, "no memory for %zu labels", n);
	for (int64_t i = 0; i < t->samples; i++) {
		const struct cell *c = &r->targets[i];

		if (!cell_number(c, &number)) {
			s->text = s->text < 0 ? i : s->text;
			continue;
		}
		s->number = i;
		s->written = s->written && cell_whole(c, true, &value);
		if (cell_whole(c, false, &value))
			s->classes[i] = s->values[i] = value;
		else if (s->broken < 0)
			s->broken = i;
	}
	if (s->text >= 0 || s->broken >= 0)
		return OK;
	qsort(s->classes, n, sizeof(*s->classes), by_value);
	for (size_t i = 0; i < n; i++)
		if (!i || s->classes[i] != s->classes[s->count - 1])
			s->classes[s->count++] = s->classes[i];
	return OK;
}

static void release_survey(struct survey *s)
{
	free(s->values);
	free(s->classes);
}

static enum status check_classes(const struct reading *r, int column, int64_t count,
				 struct error *err)
{
	char label[COLUMN_LABEL];

	if (count >= 2 && count <= TABLE_CLASSES_MAX)
		return OK;
	FAIL(err, ERR_USAGE, "%.200s: %s has %lld different label%s", r->csv.where,
	     reading_label(r, column, label), (long long)count, count == 1 ? "" : "s");
	return HINT(err, "there can be 2 to %d classes; see --target and --loss",
		    TABLE_CLASSES_MAX);
}

static enum status allocate_labels(struct table *t, struct data_form *f, int64_t count,
				   struct error *err)
{
	t->labelled = true;
	t->outputs = (int)count;
	t->labels = calloc((size_t)t->samples, sizeof(*t->labels));
	if (!t->labels)
		return FAIL(err, ERR_MEMORY, "no memory for %lld labels",
			    (long long)t->samples);
	return data_form_add_classes(f, (int)count, err);
}

static enum status number_labels(const struct reading *r, struct table *t, struct data_form *f,
				 const struct survey *s, struct error *err)
{
	enum status st;

	TRY(check_classes(r, s->column, s->count, err));
	TRY(allocate_labels(t, f, s->count, err));
	for (int64_t i = 0; i < t->samples; i++) {
		const int64_t *at = bsearch(&s->values[i], s->classes, (size_t)s->count,
					    sizeof(*at), by_value);

		t->labels[i] = (int32_t)(at - s->classes);
	}
	for (int64_t k = 0; k < s->count; k++)
		if (asprintf(&f->classes[k], "%lld", (long long)s->classes[k]) < 0)
			return FAIL(err, ERR_MEMORY, "no memory for %lld names",
				    (long long)s->count);
out:
	return st;
}

static enum status text_labels(const struct reading *r, struct table *t, struct data_form *f,
			       const struct survey *s, struct error *err)
{
	size_t n = (size_t)t->samples, count = 0;
	char **texts = calloc(n, sizeof(*texts)), **sorted = calloc(n, sizeof(*sorted));
	enum status st = OK;

	for (size_t i = 0; texts && sorted && i < n; i++) {
		texts[i] = sorted[i] = cell_text(&r->targets[i]);
		if (!texts[i])
			break;
	}
	if (!texts || !sorted || !texts[n - 1]) {
		st = FAIL(err, ERR_MEMORY, "no memory for %zu labels", n);
		goto out;
	}
	qsort(sorted, n, sizeof(*sorted), by_text);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(sorted[i], sorted[count - 1]) != 0)
			sorted[count++] = sorted[i];
	TRY(check_classes(r, s->column, (int64_t)count, err));
	TRY(allocate_labels(t, f, (int64_t)count, err));
	for (size_t i = 0; i < n; i++) {
		char **at = bsearch(&texts[i], sorted, count, sizeof(*at), by_text);

		t->labels[i] = (int32_t)(at - sorted);
	}
	for (size_t k = 0; k < count; k++)
		if (!(f->classes[k] = strdup(sorted[k])))
			st = FAIL(err, ERR_MEMORY, "no memory for %zu names", count);
out:
	for (size_t i = 0; texts && i < n; i++)
		free(texts[i]);
	free(texts);
	free(sorted);
	return st;
}

/* ---- choosing ---- */

static bool look_like_labels(const struct survey *s, int64_t samples)
{
	bool without_gap =
		s->count && !s->classes[0] && s->classes[s->count - 1] == s->count - 1;

	return s->written && s->count >= 2 && s->count <= TABLE_CLASSES_MAX &&
	       samples >= s->count * (without_gap ? FEW_SAMPLES : SAMPLES_PER_CLASS);
}

/* One line for what was guessed. Numbers that are not whole are no guess. */
static void note_guess(const struct reading *r, struct table *t, const struct survey *s,
		       bool labels)
{
	char label[COLUMN_LABEL];
	const char *of = reading_label(r, s->column, label);

	if (labels)
		snprintf(t->note, sizeof(t->note),
			 "%s has %lld different whole numbers for %lld samples: taken as "
			 "classes; --loss mse takes them as targets",
			 of, (long long)s->count, (long long)t->samples);
	else if (s->count > 1 && s->count <= TABLE_CLASSES_MAX)
		snprintf(t->note, sizeof(t->note),
			 "%s has %lld different whole numbers for %lld samples%s: taken as "
			 "targets; --loss cross-entropy takes them as classes",
			 of, (long long)s->count, (long long)t->samples,
			 s->written ? "" : ", written with a point or an exponent");
}

static enum status choose_by_itself(const struct reading *r, struct table *t,
				    struct data_form *f, const struct survey *s,
				    struct error *err)
{
	bool labels = look_like_labels(s, t->samples);
	char label[COLUMN_LABEL];

	if (s->text >= 0 && s->number >= 0) {
		refuse(r, 0, s->text, "not a number, and others of the column are", err);
		return HINT(err, "correct it, or --loss cross-entropy takes all of them as "
				 "names of classes");
	}
	if (s->text >= 0) {
		snprintf(t->note, sizeof(t->note), "%s is text: taken as classes",
			 reading_label(r, s->column, label));
		return text_labels(r, t, f, s, err);
	}
	note_guess(r, t, s, labels);
	return labels ? number_labels(r, t, f, s, err) : read_targets(r, t, err);
}

enum status labels_choose(struct reading *r, struct table *t, struct data_form *f,
			  enum data_task task, struct error *err)
{
	struct survey s = {0};
	enum status st;

	if (r->n_targets > 1 && task == TASK_CLASSIFICATION) {
		FAIL(err, ERR_USAGE, "--loss cross-entropy with %d targets", r->n_targets);
		return HINT(err, "a sample has one label: give --target one column");
	}
	if (r->n_targets > 1 || task == TASK_REGRESSION)
		return read_targets(r, t, err);
	TRY(take_survey(r, t, &s, err));
	if (task == TASK_AUTO) {
		TRY(choose_by_itself(r, t, f, &s, err));
	} else if (s.text >= 0) {
		TRY(text_labels(r, t, f, &s, err));
	} else if (s.broken >= 0) {
		refuse(r, 0, s.broken, "no label", err);
		st = HINT(err, "--loss cross-entropy needs whole numbers or names of classes; "
			       "--loss mse takes any number");
	} else {
		TRY(number_labels(r, t, f, &s, err));
	}
out:
	release_survey(&s);
	return st;
}

/* ---- as another file was read ---- */

/* By its text, or, if that is a number written in another way, by that. */
static int find_class(const struct data_form *f, const struct cell *c, int near)
{
	char *text = cell_text(c), number[32];
	int64_t value;
	int found = -1;

	if (text && !strcmp(f->classes[near], text))
		found = near; /* files are often in the order of their classes */
	for (int k = 0; k < f->n_classes && text && found < 0; k++)
		if (!strcmp(f->classes[k], text))
			found = k;
	free(text);
	if (found >= 0 || !cell_whole(c, false, &value))
		return found;
	snprintf(number, sizeof(number), "%lld", (long long)value);
	for (int k = 0; k < f->n_classes; k++)
		if (!strcmp(f->classes[k], number))
			return k;
	return -1;
}

enum status labels_match(struct reading *r, struct table *t, const struct data_form *f,
			 struct error *err)
{
	int near = 0;

	t->labelled = f->labelled;
	t->outputs = f->labelled ? f->n_classes : f->n_targets;
	if (!r->n_targets)
		return OK;
	if (!f->labelled)
		return read_targets(r, t, err);
	t->labels = calloc((size_t)t->samples, sizeof(*t->labels));
	if (!t->labels)
		return FAIL(err, ERR_MEMORY, "no memory for %lld labels",
			    (long long)t->samples);
	for (int64_t i = 0; i < t->samples; i++) {
		int class = find_class(f, &r->targets[i], near);

		if (class < 0) {
			refuse(r, 0, i, "none of the classes that were trained", err);
			return HINT(err, "they are %.60s, %.60s%s", f->classes[0],
				    f->classes[1], f->n_classes > 2 ? ", ..." : "");
		}
		t->labels[i] = near = class;
	}
	return OK;
}
