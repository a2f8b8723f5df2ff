/* arena.c - see arena.h */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_piece {
	struct arena_piece *next;
	size_t used, size;
	_Alignas(max_align_t) char bytes[];
};

enum { PIECE = 1 << 16 };

static struct arena_piece *add_piece(struct arena *a, size_t at_least)
{
	size_t size = at_least > PIECE ? at_least : PIECE;
	struct arena_piece *p = calloc(1, sizeof(*p) + size);

	if (!p)
		return NULL;
	p->size = size;
	p->next = a->pieces;
	a->pieces = p;
	return p;
}

void *arena_get(struct arena *a, size_t count, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	struct arena_piece *p = a->pieces;
	size_t bytes;
	void *at;

	if (!count || !size)
		return NULL;
	if (a->failed || count > SIZE_MAX / 4 / size) {
		a->failed = true;
		return NULL;
	}
	bytes = (count * size + align - 1) / align * align;
	if (!p || p->size - p->used < bytes)
		p = add_piece(a, bytes);
	if (!p) {
		a->failed = true;
		return NULL;
	}
	at = p->bytes + p->used;
	p->used += bytes;
	return at;
}

const char *arena_string_n(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_get(a, n + 1, 1);

	if (!copy)
		return "";
	memcpy(copy, s, n);
	return copy;
}

const char *arena_string(struct arena *a, const char *s)
{
	return arena_string_n(a, s, strlen(s));
}

const char *arena_stringf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *copy;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	copy = n < 0 ? NULL : arena_get(a, (size_t)n + 1, 1);
	if (!copy)
		return "";
	va_start(ap, fmt);
	vsnprintf(copy, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return copy;
}

void arena_release(struct arena *a)
{
	for (struct arena_piece *p = a->pieces, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	*a = (struct arena){.pieces = NULL};
}
