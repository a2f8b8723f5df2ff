/* sha256.h - SHA-256 sums, as sha256sum prints them. */
#ifndef KOLM_BASE_SHA256_H
#define KOLM_BASE_SHA256_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SHA256_TEXT = 65 }; /* 64 digits and the end */

struct sha256 {
	void *state;
};

/* Begin, add as often as you like, end; or give it up, which does nothing after the end. */
enum status sha256_begin(struct sha256 *s, struct error *err);
void sha256_add(struct sha256 *s, const void *data, size_t size);
void sha256_end(struct sha256 *s, char text[SHA256_TEXT]);
void sha256_drop(struct sha256 *s);

enum status sha256_of(const void *data, size_t size, char text[SHA256_TEXT], struct error *err);
/* Of a whole file, and its size; and, unless rest is NULL, of what is behind its first skip
   bytes. */
enum status sha256_of_file(const char *path, char text[SHA256_TEXT], uint64_t *size,
			   uint64_t skip, char *rest, struct error *err);

#endif
