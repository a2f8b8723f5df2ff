/*
 * fuzz_tokenizer.c - a tokenizer.json that is accepted is written as it was read, and any text
 * comes back from its ids. What the file has behind a zero byte is the text.
 */
#include "fuzz.h"

#include "text/tokenizer.h"

static struct tokenizer *again(const struct tokenizer *t)
{
	struct tokenizer *copy = NULL;
	struct error err = {0};
	struct text json;

	text_init(&json);
	if (tokenizer_write(t, false, &json, &err) != OK ||
	    tokenizer_read(&copy, json.data, json.len, "again", &err) != OK)
		abort();
	text_release(&json);
	return copy;
}

static void encode(const struct tokenizer *t, const char *text, size_t size)
{
	struct error err = {0};
	struct ids ids = {0};
	struct text back;

	text_init(&back);
	if (tokenizer_encode(t, text, size, SPECIALS_ARE_TOKENS, &ids, &err) == OK) {
		if (tokenizer_decode(t, ids.at, ids.count, &back, &err) != OK)
			abort();
		/* A space may be put before the text, and behind every added token. */
		if (back.len < size || (back.len == size && memcmp(back.data, text, size) != 0))
			abort();
	} else if (tokenizer_kind(t) != TOKENIZER_CHAR) {
		abort();
	}
	text_release(&back);
	ids_release(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = memchr(data, '\0', size);
	size_t json = text ? (size_t)(text - (const char *)data) : size;
	struct tokenizer *t = NULL, *copy;
	struct error err = {0};

	if (tokenizer_read(&t, (const char *)data, json, "fuzz", &err) == OK) {
		copy = again(t);
		if (strcmp(tokenizer_sha256(t), tokenizer_sha256(copy)) != 0)
			abort();
		if (text)
			encode(copy, text + 1, size - json - 1);
		tokenizer_free(copy);
		tokenizer_free(t);
	} else if (!*err.msg) {
		abort();
	}
	return 0;
}
