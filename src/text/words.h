/*
 * words.h - how GPT-2 cuts text before pairs are merged; tokens never cross a cut.
 *
 * The pattern is
 *	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 * Bytes that are no UTF-8 count as neither letters, numbers nor white space.
 */
#ifndef KOLM_TEXT_WORDS_H
#define KOLM_TEXT_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the word that s (n > 0 bytes) begins with. */
size_t word_length(const char *s, size_t n);
/* The same of s with a space before it, which is not counted. */
size_t word_length_after_space(const char *s, size_t n);

uint64_t word_hash(const char *s, size_t n);

#endif
