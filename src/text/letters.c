/* letters.c - see letters.h */
#include "text/letters.h"
#include "text/unicode.h"

#include <assert.h>
#include <string.h>

static bool is_printable(int byte)
{
	return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
}

void letters_init(struct letters *l)
{
	uint16_t next = 256;

	memset(l->byte, -1, sizeof(l->byte));
	for (int b = 0; b < 256; b++) {
		l->of_byte[b] = is_printable(b) ? (uint16_t)b : next++;
		l->byte[l->of_byte[b]] = (int16_t)b;
	}
	assert(next == LETTERS_END);
}

void letters_write(const struct letters *l, const char *bytes, size_t n, struct text *out)
{
	char letter[UTF8_MAX];

	for (size_t i = 0; i < n; i++)
		text_add_n(out, letter,
			   utf8_write(l->of_byte[(unsigned char)bytes[i]], letter));
}

bool letters_read(const struct letters *l, const char *name, struct text *bytes)
{
	size_t n = strlen(name);

	while (n) {
		uint32_t c;
		size_t length = utf8_read(name, n, &c);
		char byte;

		if (c >= LETTERS_END || l->byte[c] < 0)
			return false;
		byte = (char)l->byte[c];
		text_add_n(bytes, &byte, 1);
		name += length;
		n -= length;
	}
	return true;
}
