/* tokenizer.c - making a tokenizer from its parts, asking it, and decoding; see tokenizer.h */
#include "text/impl.h"
#include "text/grow.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

const char *const tokenizer_kind_names[] = {NAMES_OF(TOKENIZER_KINDS)};

enum status tokenizer_new(struct tokenizer **out, enum tokenizer_kind kind, struct error *err)
{
	struct tokenizer *t = calloc(1, sizeof(*t));

	if (!t)
		return FAIL(err, ERR_MEMORY, "no memory for a tokenizer");
	t->kind = kind;
	text_init(&t->bytes);
	*out = t;
	return OK;
}

void tokenizer_free(struct tokenizer *t)
{
	if (!t)
		return;
	text_release(&t->bytes);
	lookup_release(&t->of_letter);
	lookup_release(&t->ranks);
	free(t->tokens);
	free(t->merges);
	free(t->added);
	free(t);
}

enum status tokenizer_add_token(struct tokenizer *t, const char *bytes, size_t size,
				struct error *err)
{
	size_t capacity = (size_t)t->capacity;
	enum status st;

	if (t->count == VOCABULARY_MAX)
		return FAIL(err, ERR_USAGE, "more than %d tokens", VOCABULARY_MAX);
	TRY(grow_array((void **)&t->tokens, sizeof(*t->tokens), (size_t)t->count + 1, &capacity,
		       err));
	t->capacity = (int32_t)capacity;
	t->tokens[t->count++] = (struct token){t->bytes.len, size, 0};
	text_add_n(&t->bytes, bytes, size);
	if (t->bytes.failed)
		st = FAIL(err, ERR_MEMORY, "no memory for the bytes of %d tokens", t->count);
out:
	return st;
}

enum status tokenizer_add_merge(struct tokenizer *t, int32_t left, int32_t right, int32_t made,
				struct error *err)
{
	size_t capacity = (size_t)t->merge_capacity;
	enum status st;

	TRY(grow_array((void **)&t->merges, sizeof(*t->merges), (size_t)t->merge_count + 1,
		       &capacity, err));
	t->merge_capacity = (int32_t)capacity;
	TRY(lookup_put(&t->ranks, pair_key(left, right), t->merge_count, err));
	t->merges[t->merge_count++] = (struct merge){left, right, made};
out:
	return st;
}

enum status tokenizer_mark_added(struct tokenizer *t, struct added_token added,
				 struct error *err)
{
	struct added_token *larger =
		reallocarray(t->added, t->added_count + 1, sizeof(*t->added));

	if (!larger)
		return FAIL(err, ERR_MEMORY, "no memory for %zu added tokens",
			    t->added_count + 1);
	t->added = larger;
	t->added[t->added_count++] = added;
	t->tokens[added.id].added = t->added_count;
	return OK;
}

const struct added_token *tokenizer_find_added(const struct tokenizer *t, int32_t id)
{
	size_t place = t->tokens[id].added;

	return place ? &t->added[place - 1] : NULL;
}

/* The id of every byte; without one, some text could not be written. */
static enum status find_bytes(struct tokenizer *t, struct error *err)
{
	memset(t->of_byte, -1, sizeof(t->of_byte));
	for (int32_t id = 0; id < t->count; id++)
		if (t->tokens[id].size == 1 && !tokenizer_find_added(t, id))
			t->of_byte[(unsigned char)t->bytes.data[t->tokens[id].at]] = id;
	for (int b = 0; b < TOKENIZER_BYTES; b++)
		if (t->of_byte[b] < 0) {
			FAIL(err, ERR_USAGE, "there is no token for the byte 0x%02x", b);
			return HINT(err, "train it with all bytes: in Python with "
					 "initial_alphabet=ByteLevel.alphabet()");
		}
	return OK;
}

static enum status find_letters(struct tokenizer *t, struct error *err)
{
	enum status st = OK;

	for (int32_t id = 0; id < t->count; id++) {
		const struct token *token = &t->tokens[id];
		uint32_t c = UNICODE_NONE;

		if (tokenizer_find_added(t, id))
			continue;
		if (!token->size ||
		    utf8_read(t->bytes.data + token->at, token->size, &c) != token->size ||
		    c == UNICODE_NONE)
			return FAIL(err, ERR_USAGE, "token %d is not one character", id);
		TRY(lookup_put(&t->of_letter, c, id, err));
	}
out:
	return st;
}

/* With every byte as its own id and nothing to merge it is of kind byte. */
static bool is_plain(const struct tokenizer *t)
{
	for (int b = 0; b < TOKENIZER_BYTES; b++)
		if (t->of_byte[b] != b)
			return false;
	return !t->merge_count && !t->prefix_space;
}

/* What a merge makes comes from the text itself: it can't be searched for as well. */
static enum status check_added(const struct tokenizer *t, struct error *err)
{
	for (int32_t i = 0; i < t->merge_count; i++) {
		const struct merge *m = &t->merges[i];

		if (tokenizer_find_added(t, m->left) || tokenizer_find_added(t, m->right) ||
		    tokenizer_find_added(t, m->made)) {
			FAIL(err, ERR_USAGE, "merge %d has to do with an added token", i);
			return HINT(err, "the texts of added tokens must not be in the merges");
		}
	}
	return OK;
}

enum status tokenizer_finish(struct tokenizer *t, struct error *err)
{
	struct text json;
	enum status st;

	text_init(&json);
	if (t->kind == TOKENIZER_CHAR)
		TRY(find_letters(t, err));
	else
		TRY(find_bytes(t, err));
	TRY(check_added(t, err));
	if (t->kind == TOKENIZER_BPE && is_plain(t))
		t->kind = TOKENIZER_BYTE;
	TRY(tokenizer_write(t, false, &json, err));
	TRY(sha256_of(json.data, json.len, t->sha256, err));
out:
	text_release(&json);
	return st;
}

enum tokenizer_kind tokenizer_kind(const struct tokenizer *t)
{
	return t->kind;
}

int tokenizer_vocabulary(const struct tokenizer *t)
{
	return t->count;
}

int tokenizer_merges(const struct tokenizer *t)
{
	return t->merge_count;
}

bool tokenizer_is_special(const struct tokenizer *t, int id)
{
	const struct added_token *added = tokenizer_find_added(t, id);

	return added && added->special;
}

int tokenizer_end_of_text(const struct tokenizer *t)
{
	int found = 0, id = -1;

	for (size_t i = 0; i < t->added_count; i++) {
		size_t size;
		const char *bytes = tokenizer_token(t, t->added[i].id, &size);

		if (!t->added[i].special)
			continue;
		id = t->added[i].id;
		if (size == strlen(END_OF_TEXT) && !memcmp(bytes, END_OF_TEXT, size))
			return id;
		found++;
	}
	return found == 1 ? id : -1;
}

const char *tokenizer_sha256(const struct tokenizer *t)
{
	return t->sha256;
}

const char *tokenizer_token(const struct tokenizer *t, int id, size_t *size)
{
	assert(id >= 0 && id < t->count);
	*size = t->tokens[id].size;
	return t->bytes.data + t->tokens[id].at;
}

enum status tokenizer_decode(const struct tokenizer *t, const int32_t *ids, size_t n,
			     struct text *out, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		const char *bytes;
		size_t size;

		if (ids[i] < 0 || ids[i] >= t->count) {
			FAIL(err, ERR_USAGE, "id %d is not one of the %d tokens", ids[i],
			     t->count);
			return HINT(err, "use the tokenizer that the ids were made with");
		}
		bytes = tokenizer_token(t, ids[i], &size);
		text_add_n(out, bytes, size);
	}
	if (out->failed)
		return FAIL(err, ERR_MEMORY, "no memory for the text of %zu tokens", n);
	return OK;
}

enum status ids_add(struct ids *ids, const int32_t *more, size_t n, struct error *err)
{
	enum status st;

	TRY(grow_array((void **)&ids->at, sizeof(*ids->at), ids->count + n, &ids->capacity,
		       err));
	if (n)
		memcpy(ids->at + ids->count, more, n * sizeof(*more));
	ids->count += n;
out:
	return st;
}

void ids_release(struct ids *ids)
{
	free(ids->at);
	*ids = (struct ids){0};
}
