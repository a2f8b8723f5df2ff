/*
 * test_merges.c - merges are learned and used as their definitions read.
 *
 * The definition of learning: count all pairs of neighbours in all words; the most frequent
 * one, and of equals that of the smallest ids, becomes a token, everywhere, from left to right;
 * once more. The definition of using: of the pairs in a word, merge the first one of the lowest
 * rank; once more.
 */
#include "texts.h"

#include "text/impl.h"
#include "text/words.h"

enum { CASES = 200, TEXT_MAX = 4096 };

/* A text as symbols, with a -1 behind every word. */
struct plain {
	int32_t at[2 * TEXT_MAX];
	size_t n;
};

static void spell(struct plain *p, const struct tokenizer *t, const char *text, size_t size)
{
	p->n = 0;
	for (size_t at = 0, length; at < size; at += length) {
		length = word_length(text + at, size - at);
		for (size_t i = 0; i < length; i++)
			p->at[p->n++] = t->of_byte[(unsigned char)text[at + i]];
		p->at[p->n++] = -1;
	}
}

static int count(const struct plain *p, int32_t left, int32_t right)
{
	int n = 0;

	for (size_t i = 0; i + 1 < p->n; i++)
		n += p->at[i] == left && p->at[i + 1] == right;
	return n;
}

/* The most frequent pair, counting every one from scratch. */
static bool best_pair(const struct plain *p, int32_t *left, int32_t *right)
{
	int best = 0;

	for (size_t i = 0; i + 1 < p->n; i++) {
		int32_t a = p->at[i], b = p->at[i + 1];
		int n = a < 0 || b < 0 ? 0 : count(p, a, b);

		if (n > best || (n && n == best && (a < *left || (a == *left && b < *right)))) {
			best = n;
			*left = a;
			*right = b;
		}
	}
	return best > 0;
}

static void unite_all(struct plain *p, int32_t left, int32_t right, int32_t made)
{
	size_t to = 0;

	for (size_t i = 0; i < p->n; to++)
		if (i + 1 < p->n && p->at[i] == left && p->at[i + 1] == right) {
			p->at[to] = made;
			i += 2;
		} else {
			p->at[to] = p->at[i++];
		}
	p->n = to;
}

static void merges_are_learned_as_defined(void **state)
{
	static struct plain p;
	struct random r = random_start("merges_are_learned_as_defined");
	struct text text;

	(void)state;
	text_init(&text);
	for (int i = 0; i < CASES; i++) {
		struct tokenizer *t;
		int32_t left = 0, right = 0, learned = 0;
		/* Few kinds of parts: many pairs are equally frequent. */
		int kinds = random_int(&r, 5, ARRAY_SIZE(text_parts));
		int wanted = random_int(&r, 257, 300);

		random_text(&r, &text, random_int(&r, 0, 80), kinds);
		t = trained(TOKENIZER_BPE, wanted, END_OF_TEXT, text.data, text.len);
		spell(&p, t, text.data, text.len);
		while (257 + learned < wanted && best_pair(&p, &left, &right)) {
			assert_true(learned < t->merge_count);
			assert_int_equal(t->merges[learned].left, left);
			assert_int_equal(t->merges[learned].right, right);
			assert_int_equal(t->merges[learned].made, 257 + learned);
			unite_all(&p, left, right, 257 + learned);
			learned++;
		}
		assert_int_equal(t->merge_count, learned);
		assert_int_equal(t->count, 257 + learned);
		tokenizer_free(t);
	}
	text_release(&text);
}

/* The first pair of the lowest rank; -1: none. */
static int64_t lowest(const struct tokenizer *t, const struct plain *p, size_t *where)
{
	int64_t best = -1;

	for (size_t i = 0; i + 1 < p->n; i++) {
		int64_t rank =
			p->at[i] < 0 || p->at[i + 1] < 0
				? -1
				: lookup_get(&t->ranks, pair_key(p->at[i], p->at[i + 1]));

		if (rank >= 0 && (best < 0 || rank < best)) {
			best = rank;
			*where = i;
		}
	}
	return best;
}

static void encode_plainly(const struct tokenizer *t, struct plain *p, const char *text,
			   size_t size)
{
	size_t where = 0, n = 0;
	int64_t rank;

	spell(p, t, text, size);
	while ((rank = lowest(t, p, &where)) >= 0) {
		p->at[where] = t->merges[rank].made;
		memmove(&p->at[where + 1], &p->at[where + 2],
			(p->n - where - 2) * sizeof(*p->at));
		p->n--;
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->at[i] >= 0)
			p->at[n++] = p->at[i];
	p->n = n;
}

static void merges_are_used_as_defined(void **state)
{
	static struct plain p;
	struct random r = random_start("merges_are_used_as_defined");
	struct text text;

	(void)state;
	text_init(&text);
	for (int i = 0; i < CASES; i++) {
		struct tokenizer *t;

		random_text(&r, &text, 300, ARRAY_SIZE(text_parts));
		t = trained(TOKENIZER_BPE, random_int(&r, 256, 600), NULL, text.data, text.len);
		for (int k = 0; k < 10; k++) {
			struct ids ids;

			if (k % 2)
				random_bytes(&r, &text, random_int(&r, 0, 100));
			else
				random_text(&r, &text, random_int(&r, 0, 60),
					    ARRAY_SIZE(text_parts));
			ids = encoded(t, text.data, text.len, SPECIALS_ARE_TOKENS);
			encode_plainly(t, &p, text.data, text.len);
			assert_ids(&ids, p.at, p.n);
			ids_release(&ids);
		}
		tokenizer_free(t);
	}
	text_release(&text);
}

/* A million letters without a cut: as quick as any text, and right. */
static void one_long_word_is_no_problem(void **state)
{
	enum { N = 1 << 20 };
	struct tokenizer *t = trained(TOKENIZER_BPE, 258, NULL, "aaaa aaaa", 9);
	char *text = malloc(N);
	struct ids ids;

	(void)state;
	assert_int_equal(t->merge_count, 2); /* aa, aaaa */
	memset(text, 'a', N);
	ids = encoded(t, text, N, SPECIALS_ARE_TOKENS);
	assert_int_equal(ids.count, N / 4);
	for (size_t i = 0; i < ids.count; i++)
		assert_int_equal(ids.at[i], 257);
	ids_release(&ids);
	free(text);
	tokenizer_free(t);
}

static void several_texts_are_cut_apart(void **state)
{
	struct text_piece texts[] = {{"xa", 2, "one"}, {"bx", 2, "two"}};
	struct tokenizer_plan plan = {.kind = TOKENIZER_BPE, .vocabulary = 300};
	struct tokenizer *t = NULL;
	struct error err = {0};

	(void)state;
	assert_int_equal(tokenizer_train(&t, &plan, texts, 2, &err), OK);
	assert_int_equal(t->merge_count, 2); /* never ab */
	tokenizer_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges_are_learned_as_defined),
		cmocka_unit_test(merges_are_used_as_defined),
		cmocka_unit_test(one_long_word_is_no_problem),
		cmocka_unit_test(several_texts_are_cut_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
