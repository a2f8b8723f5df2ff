/* impl.h - what a tokenizer is. Only for text/. */
#ifndef KOLM_TEXT_IMPL_H
#define KOLM_TEXT_IMPL_H

#include "text/lookup.h"
#include "text/tokenizer.h"

#include <jansson.h>

struct token {
	size_t at, size; /* in the tokenizer's bytes */
	size_t added;	 /* 1 + its place among the added ones; 0: it is none */
};

struct merge {
	int32_t left, right, made;
};

/* A token that text is searched for, before it is cut into words. */
struct added_token {
	int32_t id;
	bool special;
	bool normalized; /* searched for in what those that are not leave over */
};

struct tokenizer {
	enum tokenizer_kind kind;
	struct text bytes; /* of all tokens */
	struct token *tokens;
	int32_t count, capacity;
	int32_t of_byte[TOKENIZER_BYTES]; /* byte, bpe: its id */
	struct lookup of_letter;	  /* char: the id of a character */
	struct merge *merges;		  /* bpe: by rank */
	int32_t merge_count, merge_capacity;
	struct lookup ranks; /* bpe: of a pair of ids */
	bool prefix_space;   /* bpe: text that begins with no space gets one */
	bool one_word;	     /* bpe: text is not cut into words */
	struct added_token *added;
	size_t added_count;
	char sha256[SHA256_TEXT];
};

static inline uint64_t pair_key(int32_t left, int32_t right)
{
	return (uint64_t)left << 32 | (uint32_t)right;
}

enum status tokenizer_new(struct tokenizer **out, enum tokenizer_kind kind, struct error *err);
/* Append a token, and a merge of two into a third. */
enum status tokenizer_add_token(struct tokenizer *t, const char *bytes, size_t size,
				struct error *err);
enum status tokenizer_add_merge(struct tokenizer *t, int32_t left, int32_t right, int32_t made,
				struct error *err);
/* The token becomes one that text is searched for. */
enum status tokenizer_mark_added(struct tokenizer *t, struct added_token added,
				 struct error *err);
/* All of it is there: whatever follows from the rest. */
enum status tokenizer_finish(struct tokenizer *t, struct error *err);
const struct added_token *tokenizer_find_added(const struct tokenizer *t, int32_t id);

/* ---- reading: read_json.c has the whole, read_model.c its parts, read_gpt2.c the other form
 * ---- */

/* Tokens from {"name": id, ...}, and those of added ([{"content": name, "id": id}, ...], or
   NULL) that are not in there; names are made of the byte letters if in_letters. */
enum status read_vocabulary(struct tokenizer *t, const json_t *vocab, const json_t *added,
			    bool in_letters, struct error *err);
/* A merge of two names; and the same from a line with a space between them. */
enum status read_merge(struct tokenizer *t, const json_t *vocab, const char *left,
		       const char *right, struct error *err);
enum status read_merge_line(struct tokenizer *t, const json_t *vocab, const char *line,
			    size_t size, struct error *err);
/* Say what is wrong, and in which file. */
enum status read_failed(const struct error *why, const char *where, struct error *err);

/* ---- training, see train_bpe.c ---- */

enum status train_bpe(struct tokenizer *t, const struct tokenizer_plan *plan,
		      const struct text_piece *texts, size_t n, struct error *err);

#endif
