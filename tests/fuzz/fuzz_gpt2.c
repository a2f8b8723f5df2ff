/* fuzz_gpt2.c - GPT-2's two files, with a zero byte between them: what is accepted is a
   tokenizer that can be written and read, and is the same then. */
#include "fuzz.h"

#include "text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *vocab = (const char *)data, *end = memchr(data, '\0', size);
	struct tokenizer *t = NULL, *again = NULL;
	struct error err = {0};
	struct text json;

	if (!end || tokenizer_read_gpt2(&t, vocab, (size_t)(end - vocab), end + 1,
					size - (size_t)(end + 1 - vocab), "fuzz", &err) != OK)
		return 0;
	text_init(&json);
	if (tokenizer_write(t, true, &json, &err) != OK ||
	    tokenizer_read(&again, json.data, json.len, "again", &err) != OK ||
	    strcmp(tokenizer_sha256(t), tokenizer_sha256(again)) != 0)
		abort();
	text_release(&json);
	tokenizer_free(again);
	tokenizer_free(t);
	return 0;
}
