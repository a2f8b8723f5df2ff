/* claim_check.c - is a claim of a study's file right? See claim.h */
#include "study/claim.h"
#include "base/util.h"

#include <string.h>

/* What a claim may say, and what it is made with. */
static const char *const sentences[] = {"above",   "below",  "alike", "unsure",	  "yes",
					"no",	   "mixed",  "found", "only",	  "faint",
					"none",	   "good",   "poor",  "falling",  "few",
					"unknown", "shared", "say",   "otherwise"};
static const char *const formulas[] = {"compare", "equal", "y"};
static const char *const columns[] = {"over", "x"};
static const char *const numbers[] = {"with", "by", "within", "least"};
static const char *const words[] = {"name", "if", "fit", "largest", "word"};

static bool in(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}
#define IN(name, list) in(name, list, ARRAY_SIZE(list))

static enum status check_candidates(const struct columns *c, const json_t *of, bool over,
				    const char *where, struct error *err)
{
	const char *name;
	json_t *formula;
	enum status st = OK;

	if (json_is_string(of) && over)
		return formula_check(c, json_string_value(of), where, err);
	if (!json_object_size(of))
		return FAIL(err, ERR_USAGE, "%s: 'largest' of what?", where);
	json_object_foreach((json_t *)of, name, formula)
	{
		if (!json_is_string(formula))
			return FAIL(err, ERR_USAGE, "%s: '%.40s' has no formula", where, name);
		TRY(formula_check(c, json_string_value(formula), where, err));
	}
out:
	return st;
}

static enum status check_member(const struct columns *c, const char *name, const json_t *value,
				const char *where, struct error *err)
{
	const char *text = json_string_value(value);

	if (IN(name, numbers) && json_is_number(value))
		return OK;
	if (IN(name, sentences) && text)
		return sentence_check(c, text, where, err);
	if (IN(name, formulas) && text)
		return formula_check(c, text, where, err);
	if (IN(name, columns) && text && columns_find(c, text) >= 0)
		return OK;
	if (IN(name, words) && (text || !strcmp(name, "largest")))
		return OK;
	FAIL(err, ERR_USAGE, "%s: '%.40s' is unknown or of the wrong type", where, name);
	return HINT(err, "docs/studies.md shows how claims are written");
}

enum status claim_check(const struct columns *c, const json_t *form, const char *where,
			struct error *err)
{
	const char *fit = json_string_value(json_object_get(form, "fit")), *name;
	const char *word = json_string_value(json_object_get(form, "word"));
	const json_t *largest = json_object_get(form, "largest");
	json_t *value;
	enum status st = OK;

	if (json_is_string(form))
		return sentence_check(c, json_string_value(form), where, err);
	if (!json_is_object(form))
		return FAIL(err, ERR_USAGE, "%s: a claim is a sentence or an object", where);
	json_object_foreach((json_t *)form, name, value)
		TRY(check_member(c, name, value, where, err));
	if (fit && ((strcmp(fit, "amdahl") && strcmp(fit, "line")) ||
		    !json_object_get(form, "x") || !json_object_get(form, "y"))) {
		FAIL(err, ERR_USAGE, "%s: 'fit' is amdahl or line, of 'x' and 'y'", where);
		return HINT(err, "docs/studies.md shows how claims are written");
	}
	if (word && strcmp(word, "one") && strcmp(word, "other"))
		return FAIL(err, ERR_USAGE, "%s: a word is called 'one' or 'other'", where);
	if (largest)
		TRY(check_candidates(c, largest, json_object_get(form, "over"), where, err));
out:
	return st;
}
