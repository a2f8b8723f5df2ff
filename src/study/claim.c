/* claim.c - see claim.h */
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

/* ---- relations: each says what it found, and leaves its numbers in f and claim ---- */

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

/* All repetitions are on one side, and the median is so by more than the margin. */
static const char *compare_one(const struct quantity *x, const json_t *form)
{
	double with = number(form, "with", 0);
	double margin = claim_margin(x->count, number(form, "by", 0.02)) * fabs(with);
	bool above = x->value > with + margin, below = x->value < with - margin;

	for (int i = 0; i < x->total; i++) {
		above = above && !(x->reps[i] <= with);
		below = below && !(x->reps[i] >= with);
	}
	return above ? "above" : below ? "below" : "unsure";
}

static const char *equal_one(const struct quantity *x, const json_t *form)
{
	double with = number(form, "with", 0), within = number(form, "within", 0);
	bool equal = fabs(x->value - with) <= within;

	for (int i = 0; i < x->total; i++)
		equal = equal && !(fabs(x->reps[i] - with) > within);
	return equal ? "yes" : "no";
}

/* The same outcome in this row, or in all rows along an axis. */
static const char *judge(struct inquiry *q, const json_t *form, const char *formula,
			 const char *(*one)(const struct quantity *, const json_t *),
			 json_t *claim)
{
	const char *over = member(form, "over"), *outcome = NULL;
	double lowest = INFINITY, highest = -INFINITY;
	struct quantity x;

	results_eval(q->results, q->row, formula, q->found.numbers, &x, NULL);
	put_quantity(claim, formula, &x);
	if (!over)
		return missing(&x) ? missing(&x) : one(&x, form);
	for (int i = 0; i < q->results->count; i++) {
		const struct row *row = &q->results->rows[i];
		const char *own;

		if (row->failed || !row_differs_only_in(q->results, q->row, row, over))
			continue;
		results_eval(q->results, row, formula, q->found.numbers, &x, NULL);
		if (missing(&x))
			continue;
		own = one(&x, form);
		outcome = !outcome || !strcmp(outcome, own) ? own : "mixed";
		lowest = fmin(lowest, x.value);
		highest = fmax(highest, x.value);
	}
	finding_number(&q->found, "lowest", lowest);
	finding_number(&q->found, "highest", highest);
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

static const char *find_largest(struct inquiry *q, const json_t *form, json_t *claim)
{
	static struct candidate list[CANDIDATES_MAX];
	json_t *values = json_object();
	int n = gather(q, form, list), first = 0, second = -1;

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
	if (!(list[first].x.value > number(form, "least", 0)))
		return "none";
	return second < 0 || exceeds(&list[first].x, &list[second].x) ? "found" : "unsure";
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
		return "good";
	if (a.serial <= 0)
		return "none";
	json_object_set_new(claim, "limit", json_real(amdahl_limit(a.fraction)));
	return amdahl_limit(a.fraction) >= most_speedup(&p) ? "good" : "poor";
}

/* ---- claims ---- */

static const char *const relations[] = {"compare", "equal", "largest", "fit"};

static const char *relation_of(const json_t *form)
{
	for (size_t i = 0; i < ARRAY_SIZE(relations); i++)
		if (json_object_get(form, relations[i]))
			return relations[i];
	return "say";
}

/* "linear=below" or "linear!=below", of a claim that was made before. */
static bool condition_holds(const struct inquiry *q, const char *condition)
{
	char name[STUDY_NAME_MAX];
	const char *equals = condition ? strchr(condition, '=') : NULL;
	bool negated = equals && equals > condition && equals[-1] == '!', same = false;

	if (!equals)
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)(equals - condition - negated), condition);
	for (size_t i = 0; i < json_array_size(q->claims); i++) {
		const json_t *claim = json_array_get(q->claims, i);
		const char *own = member(claim, "name");

		if (own && !strcmp(own, name))
			same = !strcmp(member(claim, "outcome"), equals + 1);
	}
	return same != negated;
}

static const char *find_outcome(struct inquiry *q, const json_t *form, json_t *claim)
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

json_t *claim_make(struct inquiry *q, const json_t *form)
{
	const char *outcome, *sentence, *name = member(form, "name");
	enum telling told = TOLD;
	json_t *claim, *numbers;
	struct text text;

	if (!condition_holds(q, member(form, "if")))
		return NULL;
	claim = json_pack("{s:s}", "relation", relation_of(form));
	numbers = json_array();
	text_init(&text);
	outcome = find_outcome(q, form, claim);
	sentence = json_is_string(form)	      ? json_string_value(form)
		   : !strcmp(outcome, "said") ? member(form, "say")
					      : member(form, outcome);
	if (sentence)
		told = claim_tell(q, sentence, &text, numbers);
	if (told != TOLD) {
		outcome = told == SHARED_CORES ? "shared" : "unknown";
		sentence = member(form, outcome);
		text.len = 0;
		json_array_clear(numbers);
		if (!sentence || claim_tell(q, sentence, &text, numbers) != TOLD)
			text.len = 0;
	}
	json_object_set_new(claim, "outcome", json_string(outcome));
	json_object_set_new(claim, "text", json_stringn(text.len ? text.data : "", text.len));
	json_object_set_new(claim, "numbers", numbers);
	if (name)
		json_object_set_new(claim, "name", json_string(name));
	if (json_object_get(form, "with"))
		json_object_set(claim, "with", json_object_get(form, "with"));
	text_release(&text);
	return claim;
}

bool claim_is_decided(const json_t *claim)
{
	const char *outcome = member(claim, "outcome");

	return outcome && strcmp(outcome, "unknown") && strcmp(outcome, "shared") &&
	       strcmp(outcome, "few");
}
