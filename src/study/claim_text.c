/* claim_text.c - sentences with numbers in them; see claim.h */
#include "study/claim.h"
#include "base/units.h"
#include "base/util.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EXPRESSION_MAX = 256 };

/* What relations find: names that formulas of claims may hold as well. */
static const struct constant found_names[] = {
	{"largest", 1}, {"largest_value", 1}, {"second", 1}, {"second_value", 1},
	{"serial", 1},	{"fraction", 1},      {"limit", 1},  {"r2", 1},
	{"points", 1},	{"offset", 1},	      {"slope", 1},  {"low", 1},
	{"high", 1},	{"range", 1},	      {"one", 1},    {"other", 1},
	{NULL, 0},
};

enum status formula_check(const struct columns *c, const char *formula, const char *where,
			  struct error *err)
{
	return columns_check_formula(c, formula, found_names, where, err);
}

void finding_number(struct finding *f, const char *name, double value)
{
	int i = 0;

	while (i < f->number_count && strcmp(f->numbers[i].name, name))
		i++;
	if (i == (int)ARRAY_SIZE(f->numbers) - 1)
		return;
	f->numbers[i] = (struct constant){name, value};
	f->number_count = imax(f->number_count, i + 1);
}

void finding_word(struct finding *f, const char *name, const char *text)
{
	int i = 0;

	while (i < f->word_count && strcmp(f->words[i].name, name))
		i++;
	if (i == (int)ARRAY_SIZE(f->words))
		return;
	f->words[i].name = name;
	snprintf(f->words[i].text, sizeof(f->words[i].text), "%s", text);
	f->word_count = imax(f->word_count, i + 1);
}

/* The next "{formula:form}" of a sentence: where it begins, or NULL; end is behind it. */
static const char *next_number(const char *at, char formula[EXPRESSION_MAX], char form[8],
			       const char **end)
{
	const char *open = strchr(at, '{'), *close = open ? strchr(open, '}') : NULL;
	const char *colon;
	size_t n;

	if (!open || !close)
		return NULL;
	*end = close + 1;
	form[0] = '\0';
	n = (size_t)(close - open - 1);
	colon = memchr(open, ':', n + 1);
	if (colon) {
		snprintf(form, 8, "%.*s", (int)(close - colon - 1), colon + 1);
		n = (size_t)(colon - open - 1);
	}
	snprintf(formula, EXPRESSION_MAX, "%.*s", (int)n, open + 1);
	return open;
}

/* The column that a formula is, "step_ms" or "step_ms[ranks=1]", or -1. */
static int plain_column(const struct columns *c, const char *formula)
{
	char key[STUDY_NAME_MAX];
	size_t n = strcspn(formula, "[");
	const char *close = strchr(formula, ']');

	if (n >= sizeof(key) || (formula[n] && (!close || close[1])))
		return -1;
	snprintf(key, sizeof(key), "%.*s", (int)n, formula);
	return columns_find(c, key);
}

/* ms; % and %1: percent; b: bytes; 0 to 9: so many digits; nothing: three that count. The unit
   is text of its own. */
static bool format_number(double value, const char *form, char *buf, size_t size,
			  const char **unit)
{
	bool percent = *form == '%', ms = !strcmp(form, "ms");
	const char *digits = form + percent;

	*unit = percent ? " %" : ms ? " ms" : "";
	if (ms)
		digits = "3";
	if (!strcmp(form, "b"))
		units_format_size((uint64_t)fmax(value, 0), buf, size);
	else if (!*form)
		number_text(value, -1, buf, size);
	else if (!*digits || (isdigit((unsigned char)digits[0]) && !digits[1]))
		number_text(percent ? 100 * value : value, *digits ? *digits - '0' : 0, buf,
			    size);
	else
		return false;
	return true;
}

/* As the table shows it, with its unit; or in the form that is asked for. */
static void quote(const struct columns *c, const char *formula, const char *form, double value,
		  struct text *out)
{
	int column = *form ? -1 : plain_column(c, formula);
	const char *unit;
	char buf[256];

	if (column < 0) {
		format_number(value, form, buf, sizeof(buf), &unit);
		text_addf(out, "%s%s", buf, unit);
		return;
	}
	column_text(&c->list[column], value, buf, sizeof(buf));
	text_addf(out, "%s%s%s", buf, *c->list[column].unit ? " " : "", c->list[column].unit);
}

/* "94 to 97 %"; "95 %" where both ends are the same to so many digits. */
static void quote_range(double low, double high, const char *form, struct text *out)
{
	char first[64], last[64];
	const char *unit;

	format_number(low, form, first, sizeof(first), &unit);
	format_number(high, form, last, sizeof(last), &unit);
	if (strcmp(first, last))
		text_addf(out, "%s to %s%s", first, last, unit);
	else
		text_addf(out, "%s%s", first, unit);
}

static const char *find_word(const struct finding *f, const char *name)
{
	for (int i = 0; i < f->word_count; i++)
		if (!strcmp(f->words[i].name, name))
			return f->words[i].text;
	return NULL;
}

/* The text that a column has in this row or, "layers[devices=5]", in another; or NULL. */
static const char *find_text(const struct inquiry *q, const char *formula)
{
	int column = plain_column(q->results->columns, formula);
	const char *open = strchr(formula, '[');
	const struct row *row = q->row;
	char elsewhere[EXPRESSION_MAX];

	if (column < 0)
		return NULL;
	if (open) {
		snprintf(elsewhere, sizeof(elsewhere), "%.*s", (int)strcspn(open + 1, "]"),
			 open + 1);
		row = row_elsewhere(q->results, row, elsewhere);
	}
	return row ? row->cells[column].text : NULL;
}

static enum telling tell_number(const struct inquiry *q, const char *formula, const char *form,
				struct text *out, json_t *numbers)
{
	const struct columns *c = q->results->columns;
	bool range = !strcmp(formula, "range");
	struct quantity x, high;
	size_t begin = out->len;

	if (results_eval(q->results, q->row, range ? "low" : formula, q->found.numbers, &x,
			 NULL) != OK ||
	    isnan(x.value))
		return NOT_KNOWN;
	if (x.shared)
		return SHARED_CORES;
	if (range) {
		results_eval(q->results, q->row, "high", q->found.numbers, &high, NULL);
		quote_range(x.value, high.value, form, out);
	} else {
		quote(c, formula, form, x.value, out);
	}
	json_array_append_new(numbers, json_pack("{s:s, s:f, s:s}", "formula", formula, "value",
						 x.value, "text", out->data + begin));
	return TOLD;
}

enum telling claim_tell(const struct inquiry *q, const char *sentence, struct text *out,
			json_t *numbers)
{
	char formula[EXPRESSION_MAX], form[8];
	const char *open, *end;

	for (; (open = next_number(sentence, formula, form, &end)); sentence = end) {
		const char *word = find_word(&q->found, formula);
		enum telling told = TOLD;

		text_add_n(out, sentence, (size_t)(open - sentence));
		word = word ? word : find_text(q, formula);
		if (word)
			text_add(out, word);
		else
			told = tell_number(q, formula, form, out, numbers);
		if (told != TOLD)
			return told;
	}
	text_add(out, sentence);
	return TOLD;
}

enum status sentence_check(const struct columns *c, const char *sentence, const char *where,
			   struct error *err)
{
	char formula[EXPRESSION_MAX], form[8], shown[64];
	const char *open, *end, *unit;
	enum status st = OK;

	for (; (open = next_number(sentence, formula, form, &end)); sentence = end) {
		if (*form && !format_number(1, form, shown, sizeof(shown), &unit)) {
			FAIL(err, ERR_USAGE, "%s: a number in the form '%s'", where, form);
			return HINT(err, "ms, %%, %%1, b or a number of digits");
		}
		TRY(formula_check(c, formula, where, err));
	}
	if (strpbrk(sentence, "{}"))
		st = FAIL(err, ERR_USAGE, "%s: a brace without its other one in '%.60s'", where,
			  sentence);
out:
	return st;
}
