/*
 * queues.c - queues and host views of device.h: those of the implementation, or nothing to do;
 * and what of them is recorded, of a device that takes the time itself.
 *
 * Two things are: how long a copy took in its queue, and how long QUEUE_COMPUTE stood still
 * because of it, which is nothing if it had work meanwhile.
 */
#include "device/impl.h"

#include <assert.h>

struct device_event device_mark(struct device *dev, enum device_queue queue)
{
	return dev->ops->mark ? dev->ops->mark(dev, queue) : (struct device_event){queue, 0};
}

void device_finish(struct device *dev)
{
	if (dev->ops->finish)
		dev->ops->finish(dev);
}

/* ---- stamps ---- */

enum status device_observe(struct device *dev, struct records *records, struct error *err)
{
	enum status st = OK;

	if (!dev->ops->stamp || dev->plan)
		return OK;
	TRY(dev->ops->observe(dev, err));
	dev->records = records;
out:
	return st;
}

bool device_has_stamps(const struct device *dev)
{
	return dev->records != NULL;
}

int64_t device_stamp(struct device *dev, enum device_queue queue)
{
	assert(dev->records);
	return dev->ops->stamp(dev, queue);
}

int64_t device_settle(struct device *dev)
{
	assert(dev->records);
	return dev->ops->settle(dev);
}

int64_t device_time_of(struct device *dev, int64_t stamp)
{
	assert(dev->records);
	return dev->ops->time_of(dev, stamp);
}

/* What was under way in a queue since a stamp. */
static void record(struct device *dev, enum device_queue queue, int64_t begin,
		   struct record what)
{
	what.begin = begin;
	what.end = device_stamp(dev, queue);
	what.stamped = true;
	what.micro_batch = -1;
	records_add(dev->records, &what);
}

/* For what that queue did. */
static void record_still(struct device *dev, enum device_queue queue, int64_t begin,
			 enum record_kind of)
{
	record(dev, QUEUE_COMPUTE, begin,
	       (struct record){.kind = RECORD_WAIT, .of = (int16_t)of, .op = (int16_t)queue});
}

static void record_copy(struct device *dev, enum device_queue queue, int64_t begin,
			enum record_kind kind, size_t bytes)
{
	record(dev, queue, begin,
	       (struct record){
		       .kind = (int16_t)kind, .op = (int16_t)queue, .bytes = (int64_t)bytes});
}

/* ---- order, and views of the host ---- */

void device_await(struct device *dev, enum device_queue queue, struct device_event event)
{
	int64_t begin;

	if (!dev->ops->await)
		return;
	/* What is behind a group's queue its caller records, who knows whose it is. */
	if (!dev->records || queue != QUEUE_COMPUTE || event.queue == queue ||
	    event.queue >= QUEUE_HOST_COUNT) {
		dev->ops->await(dev, queue, event);
		return;
	}
	begin = device_stamp(dev, queue);
	dev->ops->await(dev, queue, event);
	record_still(dev, event.queue, begin, RECORD_IN);
}

void device_host_ask(struct device *dev, enum device_queue queue, void *memory, size_t bytes)
{
	int64_t begin = 0;

	if (!dev->ops->host_ask || !bytes)
		return;
	if (dev->records)
		begin = device_stamp(dev, queue);
	if (dev->ops->host_ask(dev, queue, memory, bytes) && dev->records)
		record_copy(dev, queue, begin, RECORD_OUT, bytes);
}

bool device_host_has(struct device *dev, const void *memory)
{
	return !dev->ops->host_has || dev->ops->host_has(dev, memory);
}

void *device_host_begin(struct device *dev, enum device_queue queue, void *memory, size_t bytes,
			enum host_access access)
{
	int64_t still, begin;
	bool asked;
	void *host;

	if (!dev->ops->host_begin)
		return memory;
	if (!dev->records || !(access & HOST_READS) || !bytes)
		return dev->ops->host_begin(dev, queue, memory, bytes, access);
	asked = dev->ops->host_asked && dev->ops->host_asked(dev, memory);
	if (asked && device_host_has(dev, memory))
		return dev->ops->host_begin(dev, queue, memory, bytes, access);
	still = device_stamp(dev, QUEUE_COMPUTE);
	begin = asked ? 0 : device_stamp(dev, queue);
	host = dev->ops->host_begin(dev, queue, memory, bytes, access);
	if (!asked)
		record_copy(dev, queue, begin, RECORD_OUT, bytes);
	record_still(dev, queue, still, RECORD_OUT);
	return host;
}

void device_host_end(struct device *dev, enum device_queue queue, void *memory, size_t bytes,
		     enum host_access access)
{
	int64_t begin;

	if (!dev->ops->host_end)
		return;
	if (!dev->records || !(access & HOST_WRITES) || !bytes) {
		dev->ops->host_end(dev, queue, memory, bytes, access);
		return;
	}
	begin = device_stamp(dev, queue);
	dev->ops->host_end(dev, queue, memory, bytes, access);
	record_copy(dev, queue, begin, RECORD_IN, bytes);
}
