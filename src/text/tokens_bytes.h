/* tokens_bytes.h - numbers of token files, little-endian. Only for text/tokens*. */
#ifndef KOLM_TEXT_TOKENS_BYTES_H
#define KOLM_TEXT_TOKENS_BYTES_H

#include <stdint.h>

enum {
	AT_VERSION = 8,
	AT_WIDTH = 12,
	AT_COUNT = 16,
	AT_VOCABULARY = 24,
	AT_BLOCK = 28,
	AT_TOKENIZER = 32,
	AT_TEXT = 64,
	AT_TEXT_SIZE = 96,
	AT_TEXT_CHANGED = 104,
	AT_SUM = 124,
};

static const unsigned char tokens_magic[8] = {'k', 'o', 'l', 'm', '.', 't', 'o', 'k'};

static inline uint64_t get_bytes(const unsigned char *p, int n)
{
	uint64_t value = 0;

	for (int i = n - 1; i >= 0; i--)
		value = value << 8 | p[i];
	return value;
}

static inline void put_bytes(unsigned char *p, int n, uint64_t value)
{
	for (int i = 0; i < n; i++, value >>= 8)
		p[i] = (unsigned char)value;
}

static inline int tokens_width(uint64_t vocabulary)
{
	return vocabulary <= 65536 ? 2 : 4;
}

#endif
