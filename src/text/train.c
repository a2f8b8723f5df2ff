/* train.c - a tokenizer from texts: byte and char here, bpe in train_bpe.c. */
#include "text/impl.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Which characters are in a text. */
static enum status see_letters(bool *seen, const struct text_piece *text, struct error *err)
{
	for (size_t at = 0; at < text->size;) {
		uint32_t c;
		size_t length = utf8_read(text->at + at, text->size - at, &c);

		if (c == UNICODE_NONE || !c) {
			FAIL(err, ERR_USAGE, "%.300s: byte 0x%02x at offset %zu is no %s",
			     text->name, (unsigned char)text->at[at], at,
			     c ? "UTF-8" : "character of a text");
			return HINT(err, "the kinds byte and bpe take any bytes");
		}
		seen[c] = true;
		at += length;
	}
	return OK;
}

static enum status train_char(struct tokenizer *t, const struct text_piece *texts, size_t n,
			      struct error *err)
{
	bool *seen = calloc(UNICODE_END, sizeof(*seen));
	char bytes[UTF8_MAX];
	enum status st = OK;

	if (!seen)
		return FAIL(err, ERR_MEMORY, "no memory for the characters of a text");
	for (size_t i = 0; i < n; i++)
		TRY(see_letters(seen, &texts[i], err));
	for (uint32_t c = 0; c < UNICODE_END; c++)
		if (seen[c])
			TRY(tokenizer_add_token(t, bytes, utf8_write(c, bytes), err));
	if (!t->count) {
		st = FAIL(err, ERR_USAGE, "the text is empty: there are no characters");
		HINT(err, "give a text that has some");
	}
out:
	free(seen);
	return st;
}

static enum status train_byte(struct tokenizer *t, struct error *err)
{
	enum status st = OK;

	for (int b = 0; b < TOKENIZER_BYTES; b++) {
		char byte = (char)b;

		TRY(tokenizer_add_token(t, &byte, 1, err));
	}
out:
	return st;
}

static enum status check_end(const char *end, struct error *err)
{
	if (!end || (*end && text_is_utf8(end)))
		return OK;
	return FAIL(err, ERR_USAGE, "the token for the end of a text is %s",
		    *end ? "no UTF-8" : "empty");
}

static enum status add_end(struct tokenizer *t, const char *end, struct error *err)
{
	enum status st = OK;

	if (!end)
		return OK;
	TRY(tokenizer_add_token(t, end, strlen(end), err));
	TRY(tokenizer_mark_added(t, (struct added_token){.id = t->count - 1, .special = true},
				 err));
out:
	return st;
}

/* Two tokens of one name could not be told apart in the file. */
static enum status check_names(const struct tokenizer *t, const char *end, struct error *err)
{
	struct tokenizer *again = NULL;
	struct error why = {0};
	struct text json;
	enum status st = OK;

	if (!end)
		return OK;
	text_init(&json);
	TRY(tokenizer_write(t, false, &json, err));
	st = tokenizer_read(&again, json.data, json.len, "", &why);
	if (st == ERR_USAGE) {
		FAIL(err, st,
		     "the token '%.60s' for the end of a text is also a part of the text", end);
		HINT(err, "choose another, such as %s", END_OF_TEXT);
	} else if (st != OK) {
		error_copy(err, &why);
	}
out:
	tokenizer_free(again);
	text_release(&json);
	return st;
}

enum status tokenizer_train(struct tokenizer **out, const struct tokenizer_plan *plan,
			    const struct text_piece *texts, size_t n, struct error *err)
{
	struct tokenizer *t = NULL;
	enum status st;

	TRY(check_end(plan->end_of_text, err));
	TRY(tokenizer_new(&t, plan->kind, err));
	switch (plan->kind) {
	case TOKENIZER_BYTE:
		t->one_word = true; /* no merges: how it is cut does not matter */
		TRY(train_byte(t, err));
		TRY(add_end(t, plan->end_of_text, err));
		break;
	case TOKENIZER_CHAR:
		TRY(train_char(t, texts, n, err));
		TRY(add_end(t, plan->end_of_text, err));
		break;
	case TOKENIZER_BPE:
		TRY(add_end(t, plan->end_of_text, err));
		TRY(train_bpe(t, plan, texts, n, err));
		break;
	}
	TRY(tokenizer_finish(t, err));
	TRY(check_names(t, plan->end_of_text, err));
	*out = t;
	t = NULL; /* the caller's now */
out:
	tokenizer_free(t);
	return st;
}
