/* bag.h - the different words of texts, and how often each is there. Begins as {0}. */
#ifndef KOLM_TEXT_BAG_H
#define KOLM_TEXT_BAG_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct bag_word {
	const char *at; /* where it was first; borrowed */
	size_t size;
	int64_t count;
};

struct bag {
	struct bag_word *words;
	size_t count, capacity;
	struct bag_slot {
		uint64_t hash;
		size_t word; /* 1 + its place; 0: empty */
	} * slots;
	size_t slot_count; /* a power of two, or 0 */
};

void bag_release(struct bag *b);
enum status bag_add(struct bag *b, const char *word, size_t size, struct error *err);

#endif
