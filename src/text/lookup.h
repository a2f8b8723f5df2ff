/* lookup.h - from numbers of 64 bits to numbers: a hash table. Begins as {0}. */
#ifndef KOLM_TEXT_LOOKUP_H
#define KOLM_TEXT_LOOKUP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct lookup {
	struct lookup_entry {
		uint64_t key;
		int64_t value; /* -1: empty */
	} * entries;
	size_t capacity, count; /* capacity is a power of two, or 0 */
};

void lookup_release(struct lookup *l);
/* Values are not negative; a key has one. */
enum status lookup_put(struct lookup *l, uint64_t key, int64_t value, struct error *err);
/* Its value, or -1. */
int64_t lookup_get(const struct lookup *l, uint64_t key);

#endif
