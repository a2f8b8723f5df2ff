/* claim.c - see claim.h */
#include "study/claim.h"
#include "base/util.h"

#include <ctype.h>
#include <string.h>

static const char *member(const json_t *form, const char *name)
{
	return json_string_value(json_object_get(form, name));
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

static const char *sentence_for(const json_t *form, const char *outcome)
{
	if (json_is_string(form))
		return json_string_value(form);
	return member(form, strcmp(outcome, "said") ? outcome : "say");
}

/* The sentence for an outcome, with its numbers; returns what becomes of the outcome where one
   of them is not known. */
static const char *tell(struct inquiry *q, const json_t *form, const char *outcome,
			struct text *text, json_t *numbers)
{
	const char *sentence = sentence_for(form, outcome);
	enum telling told = sentence ? claim_tell(q, sentence, text, numbers) : TOLD;

	if (told != TOLD) {
		outcome = told == SHARED_CORES ? "shared" : "unknown";
		sentence = member(form, outcome);
		text->len = 0;
		json_array_clear(numbers);
		if (!sentence || claim_tell(q, sentence, text, numbers) != TOLD)
			text->len = 0;
	}
	if (member(form, "word") && text->len)
		finding_word(&q->found, member(form, "word"), text->data);
	else if (sentence && text->len && *sentence == '{') /* it begins with what was found */
		text->data[0] = (char)toupper((unsigned char)text->data[0]);
	return outcome;
}

json_t *claim_make(struct inquiry *q, const json_t *form)
{
	static const char *const kept[] = {"name", "word", "with", "over"};
	bool asked = condition_holds(q, member(form, "if"));
	json_t *claim, *numbers;
	const char *outcome;
	struct text text;

	if (!asked && !member(form, "otherwise"))
		return NULL;
	claim = json_pack("{s:s}", "relation", relation_name(form));
	numbers = json_array();
	text_init(&text);
	outcome = asked ? relation_find(q, form, claim) : "otherwise";
	outcome = tell(q, form, outcome, &text, numbers);
	json_object_set_new(claim, "outcome", json_string(outcome));
	json_object_set_new(claim, "text", json_stringn(text.len ? text.data : "", text.len));
	json_object_set_new(claim, "numbers", numbers);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (json_object_get(form, kept[i]))
			json_object_set(claim, kept[i], json_object_get(form, kept[i]));
	text_release(&text);
	return claim;
}

bool claim_is_decided(const json_t *claim)
{
	static const char *const open[] = {"unknown", "shared", "few",
					   "unsure",  "faint",	"otherwise"};
	const char *outcome = member(claim, "outcome");

	for (size_t i = 0; outcome && i < ARRAY_SIZE(open); i++)
		if (!strcmp(outcome, open[i]))
			return false;
	return outcome != NULL;
}
