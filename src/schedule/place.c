/* place.c - which part of the model is on which stage: the one table that says so. */
#include "schedule/impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static enum status allocate(struct schedule *s, struct error *err)
{
	size_t parts = (size_t)schedule_parts(s);

	s->places = calloc(parts, sizeof(*s->places));
	s->part_at = calloc(parts, sizeof(*s->part_at));
	if (s->places && s->part_at)
		return OK;
	return FAIL(err, ERR_MEMORY, "no memory for a schedule of %d stages", s->stages);
}

static void put(struct schedule *s, int part, struct place at)
{
	int *there = &s->part_at[at.stage * s->chunks + at.chunk];

	assert(at.stage >= 0 && at.stage < s->stages && at.chunk >= 0 && at.chunk < s->chunks);
	assert(*there < 0); /* no two parts in one place */
	s->places[part] = at;
	*there = part;
}

enum status places_init(struct schedule *s, place_fn *place, struct error *err)
{
	enum status st;

	TRY(allocate(s, err));
	for (int i = 0; i < schedule_parts(s); i++)
		s->part_at[i] = -1;
	for (int part = 0; part < schedule_parts(s); part++)
		put(s, part, place(s, part));
out:
	return st;
}

enum status places_copy(struct schedule *s, const struct schedule *from, struct error *err)
{
	size_t parts = (size_t)schedule_parts(s);
	enum status st;

	TRY(allocate(s, err));
	memcpy(s->places, from->places, parts * sizeof(*s->places));
	memcpy(s->part_at, from->part_at, parts * sizeof(*s->part_at));
out:
	return st;
}

void places_release(struct schedule *s)
{
	free(s->places);
	free(s->part_at);
	s->places = NULL;
	s->part_at = NULL;
}

int schedule_parts(const struct schedule *s)
{
	return s->stages * s->chunks;
}

struct place schedule_place(const struct schedule *s, int part)
{
	return s->places[part];
}

int schedule_part(const struct schedule *s, int stage, int chunk)
{
	return s->part_at[stage * s->chunks + chunk];
}

/* Messages of a part are exchanged with the next one, or with the one before. */
static bool is_with_next(enum action_kind kind)
{
	return kind == ACTION_SEND_F || kind == ACTION_RECV_B;
}

bool schedule_neighbour(const struct schedule *s, int stage, struct action a, struct place *at)
{
	int part = schedule_part(s, stage, a.chunk) + (is_with_next(a.kind) ? 1 : -1);

	if (part < 0 || part >= schedule_parts(s))
		return false;
	*at = schedule_place(s, part);
	return true;
}

int schedule_peer(const struct schedule *s, int stage, struct action a, int *chunk)
{
	struct place at;

	if (!schedule_neighbour(s, stage, a, &at) || at.stage == stage)
		return -1;
	*chunk = at.chunk;
	return at.stage;
}
