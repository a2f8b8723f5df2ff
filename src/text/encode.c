/*
 * encode.c - from text to ids: added tokens are searched for, what is between them is cut into
 * words, and the words' bytes are merged. See tokenizer.h.
 */
#include "text/impl.h"
#include "text/merge.h"
#include "text/unicode.h"
#include "text/words.h"

#include <stdlib.h>
#include <string.h>

enum {
	BUFFER = 4096,	 /* ids that are handed on at once */
	CACHE = 1 << 15, /* words; a power of two */
	CACHE_IDS = 6,	 /* of a word that is kept */
	ROUNDS = 2,	 /* added tokens that are not normalized, and those that are */
	LETTER_TEXT = 4 * 4 + 1,
};

/* A word of the text, and what it became. */
struct known_word {
	const char *at;
	uint32_t size;
	int32_t count;
	int32_t ids[CACHE_IDS];
};

struct encoder {
	const struct tokenizer *t;
	enum tokenizer_specials specials;
	const struct text_sink *sink;
	const char *text; /* all of it */
	int32_t ids[BUFFER];
	size_t count;
	struct known_word *cache; /* (CACHE), by hash */
	struct merger merger;
	bool starts[ROUNDS][256]; /* may an added token begin with this byte? */
	bool any[ROUNDS];
};

static enum status flush(struct encoder *e, const char *at, struct error *err)
{
	enum status st = OK;

	if (e->count)
		st = e->sink->put(e->sink->arg, e->ids, e->count, (size_t)(at - e->text), err);
	e->count = 0;
	return st;
}

/* The ids of what ends at this place of the text. */
static enum status emit(struct encoder *e, const int32_t *ids, size_t n, const char *at,
			struct error *err)
{
	enum status st = OK;

	while (n) {
		size_t now = n < BUFFER - e->count ? n : BUFFER - e->count;

		memcpy(e->ids + e->count, ids, now * sizeof(*ids));
		e->count += now;
		ids += now;
		n -= now;
		if (e->count == BUFFER)
			TRY(flush(e, at, err));
	}
out:
	return st;
}

static enum status encode_bytes(struct encoder *e, const char *s, size_t n, struct error *err)
{
	enum status st = OK;

	for (size_t i = 0; i < n; i++)
		TRY(emit(e, &e->t->of_byte[(unsigned char)s[i]], 1, s + i + 1, err));
out:
	return st;
}

static enum status no_letter(const struct encoder *e, const char *at, size_t length, uint32_t c,
			     struct error *err)
{
	char raw[UTF8_MAX + 1] = "", shown[LETTER_TEXT];
	long long offset = (long long)(at - e->text);

	memcpy(raw, at, length);
	text_printable(shown, sizeof(shown), raw);
	if (c == UNICODE_NONE) {
		FAIL(err, ERR_USAGE, "byte 0x%02x at offset %lld is no UTF-8",
		     (unsigned char)*at, offset);
		return HINT(
			err,
			"a tokenizer of characters needs UTF-8; byte and bpe take any bytes");
	}
	FAIL(err, ERR_USAGE,
	     "the character '%s' (U+%04X) at offset %lld is not among the %d of the tokenizer",
	     shown, c, offset, e->t->count);
	return HINT(err, "train it on text that has this character, or use byte or bpe");
}

static enum status encode_letters(struct encoder *e, const char *s, size_t n, struct error *err)
{
	const char *end = s + n;
	enum status st = OK;

	while (s < end) {
		uint32_t c;
		size_t length = utf8_read(s, (size_t)(end - s), &c);
		int32_t id = c == UNICODE_NONE ? -1 : (int32_t)lookup_get(&e->t->of_letter, c);

		if (id < 0)
			return no_letter(e, s, length, c, err);
		s += length;
		TRY(emit(e, &id, 1, s, err));
	}
out:
	return st;
}

/* A word of the text itself, which is there as long as the encoder: it may be kept. */
static enum status encode_word(struct encoder *e, const char *s, size_t n, struct error *err)
{
	struct known_word *known = &e->cache[word_hash(s, n) & (CACHE - 1)];
	enum status st;

	if (known->count && known->size == n && !memcmp(known->at, s, n))
		return emit(e, known->ids, (size_t)known->count, s + n, err);
	TRY(merger_run(&e->merger, e->t, s, n, err));
	if (e->merger.count <= CACHE_IDS) {
		*known = (struct known_word){s, (uint32_t)n, (int32_t)e->merger.count, {0}};
		memcpy(known->ids, e->merger.ids, e->merger.count * sizeof(*known->ids));
	}
	TRY(emit(e, e->merger.ids, e->merger.count, s + n, err));
out:
	return st;
}

/* The first word of a text that gets a space. */
static enum status encode_spaced(struct encoder *e, const char *s, size_t n, struct error *err)
{
	char *word = malloc(n + 1);
	enum status st;

	if (!word)
		return FAIL(err, ERR_MEMORY, "no memory for a word of %zu bytes", n + 1);
	word[0] = ' ';
	memcpy(word + 1, s, n);
	TRY(merger_run(&e->merger, e->t, word, n + 1, err));
	TRY(emit(e, e->merger.ids, e->merger.count, s + n, err));
out:
	free(word);
	return st;
}

static enum status encode_words(struct encoder *e, const char *s, size_t n, struct error *err)
{
	const char *end = s + n;
	enum status st = OK;

	if (e->t->prefix_space && s < end && *s != ' ') {
		size_t first = e->t->one_word ? n : word_length_after_space(s, n);

		TRY(encode_spaced(e, s, first, err));
		s += first;
	}
	while (s < end) {
		size_t left = (size_t)(end - s);
		size_t length = e->t->one_word ? left : word_length(s, left);

		TRY(encode_word(e, s, length, err));
		s += length;
	}
out:
	return st;
}

static enum status encode_plain(struct encoder *e, const char *s, size_t n, struct error *err)
{
	switch (e->t->kind) {
	case TOKENIZER_BYTE:
		return encode_bytes(e, s, n, err);
	case TOKENIZER_CHAR:
		return encode_letters(e, s, n, err);
	case TOKENIZER_BPE:
		break;
	}
	return encode_words(e, s, n, err);
}

static bool is_searched(const struct encoder *e, const struct added_token *a, int round)
{
	return a->normalized == (round == 1) &&
	       (!a->special || e->specials == SPECIALS_ARE_TOKENS);
}

/* The longest added token of a round that s begins with, or -1. */
static int32_t added_at(const struct encoder *e, int round, const char *s, size_t n)
{
	int32_t best = -1;
	size_t best_size = 0;

	for (size_t i = 0; i < e->t->added_count; i++) {
		const struct added_token *a = &e->t->added[i];
		size_t size;
		const char *bytes = tokenizer_token(e->t, a->id, &size);

		if (is_searched(e, a, round) && size > best_size && size <= n &&
		    !memcmp(bytes, s, size)) {
			best = a->id;
			best_size = size;
		}
	}
	return best;
}

/* Search for the added tokens of a round; what is between them is for the next one. */
static enum status encode_round(struct encoder *e, int round, const char *s, size_t n,
				struct error *err)
{
	const char *end = s + n, *begin = s;
	enum status st = OK;

	if (round == ROUNDS)
		return encode_plain(e, s, n, err);
	if (!e->any[round])
		return encode_round(e, round + 1, s, n, err);
	while (s < end) {
		int32_t id = e->starts[round][(unsigned char)*s]
				     ? added_at(e, round, s, (size_t)(end - s))
				     : -1;

		if (id < 0) {
			s++;
			continue;
		}
		TRY(encode_round(e, round + 1, begin, (size_t)(s - begin), err));
		s += e->t->tokens[id].size;
		begin = s;
		TRY(emit(e, &id, 1, s, err));
	}
	TRY(encode_round(e, round + 1, begin, (size_t)(s - begin), err));
out:
	return st;
}

static enum status encoder_new(struct encoder **out, const struct tokenizer *t,
			       struct error *err)
{
	struct encoder *e = calloc(1, sizeof(*e));

	*out = e;
	if (e && t->kind == TOKENIZER_BPE)
		e->cache = calloc(CACHE, sizeof(*e->cache));
	if (!e || (t->kind == TOKENIZER_BPE && !e->cache))
		return FAIL(err, ERR_MEMORY, "no memory to encode text");
	e->t = t;
	return OK;
}

static void encoder_free(struct encoder *e)
{
	if (!e)
		return;
	merger_release(&e->merger);
	free(e->cache);
	free(e);
}

static void prepare_search(struct encoder *e)
{
	for (size_t i = 0; i < e->t->added_count; i++) {
		const struct added_token *a = &e->t->added[i];
		size_t size;
		const char *bytes = tokenizer_token(e->t, a->id, &size);

		for (int round = 0; round < ROUNDS; round++)
			if (is_searched(e, a, round)) {
				e->any[round] = true;
				e->starts[round][(unsigned char)bytes[0]] = true;
			}
	}
}

enum status tokenizer_stream(const struct tokenizer *t, const char *text, size_t size,
			     enum tokenizer_specials specials, const struct text_sink *sink,
			     struct error *err)
{
	struct encoder *e = NULL;
	enum status st;

	TRY(encoder_new(&e, t, err));
	e->specials = specials;
	e->sink = sink;
	e->text = text;
	prepare_search(e);
	TRY(encode_round(e, 0, text, size, err));
	TRY(flush(e, text + size, err));
out:
	encoder_free(e);
	return st;
}

static enum status collect(void *arg, const int32_t *ids, size_t n, size_t done,
			   struct error *err)
{
	(void)done;
	return ids_add(arg, ids, n, err);
}

enum status tokenizer_encode(const struct tokenizer *t, const char *text, size_t size,
			     enum tokenizer_specials specials, struct ids *out,
			     struct error *err)
{
	struct text_sink sink = {collect, out};

	return tokenizer_stream(t, text, size, specials, &sink, err);
}
