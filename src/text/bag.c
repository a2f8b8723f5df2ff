/* bag.c - see bag.h */
#include "text/bag.h"
#include "text/grow.h"
#include "text/words.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 4096 };

void bag_release(struct bag *b)
{
	free(b->words);
	free(b->slots);
	*b = (struct bag){0};
}

static enum status more_slots(struct bag *b, struct error *err)
{
	size_t n = b->slot_count ? 2 * b->slot_count : FIRST_SLOTS;
	struct bag_slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return FAIL(err, ERR_MEMORY, "no memory for %zu different words", n / 2);
	for (size_t i = 0; i < b->slot_count; i++) {
		size_t at = b->slots[i].hash;

		if (!b->slots[i].word)
			continue;
		while (slots[at & (n - 1)].word)
			at++;
		slots[at & (n - 1)] = b->slots[i];
	}
	free(b->slots);
	b->slots = slots;
	b->slot_count = n;
	return OK;
}

static bool is_word(const struct bag *b, const struct bag_slot *slot, uint64_t hash,
		    const char *word, size_t size)
{
	const struct bag_word *w = &b->words[slot->word - 1];

	return slot->hash == hash && w->size == size && !memcmp(w->at, word, size);
}

enum status bag_add(struct bag *b, const char *word, size_t size, struct error *err)
{
	uint64_t hash = word_hash(word, size);
	struct bag_slot *slot;
	enum status st = OK;

	if (2 * (b->count + 1) > b->slot_count)
		TRY(more_slots(b, err));
	for (size_t i = hash;; i++) {
		slot = &b->slots[i & (b->slot_count - 1)];
		if (!slot->word)
			break;
		if (is_word(b, slot, hash, word, size)) {
			b->words[slot->word - 1].count++;
			return OK;
		}
	}
	TRY(grow_array((void **)&b->words, sizeof(*b->words), b->count + 1, &b->capacity, err));
	b->words[b->count++] = (struct bag_word){word, size, 1};
	*slot = (struct bag_slot){hash, b->count};
out:
	return st;
}
