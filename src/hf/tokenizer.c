/*
 * tokenizer.c - the files that AutoTokenizer of transformers loads; see hf.h
 *
 * tokenizer.json says it all; tokenizer_config.json says which class reads it, and keeps that
 * from changing text. vocab.json and merges.txt are for older readers of GPT-2's kind.
 */
#include "text/tokenizer.h"
#include "base/file.h"
#include "hf/hf.h"

#include <stdlib.h>
#include <string.h>

static enum status write_config(const struct hf_model *m, const struct tokenizer *t,
				const json_t *written, const char *folder, struct error *err)
{
	const json_t *stage = json_object_get(written, "pre_tokenizer");
	bool space = json_is_true(json_object_get(stage, "add_prefix_space"));
	int end = tokenizer_end_of_text(t);
	struct text text;
	char path[PATH_MAX];
	struct json j;
	size_t size;
	enum status st;

	text_init(&text);
	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_string(&j, "tokenizer_class", "PreTrainedTokenizerFast");
	json_put_bool(&j, "add_prefix_space", space);
	json_put_bool(&j, "clean_up_tokenization_spaces", false);
	json_put_int(&j, "model_max_length", m->context);
	/* Not token_type_ids, which GPT2LMHeadModel would add to the text as tokens. */
	json_begin_array(&j, "model_input_names");
	json_put_string(&j, NULL, "input_ids");
	json_put_string(&j, NULL, "attention_mask");
	json_end_array(&j);
	if (end >= 0) {
		const char *bytes = tokenizer_token(t, end, &size);

		text_add_n(&text, bytes, size);
		json_put_string(&j, "bos_token", text.data);
		json_put_string(&j, "eos_token", text.data);
	}
	json_end_object(&j);
	j.text.failed |= text.failed;
	TRY(file_path(path, folder, "tokenizer_config.json", err));
	TRY(json_write_file(&j, path, err));
out:
	text_release(&text);
	json_release(&j);
	return st;
}

static enum status write_vocabulary(const json_t *model, const char *folder, struct error *err)
{
	char *text = json_dumps(json_object_get(model, "vocab"), JSON_COMPACT), path[PATH_MAX];
	enum status st;

	if (!text)
		return FAIL(err, ERR_MEMORY, "no memory for a vocabulary");
	TRY(file_path(path, folder, "vocab.json", err));
	TRY(file_write_whole(path, text, strlen(text), err));
out:
	free(text);
	return st;
}

static enum status write_merges(const json_t *model, const char *folder, struct error *err)
{
	const json_t *merges = json_object_get(model, "merges");
	struct text text;
	char path[PATH_MAX];
	enum status st;
	json_t *one;
	size_t i;

	text_init(&text);
	text_add(&text, "#version: 0.2\n");
	json_array_foreach(merges, i, one)
	{
		text_add(&text, json_string_value(one));
		text_add(&text, "\n");
	}
	if (text.failed) {
		st = FAIL(err, ERR_MEMORY, "no memory for %zu merges", json_array_size(merges));
		goto out;
	}
	TRY(file_path(path, folder, "merges.txt", err));
	TRY(file_write_whole(path, text.data, text.len, err));
out:
	text_release(&text);
	return st;
}

enum status hf_write_tokenizer(const struct hf_model *m, const struct tokenizer *t,
			       const char *folder, struct error *err)
{
	char path[PATH_MAX];
	json_t *written = NULL;
	json_error_t problem;
	struct text text;
	enum status st;

	text_init(&text);
	TRY(tokenizer_write(t, true, &text, err));
	TRY(file_path(path, folder, "tokenizer.json", err));
	TRY(file_write_whole(path, text.data, text.len, err));
	written = json_loadb(text.data, text.len, 0, &problem);
	if (!written) {
		st = FAIL(err, ERR_FAILED, "the tokenizer can't be read again: %s",
			  problem.text);
		goto out;
	}
	TRY(write_config(m, t, written, folder, err));
	if (tokenizer_kind(t) == TOKENIZER_BPE) {
		TRY(write_vocabulary(json_object_get(written, "model"), folder, err));
		TRY(write_merges(json_object_get(written, "model"), folder, err));
	}
out:
	json_decref(written);
	text_release(&text);
	return st;
}
