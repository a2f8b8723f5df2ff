/*
 * cuda_stage.c - between the host's memory and a CUDA device: pinned slots of one queue, used
 * in turn. While one is on its way, the host fills or empties the next. A slot is free again
 * when the event behind its copy is over, and what a fetch has left in it is where it belongs.
 */
#include "base/util.h"
#include "device/gpu/cuda.h"

#include <string.h>

CUresult cuda_stage_open(struct gpu_context *c, enum device_queue queue)
{
	struct cuda_stage *s = &c->stages[queue];
	CUresult code = CUDA_SUCCESS;

	pthread_mutex_init(&s->lock, NULL);
	for (int i = 0; i < CUDA_SLOTS && code == CUDA_SUCCESS; i++) {
		code = c->cu->MemAllocHost((void **)&s->slots[i], CUDA_SLOT);
		if (code == CUDA_SUCCESS)
			code = c->cu->EventCreate(&s->done[i], CU_EVENT_DISABLE_TIMING);
	}
	return code;
}

void cuda_stage_close(struct gpu_context *c, enum device_queue queue)
{
	struct cuda_stage *s = &c->stages[queue];

	for (int i = 0; i < CUDA_SLOTS; i++) {
		if (s->done[i])
			c->cu->EventDestroy(s->done[i]);
		if (s->slots[i])
			c->cu->MemFreeHost(s->slots[i]);
	}
	if (s->slots[0])
		pthread_mutex_destroy(&s->lock);
}

static void wait_slot(struct gpu_context *c, struct cuda_stage *s, int slot)
{
	if (s->busy[slot])
		cuda_check(c->cu->EventSynchronize(s->done[slot]), "moving data");
	s->busy[slot] = false;
	if (s->to[slot])
		memcpy(s->to[slot], s->slots[slot], s->size[slot]);
	s->to[slot] = NULL;
}

/* The next one, when its last copy is over. */
static int take_slot(struct gpu_context *c, struct cuda_stage *s)
{
	int slot = s->next;

	s->next = (slot + 1) % CUDA_SLOTS;
	wait_slot(c, s, slot);
	return slot;
}

static void put_behind(struct gpu_context *c, struct cuda_stage *s, int slot, CUstream stream)
{
	cuda_check(c->cu->EventRecord(s->done[slot], stream), "marking a queue");
	s->busy[slot] = true;
}

static size_t part_of(uint64_t bytes, uint64_t at)
{
	return (size_t)min64((int64_t)(bytes - at), CUDA_SLOT);
}

void cuda_read(struct gpu_context *c, enum device_queue queue, void *host, const void *address,
	       uint64_t bytes)
{
	struct cuda_stage *s = &c->stages[queue];
	uint64_t asked = 0, taken = 0;
	int first = 0, under_way = 0;

	cuda_enter(c);
	pthread_mutex_lock(&s->lock);
	while (taken < bytes) {
		size_t n = part_of(bytes, taken);

		while (asked < bytes && under_way < CUDA_SLOTS) {
			int slot = take_slot(c, s);
			size_t part = part_of(bytes, asked);

			if (!under_way++)
				first = slot;
			cuda_check(c->cu->MemcpyDtoHAsync(s->slots[slot],
							  cuda_address(address) + asked, part,
							  c->streams[queue]),
				   "reading memory");
			put_behind(c, s, slot, c->streams[queue]);
			asked += part;
		}
		wait_slot(c, s, first);
		memcpy((char *)host + taken, s->slots[first], n);
		first = (first + 1) % CUDA_SLOTS;
		under_way--;
		taken += n;
	}
	pthread_mutex_unlock(&s->lock);
}

/* What needs more slots than there are waits here for the first of them. */
struct gpu_event *cuda_fetch(struct gpu_context *c, enum device_queue queue, void *host,
			     const void *address, uint64_t bytes)
{
	struct cuda_stage *s = &c->stages[queue];
	struct gpu_event *done;

	cuda_enter(c);
	pthread_mutex_lock(&s->lock);
	for (uint64_t at = 0; at < bytes; at += CUDA_SLOT) {
		int slot = take_slot(c, s);

		s->to[slot] = (char *)host + at;
		s->size[slot] = part_of(bytes, at);
		cuda_check(c->cu->MemcpyDtoHAsync(s->slots[slot], cuda_address(address) + at,
						  s->size[slot], c->streams[queue]),
			   "reading memory");
		put_behind(c, s, slot, c->streams[queue]);
	}
	done = cuda_mark(c, queue);
	pthread_mutex_unlock(&s->lock);
	return done;
}

static bool is_over(struct gpu_context *c, CUevent event)
{
	CUresult code = c->cu->EventQuery(event);

	if (code != CUDA_ERROR_NOT_READY)
		cuda_check(code, "moving data");
	return code == CUDA_SUCCESS;
}

bool cuda_taken(struct gpu_context *c, enum device_queue queue, struct gpu_event *event,
		bool wait)
{
	struct cuda_stage *s = &c->stages[queue];

	cuda_enter(c);
	if (wait)
		cuda_check(c->cu->EventSynchronize((CUevent)event), "moving data");
	else if (!is_over(c, (CUevent)event))
		return false;
	pthread_mutex_lock(&s->lock);
	for (int i = 0; i < CUDA_SLOTS; i++)
		if (s->to[i] && is_over(c, s->done[i]))
			wait_slot(c, s, i);
	pthread_mutex_unlock(&s->lock);
	return true;
}

void cuda_write(struct gpu_context *c, enum device_queue queue, void *address, const void *host,
		uint64_t bytes, struct gpu_event **done)
{
	struct cuda_stage *s = &c->stages[queue];

	cuda_enter(c);
	pthread_mutex_lock(&s->lock);
	for (uint64_t at = 0; at < bytes; at += CUDA_SLOT) {
		int slot = take_slot(c, s);
		size_t n = part_of(bytes, at);

		memcpy(s->slots[slot], (const char *)host + at, n);
		cuda_check(c->cu->MemcpyHtoDAsync(cuda_address(address) + at, s->slots[slot], n,
						  c->streams[queue]),
			   "writing memory");
		put_behind(c, s, slot, c->streams[queue]);
	}
	if (done)
		*done = cuda_mark(c, queue);
	pthread_mutex_unlock(&s->lock);
}

struct gpu_event *cuda_mark(struct gpu_context *c, enum device_queue queue)
{
	CUevent event;

	cuda_enter(c);
	cuda_check(c->cu->EventCreate(&event, CU_EVENT_DISABLE_TIMING), "making an event");
	cuda_check(c->cu->EventRecord(event, c->streams[queue]), "marking a queue");
	return (struct gpu_event *)event;
}
