/*
 * tokenizer.h - text becomes numbers, and numbers text.
 *
 * A tokenizer knows `vocabulary` tokens, each a string of bytes with an id of 0 ..
 * vocabulary-1. Kinds: byte (every byte is its own id), char (the characters of a text,
 * sorted), bpe (frequent strings of bytes, as GPT-2 has them). It does not change once it is
 * made, so that several threads may use one.
 *
 * As a file it is a tokenizer.json, which Hugging Face's tokenizers reads with the same result.
 */
#ifndef KOLM_TEXT_TOKENIZER_H
#define KOLM_TEXT_TOKENIZER_H

#include "base/error.h"
#include "base/names.h"
#include "base/sha256.h"
#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

#define TOKENIZER_KINDS(X) \
	X(BYTE, "byte")    \
	X(CHAR, "char")    \
	X(BPE, "bpe")
#define TOKENIZER_KIND(name, ...) TOKENIZER_##name,
enum tokenizer_kind { TOKENIZER_KINDS(TOKENIZER_KIND) };
extern const char *const tokenizer_kind_names[];

enum { VOCABULARY_MAX = 1 << 20, TOKENIZER_BYTES = 256 };

#define END_OF_TEXT "<|endoftext|>"

struct tokenizer;

/* A borrowed piece of text; name is for messages. */
struct text_piece {
	const char *at;
	size_t size;
	const char *name;
};

/* How far a long work is; whoever wants it to stop fails. Any member may be 0. */
struct text_watch {
	enum status (*look)(void *arg, int64_t done, int64_t total, struct error *err);
	void *arg;
};

struct tokenizer_plan {
	enum tokenizer_kind kind;
	int vocabulary;		 /* of bpe: so many at most, all 256 bytes among them */
	const char *end_of_text; /* a special token, or NULL; id 0 of bpe, the last of others */
	struct text_watch watch;
};

/* Learn one from texts. The same texts give the same tokenizer; bpe gives the vocabulary and
   the merges that tokenizers' BpeTrainer gives, each text being one sequence. */
enum status tokenizer_train(struct tokenizer **out, const struct tokenizer_plan *plan,
			    const struct text_piece *texts, size_t n, struct error *err);

/* "byte"; a tokenizer.json; one of GPT-2's files, whose other is beside it; or a folder with
   these. */
enum status tokenizer_open(struct tokenizer **out, const char *name, struct error *err);
/* The bytes of a tokenizer.json; where names it in messages. */
enum status tokenizer_read(struct tokenizer **out, const char *json, size_t size,
			   const char *where, struct error *err);
/* GPT-2's own files: a JSON object of names and ids, and a line per merge. */
enum status tokenizer_read_gpt2(struct tokenizer **out, const char *vocab, size_t vocab_size,
				const char *merges, size_t merges_size, const char *where,
				struct error *err);
void tokenizer_free(struct tokenizer *t);

/* Add it to json as one tokenizer.json, on one line or readable. */
enum status tokenizer_write(const struct tokenizer *t, bool readable, struct text *json,
			    struct error *err);
enum status tokenizer_save(const struct tokenizer *t, const char *path, struct error *err);

enum tokenizer_kind tokenizer_kind(const struct tokenizer *t);
int tokenizer_vocabulary(const struct tokenizer *t);
int tokenizer_merges(const struct tokenizer *t);
/* "<|endoftext|>" if that is a special token, otherwise the only special token; or -1. */
int tokenizer_end_of_text(const struct tokenizer *t);
bool tokenizer_is_special(const struct tokenizer *t, int id);
/* Of tokenizer_write's one line: equal for equal tokenizers, whatever files they came from. */
const char *tokenizer_sha256(const struct tokenizer *t);
/* The bytes of a token; they are the tokenizer's. */
const char *tokenizer_token(const struct tokenizer *t, int id, size_t *size);

/* Numbers that grow. Begins as {0}. */
struct ids {
	int32_t *at;
	size_t count, capacity;
};
enum status ids_add(struct ids *ids, const int32_t *more, size_t n, struct error *err);
void ids_release(struct ids *ids);

/* What a special token's text stands for: the token, or plain text. */
enum tokenizer_specials { SPECIALS_ARE_TEXT, SPECIALS_ARE_TOKENS };

/* Add the ids of a text. Other added tokens are recognised always. */
enum status tokenizer_encode(const struct tokenizer *t, const char *text, size_t size,
			     enum tokenizer_specials specials, struct ids *out,
			     struct error *err);

/* The same piece by piece, in a few MB of memory: put gets the next ids, and how many bytes of
   the text they and those before them stand for, about. */
struct text_sink {
	enum status (*put)(void *arg, const int32_t *ids, size_t n, size_t done,
			   struct error *err);
	void *arg;
};
enum status tokenizer_stream(const struct tokenizer *t, const char *text, size_t size,
			     enum tokenizer_specials specials, const struct text_sink *sink,
			     struct error *err);

/* Add the bytes of n ids. */
enum status tokenizer_decode(const struct tokenizer *t, const int32_t *ids, size_t n,
			     struct text *out, struct error *err);

#endif
