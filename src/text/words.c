/* words.c - see words.h */
#include "text/words.h"
#include "text/unicode.h"

#include <string.h>

static size_t read_class(const char *s, size_t n, enum unicode_class *class)
{
	uint32_t c;
	size_t length = utf8_read(s, n, &c);

	*class = unicode_class(c);
	return length;
}

/* The bytes that s begins with and that are of a class; *last are those of the last character.
 */
static size_t run(const char *s, size_t n, enum unicode_class class, size_t *last)
{
	enum unicode_class next;
	size_t at = 0;

	while (at < n) {
		size_t length = read_class(s + at, n - at, &next);

		if (next != class)
			break;
		*last = length;
		at += length;
	}
	return at;
}

/* 's and the like, or 0. */
static size_t contraction(const char *s, size_t n)
{
	if (n < 2 || s[0] != '\'')
		return 0;
	if (strchr("stmd", s[1]) && s[1])
		return 2;
	if (n > 2 &&
	    (!memcmp(s + 1, "re", 2) || !memcmp(s + 1, "ve", 2) || !memcmp(s + 1, "ll", 2)))
		return 3;
	return 0;
}

size_t word_length_after_space(const char *s, size_t n)
{
	enum unicode_class class;
	size_t length, last = 0;

	if (!n)
		return 0;
	read_class(s, n, &class);
	length = run(s, n, class, &last);
	/* The last of several white spaces belongs to what follows. */
	return class == CLASS_SPACE && length < n ? length - last : length;
}

size_t word_length(const char *s, size_t n)
{
	enum unicode_class class;
	size_t length, last = 0;

	if (s[0] == ' ')
		return 1 + word_length_after_space(s + 1, n - 1);
	length = contraction(s, n);
	if (length)
		return length;
	read_class(s, n, &class);
	length = run(s, n, class, &last);
	return class == CLASS_SPACE && length < n && length > last ? length - last : length;
}

uint64_t word_hash(const char *s, size_t n)
{
	uint64_t hash = n, part;

	for (; n >= sizeof(part); s += sizeof(part), n -= sizeof(part)) {
		memcpy(&part, s, sizeof(part));
		hash = (hash ^ part) * 0x9e3779b97f4a7c15;
		hash ^= hash >> 29;
	}
	part = 0;
	memcpy(&part, s, n);
	hash = (hash ^ part) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}
