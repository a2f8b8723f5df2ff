/* test_text_data.c - how text becomes data: tokenizers, folders, what is kept, what is refused.
 */
#include "text_data.h"

static void folders_are_one_text(void **state)
{
	enum { T = 4 };
	struct data_options o;
	int32_t ids[64];
	struct data d;
	size_t size;
	int end;

	(void)state;
	assert_int_equal(mkdir(in_base("texts"), 0777), 0);
	assert_int_equal(mkdir(in_base("texts/b"), 0777), 0);
	put(in_base("texts/c.txt"), "third");
	put(in_base("texts/a.txt"), "first");
	put(in_base("texts/b/x.txt"), "second");
	put(in_base("texts/.hidden"), "hidden");
	file_write_whole(in_base("texts/d.bin"), "a\0b", 3, fresh(&err));
	o = options(spec_of(in_base("texts")), T);
	o.holdout = 0;
	o.tokenizer = "bpe";
	o.vocabulary = 300;
	opened(&d, &o);
	assert_int_equal(d.text.files, 3);
	assert_int_equal(d.text.left_out, 1);
	end = tokenizer_end_of_text(d.text.tokenizer);
	assert_true(end >= 0 && d.text.tokens.count < ARRAY_SIZE(ids));
	assert_int_equal(tokens_read(&d.text.tokens, 0, d.text.tokens.count, ids, &err), OK);
	for (size_t i = 0, at = 0; i < d.text.tokens.count; i++) {
		static const char wanted[] = "first|second|third";
		const char *token = tokenizer_token(d.text.tokenizer, ids[i], &size);

		if (ids[i] == end) {
			assert_int_equal(wanted[at++], '|');
			continue;
		}
		assert_memory_equal(token, wanted + at, size);
		at += size;
	}
	data_close(&d);
	o.tokenizer = "char"; /* it has no such token */
	o.vocabulary = 0;
	opened(&d, &o);
	assert_int_equal(d.text.tokens.count, strlen("firstsecondthird"));
	data_close(&d);
	assert_int_equal(count_entries(base), 1); /* nothing is left of them */
}

static void the_tokenizer_follows_from_the_text(void **state)
{
	struct data_options o;
	struct text many;
	struct data d;

	(void)state;
	text_init(&many);
	put(in_base("few.txt"), "to be or not to be, that is the question");
	for (int i = 0; i < 300; i++) {
		char bytes[UTF8_MAX];

		text_add_n(&many, bytes, utf8_write(0x4e00 + (uint32_t)i, bytes));
	}
	put(in_base("many.txt"), many.data);
	o = options(spec_of(in_base("few.txt")), 4);
	opened(&d, &o);
	assert_int_equal(tokenizer_kind(d.text.tokenizer), TOKENIZER_CHAR);
	assert_int_equal(d.out, 14);
	data_close(&d);
	o.vocabulary = 100; /* ids that nobody uses */
	opened(&d, &o);
	assert_int_equal(tokenizer_kind(d.text.tokenizer), TOKENIZER_CHAR);
	assert_int_equal(d.out, 100);
	data_close(&d);
	o.vocabulary = 10;
	refused(&o, "--vocab 10, but the tokenizer has 14 tokens", "--vocab 14 or more");
	o.vocabulary = 270;
	opened(&d, &o);
	assert_int_equal(tokenizer_kind(d.text.tokenizer), TOKENIZER_BPE);
	assert_int_equal(d.out, 270);
	data_close(&d);
	o = options(spec_of(in_base("many.txt")), 4);
	opened(&d, &o);
	assert_int_equal(tokenizer_kind(d.text.tokenizer), TOKENIZER_BPE);
	data_close(&d);
	o.tokenizer = "bpe";
	o.vocabulary = 20;
	refused(&o, "a vocabulary of 20 tokens can't be", "257");
	text_release(&many);
}

static bool has_token(const struct tokenizer *t, const char *text)
{
	for (int id = 0; id < tokenizer_vocabulary(t); id++) {
		size_t size;
		const char *bytes = tokenizer_token(t, id, &size);

		if (size == strlen(text) && !memcmp(bytes, text, size))
			return true;
	}
	return false;
}

static void what_is_held_out_is_not_learned_from(void **state)
{
	struct data_options o;
	struct data d;

	(void)state;
	/* Only the last tenth has that pair. */
	put(in_base("book.txt"),
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	    ".,;:-_#+*~!$%&/()=?{[]}\\<>|QQQQQQ");
	o = options(spec_of(in_base("book.txt")), 1);
	o.tokenizer = "bpe";
	opened(&d, &o);
	assert_false(has_token(d.text.tokenizer, "QQ"));
	data_close(&d);
	o.holdout = 0;
	opened(&d, &o);
	assert_true(has_token(d.text.tokenizer, "QQ"));
	data_close(&d);
}

static void token_files_are_data_too(void **state)
{
	struct tokenizer *byte = trained(TOKENIZER_BYTE, 0, NULL, "", 0);
	const char *path = in_base("book.txt");
	char spec[600];
	struct corpus text;
	struct data_options o;
	struct data d;
	int64_t tokens, bytes;

	(void)state;
	put(path, "to be or not to be, that is the question");
	assert_int_equal(corpus_open(&text, &path, 1, fresh(&err)), OK);
	assert_int_equal(tokens_make(in_base("book.tokens"), &text, byte, SPECIALS_ARE_TEXT,
				     NULL, fresh(&err)),
			 OK);
	corpus_close(&text);
	snprintf(spec, sizeof(spec), "tokens:%s", in_base("book.tokens"));
	o = options(spec, 3);
	opened(&d, &o);
	assert_int_equal(d.out, 256);
	assert_null(d.text.tokenizer);
	assert_int_equal(data_held_out_size(&d, &tokens, &bytes, fresh(&err)), OK);
	assert_int_equal(tokens, 3);
	assert_int_equal(bytes, 0); /* nobody knows */
	data_close(&d);
	o.tokenizer = "byte";
	opened(&d, &o);
	assert_int_equal(data_held_out_size(&d, &tokens, &bytes, fresh(&err)), OK);
	assert_int_equal(bytes, 3);
	data_close(&d);
	o.test = spec_of(path); /* the tokenizer is known, so any text will do */
	o.holdout = 0;
	opened(&d, &o);
	assert_int_equal(d.held_out, 13);
	data_close(&d);
	o.tokenizer = "auto";
	refused(&o, "the tokenizer is not known", "tokens:FILE");
	o.test = NULL;
	o.tokenizer = "bpe";
	refused(&o, "no text to learn it from", "tokenizer.json");
	assert_int_equal(tokenizer_save(byte, in_base("byte.json"), fresh(&err)), OK);
	o.tokenizer = in_base("byte.json");
	opened(&d, &o);
	data_close(&d);
	tokenizer_free(byte);
	byte = trained(TOKENIZER_CHAR, 0, NULL, "abc", 3);
	assert_int_equal(tokenizer_save(byte, in_base("byte.json"), fresh(&err)), OK);
	refused(&o, "made with another tokenizer", "SHA-256");
	tokenizer_free(byte);
}

static void what_is_kept_is_found_again(void **state)
{
	struct data_options o;
	struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	char before[PATH_MAX];
	struct data d;

	(void)state;
	put(in_base("book.txt"), "to be or not to be, that is the question");
	assert_int_equal(utimensat(AT_FDCWD, in_base("book.txt"), times, 0), 0);
	o = options(spec_of(in_base("book.txt")), 4);
	o.tokenizer = "bpe";
	o.cache = in_base("cache");
	opened(&d, &o);
	snprintf(before, sizeof(before), "%s", d.text.tokens.name);
	data_close(&d);
	assert_int_equal(count_entries(in_base("cache")), 2);
	opened(&d, &o);
	assert_string_equal(d.text.tokens.name, before);
	data_close(&d);
	assert_int_equal(count_entries(in_base("cache")), 2);
	put(in_base("book.txt"), "two bees or not two bees, that is the question");
	opened(&d, &o); /* another tokenizer, so another token file */
	assert_string_not_equal(d.text.tokens.name, before);
	data_close(&d);
}

static void what_can_not_be_is_said(void **state)
{
	struct data_options o = options("synthetic", 0);
	struct data d;

	(void)state;
	put(in_base("book.txt"), "to be or not to be");
	o.spec = spec_of(in_base("book.txt"));
	refused(&o, "is for language models", "--model gpt");
	o.sequence = 20;
	refused(&o, "has 16 tokens: a sample of --context 20 takes 21", "15 at most");
	o.sequence = 15;
	opened(&d, &o);
	assert_int_equal(d.held_out, 0);
	data_close(&d);
	o.test = spec_of(in_base("book.txt"));
	o.holdout = 0;
	o.sequence = 18;
	refused(&o, "has 18 tokens", "17 at most");
	put(in_base("other.txt"), "to");
	o.sequence = 4;
	o.test = spec_of(in_base("other.txt"));
	refused(&o, "the text of --test has 2 tokens", "longer");
	put(in_base("other.txt"), "tööö");
	refused(&o, "other.txt: ", "");
	o.test = NULL;
	o.table.target = "1";
	refused(&o, "--target", "leave it out");
	o.table.target = NULL;
	o.table.task = TASK_REGRESSION;
	refused(&o, "--loss mse", "leave it out");
	o.table.task = TASK_CLASSIFICATION;
	opened(&d, &o);
	data_close(&d);
	put(in_base("empty.txt"), "");
	o.spec = spec_of(in_base("empty.txt"));
	refused(&o, "there is nothing in", "text");
	put(in_base("packed.txt"), "\x1f\x8b\x08 packed");
	o.spec = spec_of(in_base("packed.txt"));
	refused(&o, "compressed by gzip", "unpack");
	o.spec = spec_of(in_base("missing.txt"));
	refused(&o, "can't read", "check the name");
	assert_int_equal(mkdir(in_base("nothing"), 0777), 0);
	o.spec = spec_of(in_base("nothing"));
	refused(&o, "has no files of text", "");
	o.spec = "csv:book.csv";
	refused(&o, "nothing that a language model learns from", "text:FILE");
	o.spec = "synthetic:2";
	refused(&o, "nothing that a language model learns from", "synthetic");
	o.spec = "noise";
	o.test = "text:x";
	refused(&o, "--test: --data noise is no text", "text:PATH");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DATA_TEST(folders_are_one_text),
		DATA_TEST(the_tokenizer_follows_from_the_text),
		DATA_TEST(what_is_held_out_is_not_learned_from),
		DATA_TEST(token_files_are_data_too),
		DATA_TEST(what_is_kept_is_found_again),
		DATA_TEST(what_can_not_be_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
