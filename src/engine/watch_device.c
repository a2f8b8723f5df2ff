/*
 * watch_device.c - where the time of a step goes on a device that works beside the host; see
 * impl.h
 *
 * What the rank is said to do is what QUEUE_COMPUTE did: an operation, with what stood still
 * within it. Each was recorded from a stamp to a stamp. When the step is over stamps become
 * times, and times are added up; nothing waits for the device before that.
 */
#include "base/util.h"
#include "engine/impl.h"

static int64_t stamp(void *arg)
{
	const struct engine *e = arg;

	return device_stamp(e->dev, QUEUE_COMPUTE);
}

void watch_begin_stamps(struct engine *e)
{
	device_settle(e->dev); /* the last time may be long ago, and times get coarse */
	e->first_record = e->options.records->count;
	comm_set_stamp(e->options.world, stamp, e);
}

/* Clocks are compared to some us: nothing is outside of its step. */
static int64_t time_within(const struct engine *e, int64_t stamp, int64_t begin, int64_t end)
{
	int64_t ns = device_time_of(e->dev, stamp);

	return ns < begin ? begin : min64(ns, end);
}

static void settle(const struct engine *e, struct record *r, int64_t begin, int64_t end)
{
	if (!r->stamped)
		return;
	r->begin = time_within(e, r->begin, begin, end);
	r->end = time_within(e, r->end, begin, end);
	if (r->kind == RECORD_BACKWARD && r->ready)
		r->ready = time_within(e, r->ready, begin, end);
	r->stamped = false;
}

/* Until the last partner had come it was lost, from then on it is the transfer's. Of what the
   devices exchange by themselves nobody knows when that was: then all of the wait for a message
   was for who sends it, and all of a sum is its own. */
static void count_wait(struct engine_times *t, const struct record *r)
{
	int64_t met = r->ready < r->begin ? r->begin : min64(r->ready, r->end);

	if (!r->ready && (r->of == RECORD_SEND || r->of == RECORD_RECEIVE))
		met = r->end;
	t->lost += met - r->begin;
	t->comm += r->end - met;
}

static struct record *record_at(const struct records *r, int64_t i)
{
	return &r->all[i % r->capacity];
}

/* An operation, without what stood still in it: that was recorded before. */
static int64_t own_time(const struct records *all, int64_t first, int64_t at)
{
	const struct record *r = record_at(all, at);
	int64_t own = r->end - r->begin;

	for (int64_t i = at - 1; i >= first; i--) {
		const struct record *x = record_at(all, i);

		if (x->kind <= RECORD_UPDATE && x->end <= r->begin)
			break;
		if ((x->kind == RECORD_WAIT || x->kind == RECORD_PAUSE) && x->begin >= r->begin)
			own -= x->end - x->begin;
	}
	return own;
}

static void count(struct engine_times *t, const struct records *all, int64_t first, int64_t at,
		  int64_t *pipeline)
{
	const struct record *r = record_at(all, at);
	int64_t own;

	if (r->kind == RECORD_WAIT)
		count_wait(t, r);
	if (r->kind == RECORD_PAUSE)
		t->pause += r->end - r->begin;
	if (r->kind > RECORD_UPDATE)
		return;
	own = own_time(all, first, at);
	t->compute += own;
	if (r->kind == RECORD_UPDATE) {
		t->update += own;
		return;
	}
	*pipeline = *pipeline ? *pipeline : r->begin;
	t->window = r->end - *pipeline;
	t->actions += r->end - r->begin;
	t->kind_ns[r->kind] += own;
	t->kind_count[r->kind]++;
	if (r->kind == RECORD_BACKWARD) {
		t->kind_ns[RECORD_WEIGHT] += r->ready ? r->end - r->ready : 0;
		t->kind_count[RECORD_WEIGHT]++;
	}
}

void watch_end_stamps(struct engine *e, int64_t begin)
{
	const struct records *all = e->options.records;
	int64_t end, pipeline = 0, count_now, first;

	comm_set_stamp(e->options.world, NULL, NULL);
	device_settle(e->dev);
	e->times.comm = e->times.lost = 0; /* what the host did beside it */
	end = pace_now(e->options.pace);
	count_now = all->count;
	first = max64(e->first_record, count_now - all->capacity);
	for (int64_t i = first; i < count_now; i++)
		settle(e, record_at(all, i), begin, end);
	for (int64_t i = first; i < count_now; i++)
		count(&e->times, all, first, i, &pipeline);
}
