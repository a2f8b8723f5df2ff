/* crc32c.c - see crc32c.h. A few hundred bytes per step: bit by bit is fast enough. */
#include "base/crc32c.h"

enum { POLYNOMIAL = 0x82f63b78 }; /* reflected */

uint32_t crc32c(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint32_t crc = ~0u;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? (uint32_t)POLYNOMIAL : 0);
	}
	return ~crc;
}
