/*
 * group.c - opening and closing groups on one machine; see host.h
 *
 * A rank has a few places for what it shows to the members of its groups, and takes any free
 * one for a new group. Groups have numbers, which all ranks count alike; by that number the
 * others find the place. It is free again when every member has left the group: until then
 * one of them may still be looking at how its last collective ended.
 */
#include "comm/shm/host.h"

#include <stdlib.h>
#include <time.h>

enum { LOOK_NS = 200 * 1000 };

static struct member *find_member(const struct host *h, int rank, uint64_t group)
{
	struct seats *seats = &h->memory->seats[rank];

	for (int i = 0; i < GROUPS_MAX; i++)
		if (atomic_load(&seats->members[i].group) == group + 1)
			return &seats->members[i];
	return NULL;
}

struct member *host_find_member(const struct host_group *g, int i)
{
	g->members[i] = find_member(g->host, g->ranks[i], g->number);
	return g->members[i];
}

/* What it had opened it has left if its place has become another group's: it had seen that
   all of us left. In this order, or one that is just opening it would look like that. */
static bool has_left(const struct host *h, int rank, uint64_t group)
{
	bool opened = atomic_load(&h->memory->seats[rank].opened) > group;
	const struct member *m = find_member(h, rank, group);

	return opened && (!m || atomic_load(&m->left));
}

static bool all_left(const struct host *h, const struct seat *seat)
{
	for (int i = 0; i < seat->count; i++)
		if (!has_left(h, seat->ranks[i], seat->group))
			return false;
	return true;
}

/* A place that is free, or has become so by now; -1: none. */
static int find_seat(struct host *h)
{
	for (int i = 0; i < GROUPS_MAX; i++) {
		struct seat *seat = &h->seats[i];

		if (seat->ranks && !seat->open && all_left(h, seat)) {
			free(seat->ranks);
			seat->ranks = NULL;
		}
		if (!seat->ranks)
			return i;
	}
	return -1;
}

/* Groups that are closed here but not everywhere: their members may need us to get there. */
static enum status wait_for_seat(struct host *h, struct comm *world, int *seat,
				 struct error *err)
{
	struct timespec pause = {.tv_nsec = LOOK_NS};
	int open = 0;

	for (int i = 0; i < GROUPS_MAX; i++)
		open += h->seats[i].open;
	if (open == GROUPS_MAX)
		return FAIL(err, ERR_FAILED, "more than %d groups of ranks at a time",
			    GROUPS_MAX);
	while ((*seat = find_seat(h)) < 0) {
		if (atomic_load(&h->memory->control->stop))
			return FAIL(err, ERR_FAILED, "stopped: another rank has ended");
		comm_progress(world);
		nanosleep(&pause, NULL);
	}
	return OK;
}

/* The number comes last: from then on others find it. */
static struct member *sit_down(struct host *h, int seat, uint64_t group)
{
	struct member *m = &h->memory->seats[h->me].members[seat];

	atomic_store(&m->group, 0);
	atomic_store(&m->left, false);
	atomic_store(&m->blocked, false);
	atomic_store(&m->arrived, 0);
	atomic_store(&m->departed, 0);
	m->rank = h->rank;
	atomic_store(&m->group, group + 1);
	return m;
}

static enum status describe(struct host_group *g, struct host *h, const int *ranks, int count,
			    struct error *err)
{
	*g = (struct host_group){.host = h, .number = h->groups, .count = count, .seat = -1};
	g->ranks = calloc((size_t)count, sizeof(*g->ranks));
	g->members = calloc((size_t)count, sizeof(*g->members));
	if (!g->ranks || !g->members)
		return FAIL(err, ERR_MEMORY, "no memory for a group of %d ranks", count);
	for (int i = 0; i < count; i++) {
		g->ranks[i] = ranks[i];
		if (ranks[i] == h->me)
			g->me = i;
	}
	return OK;
}

enum status host_group_open(struct host_group *g, struct host *h, struct comm *world,
			    const int *ranks, int count, struct error *err)
{
	enum status st = OK;

	if (count) {
		TRY(describe(g, h, ranks, count, err));
		TRY(wait_for_seat(h, world, &g->seat, err));
		g->members[g->me] = sit_down(h, g->seat, g->number);
		h->seats[g->seat] = (struct seat){
			.open = true, .group = g->number, .count = count, .ranks = g->ranks};
	}
	h->groups++;
	atomic_store(&h->memory->seats[h->me].opened, h->groups);
out:
	if (st != OK)
		host_group_close(g);
	return st;
}

void host_group_close(struct host_group *g)
{
	if (g->members && g->members[g->me]) {
		atomic_store(&g->members[g->me]->left, true);
		g->host->seats[g->seat].open = false;
		g->ranks = NULL; /* the seat's, until all have left */
	}
	free(g->members);
	free(g->ranks);
	g->members = NULL;
	g->ranks = NULL;
}
