/*
 * letters.h - the byte letters: how a string of bytes is written as text in a vocabulary.
 *
 * GPT-2 has a character for every byte: printable ones of Latin-1 stand for themselves, the
 * others are the characters from U+0100 on, in their order. A space is written as U+0120.
 */
#ifndef KOLM_TEXT_LETTERS_H
#define KOLM_TEXT_LETTERS_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

enum { LETTERS_END = 256 + 68 }; /* one more than the last of these characters */

struct letters {
	uint16_t of_byte[256];
	int16_t byte[LETTERS_END]; /* of a character, or -1 */
};

void letters_init(struct letters *l);

/* Bytes as letters, and back; false: something else is in it. */
void letters_write(const struct letters *l, const char *bytes, size_t n, struct text *out);
bool letters_read(const struct letters *l, const char *name, struct text *bytes);

#endif
