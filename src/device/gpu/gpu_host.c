/*
 * gpu_host.c - between host and device: memory, queues, and what the host sees.
 *
 * A piece of memory that ranks share is two: one of the source's, which they all reach, and one
 * of the device. The host's view is the former; what it reads is fetched when it begins, what
 * it wrote is put into the queue when it ends. Other memory gets such a view when it is asked
 * for the first time.
 */
#include "base/half.h"
#include "base/util.h"
#include "device/gpu/gpu.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

static struct gpu_memory *memory_of(struct gpu *g, const void *address)
{
	const char *at = address;

	for (int i = 0; i < g->n_memory; i++)
		if (at >= g->memory[i].address &&
		    at < g->memory[i].address + g->memory[i].bytes)
			return &g->memory[i];
	assert(!"memory of this device");
	return NULL;
}

static void *take(struct gpu *g, uint64_t bytes, void *host)
{
	struct gpu_memory m = {.bytes = bytes, .host = host};

	if (g->n_memory == g->room) {
		int room = imax(64, 2 * g->room);
		struct gpu_memory *more = realloc(g->memory, (size_t)room * sizeof(*more));

		if (!more)
			return NULL;
		g->memory = more;
		g->room = room;
	}
	m.address = g->driver->alloc(g->context, bytes);
	if (!m.address)
		return NULL;
	g->memory[g->n_memory++] = m;
	return m.address;
}

void *gpu_map(struct device *dev, uint64_t bytes)
{
	return take(gpu_of(dev), bytes, NULL);
}

/* Done in gpu_forget, for this and for shared memory. */
void gpu_unmap(struct device *dev, void *memory, uint64_t bytes)
{
	(void)dev, (void)memory, (void)bytes;
}

void *gpu_hide(struct device *dev, void *memory, uint64_t bytes, bool shared)
{
	struct gpu *g = gpu_of(dev);

	return shared && g->context ? take(g, bytes, memory) : memory;
}

static void finish_uploads(struct gpu *g, const char *begin, const char *end);

void gpu_forget(struct device *dev, const struct allocation *a)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_memory *m;

	if (!g->context)
		return;
	m = memory_of(g, a->address);
	finish_uploads(g, m->address, m->address + m->bytes);
	g->driver->free(g->context, m->address);
	if (m->is_ours)
		free(m->host);
	*m = g->memory[--g->n_memory];
}

/* ---- queues ---- */

struct device_event gpu_mark(struct device *dev, enum device_queue queue)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_event **slot;

	if (!g->context || (!g->has_news[queue]))
		return (struct device_event){queue, g->n_events[queue]};
	slot = &g->events[queue][++g->n_events[queue] % GPU_EVENTS];
	if (*slot)
		g->driver->release(g->context, *slot);
	*slot = g->driver->mark(g->context, queue);
	g->has_news[queue] = false;
	return (struct device_event){queue, g->n_events[queue]};
}

void gpu_await(struct device *dev, enum device_queue queue, struct device_event event)
{
	struct gpu *g = gpu_of(dev);

	if (!event.number || event.queue == queue || !g->context)
		return; /* of before anything was marked; or in order anyway */
	if (g->n_events[event.queue] - event.number >= GPU_EVENTS)
		event.number = g->n_events[event.queue]; /* it is behind what is forgotten */
	g->driver->await(g->context, queue, g->events[event.queue][event.number % GPU_EVENTS]);
	g->has_news[queue] = true;
}

void gpu_release_events(struct gpu *g)
{
	for (int q = 0; q < QUEUE_COUNT; q++)
		for (int i = 0; i < GPU_EVENTS; i++)
			if (g->events[q][i])
				g->driver->release(g->context, g->events[q][i]);
	for (int i = 0; i < g->n_uploads; i++)
		g->driver->release(g->context, g->uploads[i].done);
	for (int i = 0; i < g->n_fetches; i++)
		g->driver->release(g->context, g->fetches[i].done);
}

/* ---- views of the host ---- */

static void end_upload(struct gpu *g, int i)
{
	g->driver->wait(g->context, g->uploads[i].done);
	g->driver->release(g->context, g->uploads[i].done);
	g->uploads[i] = g->uploads[--g->n_uploads];
}

/* The host's memory of that range is about to change: what still goes up from there must be
   gone. */
static void finish_uploads(struct gpu *g, const char *begin, const char *end)
{
	for (int i = g->n_uploads - 1; i >= 0; i--)
		if (g->uploads[i].begin < end && begin < g->uploads[i].end)
			end_upload(g, i);
}

static char *view_of(struct gpu *g, const void *address, size_t bytes)
{
	struct gpu_memory *m = memory_of(g, address);
	size_t at = (size_t)((const char *)address - m->address);

	assert(at + bytes <= m->bytes);
	if (!m->host) {
		m->host = aligned_alloc(64, (size_t)round_up((int64_t)m->bytes, 64));
		m->is_ours = true;
		if (!m->host)
			gpu_lost(g->driver->name, g->info.number, "making a view for the host",
				 "no memory");
	}
	return m->host + at;
}

static struct gpu_fetch *fetch_of(struct gpu *g, const void *memory)
{
	for (int i = 0; i < g->n_fetches; i++)
		if (g->fetches[i].memory == memory)
			return &g->fetches[i];
	return NULL;
}

static void end_fetch(struct gpu *g, struct gpu_fetch *f)
{
	g->driver->taken(g->context, f->queue, f->done, true);
	g->driver->release(g->context, f->done);
	for (g->n_fetches--; f < g->fetches + g->n_fetches; f++)
		*f = f[1];
}

bool gpu_host_ask(struct device *dev, enum device_queue queue, void *memory, size_t bytes)
{
	struct gpu *g = gpu_of(dev);
	char *host = view_of(g, memory, bytes);

	if (g->n_fetches == GPU_FETCHES)
		return false;
	finish_uploads(g, memory, (char *)memory + bytes);
	g->fetches[g->n_fetches++] = (struct gpu_fetch){
		memory, queue, g->driver->fetch(g->context, queue, host, memory, bytes)};
	return true;
}

bool gpu_host_asked(struct device *dev, const void *memory)
{
	return fetch_of(gpu_of(dev), memory) != NULL;
}

bool gpu_host_has(struct device *dev, const void *memory)
{
	struct gpu *g = gpu_of(dev);
	const struct gpu_fetch *f = fetch_of(g, memory);

	return !f || g->driver->taken(g->context, f->queue, f->done, false);
}

void *gpu_host_begin(struct device *dev, enum device_queue queue, void *memory, size_t bytes,
		     enum host_access access)
{
	struct gpu *g = gpu_of(dev);
	char *host = view_of(g, memory, bytes);

	struct gpu_fetch *asked = fetch_of(g, memory);

	finish_uploads(g, memory, (char *)memory + bytes);
	if (asked)
		end_fetch(g, asked);
	else if (access & HOST_READS && bytes)
		g->driver->read(g->context, queue, host, memory, bytes);
	return host;
}

void gpu_host_end(struct device *dev, enum device_queue queue, void *memory, size_t bytes,
		  enum host_access access)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_upload u = {.begin = memory, .end = (char *)memory + bytes};

	if (!(access & HOST_WRITES) || !bytes)
		return;
	if (g->n_uploads == GPU_UPLOADS)
		end_upload(g, 0);
	g->driver->write(g->context, queue, memory, view_of(g, memory, bytes), bytes, &u.done);
	g->uploads[g->n_uploads++] = u;
	g->has_news[queue] = true;
}

/* ---- values, behind all that was computed so far; by several threads at once ---- */

void gpu_write(struct device *dev, void *memory, enum dtype type, size_t n, const float *values)
{
	struct gpu *g = gpu_of(dev);
	uint16_t *halves;

	if (!n)
		return;
	__atomic_store_n(&g->has_news[QUEUE_COMPUTE], true, __ATOMIC_RELAXED);
	if (type == DTYPE_F32) {
		g->driver->write(g->context, QUEUE_COMPUTE, memory, values, n * sizeof(*values),
				 NULL);
		return;
	}
	halves = malloc(n * sizeof(*halves));
	if (!halves)
		gpu_lost(g->driver->name, g->info.number, "writing values", "no memory");
	for (size_t i = 0; i < n; i++)
		float_to(halves, i, type, values[i]);
	g->driver->write(g->context, QUEUE_COMPUTE, memory, halves, n * sizeof(*halves), NULL);
	free(halves);
}

void gpu_read(struct device *dev, const void *memory, enum dtype type, size_t n, float *values)
{
	struct gpu *g = gpu_of(dev);
	const uint16_t *halves = (const uint16_t *)values + n;

	if (!n)
		return;
	if (type == DTYPE_F32) {
		g->driver->read(g->context, QUEUE_COMPUTE, values, memory, n * sizeof(*values));
		return;
	}
	/* Into the upper half of the room, from which they widen upwards. */
	g->driver->read(g->context, QUEUE_COMPUTE, (void *)(uintptr_t)halves, memory,
			n * sizeof(*halves));
	for (size_t i = 0; i < n; i++) {
		uint16_t half = halves[i];

		values[i] = float_from(&half, 0, type);
	}
}

size_t gpu_matrix_size(int out, int in)
{
	return (size_t)out * (size_t)in;
}

static size_t row_at(int row, int in, enum dtype type)
{
	return (size_t)row * (size_t)in * dtype_size(type);
}

void gpu_matrix_write(struct device *dev, void *matrix, enum dtype type, int out, int in,
		      int row, int rows, const float *values)
{
	assert(row + rows <= out);
	gpu_write(dev, (char *)matrix + row_at(row, in, type), type, (size_t)rows * (size_t)in,
		  values);
}

void gpu_matrix_read(struct device *dev, const void *matrix, enum dtype type, int out, int in,
		     int row, int rows, float *values)
{
	assert(row + rows <= out);
	gpu_read(dev, (const char *)matrix + row_at(row, in, type), type,
		 (size_t)rows * (size_t)in, values);
}

void gpu_numbers(struct device *dev, const double *numbers, size_t n, double *out)
{
	struct gpu *g = gpu_of(dev);

	g->driver->read(g->context, QUEUE_COMPUTE, out, numbers, n * sizeof(*out));
}
