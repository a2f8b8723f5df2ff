/* relation.c - what claims can find out: each relation says its outcome, and leaves its numbers
   in the finding and in the claim. See claim.h */
#include "study/claim.h"
#include "base/util.h"
#include "study/analysis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CANDIDATES_MAX = 32, POINTS_MAX = 64 };

double claim_margin(int repetitions, double wanted)
{
	static const double least[] = {0.1, 0.1, 0.05};

	return repetitions < (int)ARRAY_SIZE(least) ? fmax(least[imax(repetitions, 0)], wanted)
						    : wanted;
}

static const char *member(const json_t *form, const char *name)
{
	return json_string_value(json_object_get(form, name));
}

static double number(const json_t *form, const char *name, double otherwise)
{
	const json_t *value = json_object_get(form, name);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

static void put_quantity(json_t *claim, const char *formula, const struct quantity *x)
{
	json_t *reps = json_array();

	for (int i = 0; i < x->total; i++)
		if (!isnan(x->reps[i]))
			json_array_append_new(reps, json_real(x->reps[i]));
	json_object_set_new(claim, "formula", json_string(formula));
	if (!isnan(x->value))
		json_object_set_new(claim, "value", json_real(x->value));
	json_object_set_new(claim, "repetitions", reps);
}

static const char *missing(const struct quantity *x)
{
	return isnan(x->value) ? "unknown" : x->shared ? "shared" : NULL;
}

/* The outcome, or where there is no sentence for it the one whose sentence is true as well. */
static const char *or_else(const json_t *form, const char *outcome, const char *other)
{
	return member(form, outcome) ? outcome : other;
}

/* How far the repetitions of some quantities lie apart. */
struct range {
	double low, high;
};

static void range_take(struct range *r, const struct quantity *x)
{
	r->low = fmin(r->low, x->value);
	r->high = fmax(r->high, x->value);
	for (int i = 0; i < x->total; i++) {
		r->low = fmin(r->low, x->reps[i]); /* of a NAN the other one */
		r->high = fmax(r->high, x->reps[i]);
	}
}

static void range_put(struct finding *f, struct range r)
{
	finding_number(f, "low", r.low);
	finding_number(f, "high", r.high);
}

/* All repetitions are on one side, and the median is so by more than the margin; or all are
   within the margin; or these runs can't tell. */
static const char *compare_one(const struct quantity *x, const json_t *form)
{
	double with = number(form, "with", 0);
	double margin = claim_margin(x->count, number(form, "by", 0.02)) * fabs(with);
	bool above = x->value > with + margin, below = x->value < with - margin;
	bool alike = !above && !below;

	for (int i = 0; i < x->total; i++) {
		above = above && !(x->reps[i] <= with);
		below = below && !(x->reps[i] >= with);
		alike = alike && !(fabs(x->reps[i] - with) > margin);
	}
	return above   ? "above"
	       : below ? "below"
	       : alike ? or_else(form, "alike", "unsure")
		       : "unsure";
}

/* In every repetition, in none, or in some. */
static const char *equal_one(const struct quantity *x, const json_t *form)
{
	double with = number(form, "with", 0), within = number(form, "within", 0);
	bool equal = fabs(x->value - with) <= within, differs = !equal;

	for (int i = 0; i < x->total; i++) {
		equal = equal && !(fabs(x->reps[i] - with) > within);
		differs = differs && !(fabs(x->reps[i] - with) <= within);
	}
	return equal ? "yes" : differs ? "no" : or_else(form, "unsure", "no");
}

/* The outcome of one more row: what can't be told of one can't be told of all. */
static const char *join(const char *outcome, const char *own)
{
	if (!outcome || !strcmp(outcome, own) || !strcmp(own, "unsure"))
		return own;
	return strcmp(outcome, "unsure") ? "mixed" : outcome;
}

/* The same outcome in this row, or in all rows along an axis. */
static const char *judge(struct inquiry *q, const json_t *form, const char *formula,
			 const char *(*one)(const struct quantity *, const json_t *),
			 json_t *claim)
{
	const char *over = member(form, "over"), *outcome = NULL;
	struct range range = {INFINITY, -INFINITY};
	struct quantity x;

	results_eval(q->results, q->row, formula, q->found.numbers, &x, NULL);
	put_quantity(claim, formula, &x);
	if (!over && missing(&x))
		return missing(&x);
	if (!over) {
		range_take(&range, &x);
		range_put(&q->found, range);
		return one(&x, form);
	}
	for (int i = 0; i < q->results->count; i++) {
		const struct row *row = &q->results->rows[i];
		const char *own;

		if (row->failed || !row_differs_only_in(q->results, q->row, row, over))
			continue;
		results_eval(q->results, row, formula, q->found.numbers, &x, NULL);
		if (missing(&x))
			continue;
		own = one(&x, form);
		outcome = join(outcome, own);
		range_take(&range, &x);
	}
	if (outcome)
		range_put(&q->found, range);
	return outcome ? outcome : "unknown";
}

struct candidate {
	char name[STUDY_NAME_MAX];
	struct quantity x;
};

static int gather(const struct inquiry *q, const json_t *form, struct candidate *list)
{
	const json_t *of = json_object_get(form, "largest");
	const char *over = member(form, "over"), *name;
	json_t *formula;
	int n = 0;

	json_object_foreach((json_t *)of, name, formula)
	{
		if (n == CANDIDATES_MAX)
			break;
		results_eval(q->results, q->row, json_string_value(formula), NULL, &list[n].x,
			     NULL);
		snprintf(list[n].name, sizeof(list[n].name), "%s", name);
		n += !missing(&list[n].x);
	}
	for (int i = 0; json_is_string(of) && i < q->results->count && n < CANDIDATES_MAX;
	     i++) {
		const struct row *row = &q->results->rows[i];

		if (row->failed || !row_differs_only_in(q->results, q->row, row, over))
			continue;
		results_eval(q->results, row, json_string_value(of), NULL, &list[n].x, NULL);
		row_text(q->results, row, over, list[n].name, sizeof(list[n].name));
		n += !missing(&list[n].x);
	}
	return n;
}

/* Is a above b in every pair of repetitions? */
static bool exceeds(const struct quantity *a, const struct quantity *b)
{
	bool above = a->value - b->value >
		     claim_margin(a->count, 0.02) * fmax(fabs(a->value), fabs(b->value));

	for (int i = 0; i < a->total; i++)
		above = above && !(a->reps[i] <= b->reps[i]);
	return above;
}

/* Are they the same within the margin in every repetition? */
static bool alike(const struct quantity *a, const struct quantity *b)
{
	double margin = claim_margin(a->count, 0.02) * fmax(fabs(a->value), fabs(b->value));
	bool same = fabs(a->value - b->value) <= margin;

	for (int i = 0; i < a->total; i++)
		same = same && !(fabs(a->reps[i] - b->reps[i]) > margin);
	return same;
}

/* The first is the largest; is that so in every repetition, and is it worth a word? */
static const char *judge_largest(const struct candidate *first, const struct candidate *second,
				 const json_t *form)
{
	double least = number(form, "least", 0);

	if (!(first->x.value > least))
		return "none";
	for (int i = 0; i < first->x.total; i++)
		if (first->x.reps[i] <= least)
			return "faint";
	if (!second)
		return or_else(form, "only", "found");
	if (exceeds(&first->x, &second->x))
		return "found";
	return alike(&first->x, &second->x) ? or_else(form, "alike", "unsure") : "unsure";
}

static const char *find_largest(struct inquiry *q, const json_t *form, json_t *claim)
{
	static struct candidate list[CANDIDATES_MAX];
	json_t *values = json_object();
	int n = gather(q, form, list), first = 0, second = -1;
	struct range range = {INFINITY, -INFINITY};

	for (int i = 0; i < n; i++) {
		json_object_set_new(values, list[i].name, json_real(list[i].x.value));
		if (list[i].x.value > list[first].x.value)
			first = i;
	}
	json_object_set_new(claim, "of", values);
	if (!n)
		return "unknown";
	for (int i = 0; i < n; i++)
		if (i != first && (second < 0 || list[i].x.value > list[second].x.value))
			second = i;
	finding_word(&q->found, "largest", list[first].name);
	finding_number(&q->found, "largest_value", list[first].x.value);
	if (second >= 0) {
		finding_word(&q->found, "second", list[second].name);
		finding_number(&q->found, "second_value", list[second].x.value);
	}
	range_take(&range, &list[first].x);
	range_put(&q->found, range);
	return judge_largest(&list[first], second < 0 ? NULL : &list[second], form);
}

/* Rows along an axis as points, those whose ranks had a core each. */
struct points {
	double x[POINTS_MAX], y[POINTS_MAX];
	int count;
};

static void take_points(const struct inquiry *q, const json_t *form, struct points *p)
{
	const char *axis = member(form, "x"), *formula = member(form, "y");
	struct quantity y;

	p->count = 0;
	for (int i = 0; i < q->results->count && p->count < POINTS_MAX; i++) {
		const struct row *row = &q->results->rows[i];

		if (row->failed || !row_differs_only_in(q->results, q->row, row, axis))
			continue;
		results_eval(q->results, row, formula, NULL, &y, NULL);
		p->x[p->count] = row_value(q->results, row, axis);
		p->y[p->count] = y.value;
		p->count += !missing(&y) && !isnan(row_value(q->results, row, axis));
	}
}

/* The largest speed-up that any of the points has. */
static double most_speedup(const struct points *p)
{
	double most = 0;

	for (int i = 0; i < p->count; i++)
		most = fmax(most, p->y[0] * p->x[0] / p->y[i]);
	return most;
}

static const char *fit_law(struct inquiry *q, const json_t *form, json_t *claim)
{
	bool is_amdahl = !strcmp(member(form, "fit"), "amdahl");
	struct points p;
	struct amdahl a;
	struct line_fit l;

	take_points(q, form, &p);
	a = fit_amdahl(p.x, p.y, p.count);
	l = fit_line(p.x, p.y, p.count);
	json_object_set_new(claim, "points", json_integer(p.count));
	finding_number(&q->found, "points", p.count);
	if (p.count < CLAIM_FIT_ROWS)
		return "few";
	finding_number(&q->found, "r2", is_amdahl ? a.r2 : l.r2);
	json_object_set_new(claim, "r2", json_real(is_amdahl ? a.r2 : l.r2));
	finding_number(&q->found, "offset", l.offset);
	finding_number(&q->found, "slope", l.slope);
	finding_number(&q->found, "serial", a.serial);
	finding_number(&q->found, "fraction", a.fraction);
	finding_number(&q->found, "limit", amdahl_limit(a.fraction));
	if (!(is_amdahl ? a.ok && a.r2 >= CLAIM_FIT_R2 : l.ok && l.r2 >= CLAIM_FIT_R2))
		return "poor";
	if (!is_amdahl)
		return l.slope > 0 ? "good" : "falling";
	if (a.serial <= 0)
		return "none";
	json_object_set_new(claim, "limit", json_real(amdahl_limit(a.fraction)));
	return amdahl_limit(a.fraction) >= most_speedup(&p) ? "good" : "poor";
}

static const char *const relations[] = {"compare", "equal", "largest", "fit"};

const char *relation_name(const json_t *form)
{
	for (size_t i = 0; i < ARRAY_SIZE(relations); i++)
		if (json_object_get(form, relations[i]))
			return relations[i];
	return "say";
}

const char *relation_find(struct inquiry *q, const json_t *form, json_t *claim)
{
	const char *formula;

	if ((formula = member(form, "compare")))
		return judge(q, form, formula, compare_one, claim);
	if ((formula = member(form, "equal")))
		return judge(q, form, formula, equal_one, claim);
	if (json_object_get(form, "largest"))
		return find_largest(q, form, claim);
	if (json_object_get(form, "fit"))
		return fit_law(q, form, claim);
	return "said";
}
