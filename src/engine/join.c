/*
 * join.c - devices of several ranks that exchange memory without the host; see impl.h
 *
 * Groups that add up share one queue: all ranks of a stage make the same calls in the same
 * order, so none waits for another in a circle. Messages can't be in it: a stage posts what it
 * will receive long before that is sent. They have a queue, and a group of two, for each of
 * the four ways between a stage and its neighbours: what comes first in one was also sent
 * first.
 */
#include "engine/impl.h"
#include "model/collective.h"

#include <stdio.h>

const char *engine_between(const struct engine *e)
{
	return e->between;
}

struct joining {
	struct engine *e;
	struct device_card *cards;
	int joined;
	char why[96]; /* others are not */
};

static enum status join(struct joining *j, struct comm *group, enum device_queue queue,
			struct device_group **out, struct error *err)
{
	enum status st;

	TRY(collective_join(j->e->dev, j->e->options.world, group, j->cards, queue, out, j->why,
			    sizeof(j->why), err));
	j->joined += *out != NULL;
out:
	return st;
}

static enum status join_sums(struct joining *j, struct comm *group, struct error *err)
{
	struct device_group *devices;
	enum status st;

	if (!group)
		return OK;
	TRY(join(j, group, QUEUE_SUMS, &devices, err));
	comm_set_devices(group, devices);
out:
	return st;
}

/* From a stage to another; other stages only count the call. */
static enum status join_way(struct joining *j, enum engine_channel channel, int from, int to,
			    struct error *err)
{
	static const enum device_queue queues[][2] = {
		[CHANNEL_FORWARD] = {QUEUE_FORWARD_IN, QUEUE_FORWARD_OUT},
		[CHANNEL_BACKWARD] = {QUEUE_BACKWARD_IN, QUEUE_BACKWARD_OUT}};
	struct engine *e = j->e;
	struct coords ends[2] = {e->at, e->at};
	bool out = e->at.pp == from, member = out || e->at.pp == to;
	struct way *w = &e->ways[channel][out];
	struct comm *pair = NULL;
	int ranks[2];
	enum status st;

	ends[0].pp = from;
	ends[1].pp = to;
	for (int i = 0; i < 2; i++)
		ranks[i] = grid_rank(&e->options.grid, ends[i]);
	TRY(comm_create(&pair, e->options.world, COMM_FOR_PIPELINE, ranks, member ? 2 : 0,
			err));
	if (!member)
		return OK;
	TRY(join(j, pair, queues[channel][out], &w->devices, err));
	w->peer = ranks[out];
out:
	comm_free(pair);
	return st;
}

/* One after the other, which is the same on all ranks; around the corner only where stages have
   several parts. */
static enum status join_ways(struct joining *j, struct error *err)
{
	int stages = j->e->options.grid.pp;
	int n = j->e->options.schedule->chunks > 1 ? stages : stages - 1;
	enum status st = OK;

	for (int s = 0; s < n && stages > 1; s++) {
		TRY(join_way(j, CHANNEL_FORWARD, s, (s + 1) % stages, err));
		TRY(join_way(j, CHANNEL_BACKWARD, (s + 1) % stages, s, err));
	}
out:
	return st;
}

static bool can_any(const struct device_card *cards, int n)
{
	for (int i = 0; i < n; i++)
		if (!*cards[i].why)
			return true;
	return false;
}

enum status engine_join_devices(struct engine *e, struct error *err)
{
	struct joining j = {.e = e};
	const struct device_card *own;
	enum status st;

	TRY(collective_introduce(e->dev, e->options.world, &j.cards, err));
	own = &j.cards[e->number];
	snprintf(j.why, sizeof(j.why), "%s", own->why);
	if (can_any(j.cards, e->ranks)) { /* the same answer on all ranks */
		TRY(join_sums(&j, e->replicas, err));
		TRY(join_sums(&j, e->slices, err));
		TRY(join_sums(&j, e->holders, err));
		TRY(join_ways(&j, err));
	}
	e->is_joined = j.joined > 0;
	if (device_shared_by(e->dev)) /* it is a GPU */
		snprintf(e->between, sizeof(e->between), "%s%s%s%s",
			 j.joined ? own->through : "", j.joined && *j.why ? " and " : "",
			 *j.why ? "host memory: " : "", j.why);
out:
	comm_give_back(e->options.world, j.cards);
	return st;
}

void engine_wait_devices(const struct engine *e, bool waits)
{
	if (e->is_joined)
		comm_wait_beside(e->options.world, waits);
}

static void part(struct engine *e, struct comm *group)
{
	if (!group)
		return;
	device_leave(comm_devices(group), e->failed);
	comm_set_devices(group, NULL);
}

static void part_way(struct engine *e, int channel, int from, int to)
{
	for (int out = 0; out < 2; out++)
		if (e->at.pp == (out ? from : to)) {
			device_leave(e->ways[channel][out].devices, e->failed);
			e->ways[channel][out].devices = NULL;
		}
}

/* In the order in which they joined, since a group may be left together only. */
void engine_part_devices(struct engine *e)
{
	int stages = e->options.grid.pp;

	if (e->is_joined && !e->failed)
		device_finish(e->dev);
	for (int s = 0; s < stages; s++)
		for (int c = 0; c <= CHANNEL_BACKWARD; c++) {
			int next = (s + 1) % stages;

			part_way(e, c, c == CHANNEL_FORWARD ? s : next,
				 c == CHANNEL_FORWARD ? next : s);
		}
	part(e, e->holders);
	part(e, e->slices);
	part(e, e->replicas);
}
