/* records.c - see records.h */
#include "base/records.h"

#include <stdatomic.h>
#include <stdlib.h>

_Static_assert(sizeof(struct record) == 64, "no padding: it travels");

const char *record_kind_name(enum record_kind kind)
{
	static const char *const names[] = {NAMES_OF(RECORD_KINDS)};

	return names[kind];
}

enum status records_init(struct records *r, int64_t capacity, struct error *err)
{
	*r = (struct records){.capacity = capacity};
	if (!capacity)
		return OK;
	r->all = calloc((size_t)capacity, sizeof(*r->all));
	if (!r->all)
		return FAIL(err, ERR_MEMORY, "no memory for %lld records of a trace",
			    (long long)capacity);
	return OK;
}

void records_release(struct records *r)
{
	free(r->all);
	*r = (struct records){0};
}

void records_add(struct records *r, const struct record *what)
{
	struct record *place;

	if (!r || !r->capacity || r->paused)
		return;
	place = &r->all[atomic_fetch_add_explicit(&r->count, 1, memory_order_relaxed) %
			r->capacity];
	*place = *what;
	place->step = atomic_load_explicit(&r->step, memory_order_relaxed);
}

int64_t records_kept(const struct records *r)
{
	return r->count < r->capacity ? r->count : r->capacity;
}

const struct record *records_at(const struct records *r, int64_t i)
{
	int64_t first = r->count - records_kept(r);

	return &r->all[(first + i) % r->capacity];
}
