/* crc32c.c - see crc32c.h. Four bits at a time: a small table, and fast enough for files. */
#include "base/crc32c.h"

/* What four bits become under the polynomial 0x82f63b78, reflected. */
static const uint32_t steps[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
	0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
	0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t crc32c(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint32_t crc = ~0u;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ steps[crc & 15];
		crc = crc >> 4 ^ steps[crc & 15];
	}
	return ~crc;
}
