/* device.c - choosing a device, and the accounts of its memory. */
#include "device/impl.h"
#include "base/room.h"
#include "base/text.h"
#include "base/units.h"
#include "base/util.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *memory_kind_name(enum memory_kind kind)
{
#define X(id, name) name,
	static const char *const names[] = {MEMORY_KINDS(X)};
#undef X

	return names[kind];
}

#define DEVICE(name, ...) &device_##name,
static const struct device_ops *const all[] = {DEVICES(DEVICE)};
static const char *const asked_for[] = {NAMES_OF(DEVICES)};

/* "name" or "name:..." */
static const struct device_ops *find(const char *spec)
{
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		size_t n = strlen(all[i]->name);

		if (!strncmp(spec, all[i]->name, n) &&
		    (!spec[n] || (spec[n] == ':' && all[i]->takes_words)))
			return all[i];
	}
	return NULL;
}

/* A kernel that was forgotten would be a call of nothing in the middle of a step. */
static void check_complete(const struct device_ops *ops)
{
	const char *at = (const char *)ops;
	void (*entry)(void);

	for (size_t i = 0; i < offsetof(struct device_ops, takes_words); i += sizeof(entry)) {
		memcpy(&entry, at + i, sizeof(entry));
		assert(entry);
	}
	assert(!ops->mark == !ops->await && !ops->mark == !ops->host_begin &&
	       !ops->mark == !ops->host_end && !ops->mark == !ops->finish);
}

static enum status unknown(const char *spec, struct error *err)
{
	struct text list;

	FAIL(err, ERR_USAGE, "unknown device '%s'", spec);
	text_init(&list);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		text_addf(&list, "%s%s",
			  i == 0		    ? ""
			  : ARRAY_SIZE(all) - i > 1 ? ", "
						    : " and ",
			  asked_for[i]);
	HINT(err, "there are %s", list.data);
	text_release(&list);
	return ERR_USAGE;
}

enum status device_open(struct device **out, const char *spec, const struct device_options *o,
			struct error *err)
{
	enum status st;
	struct device *dev;
	const struct device_ops *ops = find(spec);

	if (!ops)
		return unknown(spec, err);
	check_complete(ops);
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return FAIL(err, ERR_MEMORY, "no memory for the device '%s'", spec);
	dev->ops = ops;
	dev->account.limit = o->memory;
	dev->plan = o->plan;
	TRY(dev->ops->open(dev, spec, o, err));
	*out = dev;
	dev = NULL; /* the caller's now */
out:
	free(dev);
	return st;
}

void device_close(struct device *dev)
{
	if (!dev)
		return;
	while (dev->allocations)
		device_free(dev, dev->allocations->address);
	dev->ops->close(dev);
	free(dev);
}

static device_loss *on_loss;

void device_on_loss(device_loss *fn)
{
	on_loss = fn;
}

void device_lost(struct error *err)
{
	static atomic_flag known = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&known))
		pause(); /* another thread has seen it first, and ends us all */
	if (on_loss)
		on_loss(err);
	error_print(err);
	_exit(error_exit_code(err->code));
}

const char *device_description(const struct device *dev)
{
	return dev->description;
}

int device_threads(const struct device *dev)
{
	return dev->threads;
}

int device_cores(const struct device *dev)
{
	return dev->cores;
}

const char *device_id(const struct device *dev)
{
	return dev->id;
}

void device_set_shared(struct device *dev, int ranks, int most)
{
	size_t n = strlen(dev->description);

	dev->shared_by = most;
	if (ranks > 1)
		snprintf(dev->description + n, sizeof(dev->description) - n,
			 ", shared by %d ranks", ranks);
}

int device_shared_by(const struct device *dev)
{
	return dev->shared_by;
}

bool device_measure(struct device *dev, struct device_reading *r)
{
	return dev->ops->measure && dev->ops->measure(dev, r);
}

bool device_is_virtual(const struct device *dev)
{
	return dev->links != NULL;
}

const struct links *device_links(const struct device *dev)
{
	return dev->links;
}

void device_listen(struct device *dev, operation_listener *listener, void *arg)
{
	assert(device_is_virtual(dev));
	dev->listener = listener;
	dev->listener_arg = arg;
}

const struct memory_account *device_memory(const struct device *dev)
{
	return &dev->account;
}

enum { SLACK = 4 << 20 }; /* that a device may take beyond what it is asked for */

/* Why the machine or the process can't have so much more; why is what a source says. */
static void find_reason(uint64_t bytes, const struct error *why, char *buf, size_t size)
{
	static const enum room_kind kinds[] = {ROOM_MEMORY, ROOM_OWN, ROOM_ADDRESSES};

	snprintf(buf, size, "more than this machine has free");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct room room = room_of(kinds[i]);

		if (bytes + SLACK > room.free)
			snprintf(buf, size, "but %.250s", room.why);
	}
	if (why->code != OK)
		snprintf(buf, size, "but %.200s", why->msg);
}

static enum status out_of_memory(const struct device *dev, enum memory_kind kind,
				 uint64_t bytes, const char *what, const struct error *why,
				 struct error *err)
{
	const struct memory_account *a = &dev->account;
	char need[32], have[32], limit[32], line[256], reason[264];
	int at = 0;

	units_format_size(bytes, need, sizeof(need));
	units_format_size(a->total, have, sizeof(have));
	line[0] = '\0';
	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		char used[32];

		units_format_size(a->now[k], used, sizeof(used));
		if (a->now[k])
			at += snprintf(line + at, sizeof(line) - (size_t)at, "%s%s %s",
				       at ? ", " : "", memory_kind_name((enum memory_kind)k),
				       used);
	}
	if (a->limit && a->total + bytes > a->limit) {
		units_format_size(a->limit, limit, sizeof(limit));
		FAIL(err, ERR_MEMORY,
		     "out of device memory: %s needed for %s (%s), %s of %s are in use%s%s",
		     need, what, memory_kind_name(kind), have, limit, at ? ": " : "", line);
	} else {
		if (dev->ops->explain && why->code == OK)
			dev->ops->explain(dev, bytes, reason, sizeof(reason));
		else
			find_reason(bytes, why, reason, sizeof(reason));
		FAIL(err, ERR_MEMORY, "out of memory: %s (%s) need %s, %s; %s are in use%s%s",
		     what, memory_kind_name(kind), need, reason, have, at ? ": " : "", line);
	}
	return HINT(err, "use smaller layers or micro-batches%s",
		    a->limit ? ", or a larger --device-memory" : "");
}

/* Where nothing is: a plan takes no memory, and no addresses either. */
static void *next_address(struct device *dev, uint64_t bytes)
{
	dev->next += bytes;
	return (void *)dev->next; /* NOLINT: it is never followed */
}

static enum status allocate(struct device *dev, enum memory_kind kind, uint64_t bytes,
			    const char *what, bool shared, void **out, struct error *err)
{
	struct memory_account *a = &dev->account;
	struct allocation *node;
	struct error why = {0};

	bytes = (uint64_t)round_up((int64_t)(bytes ? bytes : 1), 64);
	if (a->limit && a->total + bytes > a->limit && !dev->plan)
		return out_of_memory(dev, kind, bytes, what, &why, err);
	node = malloc(sizeof(*node));
	if (!node)
		return out_of_memory(dev, kind, bytes, what, &why, err);
	*node = (struct allocation){.bytes = bytes, .kind = kind, .shared = shared};
	if (!shared)
		node->memory = dev->plan ? next_address(dev, bytes) : dev->ops->map(dev, bytes);
	else if (dev->source(dev->source_arg, bytes, &node->memory, &why) != OK)
		node->memory = NULL;
	if (!node->memory) {
		free(node);
		return out_of_memory(dev, kind, bytes, what, &why, err);
	}
	node->address = dev->ops->hide ? dev->ops->hide(dev, node->memory, bytes, shared)
				       : node->memory;
	if (!node->address) {
		if (shared && dev->sink)
			dev->sink(dev->source_arg, node->memory);
		free(node);
		return out_of_memory(dev, kind, bytes, what, &why, err);
	}
	node->next = dev->allocations;
	dev->allocations = node;
	a->now[kind] += bytes;
	a->total += bytes;
	if (a->now[kind] > a->peak[kind])
		a->peak[kind] = a->now[kind];
	if (a->total > a->total_peak)
		a->total_peak = a->total;
	*out = node->address;
	return OK;
}

enum status device_alloc(struct device *dev, enum memory_kind kind, uint64_t bytes,
			 const char *what, void **out, struct error *err)
{
	return allocate(dev, kind, bytes, what, false, out, err);
}

void device_share(struct device *dev, device_source *source, device_sink *sink, void *arg)
{
	dev->source = source;
	dev->sink = sink;
	dev->source_arg = arg;
}

enum status device_alloc_shared(struct device *dev, enum memory_kind kind, uint64_t bytes,
				const char *what, void **out, struct error *err)
{
	return allocate(dev, kind, bytes, what, dev->source && !device_is_virtual(dev), out,
			err);
}

void device_free(struct device *dev, void *memory)
{
	struct allocation **p = &dev->allocations, *node;

	if (!memory)
		return;
	while (*p && (*p)->address != memory)
		p = &(*p)->next;
	node = *p;
	assert(node); /* freed twice, or not this device's */
	if (dev->ops->forget)
		dev->ops->forget(dev, node);
	*p = node->next;
	dev->account.now[node->kind] -= node->bytes;
	dev->account.total -= node->bytes;
	if (node->shared && dev->sink)
		dev->sink(dev->source_arg, node->memory);
	if (!node->shared && !dev->plan)
		dev->ops->unmap(dev, node->memory, node->bytes);
	free(node);
}

enum status device_reserve(struct device *dev, int rows, int width, struct error *err)
{
	return dev->ops->reserve(dev, rows, width, err);
}

enum status device_reserve_attention(struct device *dev, int keys, int width, struct error *err)
{
	return dev->ops->reserve_attention(dev, keys, width, err);
}

void device_parallel(struct device *dev, void (*fn)(void *arg, int part, int parts), void *arg)
{
	dev->ops->parallel(dev, fn, arg);
}
