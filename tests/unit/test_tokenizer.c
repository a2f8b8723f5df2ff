/* test_tokenizer.c - text becomes tokens and comes back; how it is cut; what tokens are
 * special. */
#include "texts.h"

#include "text/words.h"

enum { CASES = 300 };

/* decode(encode(x)) == x, and every id is one of the vocabulary. */
static void assert_comes_back(const struct tokenizer *t, const char *text, size_t size)
{
	struct ids ids = encoded(t, text, size, SPECIALS_ARE_TOKENS);
	struct error err = {0};
	struct text back;

	text_init(&back);
	assert_int_equal(tokenizer_decode(t, ids.at, ids.count, &back, &err), OK);
	assert_int_equal(back.len, size);
	assert_memory_equal(back.data, text, size);
	text_release(&back);
	ids_release(&ids);
}

static void all_bytes_come_back(void **state)
{
	struct random r = random_start("all_bytes_come_back");
	struct tokenizer *byte = trained(TOKENIZER_BYTE, 0, NULL, "", 0), *bpe;
	struct text text;

	(void)state;
	text_init(&text);
	random_text(&r, &text, 3000, ARRAY_SIZE(text_parts));
	bpe = trained(TOKENIZER_BPE, 700, END_OF_TEXT, text.data, text.len);
	assert_comes_back(bpe, text.data, text.len);
	for (int i = 0; i < CASES; i++) {
		random_bytes(&r, &text, random_int(&r, 0, 200));
		assert_comes_back(byte, text.data, text.len);
		assert_comes_back(bpe, text.data, text.len);
		random_text(&r, &text, random_int(&r, 0, 200), ARRAY_SIZE(text_parts));
		assert_comes_back(bpe, text.data, text.len);
	}
	text_release(&text);
	tokenizer_free(byte);
	tokenizer_free(bpe);
}

static void ids_of_bytes_are_the_bytes(void **state)
{
	struct tokenizer *t = NULL;
	struct error err = {0};
	struct ids ids;

	(void)state;
	assert_int_equal(tokenizer_open(&t, "byte", &err), OK);
	assert_int_equal(tokenizer_vocabulary(t), 256);
	assert_int_equal(tokenizer_end_of_text(t), -1);
	ids = encoded(t, "a\0\xff", 3, SPECIALS_ARE_TOKENS);
	assert_ids(&ids, (int32_t[]){97, 0, 255}, 3);
	ids_release(&ids);
	tokenizer_free(t);
}

static void characters_are_sorted_and_come_back(void **state)
{
	struct random r = random_start("characters");
	struct text text, other;

	(void)state;
	text_init(&text);
	text_init(&other);
	for (int i = 0; i < CASES; i++) {
		struct tokenizer *t;
		uint32_t last = 0;

		random_text(&r, &text, random_int(&r, 1, 60), ARRAY_SIZE(text_parts));
		t = trained(TOKENIZER_CHAR, 0, NULL, text.data, text.len);
		for (int id = 0; id < tokenizer_vocabulary(t); id++) {
			size_t size;
			const char *bytes = tokenizer_token(t, id, &size);
			uint32_t c;

			assert_int_equal(utf8_read(bytes, size, &c), size);
			assert_true(c > last);
			last = c;
		}
		/* Any text of these characters. */
		other.len = 0;
		for (int k = 0; k < 100; k++) {
			size_t size;
			const char *bytes = tokenizer_token(
				t, random_int(&r, 0, tokenizer_vocabulary(t) - 1), &size);

			text_add_n(&other, bytes, size);
		}
		assert_comes_back(t, other.data, other.len);
		tokenizer_free(t);
	}
	text_release(&text);
	text_release(&other);
}

static void unknown_characters_are_named(void **state)
{
	struct tokenizer *t = trained(TOKENIZER_CHAR, 0, NULL, "abc", 3);
	struct tokenizer_plan plan = {.kind = TOKENIZER_CHAR};
	struct text_piece bad = {"ab\xff", 3, "bad.txt"};
	struct tokenizer *none = NULL;
	struct error err = {0};
	struct ids ids = {0};

	(void)state;
	assert_int_equal(tokenizer_encode(t, "ab\xc3\xa9", 4, SPECIALS_ARE_TEXT, &ids, &err),
			 ERR_USAGE);
	assert_string_equal(
		err.msg,
		"the character 'é' (U+00E9) at offset 2 is not among the 3 of the tokenizer");
	assert_int_equal(tokenizer_encode(t, "a\xc3", 2, SPECIALS_ARE_TEXT, &ids, fresh(&err)),
			 ERR_USAGE);
	assert_string_equal(err.msg, "byte 0xc3 at offset 1 is no UTF-8");
	assert_int_equal(tokenizer_train(&none, &plan, &bad, 1, fresh(&err)), ERR_USAGE);
	assert_string_equal(err.msg, "bad.txt: byte 0xff at offset 2 is no UTF-8");
	assert_int_equal(tokenizer_decode(t, (int32_t[]){3}, 1, NULL, fresh(&err)), ERR_USAGE);
	assert_string_equal(err.msg, "id 3 is not one of the 3 tokens");
	ids_release(&ids);
	tokenizer_free(t);
}

/* How GPT-2's pattern cuts, as Python's package regex does it; | is a cut. */
static void words_are_cut_as_gpt2_cuts_them(void **state)
{
	static const char *const cases[] = {
		"Hello| world|!",
		"it|'s| John|'ll| we|'ve| o|'|clock",
		"a| |\n|b",
		"a|  | b",
		"a|\n|\n|b",
		"a|   ",
		" |\t|x",
		" x|  ",
		"abc|123|def| 45|.|6",
		" !?'|s",
		"日本語|。|日本",
		"x|\u00a0|y",
		"a|\u3000| b",
		"é|٣| Ω|½",
		"'|x| '|s",
		"a|\xff\xfe!|b",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[64] = "", got[128] = "";
		size_t n = 0, k = 0;

		for (const char *p = cases[i]; *p; p++)
			if (*p != '|')
				text[n++] = *p;
		for (size_t at = 0, length; at < n; at += length) {
			length = word_length(text + at, n - at);
			if (at)
				got[k++] = '|';
			memcpy(got + k, text + at, length);
			k += length;
		}
		assert_string_equal(got, cases[i]);
	}
}

/* Where a word begins whatever is before it, a text can be cut. */
static void parts_are_encoded_on_their_own(void **state)
{
	struct random r = random_start("parts");
	struct text text, more;
	struct tokenizer *t;

	(void)state;
	text_init(&text);
	text_init(&more);
	random_text(&r, &text, 2000, ARRAY_SIZE(text_parts));
	t = trained(TOKENIZER_BPE, 500, NULL, text.data, text.len);
	for (int i = 0; i < CASES; i++) {
		struct ids whole, first, second;
		struct error err = {0};

		random_text(&r, &text, random_int(&r, 0, 50), ARRAY_SIZE(text_parts));
		text_add(&text, "x");
		random_text(&r, &more, random_int(&r, 0, 50), ARRAY_SIZE(text_parts));
		first = encoded(t, text.data, text.len, SPECIALS_ARE_TOKENS);
		text_add(&text, " y");
		text_add_n(&text, more.data, more.len);
		whole = encoded(t, text.data, text.len, SPECIALS_ARE_TOKENS);
		second = encoded(t, text.data + text.len - more.len - 2, more.len + 2,
				 SPECIALS_ARE_TOKENS);
		assert_int_equal(ids_add(&first, second.at, second.count, &err), OK);
		assert_ids(&first, whole.at, whole.count);
		ids_release(&whole);
		ids_release(&first);
		ids_release(&second);
	}
	text_release(&text);
	text_release(&more);
	tokenizer_free(t);
}

static void special_tokens_are_tokens_if_wanted(void **state)
{
	static const char text[] = "ab<|endoftext|>ab";
	struct tokenizer *t =
		trained(TOKENIZER_BPE, 258, END_OF_TEXT, "ab ab ab", strlen("ab ab ab"));
	struct ids ids;

	(void)state;
	assert_int_equal(tokenizer_end_of_text(t), 0);
	assert_true(tokenizer_is_special(t, 0));
	assert_false(tokenizer_is_special(t, 257));
	ids = encoded(t, text, strlen(text), SPECIALS_ARE_TOKENS);
	assert_ids(&ids, (int32_t[]){257, 0, 257}, 3);
	ids_release(&ids);
	ids = encoded(t, text, strlen(text), SPECIALS_ARE_TEXT);
	assert_int_equal(ids.count, 2 + strlen(END_OF_TEXT));
	ids_release(&ids);
	tokenizer_free(t);
}

static void end_of_text_must_not_be_a_token_of_the_text(void **state)
{
	struct tokenizer_plan plan = {
		.kind = TOKENIZER_BPE, .vocabulary = 300, .end_of_text = "ab"};
	struct text_piece text = {"ab ab ab", 8, "text"};
	struct tokenizer *t = NULL;
	struct error err = {0};

	(void)state;
	assert_int_equal(tokenizer_train(&t, &plan, &text, 1, &err), ERR_USAGE);
	assert_string_equal(err.msg,
			    "the token 'ab' for the end of a text is also a part of the text");
	plan.vocabulary = 100;
	plan.end_of_text = NULL;
	assert_int_equal(tokenizer_train(&t, &plan, &text, 1, fresh(&err)), ERR_USAGE);
	assert_string_equal(err.hint, "from 256 (every byte) to 1048576");
}

static void utf8_is_read_as_it_is_written(void **state)
{
	char bytes[UTF8_MAX];
	uint32_t c;

	(void)state;
	for (uint32_t i = 0; i < UNICODE_END; i++) {
		size_t size = utf8_write(i, bytes);
		bool surrogate = i >= 0xd800 && i < 0xe000;

		assert_int_equal(utf8_read(bytes, size, &c), surrogate ? 1 : size);
		assert_int_equal(c, surrogate ? (uint32_t)UNICODE_NONE : i);
		if (size > 1)
			assert_int_equal(utf8_read(bytes, size - 1, &c), 1);
	}
	assert_int_equal(utf8_read("\xc0\x80", 2, &c), 1);
	assert_int_equal(c, UNICODE_NONE);
	assert_int_equal(utf8_read("\xe0\x80\x80", 3, &c), 1);
	assert_int_equal(utf8_read("\xf4\x90\x80\x80", 4, &c), 1);
	assert_int_equal(c, UNICODE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_bytes_come_back),
		cmocka_unit_test(ids_of_bytes_are_the_bytes),
		cmocka_unit_test(characters_are_sorted_and_come_back),
		cmocka_unit_test(unknown_characters_are_named),
		cmocka_unit_test(words_are_cut_as_gpt2_cuts_them),
		cmocka_unit_test(parts_are_encoded_on_their_own),
		cmocka_unit_test(special_tokens_are_tokens_if_wanted),
		cmocka_unit_test(end_of_text_must_not_be_a_token_of_the_text),
		cmocka_unit_test(utf8_is_read_as_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
