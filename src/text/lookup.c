/* lookup.c - see lookup.h. Open addressing, at most half full. */
#include "text/lookup.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 1024 };

void lookup_release(struct lookup *l)
{
	free(l->entries);
	*l = (struct lookup){0};
}

/* Where the key is, or would be. */
static struct lookup_entry *place_of(const struct lookup *l, uint64_t key)
{
	uint64_t mixed = key * 0x9e3779b97f4a7c15;

	for (size_t i = mixed ^ mixed >> 32;; i++) {
		struct lookup_entry *e = &l->entries[i & (l->capacity - 1)];

		if (e->value < 0 || e->key == key)
			return e;
	}
}

static enum status grow(struct lookup *l, struct error *err)
{
	struct lookup larger = {.capacity = l->capacity ? 2 * l->capacity : FIRST_CAPACITY,
				.count = l->count};

	larger.entries = calloc(larger.capacity, sizeof(*larger.entries));
	if (!larger.entries)
		return FAIL(err, ERR_MEMORY, "no memory for a table of %zu entries",
			    larger.capacity);
	for (size_t i = 0; i < larger.capacity; i++)
		larger.entries[i].value = -1;
	for (size_t i = 0; i < l->capacity; i++)
		if (l->entries[i].value >= 0)
			*place_of(&larger, l->entries[i].key) = l->entries[i];
	free(l->entries);
	*l = larger;
	return OK;
}

enum status lookup_put(struct lookup *l, uint64_t key, int64_t value, struct error *err)
{
	struct lookup_entry *e;
	enum status st = OK;

	assert(value >= 0);
	if (2 * (l->count + 1) > l->capacity)
		TRY(grow(l, err));
	e = place_of(l, key);
	l->count += e->value < 0;
	*e = (struct lookup_entry){key, value};
out:
	return st;
}

int64_t lookup_get(const struct lookup *l, uint64_t key)
{
	return l->capacity ? place_of(l, key)->value : -1;
}
