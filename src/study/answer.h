/*
 * answer.h - the questions of a study, answered in sentences from what was measured.
 *
 * A question names an analysis. It sees the rows of one device (and of one value of the
 * axis that "each" names), and says what they show, with the numbers. If they don't show
 * anything, the answer says that, and is not supported.
 */
#ifndef KOLM_STUDY_ANSWER_H
#define KOLM_STUDY_ANSWER_H

#include "base/json.h"
#include "study/analysis.h"
#include "study/table.h"

struct answer {
	struct text text;
	bool supported;
};

/* One question about some of the rows. */
struct inquiry {
	const struct results *results;
	const json_t *question;
	const struct row *rows[STUDY_CASES_MAX]; /* those that it is about, none failed */
	int count;
};

typedef void analysis_fn(const struct inquiry *q, struct answer *a);
analysis_fn answer_scaling, answer_bound, answer_roofline, answer_delay, answer_saturation,
	answer_imbalance, answer_master, answer_accumulation, answer_variants, answer_stability,
	answer_effective_batch, answer_linear, answer_busy, answer_transfers, answer_layers,
	answer_largest_batch, answer_schedules, answer_best;

/* Does every question name an analysis, and the columns that it needs? */
enum status questions_check(const struct study *s, const char *where, struct error *err);

/* Answer all; free them with answers_free. */
struct answer *answers_make(const struct tables *t, size_t *count);
void answers_free(struct answer *answers, size_t count);

/* ---- for the analyses ---- */

/* Rows as points, by rising x. */
struct points {
	const struct row *rows[STUDY_CASES_MAX];
	double x[STUDY_CASES_MAX], y[STUDY_CASES_MAX];
	int count;
};
void points_take(struct points *p, const struct inquiry *q, const char *x, const char *y);

/* A parameter of the question that names something, or what it is otherwise. */
const char *inquiry_text(const struct inquiry *q, const char *name, const char *otherwise);
double inquiry_value(const struct inquiry *q, const struct row *row, const char *key);
struct measured inquiry_measured(const struct inquiry *q, const struct row *row,
				 const char *key);
/* The first row with that text in that column, or NULL. */
const struct row *inquiry_find(const struct inquiry *q, const char *key, const char *text);

void say(struct answer *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Nothing can be said, because ... */
void say_unsupported(struct answer *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "memory 12.0 MiB", as tables show it. */
void say_value(struct answer *a, const struct inquiry *q, const struct row *row,
	       const char *key);

#endif
