/* answer.c - see answer.h */
#include "study/answer.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const nothing_known = "Not to be told from these runs.";

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* ---- which row a question is about ---- */

/* Is the value that "at" asks for ("first", "last", or itself) better in a than in b? */
static bool is_better(const struct results *r, const struct row *a, const struct row *b,
		      const json_t *at)
{
	const char *key;
	json_t *wanted;

	json_object_foreach((json_t *)at, key, wanted)
	{
		double x = row_value(r, a, key), y = row_value(r, b, key);
		const char *choice = json_string_value(wanted);
		bool last = choice && !strcmp(choice, "last");

		/* Texts are in the order of the axis' values, as rows are. */
		if (isnan(x) || isnan(y))
			x = (double)(a - b), y = 0;
		if (choice && (last || !strcmp(choice, "first")) && x != y)
			return last ? x > y : x < y;
	}
	return false;
}

static bool matches_at(const struct results *r, const struct row *row, const json_t *at)
{
	const char *key;
	json_t *wanted;

	json_object_foreach((json_t *)at, key, wanted)
	{
		const char *choice = json_string_value(wanted);
		json_t *one;
		bool same;

		if (choice && (!strcmp(choice, "first") || !strcmp(choice, "last")))
			continue;
		one = json_pack("{s:O}", key, wanted);
		same = row_matches(r, row, one);
		json_decref(one);
		if (!same)
			return false;
	}
	return true;
}

/* Of the rows of a device with a core for each rank, the one that "at" means, or NULL. */
static const struct row *choose_row(const struct results *r, const json_t *question,
				    const char *device)
{
	const json_t *at = json_object_get(question, "at");
	bool shared = json_is_true(json_object_get(question, "shared"));
	const struct row *best = NULL;

	for (int i = 0; i < r->count; i++) {
		const struct row *row = &r->rows[i];
		const char *own = row_cell(r, row, "device")->text;

		if (row->failed || !row->good || !own || strcmp(own, device) ||
		    (!shared && row_value(r, row, "oversubscribed") == 1) ||
		    !row_matches(r, row, json_object_get(question, "where")) ||
		    !matches_at(r, row, at))
			continue;
		if (!best || is_better(r, row, best, at))
			best = row;
	}
	return best;
}

/* ---- answers ---- */

static void add_claims(struct inquiry *q, const json_t *forms, json_t *sentences)
{
	for (size_t i = 0; i < json_array_size(forms); i++) {
		json_t *claim = claim_make(q, json_array_get(forms, i));

		if (claim && *text_of(claim, "text") && !json_object_get(claim, "word"))
			json_array_append(sentences, json_object_get(claim, "text"));
		if (claim)
			json_array_append_new(q->claims, claim);
	}
}

/* What the rows of one device say, or NULL if there is none. */
static json_t *make_part(const struct results *r, const json_t *question, const char *device)
{
	struct inquiry q = {.results = r, .row = choose_row(r, question, device)};
	json_t *verdict, *sentences;
	bool supported;

	if (!q.row)
		return NULL;
	q.claims = json_array();
	sentences = json_array();
	add_claims(&q, json_object_get(question, "facts"), sentences);
	verdict = claim_make(&q, json_object_get(question, "verdict"));
	supported = verdict && claim_is_decided(verdict);
	json_array_append_new(q.claims, verdict);
	add_claims(&q, json_object_get(question, "say"), sentences);
	return json_pack("{s:s, s:s, s:i, s:b, s:s, s:o, s:o}", "device", device, "case",
			 q.row->run_case->name, "rank", q.row->rank, "supported", supported,
			 "verdict",
			 *text_of(verdict, "text") ? text_of(verdict, "text") : nothing_known,
			 "sentences", sentences, "claims", q.claims);
}

static json_t *make_answer(const struct tables *t, const json_t *question)
{
	static const char *const devices[] = {"real", "simulated", ""};
	static const char *const passed_on[] = {"table", "rows", "figures"};
	const struct results *r = json_object_get(question, "per") ? &t->by_rank : &t->by_case;
	json_t *answer = json_object(), *parts = json_array();
	json_t *verdict = NULL;
	bool supported = false;

	/* What was found out comes before what can't be told. */
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		json_t *part = make_part(r, question, devices[i]);
		bool own = json_is_true(json_object_get(part, "supported"));

		if (!part)
			continue;
		if (!verdict || (own && !supported))
			verdict = part;
		supported = supported || own;
		json_array_append_new(parts, part);
	}
	json_object_set(answer, "id", json_object_get(question, "id"));
	json_object_set(answer, "question", json_object_get(question, "question"));
	/* Here as in its part, so that who shows both can see that they are the same. */
	if (!strcmp(text_of(verdict, "device"), "simulated"))
		json_object_set_new(verdict, "verdict",
				    json_sprintf("Simulated: %s", text_of(verdict, "verdict")));
	json_object_set_new(answer, "verdict",
			    json_string(verdict ? text_of(verdict, "verdict") : nothing_known));
	json_object_set_new(answer, "supported", json_boolean(supported));
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		if (json_object_get(question, passed_on[i]))
			json_object_set(answer, passed_on[i],
					json_object_get(question, passed_on[i]));
	json_object_set_new(answer, "parts", parts);
	return answer;
}

json_t *answers_make(const struct tables *t)
{
	const json_t *questions = json_object_get(t->study->root, "questions");
	json_t *answers = json_array();

	for (size_t i = 0; i < json_array_size(questions); i++)
		json_array_append_new(answers, make_answer(t, json_array_get(questions, i)));
	return answers;
}

/* ---- observations ---- */

void observations_fill(struct results *r)
{
	for (int k = 0; k < r->columns->count; k++)
		for (int i = 0; r->columns->list[k].observe && i < r->count; i++) {
			struct inquiry q = {
				.results = r, .row = &r->rows[i], .claims = json_array()};
			json_t *sentences = json_array();
			struct text text;

			text_init(&text);
			if (r->rows[i].good)
				add_claims(&q, r->columns->list[k].observe, sentences);
			for (size_t n = 0; n < json_array_size(sentences); n++)
				text_addf(&text, "%s%s", n ? " " : "",
					  json_string_value(json_array_get(sentences, n)));
			free(r->rows[i].cells[k].text);
			r->rows[i].cells[k].text = strdup(text.data);
			text_release(&text);
			json_decref(sentences);
			json_decref(q.claims);
		}
}

/* ---- checking the file ---- */

static enum status check_filter(const struct columns *c, const json_t *filter,
				const char *where, struct error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)filter, key, value)
	{
		if (columns_find(c, key) < 0)
			return FAIL(err, ERR_USAGE, "%s: there is no column '%.40s'", where,
				    key);
	}
	return OK;
}

static enum status check_question(const struct columns *c, const json_t *question,
				  const char *where, struct error *err)
{
	static const char *const lists[] = {"facts", "say"};
	enum status st;

	TRY(check_filter(c, json_object_get(question, "where"), where, err));
	TRY(check_filter(c, json_object_get(question, "at"), where, err));
	TRY(claim_check(c, json_object_get(question, "verdict"), where, err));
	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		const json_t *list = json_object_get(question, lists[k]);

		for (size_t i = 0; i < json_array_size(list); i++)
			TRY(claim_check(c, json_array_get(list, i), where, err));
	}
out:
	return st;
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
	for (int k = 0; k < c.count; k++)
		for (size_t i = 0; i < json_array_size(c.list[k].observe); i++)
			TRY(claim_check(&c, json_array_get(c.list[k].observe, i), where, err));
	for (size_t i = 0; i < json_array_size(questions); i++) {
		snprintf(place, sizeof(place), "%s: questions[%zu]", where, i);
		TRY(check_question(&c, json_array_get(questions, i), place, err));
	}
out:
	columns_release(&c);
	return st;
}
