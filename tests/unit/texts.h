/* texts.h - for tests of tokenizers: random texts, and one that is trained on them. */
#ifndef KOLM_TESTS_TEXTS_H
#define KOLM_TESTS_TEXTS_H

#include "testing.h"

#include "text/tokenizer.h"
#include "text/unicode.h"

/* Pieces that texts are made of: words, numbers, contractions, white space, other scripts. */
static const char *const text_parts[] = {
	" ",  " ",   "  ",   "\n",     "\t ",  "the", "then",	" he",	"a",  "b",
	"ab", "aaa", "'s",   "'ll",    "'",    "12",  "3",	"!",	"?!", "é",
	"ß",  "Ω",   "日本", "\u00a0", "🙂", "٣",   "\u3000", "\r\n", "-",
};

/* n parts of the first `kinds` of text_parts. */
static inline void random_text(struct random *r, struct text *t, int n, int kinds)
{
	t->len = 0;
	text_add(t, "");
	for (int i = 0; i < n; i++)
		text_add(t, text_parts[random_int(r, 0, kinds - 1)]);
}

static inline void random_bytes(struct random *r, struct text *t, int n)
{
	t->len = 0;
	for (int i = 0; i < n; i++) {
		char byte = (char)random_int(r, 0, 255);

		text_add_n(t, &byte, 1);
	}
}

static inline struct tokenizer *trained(enum tokenizer_kind kind, int vocabulary,
					const char *end, const char *text, size_t size)
{
	struct tokenizer_plan plan = {
		.kind = kind, .vocabulary = vocabulary, .end_of_text = end};
	struct text_piece piece = {text, size, "text"};
	struct tokenizer *t = NULL;
	struct error err = {0};

	if (tokenizer_train(&t, &plan, &piece, 1, &err) != OK)
		fail_msg("%s", err.msg);
	return t;
}

static inline struct ids encoded(const struct tokenizer *t, const char *text, size_t size,
				 enum tokenizer_specials specials)
{
	struct ids ids = {0};
	struct error err = {0};

	if (tokenizer_encode(t, text, size, specials, &ids, &err) != OK)
		fail_msg("%s", err.msg);
	return ids;
}

static inline void assert_ids(const struct ids *ids, const int32_t *wanted, size_t n)
{
	assert_int_equal(ids->count, n);
	if (n)
		assert_memory_equal(ids->at, wanted, n * sizeof(*wanted));
}

#endif
