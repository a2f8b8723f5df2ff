/* merge.c - see merge.h. n log n in the length of a word, however long it is. */
#include "text/merge.h"
#include "text/grow.h"

#include <stdlib.h>

enum { NOBODY = -1 };

struct symbol {
	int32_t id;	    /* -1: merged into the one before */
	int32_t prev, next; /* NOBODY at the ends */
};

void merger_release(struct merger *m)
{
	free(m->symbols);
	free(m->ids);
	heap_release(&m->heap);
	*m = (struct merger){0};
}

/* The rank of the pair that begins here, or -1. */
static int64_t rank_at(const struct merger *m, const struct tokenizer *t, int32_t at)
{
	const struct symbol *s = &m->symbols[at];

	if (s->id < 0 || s->next == NOBODY)
		return -1;
	return lookup_get(&t->ranks, pair_key(s->id, m->symbols[s->next].id));
}

static enum status propose(struct merger *m, const struct tokenizer *t, int32_t at,
			   struct error *err)
{
	int64_t rank = at == NOBODY ? -1 : rank_at(m, t, at);

	if (rank < 0)
		return OK;
	return heap_push(&m->heap, (struct heap_item){(uint64_t)rank, (uint64_t)at}, err);
}

static enum status begin(struct merger *m, const struct tokenizer *t, const char *word,
			 size_t n, struct error *err)
{
	enum status st;

	if (n > INT32_MAX)
		return FAIL(err, ERR_USAGE, "a word of %zu bytes is too long", n);
	TRY(grow_array((void **)&m->symbols, sizeof(*m->symbols), n, &m->capacity, err));
	m->heap.count = 0;
	for (size_t i = 0; i < n; i++)
		m->symbols[i] =
			(struct symbol){t->of_byte[(unsigned char)word[i]], (int32_t)i - 1,
					i + 1 < n ? (int32_t)i + 1 : NOBODY};
	for (size_t i = 0; i + 1 < n; i++)
		TRY(propose(m, t, (int32_t)i, err));
out:
	return st;
}

/* The symbol at a place takes up the next one. */
static void unite(struct merger *m, int32_t at, int32_t made)
{
	struct symbol *s = &m->symbols[at], *gone = &m->symbols[s->next];

	s->id = made;
	s->next = gone->next;
	gone->id = -1;
	if (s->next != NOBODY)
		m->symbols[s->next].prev = at;
}

enum status merger_run(struct merger *m, const struct tokenizer *t, const char *word, size_t n,
		       struct error *err)
{
	struct heap_item best;
	enum status st;

	TRY(begin(m, t, word, n, err));
	while (heap_pop(&m->heap, &best)) {
		int32_t at = (int32_t)best.second;

		if (rank_at(m, t, at) != (int64_t)best.first)
			continue; /* it was merged with another since */
		unite(m, at, t->merges[best.first].made);
		TRY(propose(m, t, m->symbols[at].prev, err));
		TRY(propose(m, t, at, err));
	}
	TRY(grow_array((void **)&m->ids, sizeof(*m->ids), n, &m->ids_capacity, err));
	m->count = 0;
	for (int32_t at = n ? 0 : NOBODY; at != NOBODY; at = m->symbols[at].next)
		m->ids[m->count++] = m->symbols[at].id;
out:
	return st;
}
