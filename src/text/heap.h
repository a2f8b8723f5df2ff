/* heap.h - the smallest of many pairs of numbers, the first counting more. Begins as {0}. */
#ifndef KOLM_TEXT_HEAP_H
#define KOLM_TEXT_HEAP_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct heap_item {
	uint64_t first, second;
};

struct heap {
	struct heap_item *items;
	size_t count, capacity;
};

void heap_release(struct heap *h);
enum status heap_push(struct heap *h, struct heap_item item, struct error *err);
/* False: there is none. */
bool heap_pop(struct heap *h, struct heap_item *smallest);

#endif
