/* crc32c.h - the checksum of Castagnoli (RFC 3720), as TFRecord files have it. */
#ifndef KOLM_BASE_CRC32C_H
#define KOLM_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t size);

#endif
