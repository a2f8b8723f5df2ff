/* read_model.c - the vocabulary and the merges, of a tokenizer.json or of GPT-2's two files. */
#include "text/impl.h"
#include "text/letters.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 60 }; /* bytes of a name in a message */

static bool in_vocabulary(const json_t *vocab, const char *name, int32_t *id)
{
	const json_t *value = json_object_get(vocab, name);

	*id = (int32_t)json_integer_value(value);
	return value;
}

/* What will be a token. */
struct named {
	const char *name;
	bool added;
};

/* One name for every id. */
static enum status place(struct named *all, size_t count, const char *name, const json_t *id,
			 struct error *err)
{
	json_int_t i = json_integer_value(id);

	if (!*name)
		return FAIL(err, ERR_USAGE, "a token without a name");
	if (!json_is_integer(id) || i < 0 || i >= (json_int_t)count) {
		FAIL(err, ERR_USAGE, "'%.*s' has no id of 0 to %zu, which %zu tokens have",
		     SHOWN, name, count - 1, count);
		return HINT(err, "ids must have no gaps");
	}
	if (all[i].name)
		return FAIL(err, ERR_USAGE, "'%.*s' and '%.*s' have the same id %lld", SHOWN,
			    all[i].name, SHOWN, name, (long long)i);
	all[i].name = name;
	return OK;
}

/* Those that are in no vocabulary follow it, in their order: so tokenizers numbers them. */
static enum status place_added(struct named *all, size_t count, const json_t *vocab,
			       const json_t *added, struct error *err)
{
	json_int_t next = (json_int_t)json_object_size(vocab);
	enum status st = OK;
	json_t *one;
	size_t i;

	json_array_foreach(added, i, one)
	{
		const char *name = json_string_value(json_object_get(one, "content"));
		const json_t *id = json_object_get(one, "id");
		int32_t known;
		bool has = in_vocabulary(vocab, name, &known);
		json_int_t wanted = has ? known : next++;

		if (!json_is_integer(id) || json_integer_value(id) != wanted) {
			FAIL(err, ERR_USAGE, "the added token '%.*s' has not the id %lld",
			     SHOWN, name, (long long)wanted);
			return HINT(err,
				    "it has that of the vocabulary, or the next behind it");
		}
		if (!has)
			TRY(place(all, count, name, id, err));
		all[wanted].added = true;
	}
out:
	return st;
}

static size_t count_new(const json_t *vocab, const json_t *added)
{
	size_t i, n = 0;
	json_t *one;

	json_array_foreach(added, i, one) n +=
		!json_object_get(vocab, json_string_value(json_object_get(one, "content")));
	return n;
}

static enum status add_named(struct tokenizer *t, const struct letters *l,
			     const struct named *one, struct text *bytes, struct error *err)
{
	bytes->len = 0;
	if (!l || one->added) {
		text_add(bytes, one->name);
	} else if (!letters_read(l, one->name, bytes)) {
		FAIL(err, ERR_USAGE, "'%.*s' in the vocabulary is not written in byte letters",
		     SHOWN, one->name);
		return HINT(err, "only tokenizers of GPT-2's kind can be read");
	}
	if (bytes->failed)
		return FAIL(err, ERR_MEMORY, "no memory for a token");
	return tokenizer_add_token(t, bytes->data, bytes->len, err);
}

enum status read_vocabulary(struct tokenizer *t, const json_t *vocab, const json_t *added,
			    bool in_letters, struct error *err)
{
	size_t count = json_object_size(vocab) + count_new(vocab, added);
	struct named *all = calloc(count + 1, sizeof(*all));
	struct letters letters;
	struct text bytes;
	enum status st = OK;
	const char *name;
	json_t *id;

	letters_init(&letters);
	text_init(&bytes);
	if (!all) {
		st = FAIL(err, ERR_MEMORY, "no memory for %zu tokens", count);
		goto out;
	}
	json_object_foreach((json_t *)vocab, name, id) TRY(place(all, count, name, id, err));
	TRY(place_added(all, count, vocab, added, err));
	for (size_t i = 0; i < count; i++) /* as many names as ids: every id has one */
		TRY(add_named(t, in_letters ? &letters : NULL, &all[i], &bytes, err));
out:
	free(all);
	text_release(&bytes);
	return st;
}

enum status read_merge(struct tokenizer *t, const json_t *vocab, const char *left,
		       const char *right, struct error *err)
{
	int32_t l, r, made;
	struct text both;
	enum status st;

	text_init(&both);
	text_addf(&both, "%s%s", left, right);
	if (!*left || !*right || !in_vocabulary(vocab, left, &l) ||
	    !in_vocabulary(vocab, right, &r) || !in_vocabulary(vocab, both.data, &made))
		st = FAIL(err, ERR_USAGE,
			  "merge %d, '%.*s' and '%.*s': the vocabulary must have both and what "
			  "they make",
			  t->merge_count, SHOWN, left, SHOWN, right);
	else if (lookup_get(&t->ranks, pair_key(l, r)) >= 0)
		st = FAIL(err, ERR_USAGE, "the merge of '%.*s' and '%.*s' is there twice",
			  SHOWN, left, SHOWN, right);
	else
		st = tokenizer_add_merge(t, l, r, made, err);
	text_release(&both);
	return st;
}

enum status read_merge_line(struct tokenizer *t, const json_t *vocab, const char *line,
			    size_t size, struct error *err)
{
	const char *space = memchr(line, ' ', size);
	struct text left, right;
	enum status st;

	if (!space || memchr(space + 1, ' ', size - (size_t)(space + 1 - line)))
		return FAIL(err, ERR_USAGE,
			    "merge %d, '%.*s', is not two tokens with a space between them",
			    t->merge_count, (int)(size < SHOWN ? size : SHOWN), line);
	text_init(&left);
	text_init(&right);
	text_add_n(&left, line, (size_t)(space - line));
	text_add_n(&right, space + 1, size - (size_t)(space + 1 - line));
	if (left.failed || right.failed)
		st = FAIL(err, ERR_MEMORY, "no memory for a merge");
	else
		st = read_merge(t, vocab, left.data, right.data, err);
	text_release(&left);
	text_release(&right);
	return st;
}

enum status read_failed(const struct error *why, const char *where, struct error *err)
{
	FAIL(err, why->code, "%.200s: %s", where, why->msg);
	return *why->hint ? HINT(err, "%s", why->hint) : why->code;
}
