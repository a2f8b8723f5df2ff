/*
 * unicode.h - characters of UTF-8 text, and which of them are letters, numbers or white space.
 *
 * The classes are those of the pattern by which GPT-2 cuts text into words: \p{L}, \p{N}, \s.
 */
#ifndef KOLM_TEXT_UNICODE_H
#define KOLM_TEXT_UNICODE_H

#include <stddef.h>
#include <stdint.h>

/* In the order of scripts/unicode-table, which makes unicode_table.c. */
enum unicode_class { CLASS_OTHER, CLASS_LETTER, CLASS_NUMBER, CLASS_SPACE };

enum {
	UNICODE_END = 0x110000,	    /* one more than the last character */
	UNICODE_NONE = UNICODE_END, /* a byte that is no UTF-8 */
	UTF8_MAX = 4,		    /* bytes of a character */
};

extern const uint32_t unicode_blocks;	  /* of 256 characters; behind the last all are other */
extern const uint8_t unicode_block[];	  /* which of those below it is */
extern const uint64_t unicode_words[][8]; /* two bits a character */

static inline enum unicode_class unicode_class(uint32_t c)
{
	uint32_t block = c >> 8;

	if (block >= unicode_blocks)
		return CLASS_OTHER;
	return (enum unicode_class)(
		unicode_words[unicode_block[block]][c >> 5 & 7] >> 2 * (c & 31) & 3);
}

/* The character that s (n > 0 bytes) begins with, and its bytes. A byte that is no UTF-8 is
   UNICODE_NONE, one byte long. */
size_t utf8_read(const char *s, size_t n, uint32_t *c);
/* The bytes of a character. */
size_t utf8_write(uint32_t c, char s[UTF8_MAX]);

#endif
