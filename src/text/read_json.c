/*
 * read_json.c - a tokenizer from a tokenizer.json.
 *
 * Of all that Hugging Face's format can say, this is what GPT-2's kind and write_json.c need.
 * Whatever else would change the ids is refused, with its name.
 */
#include "text/impl.h"

#include <stdlib.h>
#include <string.h>

enum { ADDED_MAX = 4096, SHOWN = 60 };

static const char *type_of(const json_t *stage)
{
	const char *type = json_string_value(json_object_get(stage, "type"));

	if (json_is_null(stage) || !stage)
		return "none";
	return type ? type : "of no type";
}

static enum status unsupported(const char *what, const char *is, const char *hint,
			       struct error *err)
{
	FAIL(err, ERR_USAGE, "%s is %.*s, which kolm does not have", what, SHOWN, is);
	return HINT(err, "%s", hint);
}

/* null, false, zero and "" all say that something is not wanted. */
static bool is_off(const json_t *value)
{
	return !value || json_is_null(value) || json_is_false(value) ||
	       (json_is_number(value) && json_number_value(value) == 0) ||
	       (json_is_string(value) && !*json_string_value(value));
}

/* A template that is the text and nothing else, as newer versions of transformers write it. */
static bool is_plain_template(const json_t *post)
{
	const json_t *single = json_object_get(post, "single");

	return !strcmp(type_of(post), "TemplateProcessing") && json_array_size(single) == 1 &&
	       json_object_get(json_array_get(single, 0), "Sequence");
}

/* Every member that is not among the known ones must be off. */
static enum status check_members(const json_t *object, const char *what,
				 const char *const *known, struct error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)object, name, value)
	{
		int i = 0;

		while (known[i] && strcmp(known[i], name) != 0)
			i++;
		if (known[i] || is_off(value))
			continue;
		FAIL(err, ERR_USAGE, "%s has '%.*s', which kolm does not have", what, SHOWN,
		     name);
		return HINT(err, "it would change the ids; a tokenizer without it can be read");
	}
	return OK;
}

static enum status check_added(const json_t *added, struct error *err)
{
	static const char *const known[] = {"id", "content", "normalized", "special", NULL};
	enum status st = OK;
	json_t *one;
	size_t i;

	if (added && !json_is_null(added) && !json_is_array(added))
		return FAIL(err, ERR_USAGE, "added_tokens is not a list");
	if (json_array_size(added) > ADDED_MAX)
		return FAIL(err, ERR_USAGE, "%zu added tokens, at most %d can be read",
			    json_array_size(added), ADDED_MAX);
	json_array_foreach(added, i, one)
	{
		const char *name = json_string_value(json_object_get(one, "content"));

		if (!name || !*name)
			return FAIL(err, ERR_USAGE, "added token %zu has no text", i);
		TRY(check_members(one, "an added token", known, err));
	}
out:
	return st;
}

static enum status mark_added(struct tokenizer *t, const json_t *added, struct error *err)
{
	enum status st = OK;
	json_t *one;
	size_t i;

	json_array_foreach(added, i, one)
	{
		struct added_token a = {
			.id = (int32_t)json_integer_value(json_object_get(one, "id")),
			.special = json_is_true(json_object_get(one, "special")),
			.normalized = json_is_true(json_object_get(one, "normalized"))};

		if (tokenizer_find_added(t, a.id))
			return FAIL(err, ERR_USAGE, "two added tokens have the id %d", a.id);
		TRY(tokenizer_mark_added(t, a, err));
	}
out:
	return st;
}

static enum status read_merges(struct tokenizer *t, const json_t *model, struct error *err)
{
	const json_t *merges = json_object_get(model, "merges");
	const json_t *vocab = json_object_get(model, "vocab");
	enum status st = OK;
	json_t *one;
	size_t i;

	if (!json_is_array(merges))
		return FAIL(err, ERR_USAGE, "the model has no list of merges");
	json_array_foreach(merges, i, one)
	{
		const char *left = json_string_value(json_array_get(one, 0));
		const char *right = json_string_value(json_array_get(one, 1));

		if (json_array_size(one) == 2 && left && right)
			TRY(read_merge(t, vocab, left, right, err));
		else if (json_is_string(one))
			TRY(read_merge_line(t, vocab, json_string_value(one),
					    json_string_length(one), err));
		else
			return FAIL(err, ERR_USAGE, "merge %zu is not a pair of tokens", i);
	}
out:
	return st;
}

static enum status read_bpe(struct tokenizer *t, const json_t *root, struct error *err)
{
	/* unk_token and its like are for bytes without a token, and here all have one. */
	static const char *const of_model[] = {
		"type", "vocab", "merges", "unk_token", "fuse_unk", "byte_fallback", NULL};
	static const char *const of_stage[] = {"type", "add_prefix_space", "trim_offsets",
					       "use_regex", NULL};
	const json_t *model = json_object_get(root, "model");
	const json_t *before = json_object_get(root, "pre_tokenizer"), *regex;
	const json_t *after = json_object_get(root, "decoder");
	const json_t *post = json_object_get(root, "post_processor");
	enum status st;

	if (strcmp(type_of(before), "ByteLevel") != 0)
		return unsupported("the pre_tokenizer", type_of(before),
				   "ByteLevel is what GPT-2 has", err);
	if (strcmp(type_of(after), "ByteLevel") != 0)
		return unsupported("the decoder", type_of(after), "ByteLevel is what GPT-2 has",
				   err);
	if (!is_off(post) && strcmp(type_of(post), "ByteLevel") != 0 &&
	    !is_plain_template(post))
		return unsupported("the post_processor", type_of(post),
				   "ByteLevel or none adds no tokens to a text", err);
	TRY(check_members(before, "the pre_tokenizer", of_stage, err));
	TRY(check_members(model, "the model", of_model, err));
	regex = json_object_get(before, "use_regex");
	t->prefix_space = json_is_true(json_object_get(before, "add_prefix_space"));
	t->one_word = regex && !json_is_true(regex);
	TRY(read_merges(t, model, err));
out:
	return st;
}

/* As write_json.c writes it, and nothing else: every character is a word. */
static enum status check_char(const json_t *root, struct error *err)
{
	static const char *const of_model[] = {"type", "vocab", "unk_token", NULL};
	const json_t *model = json_object_get(root, "model");
	const json_t *after = json_object_get(root, "decoder");
	const json_t *post = json_object_get(root, "post_processor");
	const char *unknown = json_string_value(json_object_get(model, "unk_token"));
	json_t *wanted = json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern",
				   "Regex", "[\\s\\S]", "behavior", "Isolated", "invert", 0);
	bool same = json_equal(json_object_get(root, "pre_tokenizer"), wanted);

	json_decref(wanted);
	if (!same || strcmp(type_of(after), "Fuse") != 0 ||
	    (!is_off(post) && !is_plain_template(post)))
		return unsupported("the model", "WordLevel of more than characters",
				   "kolm tokenizer train --kind char makes one of characters",
				   err);
	if (unknown && json_object_get(json_object_get(model, "vocab"), unknown))
		return unsupported("unk_token", "in the vocabulary",
				   "kolm has no token for what is unknown", err);
	return check_members(model, "the model", of_model, err);
}

static enum status read_root(struct tokenizer **out, const json_t *root, struct error *err)
{
	static const char *const known[] = {"version",
					    "added_tokens",
					    "pre_tokenizer",
					    "post_processor",
					    "decoder",
					    "model",
					    NULL};
	const json_t *model = json_object_get(root, "model");
	const json_t *vocab = json_object_get(model, "vocab");
	const json_t *added = json_object_get(root, "added_tokens");
	const char *type = json_object_get(model, "type") ? type_of(model) : "BPE";
	bool is_char = !strcmp(type, "WordLevel");
	struct tokenizer *t = NULL;
	enum status st;

	if (!json_is_object(vocab)) {
		FAIL(err, ERR_USAGE, "there is no model with a vocab: it is no tokenizer.json");
		return HINT(err, "kolm tokenizer train makes one");
	}
	if (!is_char && strcmp(type, "BPE") != 0)
		return unsupported("the model", type, "BPE is what GPT-2 has", err);
	TRY(check_members(root, "it", known, err));
	TRY(check_added(added, err));
	TRY(tokenizer_new(&t, is_char ? TOKENIZER_CHAR : TOKENIZER_BPE, err));
	TRY(read_vocabulary(t, vocab, added, !is_char, err));
	TRY(mark_added(t, added, err));
	if (is_char)
		TRY(check_char(root, err));
	else
		TRY(read_bpe(t, root, err));
	TRY(tokenizer_finish(t, err));
	*out = t;
	t = NULL; /* the caller's now */
out:
	tokenizer_free(t);
	return st;
}

enum status tokenizer_read(struct tokenizer **out, const char *json, size_t size,
			   const char *where, struct error *err)
{
	json_error_t trouble;
	json_t *root = json_loadb(json, size, JSON_REJECT_DUPLICATES, &trouble);
	struct error why = {0};
	enum status st;

	if (!root)
		st = FAIL(&why, ERR_USAGE, "line %d: %s", trouble.line, trouble.text);
	else
		st = read_root(out, root, &why);
	json_decref(root);
	return st == OK ? OK : read_failed(&why, where, err);
}
