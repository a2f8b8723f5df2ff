/* blocks.c - see blocks.h */
#include "comm/shm/blocks.h"
#include "base/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void blocks_release(struct blocks *b)
{
	free(b->all);
	*b = (struct blocks){0};
}

/* So that nothing fails halfway: a block that is taken may be in the middle of a free one. */
static enum status make_room(struct blocks *b, struct error *err)
{
	int room = b->room ? 2 * b->room : 16;
	struct block *all;

	if (b->count + 3 <= b->room)
		return OK;
	all = realloc(b->all, (size_t)room * sizeof(*all));
	if (!all)
		return FAIL(err, ERR_MEMORY, "no memory for %d shared buffers", room);
	b->all = all;
	b->room = room;
	return OK;
}

static void insert(struct blocks *b, int i, struct block block)
{
	memmove(&b->all[i + 1], &b->all[i], (size_t)(b->count - i) * sizeof(block));
	b->all[i] = block;
	b->count++;
}

static void remove_at(struct blocks *b, int i)
{
	b->count--;
	memmove(&b->all[i], &b->all[i + 1], (size_t)(b->count - i) * sizeof(b->all[i]));
}

/* The first block at an address or behind it. */
static int find(const struct blocks *b, uint64_t at)
{
	int low = 0, high = b->count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (b->all[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Free blocks that touch are one. */
static void join_with_next(struct blocks *b, int i)
{
	struct block *one = &b->all[i], *next = one + 1;

	if (i < 0 || i + 1 >= b->count || !one->free || !next->free ||
	    one->at + one->size != next->at)
		return;
	one->size += next->size;
	remove_at(b, i + 1);
}

static void set_free(struct blocks *b, int i)
{
	b->all[i].free = true;
	join_with_next(b, i);
	join_with_next(b, i - 1);
}

static uint64_t begin_in(const struct block *one, size_t align)
{
	return (uint64_t)round_up((int64_t)one->at, (int64_t)align);
}

/* The smallest free block with room for it, or -1. */
static int best_fit(const struct blocks *b, size_t size, size_t align)
{
	int best = -1;

	for (int i = 0; i < b->count; i++) {
		const struct block *one = &b->all[i];

		if (one->free && begin_in(one, align) + size <= one->at + one->size &&
		    (best < 0 || one->size < b->all[best].size))
			best = i;
	}
	return best;
}

/* Take a part of a free block; what is before and behind it stays free. */
static int cut(struct blocks *b, int i, size_t size, size_t align)
{
	struct block whole = b->all[i];
	uint64_t at = begin_in(&whole, align), end = whole.at + whole.size;

	b->all[i] = (struct block){.at = at, .size = size};
	if (at + size < end)
		insert(b, i + 1, (struct block){at + size, end - at - size, true});
	if (whole.at < at)
		insert(b, i++, (struct block){whole.at, at - whole.at, true});
	return i;
}

enum status blocks_take(struct blocks *b, struct shm_memory *m, size_t bytes, void **out,
			struct error *err)
{
	size_t size = shm_piece_size(bytes), align = shm_piece_align(bytes);
	enum status st;
	int i;

	TRY(make_room(b, err));
	i = best_fit(b, size, align);
	if (i < 0) {
		struct block more = {.free = true};

		more.at = shm_extend(m, size, align, &more.size);
		i = find(b, more.at);
		insert(b, i, more);
		set_free(b, i);
		i = best_fit(b, size, align);
	}
	i = cut(b, i, size, align);
	st = shm_reserve(m, b->all[i].at, size, err);
	if (st == OK)
		*out = (char *)m->control + b->all[i].at;
	else
		set_free(b, i);
out:
	return st;
}

void blocks_give_back(struct blocks *b, struct shm_memory *m, const void *memory)
{
	uint64_t at = (uint64_t)((const char *)memory - (const char *)m->control);
	int i = find(b, at);

	/* given back twice, or not this rank's */
	assert(i < b->count && b->all[i].at == at && !b->all[i].free);
	shm_discard(m, at, b->all[i].size);
	set_free(b, i);
}
