/* unicode.c - see unicode.h */
#include "text/unicode.h"

/* The smallest character that needs so many bytes; what is less is overlong. */
static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};

static size_t length_of(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t utf8_read(const char *s, size_t n, uint32_t *c)
{
	unsigned char first = (unsigned char)s[0];
	size_t length = length_of(first);
	uint32_t value = length > 1 ? first & (0x7fu >> length) : first;

	*c = UNICODE_NONE;
	if (!length || length > n)
		return 1;
	for (size_t i = 1; i < length; i++) {
		unsigned char next = (unsigned char)s[i];

		if ((next & 0xc0) != 0x80)
			return 1;
		value = value << 6 | (next & 0x3f);
	}
	if (value < smallest[length] || value >= UNICODE_END ||
	    (value >= 0xd800 && value < 0xe000))
		return 1;
	*c = value;
	return length;
}

size_t utf8_write(uint32_t c, char s[UTF8_MAX])
{
	size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = length - 1; i > 0; i--, c >>= 6)
		s[i] = (char)(0x80 | (c & 0x3f));
	s[0] = (char)(length == 1 ? c : (0xf00u >> length & 0xff) | c);
	return length;
}
