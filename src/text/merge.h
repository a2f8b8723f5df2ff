/*
 * merge.h - the bytes of one word, merged pair by pair: always the pair of the lowest rank, and
 * of equal ones the first. Only for text/.
 */
#ifndef KOLM_TEXT_MERGE_H
#define KOLM_TEXT_MERGE_H

#include "text/heap.h"
#include "text/impl.h"

/* Begins as {0}; its memory is used again by the next word. */
struct merger {
	struct symbol *symbols; /* of the word's bytes, a list within the array */
	size_t capacity;
	struct heap heap; /* rank and place of pairs that may be merged */
	int32_t *ids;	  /* the result */
	size_t count, ids_capacity;
};

void merger_release(struct merger *m);
enum status merger_run(struct merger *m, const struct tokenizer *t, const char *word, size_t n,
		       struct error *err);

#endif
