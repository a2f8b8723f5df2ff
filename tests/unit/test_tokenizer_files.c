/*
 * test_tokenizer_files.c - tokenizers are read as they were written, from all forms of their
 * files, and what would give other ids is refused by its name.
 */
#include "folders.h"
#include "texts.h"

#include "text/impl.h"

#include <jansson.h>

static struct text json_of(const struct tokenizer *t, bool readable)
{
	struct error err = {0};
	struct text json;

	text_init(&json);
	assert_int_equal(tokenizer_write(t, readable, &json, &err), OK);
	return json;
}

static void assert_read_again(const struct tokenizer *t)
{
	for (int readable = 0; readable < 2; readable++) {
		struct text json = json_of(t, readable);
		struct tokenizer *again = NULL;
		struct error err = {0};

		if (tokenizer_read(&again, json.data, json.len, "it", &err) != OK)
			fail_msg("%s", err.msg);
		assert_int_equal(again->kind, t->kind);
		assert_int_equal(again->count, t->count);
		assert_int_equal(tokenizer_end_of_text(again), tokenizer_end_of_text(t));
		assert_string_equal(tokenizer_sha256(again), tokenizer_sha256(t));
		text_release(&json);
		tokenizer_free(again);
	}
}

static void all_kinds_are_read_again(void **state)
{
	static const char *const ends[] = {NULL, END_OF_TEXT, "a \"quoted\" \\ \t end é"};
	struct random r = random_start("all_kinds_are_read_again");
	struct text text;

	(void)state;
	text_init(&text);
	for (int i = 0; i < 60; i++) {
		enum tokenizer_kind kind = (enum tokenizer_kind)(i % 3);
		struct tokenizer *t;

		random_text(&r, &text, random_int(&r, 1, 200), ARRAY_SIZE(text_parts));
		t = trained(kind, random_int(&r, 257, 400), ends[i / 3 % 3], text.data,
			    text.len);
		assert_int_equal(t->kind, kind);
		assert_read_again(t);
		tokenizer_free(t);
	}
	text_release(&text);
}

/* One change of a good tokenizer.json: object and member ("" is the top), and what becomes of
 * it. */
static const struct change {
	const char *object, *member, *value; /* value NULL: the member is taken out */
	const char *refused;		     /* NULL: it is read, with the same ids */
} changes[] = {
	{"", "truncation", "null", NULL},
	{"", "post_processor", "{\"type\": \"ByteLevel\", \"trim_offsets\": true}", NULL},
	{"", "post_processor",
	 "{\"type\": \"TemplateProcessing\", \"single\": [{\"Sequence\": {\"id\": \"A\"}}]}",
	 NULL},
	{"model", "type", NULL, NULL},
	{"model", "dropout", "null", NULL},
	{"model", "unk_token", "\"<unk>\"", NULL},
	{"model", "continuing_subword_prefix", "\"\"", NULL},
	{"model", "ignore_merges", "false", NULL},
	{"pre_tokenizer", "use_regex", NULL, NULL},
	{"", "truncation", "{\"max_length\": 5}",
	 "it: it has 'truncation', which kolm does not have"},
	{"", "normalizer", "{\"type\": \"NFC\"}",
	 "it: it has 'normalizer', which kolm does not have"},
	{"", "post_processor", "{\"type\": \"TemplateProcessing\"}",
	 "it: the post_processor is TemplateProcessing, which kolm does not have"},
	{"", "post_processor",
	 "{\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"x\"}}, "
	 "{\"Sequence\": {\"id\": \"A\"}}]}",
	 "it: the post_processor is TemplateProcessing, which kolm does not have"},
	{"", "pre_tokenizer", "{\"type\": \"Sequence\"}",
	 "it: the pre_tokenizer is Sequence, which kolm does not have"},
	{"", "pre_tokenizer", "null",
	 "it: the pre_tokenizer is none, which kolm does not have"},
	{"", "decoder", "{\"type\": \"WordPiece\"}",
	 "it: the decoder is WordPiece, which kolm does not have"},
	{"", "model", NULL, "it: there is no model with a vocab: it is no tokenizer.json"},
	{"", "added_tokens", "3", "it: added_tokens is not a list"},
	{"", "added_tokens", "[{\"id\": 0}]", "it: added token 0 has no text"},
	{"", "added_tokens", "[{\"id\": 0, \"content\": \"<|endoftext|>\", \"lstrip\": true}]",
	 "it: an added token has 'lstrip', which kolm does not have"},
	{"", "added_tokens", "[{\"id\": 1, \"content\": \"<|endoftext|>\"}]",
	 "it: the added token '<|endoftext|>' has not the id 0"},
	{"", "added_tokens", "[{\"id\": 400, \"content\": \"new\"}]",
	 "it: the added token 'new' has not the id 259"},
	{"", "added_tokens", "[{\"id\": 257, \"content\": \"ab\"}]",
	 "it: merge 0 has to do with an added token"},
	{"", "added_tokens", "[{\"id\": 1, \"content\": \"!\"}]",
	 "it: there is no token for the byte 0x21"},
	{"model", "type", "\"Unigram\"", "it: the model is Unigram, which kolm does not have"},
	{"model", "dropout", "0.1", "it: the model has 'dropout', which kolm does not have"},
	{"model", "ignore_merges", "true",
	 "it: the model has 'ignore_merges', which kolm does not have"},
	{"model", "end_of_word_suffix", "\"</w>\"",
	 "it: the model has 'end_of_word_suffix', which kolm does not have"},
	{"model", "merges", NULL, "it: the model has no list of merges"},
	{"model", "merges", "[\"ab\"]",
	 "it: merge 0, 'ab', is not two tokens with a space between them"},
	{"model", "merges", "[\"a b c\"]",
	 "it: merge 0, 'a b c', is not two tokens with a space between them"},
	{"model", "merges", "[[\"a\"]]", "it: merge 0 is not a pair of tokens"},
	{"model", "merges", "[\"a c\"]",
	 "it: merge 0, 'a' and 'c': the vocabulary must have both and what they make"},
	{"model", "merges", "[\"a b\", [\"a\", \"b\"]]",
	 "it: the merge of 'a' and 'b' is there twice"},
	{"vocab", "ab", "256", "it: '\305\203' and 'ab' have the same id 256"},
	{"vocab", "ab", "2000", "it: 'ab' has no id of 0 to 258, which 259 tokens have"},
	{"vocab", "ab", "\"x\"", "it: 'ab' has no id of 0 to 258, which 259 tokens have"},
	{"vocab", "\346\227\245", "259",
	 "it: '\346\227\245' in the vocabulary is not written in byte letters"},
	{"vocab", "", "259", "it: a token without a name"},
};

static json_t *object_of(json_t *root, const char *name)
{
	if (!strcmp(name, "vocab"))
		return json_object_get(json_object_get(root, "model"), "vocab");
	return *name ? json_object_get(root, name) : root;
}

static void what_changes_ids_is_refused(void **state)
{
	struct tokenizer *t = trained(TOKENIZER_BPE, 259, END_OF_TEXT, "ab ab abc", 9);
	struct text json = json_of(t, false);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		const struct change *c = &changes[i];
		json_t *root = json_loads(json.data, 0, NULL);
		json_t *object = object_of(root, c->object);
		struct tokenizer *again = NULL;
		struct error err = {0};
		char *changed;

		if (c->value)
			json_object_set_new(object, c->member,
					    json_loads(c->value, JSON_DECODE_ANY, NULL));
		else
			json_object_del(object, c->member);
		changed = json_dumps(root, 0);
		tokenizer_read(&again, changed, strlen(changed), "it", &err);
		assert_string_equal(err.msg, c->refused ? c->refused : "");
		assert_int_equal(err.code, c->refused ? ERR_USAGE : OK);
		if (!c->refused)
			assert_string_equal(tokenizer_sha256(again), tokenizer_sha256(t));
		tokenizer_free(again);
		free(changed);
		json_decref(root);
	}
	text_release(&json);
	tokenizer_free(t);
}

/* A space before the text, and before what is between added tokens; or no cuts at all. */
static void forms_of_byte_level_are_kept(void **state)
{
	struct tokenizer *t = trained(TOKENIZER_BPE, 259, END_OF_TEXT, " b b b\n", 7),
			 *again = NULL;
	struct text json = json_of(t, false);
	json_t *root = json_loads(json.data, 0, NULL);
	json_t *stage = json_object_get(root, "pre_tokenizer");
	int32_t space_b = 257;
	struct error err = {0};
	struct ids ids;
	char *changed;

	(void)state;
	json_object_set_new(stage, "add_prefix_space", json_true());
	json_object_set_new(stage, "use_regex", json_false());
	changed = json_dumps(root, 0);
	assert_int_equal(tokenizer_read(&again, changed, strlen(changed), "it", &err), OK);
	assert_true(again->prefix_space && again->one_word);
	assert_read_again(again);
	ids = encoded(again, "b<|endoftext|>b b", 17, SPECIALS_ARE_TOKENS);
	assert_ids(&ids, (int32_t[]){space_b, 0, space_b, space_b}, 4);
	ids_release(&ids);
	ids = encoded(again, "", 0, SPECIALS_ARE_TOKENS);
	assert_int_equal(ids.count, 0);
	ids_release(&ids);
	free(changed);
	json_decref(root);
	text_release(&json);
	tokenizer_free(again);
	tokenizer_free(t);
}

/* Non-special added tokens are always searched for; the longest counts. */
static void added_tokens_are_searched_for(void **state)
{
	static const char added[] =
		"[{\"id\": 0, \"content\": \"<|endoftext|>\", \"special\": true},"
		" {\"id\": 259, \"content\": \"xy\"}, {\"id\": 260, \"content\": \"xyz\"},"
		" {\"id\": 261, \"content\": \"zz\", \"normalized\": true}]";
	struct tokenizer *t = trained(TOKENIZER_BPE, 259, END_OF_TEXT, "ab ab abc", 9),
			 *again = NULL;
	struct text json = json_of(t, false);
	json_t *root = json_loads(json.data, 0, NULL);
	struct error err = {0};
	struct ids ids;
	char *changed;

	(void)state;
	json_object_set_new(root, "added_tokens", json_loads(added, 0, NULL));
	changed = json_dumps(root, 0);
	if (tokenizer_read(&again, changed, strlen(changed), "it", &err) != OK)
		fail_msg("%s", err.msg);
	assert_read_again(again);
	/* zz is searched for in what the others leave over. */
	ids = encoded(again, "xyabxyzzz", 9, SPECIALS_ARE_TEXT);
	assert_ids(&ids, (int32_t[]){259, 257, 260, 261}, 4);
	ids_release(&ids);
	free(changed);
	json_decref(root);
	text_release(&json);
	tokenizer_free(again);
	tokenizer_free(t);
}

static void put_gpt2(const char *vocab, const char *merges, const struct tokenizer *t)
{
	struct text json = json_of(t, false), lines;
	json_t *root = json_loads(json.data, 0, NULL), *model = json_object_get(root, "model");
	char *dumped = json_dumps(json_object_get(model, "vocab"), 0);
	json_t *line;
	size_t i;

	text_init(&lines);
	text_add(&lines, "#version: 0.2\n");
	json_array_foreach(json_object_get(model, "merges"), i, line)
		text_addf(&lines, "%s\n", json_string_value(line));
	put(in_base(vocab), dumped);
	put(in_base(merges), lines.data);
	text_release(&lines);
	text_release(&json);
	free(dumped);
	json_decref(root);
}

static void gpt2_files_are_found_by_any_of_their_names(void **state)
{
	static const char *const names[][2] = {{"vocab.json", "merges.txt"},
					       {"encoder.json", "vocab.bpe"}};
	struct tokenizer *t = trained(TOKENIZER_BPE, 259, END_OF_TEXT, "ab ab abc", 9), *again;
	struct error err = {0};

	(void)state;
	assert_int_equal(tokenizer_open(&again, base, &err), ERR_USAGE);
	assert_non_null(strstr(err.msg, "has no tokenizer"));
	for (int i = 0; i < 2; i++) {
		const char *places[] = {base, in_base(names[i][0]), in_base(names[i][1])};

		put_gpt2(names[i][0], names[i][1], t);
		for (int k = 0; k < 3; k++) {
			if (tokenizer_open(&again, places[k], fresh(&err)) != OK)
				fail_msg("%s", err.msg);
			assert_string_equal(tokenizer_sha256(again), tokenizer_sha256(t));
			tokenizer_free(again);
		}
		unlink(in_base(names[i][1]));
		assert_int_equal(tokenizer_open(&again, base, fresh(&err)), ERR_USAGE);
		assert_non_null(strstr(err.msg, names[i][1]));
		unlink(in_base(names[i][0]));
	}
	assert_int_equal(tokenizer_save(t, in_base("tokenizer.json"), fresh(&err)), OK);
	assert_int_equal(tokenizer_open(&again, base, &err), OK);
	assert_string_equal(tokenizer_sha256(again), tokenizer_sha256(t));
	tokenizer_free(again);
	assert_int_equal(tokenizer_open(&again, "bpe", fresh(&err)), ERR_USAGE);
	assert_string_equal(err.msg, "a tokenizer of kind bpe is learned from a text");
	tokenizer_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_are_read_again),
		cmocka_unit_test(what_changes_ids_is_refused),
		cmocka_unit_test(forms_of_byte_level_are_kept),
		cmocka_unit_test(added_tokens_are_searched_for),
		TEST(gpt2_files_are_found_by_any_of_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
