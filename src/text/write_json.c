/*
 * write_json.c - a tokenizer as a tokenizer.json.
 *
 * byte and bpe are the model BPE over byte letters. char is the model WordLevel behind a
 * pre-tokenizer that makes every character a word: an unknown one is an error in tokenizers,
 * too, since the token for such is not in the vocabulary.
 */
#include "text/impl.h"
#include "base/file.h"
#include "base/json.h"
#include "text/letters.h"

#include <stdio.h>
#include <string.h>

/* How a token is called in the vocabulary. */
static void name_of(const struct tokenizer *t, const struct letters *l, int32_t id,
		    struct text *name)
{
	size_t size;
	const char *bytes = tokenizer_token(t, id, &size);

	name->len = 0;
	if (t->kind == TOKENIZER_CHAR || tokenizer_find_added(t, id))
		text_add_n(name, bytes, size);
	else
		letters_write(l, bytes, size, name);
}

static void put_added(const struct tokenizer *t, const struct letters *l, struct text *name,
		      struct json *j)
{
	json_begin_array(j, "added_tokens");
	for (size_t i = 0; i < t->added_count; i++) {
		const struct added_token *a = &t->added[i];

		name_of(t, l, a->id, name);
		json_begin_object(j, NULL);
		json_put_int(j, "id", a->id);
		json_put_string(j, "content", name->data);
		json_put_bool(j, "single_word", false);
		json_put_bool(j, "lstrip", false);
		json_put_bool(j, "rstrip", false);
		json_put_bool(j, "normalized", a->normalized);
		json_put_bool(j, "special", a->special);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_byte_level(const struct tokenizer *t, const char *name, struct json *j)
{
	json_begin_object(j, name);
	json_put_string(j, "type", "ByteLevel");
	json_put_bool(j, "add_prefix_space", t->prefix_space);
	json_put_bool(j, "trim_offsets", false);
	json_put_bool(j, "use_regex", !t->one_word);
	json_end_object(j);
}

static void put_stages(const struct tokenizer *t, struct json *j)
{
	if (t->kind != TOKENIZER_CHAR) {
		put_byte_level(t, "pre_tokenizer", j);
		put_byte_level(t, "decoder", j);
		return;
	}
	json_begin_object(j, "pre_tokenizer");
	json_put_string(j, "type", "Split");
	json_begin_object(j, "pattern");
	json_put_string(j, "Regex", "[\\s\\S]");
	json_end_object(j);
	json_put_string(j, "behavior", "Isolated");
	json_put_bool(j, "invert", false);
	json_end_object(j);
	json_begin_object(j, "decoder");
	json_put_string(j, "type", "Fuse");
	json_end_object(j);
}

static void put_vocabulary(const struct tokenizer *t, const struct letters *l,
			   struct text *name, struct json *j)
{
	json_begin_object(j, "vocab");
	for (int32_t id = 0; id < t->count; id++) {
		name_of(t, l, id, name);
		json_put_int(j, name->data, id);
	}
	json_end_object(j);
}

static void put_merges(const struct tokenizer *t, const struct letters *l, struct text *name,
		       struct json *j)
{
	struct text both;

	text_init(&both);
	json_begin_array(j, "merges");
	for (int32_t i = 0; i < t->merge_count; i++) {
		both.len = 0;
		name_of(t, l, t->merges[i].left, name);
		text_add(&both, name->data);
		name_of(t, l, t->merges[i].right, name);
		text_addf(&both, " %s", name->data);
		json_put_string(j, NULL, both.data);
	}
	json_end_array(j);
	j->text.failed |= both.failed;
	text_release(&both);
}

static void put_model(const struct tokenizer *t, const struct letters *l, struct text *name,
		      struct json *j)
{
	bool letters = t->kind != TOKENIZER_CHAR;

	json_begin_object(j, "model");
	json_put_string(j, "type", letters ? "BPE" : "WordLevel");
	put_vocabulary(t, l, name, j);
	if (letters)
		put_merges(t, l, name, j);
	else
		json_put_string(j, "unk_token", "[UNK]");
	json_end_object(j);
}

enum status tokenizer_write(const struct tokenizer *t, bool readable, struct text *json,
			    struct error *err)
{
	struct letters letters;
	struct text name;
	struct json j;

	letters_init(&letters);
	text_init(&name);
	json_init(&j, readable);
	json_begin_object(&j, NULL);
	json_put_string(&j, "version", "1.0");
	put_added(t, &letters, &name, &j);
	put_stages(t, &j);
	put_model(t, &letters, &name, &j);
	json_end_object(&j);
	text_add_n(json, j.text.data, j.text.len);
	json->failed |= j.text.failed | name.failed;
	json_release(&j);
	text_release(&name);
	if (json->failed)
		return FAIL(err, ERR_MEMORY, "no memory to write a tokenizer of %d tokens",
			    t->count);
	return OK;
}

enum status tokenizer_save(const struct tokenizer *t, const char *path, struct error *err)
{
	struct text json;
	enum status st;

	text_init(&json);
	TRY(tokenizer_write(t, true, &json, err));
	TRY(file_write_whole(path, json.data, json.len, err));
out:
	text_release(&json);
	return st;
}
