/* formula.c - see formula.h. Evaluated while it is read: formulas are short. */
#include "study/formula.h"
#include "base/util.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 64, NESTING_MAX = 32 };

struct reader {
	const char *text, *at;
	formula_lookup *lookup;
	void *arg;
	int nesting;
	struct error *err;
};

static enum status sum(struct reader *r, double *value);

static void skip_blanks(struct reader *r)
{
	while (isspace((unsigned char)*r->at))
		r->at++;
}

/* Is this character next? Then it is behind us. */
static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (*r->at != c)
		return false;
	r->at++;
	return true;
}

static enum status broken(struct reader *r, const char *wanted)
{
	FAIL(r->err, ERR_USAGE, "the formula '%.200s': %s expected at '%.40s'", r->text, wanted,
	     *r->at ? r->at : "its end");
	return HINT(r->err, "such as step_ms[ranks=1] / step_ms");
}

static double smaller(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}

static double larger(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* Of one number or of two. */
static const struct function {
	const char *name;
	double (*one)(double);
	double (*two)(double, double);
} functions[] = {
	{.name = "min", .two = smaller}, {.name = "max", .two = larger},
	{.name = "abs", .one = fabs},	 {.name = "log2", .one = log2},
	{.name = "sqrt", .one = sqrt},
};

static double call(const char *name, double a, double b, int count, bool *known)
{
	*known = true;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		const struct function *f = &functions[i];

		if (strcmp(f->name, name))
			continue;
		if (f->one && count == 1)
			return f->one(a);
		if (f->two && count == 2)
			return f->two(a, b);
	}
	*known = false;
	return NAN;
}

static enum status arguments(struct reader *r, const char *name, double *value)
{
	double given[2] = {0};
	int count = 0;
	bool known;
	enum status st = OK;

	do {
		if (count == 2)
			return broken(r, "')'");
		TRY(sum(r, &given[count++]));
	} while (take(r, ','));
	if (!take(r, ')'))
		return broken(r, "')'");
	*value = call(name, given[0], given[1], count, &known);
	if (!known)
		st = FAIL(r->err, ERR_USAGE, "the formula '%.200s': no function %s of %d",
			  r->text, name, count);
out:
	return st;
}

static enum status name(struct reader *r, double *value)
{
	char word[WORD_MAX], elsewhere[WORD_MAX];
	size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789_");
	const char *end;
	bool brackets;

	if (n >= sizeof(word))
		return broken(r, "a shorter name");
	memcpy(word, r->at, n);
	word[n] = '\0';
	r->at += n;
	if (take(r, '('))
		return arguments(r, word, value);
	brackets = take(r, '[');
	if (brackets) {
		end = strchr(r->at, ']');
		if (!end || (size_t)(end - r->at) >= sizeof(elsewhere))
			return broken(r, "']'");
		memcpy(elsewhere, r->at, (size_t)(end - r->at));
		elsewhere[end - r->at] = '\0';
		r->at = end + 1;
	}
	if (r->lookup(r->arg, word, brackets ? elsewhere : NULL, value))
		return OK;
	FAIL(r->err, ERR_USAGE, "the formula '%.200s': nothing is called %s%s%s%s", r->text,
	     word, brackets ? "[" : "", brackets ? elsewhere : "", brackets ? "]" : "");
	return HINT(r->err, "columns, axes and options of kolm train have names");
}

static enum status factor(struct reader *r, double *value)
{
	enum status st = OK;
	char *end;

	*value = NAN; /* unless it is known */
	if (++r->nesting > NESTING_MAX)
		return broken(r, "less nesting");
	skip_blanks(r);
	if (take(r, '-')) {
		TRY(factor(r, value));
		*value = -*value;
	} else if (take(r, '(')) {
		TRY(sum(r, value));
		if (!take(r, ')'))
			return broken(r, "')'");
	} else if (isdigit((unsigned char)*r->at) || *r->at == '.') {
		*value = strtod(r->at, &end);
		if (end == r->at)
			return broken(r, "a number");
		r->at = end;
	} else if (isalpha((unsigned char)*r->at)) {
		TRY(name(r, value));
	} else {
		return broken(r, "a number, a name or '('");
	}
	r->nesting--;
out:
	return st;
}

static enum status product(struct reader *r, double *value)
{
	double right;
	enum status st;

	TRY(factor(r, value));
	for (;;) {
		bool times = take(r, '*');

		if (!times && !take(r, '/'))
			return OK;
		TRY(factor(r, &right));
		*value = times ? *value * right : *value / right;
	}
out:
	return st;
}

static enum status sum(struct reader *r, double *value)
{
	double right;
	enum status st;

	TRY(product(r, value));
	for (;;) {
		bool plus = take(r, '+');

		if (!plus && !take(r, '-'))
			return OK;
		TRY(product(r, &right));
		*value = plus ? *value + right : *value - right;
	}
out:
	return st;
}

enum status formula_eval(const char *text, formula_lookup *lookup, void *arg, double *value,
			 struct error *err)
{
	struct reader r = {.text = text, .at = text, .lookup = lookup, .arg = arg, .err = err};
	enum status st;

	TRY(sum(&r, value));
	skip_blanks(&r);
	if (*r.at)
		return broken(&r, "an operator");
	if (!isfinite(*value))
		*value = NAN;
out:
	return st;
}
