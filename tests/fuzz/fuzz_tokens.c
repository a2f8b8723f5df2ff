/*
 * fuzz_tokens.c - all ids of a token file that is accepted are in its vocabulary, and all of it
 * can be read. The sums of the heading and of the first block are made right, or nothing would
 * get past them.
 */
#include "fuzz.h"

#include "base/crc32c.h"
#include "text/tokens.h"

enum { AT_SUM = 124 };

static void put_sum(uint8_t *at, uint32_t sum)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(sum >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	struct error err = {0};
	struct tokens t;

	memcpy(copy, data, size);
	if (size >= TOKENS_HEADING)
		put_sum(copy + AT_SUM, crc32c(copy, AT_SUM));
	if (tokens_view(&t, copy, size, "fuzz", &err) == OK) {
		size_t n = t.count < TOKENS_BLOCK ? (size_t)t.count : TOKENS_BLOCK;
		int32_t *ids = malloc((t.count + 1) * sizeof(*ids));

		if (n)
			put_sum(copy + (t.sums - copy), crc32c(t.ids, n * (size_t)t.width));
		if (tokens_read(&t, 0, (size_t)t.count, ids, &err) == OK)
			for (uint64_t i = 0; i < t.count; i++)
				if (ids[i] < 0 || ids[i] >= t.of.vocabulary)
					abort();
		free(ids);
	}
	tokens_close(&t);
	free(copy);
	return 0;
}
