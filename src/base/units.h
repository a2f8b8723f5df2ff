/*
 * units.h - numbers with units, read and written.
 *
 * Sizes: 4096, 64KB (1000), 64KiB (1024), also K/M/G/T alone as binary, as most
 * tools have it. Times: 250us, 10ms, 2s, 1.5min; a bare number is milliseconds.
 */
#ifndef KOLM_BASE_UNITS_H
#define KOLM_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns false, leaving *out alone, when text is not such a number. */
bool units_parse_size(const char *text, uint64_t *bytes);
bool units_parse_time(const char *text, double *ms);
bool units_parse_int(const char *text, int64_t *out);
bool units_parse_float(const char *text, double *out);

/* 8.4 M, 36.4 k, 12. */
void units_format_count(int64_t n, char *buf, size_t size);
/* 1.5 GiB, 96.0 KiB, 12 B. */
void units_format_size(uint64_t bytes, char *buf, size_t size);

#endif
