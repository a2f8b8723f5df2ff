/* notes.c - see notes.h */
#include "report/notes.h"

#include <jansson.h>
#include <string.h>

enum { COMMON = 3 };

/* A sentence ends with a full stop before a space or the end. Returns where the next begins. */
static const char *next_sentence(const char *text, struct text *out)
{
	const char *end = text;

	while (*end && !(*end == '.' && (end[1] == ' ' || !end[1])))
		end++;
	end += *end == '.';
	out->len = 0;
	text_add_n(out, text, (size_t)(end - text));
	return end + strspn(end, " ");
}

static void drop_brackets(struct text *sentence)
{
	char *open = strstr(sentence->data, " ("), *close = open ? strchr(open, ')') : NULL;

	if (close)
		memmove(open, close + 1, strlen(close + 1) + 1);
}

typedef void (*note_visitor)(json_t *table, const char *note, json_t *counts);

static void each_note(struct sources *s, note_visitor visit, json_t *counts)
{
	size_t k;
	json_t *table;

	for (int i = 0; i < s->study_count; i++)
		json_array_foreach(json_object_get(s->studies[i].root, "tables"), k, table)
		{
			const char *note = json_string_value(json_object_get(table, "note"));

			if (note)
				visit(table, note, counts);
		}
}

static json_int_t count_of(const json_t *counts, const char *sentence)
{
	return json_integer_value(json_object_get(counts, sentence));
}

static void count_sentences(json_t *table, const char *note, json_t *counts)
{
	struct text one;

	(void)table;
	text_init(&one);
	while (*note) {
		note = next_sentence(note, &one);
		drop_brackets(&one);
		json_object_set_new(counts, one.data,
				    json_integer(count_of(counts, one.data) + 1));
	}
	text_release(&one);
}

static void drop_common(json_t *table, const char *note, json_t *counts)
{
	struct text one, rest;

	text_init(&one);
	text_init(&rest);
	while (*note) {
		const char *begin = note;

		note = next_sentence(note, &one);
		drop_brackets(&one);
		if (count_of(counts, one.data) < COMMON)
			text_add_n(&rest, begin, (size_t)(note - begin));
	}
	json_object_set_new(table, "note", json_string(rest.data));
	text_release(&rest);
	text_release(&one);
}

void notes_collect(struct sources *s, struct text *out)
{
	json_t *counts = json_object(), *count;
	const char *sentence;

	each_note(s, count_sentences, counts);
	each_note(s, drop_common, counts);
	json_object_foreach(counts, sentence, count)
	{
		if (json_integer_value(count) >= COMMON)
			text_addf(out, "%s%s", out->len ? " " : "", sentence);
	}
	json_decref(counts);
}
