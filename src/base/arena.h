/*
 * arena.h - many small things that live and go together.
 *
 * When memory runs out, NULL comes back and failed is set: whoever builds something large
 * checks once, at the end, and copes with NULL until then.
 */
#ifndef KOLM_BASE_ARENA_H
#define KOLM_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena {
	struct arena_piece *pieces;
	bool failed;
};

/* Zeroed, aligned for anything; NULL also for nothing. */
void *arena_get(struct arena *a, size_t count, size_t size);
/* A copy of n bytes of s, terminated; "" where there is no memory. */
const char *arena_string_n(struct arena *a, const char *s, size_t n);
const char *arena_string(struct arena *a, const char *s);
const char *arena_stringf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void arena_release(struct arena *a);

#endif
