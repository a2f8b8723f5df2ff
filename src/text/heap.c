/* heap.c - see heap.h */
#include "text/heap.h"
#include "text/grow.h"

#include <stdlib.h>

void heap_release(struct heap *h)
{
	free(h->items);
	*h = (struct heap){0};
}

static bool is_less(struct heap_item a, struct heap_item b)
{
	return a.first != b.first ? a.first < b.first : a.second < b.second;
}

enum status heap_push(struct heap *h, struct heap_item item, struct error *err)
{
	enum status st;
	size_t i;

	TRY(grow_array((void **)&h->items, sizeof(item), h->count + 1, &h->capacity, err));
	for (i = h->count++; i > 0 && is_less(item, h->items[(i - 1) / 2]); i = (i - 1) / 2)
		h->items[i] = h->items[(i - 1) / 2];
	h->items[i] = item;
out:
	return st;
}

bool heap_pop(struct heap *h, struct heap_item *smallest)
{
	struct heap_item last;
	size_t i = 0, child;

	if (!h->count)
		return false;
	*smallest = h->items[0];
	last = h->items[--h->count];
	while ((child = 2 * i + 1) < h->count) {
		if (child + 1 < h->count && is_less(h->items[child + 1], h->items[child]))
			child++;
		if (!is_less(h->items[child], last))
			break;
		h->items[i] = h->items[child];
		i = child;
	}
	h->items[i] = last;
	return true;
}
