/*
 * gpu_time.c - stamps: when the queues of a GPU came where, on the machine's clock.
 *
 * A driver knows how long it was from one of its events to another. One of them, the base, is
 * known on both clocks: an idle queue comes there between two looks at the machine's. Before
 * and after each step there is a new base: what the device says of the distance to the last one
 * counts, as far as it lies between such looks. So times of a step are as exact to each other
 * as the device's clock is, and to the machine's as long as a look takes.
 *
 * A stamp is an event of the driver's until its time is known, that is to the end of a step.
 * There are as many of them as a step has needed: to wait for one in the middle of a step could
 * be to wait for a message that another rank sends when it has ours. What a stamp was is
 * remembered for DEVICE_STAMPS, and no step should have more.
 */
#include "base/clock.h"
#include "base/util.h"
#include "device/gpu/gpu.h"

#include <assert.h>
#include <stdlib.h>

enum { BASES = 2, LOOKS = 8 };

struct gpu_times {
	int64_t count;	 /* of stamps so far */
	int64_t known;	 /* of these, the first have their time */
	int64_t first;	 /* that has the first event, behind BASES others */
	int events;	 /* that there are */
	int base;	 /* of BASES events */
	int64_t base_ns; /* when it was */
	int64_t ns[DEVICE_STAMPS];
};

/* The base is somewhere between the two: how far apart they are. */
static int64_t look(struct gpu *g, int base, int64_t *before, int64_t *after)
{
	*before = clock_ns();
	g->driver->stamp(g->context, QUEUE_COMPUTE, base);
	g->driver->between(g->context, base, base);
	*after = clock_ns();
	return *after - *before;
}

static void choose_base(struct gpu *g, int base, int64_t ns)
{
	g->times->base = base;
	g->times->base_ns = ns;
}

enum status gpu_observe(struct device *dev, struct error *err)
{
	struct gpu *g = gpu_of(dev);
	int64_t before, after, least = INT64_MAX;
	enum status st = OK;

	if (g->times)
		return OK;
	TRY(g->driver->make_stamps(g->context, GPU_STAMPS, err));
	g->times = calloc(1, sizeof(*g->times));
	if (!g->times)
		return FAIL(err, ERR_MEMORY, "no memory for the times of a device");
	g->times->events = GPU_STAMPS;
	g->driver->finish(g->context);
	for (int i = 0; i < LOOKS; i++) {
		int spare = (g->times->base + 1) % BASES;
		int64_t apart = look(g, spare, &before, &after);

		if (apart < least)
			choose_base(g, spare, before + apart / 2);
		least = min64(least, apart);
	}
out:
	return st;
}

static int event_of(const struct gpu_times *t, int64_t stamp)
{
	return BASES + (int)((stamp - t->first) % DEVICE_STAMPS);
}

/* The oldest stamp that is not known. */
static void learn(struct gpu *g)
{
	struct gpu_times *t = g->times;

	t->ns[t->known % DEVICE_STAMPS] =
		t->base_ns + g->driver->between(g->context, t->base, event_of(t, t->known));
	t->known++;
}

static void make_more(struct gpu *g)
{
	struct gpu_times *t = g->times;
	struct error err = {0};

	t->events *= 2;
	if (g->driver->make_stamps(g->context, t->events, &err) != OK)
		gpu_lost(g->driver->name, g->info.number, "marking a queue", err.msg);
}

int64_t gpu_stamp(struct device *dev, enum device_queue queue)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_times *t = g->times;

	if (t->known == t->count)
		t->first = t->count;
	if (t->count - t->known == DEVICE_STAMPS)
		learn(g);
	if (event_of(t, t->count) >= t->events)
		make_more(g);
	g->driver->stamp(g->context, queue, event_of(t, t->count));
	return t->count++;
}

int64_t gpu_settle(struct device *dev)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_times *t = g->times;
	int next = (t->base + 1) % BASES;
	int64_t before, after, apart, ns;

	g->driver->finish(g->context);
	while (t->known < t->count)
		learn(g);
	apart = look(g, next, &before, &after);
	ns = t->base_ns + g->driver->between(g->context, t->base, next);
	choose_base(g, next, ns < before ? before : min64(ns, after));
	return apart;
}

int64_t gpu_time_of(struct device *dev, int64_t stamp)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_times *t = g->times;

	assert(stamp >= 0 && stamp < t->count);
	while (t->known <= stamp)
		learn(g);
	return t->ns[(t->count - stamp > DEVICE_STAMPS ? t->count : stamp) % DEVICE_STAMPS];
}
