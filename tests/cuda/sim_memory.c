/* sim_memory.c - memory of the simulated CUDA: see sim.h */
#define _DEFAULT_SOURCE
#include "sim.h"
#include "base/util.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ALIGNMENT = 256, UNUSED = 0xA5, FRESH = 0xFF };

/* Of the device, or pinned and the host's. The pages end behind it, with one that is a trap. */
struct piece {
	struct piece *next;
	char *pages, *begin;
	size_t size, bytes; /* of the pages without the trap, of it */
};

static struct piece *device, *pinned;

uint64_t sim_used_bytes(int number)
{
	uint64_t used = 0;

	sim_lock();
	for (struct piece *p = device; p && sim_is_open(number); p = p->next)
		used += p->bytes;
	sim_unlock();
	return used;
}

int sim_memory_left(void)
{
	int n = 0;

	for (struct piece *p = device; p; p = p->next)
		n++;
	for (struct piece *p = pinned; p; p = p->next)
		n++;
	return n;
}

static struct piece *make(struct piece **list, size_t bytes)
{
	struct piece *p = calloc(1, sizeof(*p));
	size_t room = (size_t)round_up((int64_t)bytes, ALIGNMENT);

	if (!p)
		abort();
	p->bytes = bytes;
	p->size = (size_t)round_up((int64_t)room, PAGE);
	p->pages = mmap(NULL, p->size + PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p->pages == MAP_FAILED || mprotect(p->pages + p->size, PAGE, PROT_NONE)) {
		free(p);
		return NULL;
	}
	p->begin = p->pages + p->size - room;
	memset(p->begin, FRESH, bytes);
	memset(p->begin + bytes, UNUSED, room - bytes);
	p->next = *list;
	*list = p;
	return p;
}

static CUresult drop(struct piece **list, const char *begin)
{
	struct piece **at = list, *p;

	while (*at && (*at)->begin != begin)
		at = &(*at)->next;
	p = *at;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	for (char *end = p->begin + p->bytes; end < p->pages + p->size; end++)
		if (*(unsigned char *)end != UNUSED) {
			sim_blame("something wrote behind %zu bytes of memory", p->bytes);
			break;
		}
	*at = p->next;
	munmap(p->pages, p->size + PAGE);
	free(p);
	return sim_failed;
}

static bool contains(const struct piece *p, const char *at, size_t bytes)
{
	for (; p; p = p->next)
		if (at >= p->begin && bytes <= p->bytes &&
		    at - p->begin <= (ptrdiff_t)(p->bytes - bytes))
			return true;
	return false;
}

void *sim_translate(const void *address, size_t bytes, const char *what)
{
	char *at = (char *)((uintptr_t)address & ~SIM_TAG);

	if (!((uintptr_t)address & SIM_TAG)) {
		sim_blame("%s: %p is no address of a device", what, address);
		return NULL;
	}
	if (contains(device, at, bytes))
		return at;
	sim_blame("%s: %zu bytes at %p are in no piece of memory", what, bytes, address);
	return NULL;
}

bool sim_is_pinned(const void *host, size_t bytes)
{
	return contains(pinned, host, bytes);
}

/* ---- the calls ---- */

EXPORTED CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
	size_t used = 0;
	struct piece *p;

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	sim_lock();
	for (p = device; p; p = p->next)
		used += p->bytes;
	p = used + bytes > (size_t)sim_number("KOLM_SIM_MEMORY", 1 << 30)
		    ? NULL
		    : make(&device, bytes);
	if (p)
		*out = (CUdeviceptr)((uintptr_t)p->begin | SIM_TAG);
	sim_unlock();
	return sim_failed ? sim_failed : p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

EXPORTED CUresult cuMemFree_v2(CUdeviceptr address)
{
	CUresult code;

	sim_lock();
	code = drop(&device, (char *)(uintptr_t)(address & ~SIM_TAG));
	sim_unlock();
	return code;
}

EXPORTED CUresult cuMemAllocHost_v2(void **out, size_t bytes)
{
	struct piece *p;

	sim_lock();
	p = make(&pinned, bytes);
	sim_unlock();
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = p->begin;
	return CUDA_SUCCESS;
}

EXPORTED CUresult cuMemFreeHost(void *host)
{
	CUresult code;

	sim_lock();
	code = drop(&pinned, host);
	sim_unlock();
	return code;
}

struct copy {
	void *to;
	const void *from;
	size_t bytes;
	int value; /* from is NULL */
};

static void run_copy(void *arg)
{
	const struct copy *c = arg;

	sim_takes("KOLM_SIM_COPY");
	if (c->from)
		memcpy(c->to, c->from, c->bytes);
	else
		memset(c->to, c->value, c->bytes);
}

static CUresult enqueue(CUstream stream, const struct copy *c, const void *host)
{
	/* CUDA would take other memory, but then it is not asynchronous any more. */
	if (host && !sim_is_pinned(host, c->bytes))
		sim_blame("a copy that is to be asynchronous is of memory that is not pinned");
	return sim_failed ? sim_failed : sim_enqueue(stream, run_copy, c, sizeof(*c));
}

EXPORTED CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
				       CUstream stream)
{
	struct copy c = {.from = from, .bytes = bytes};
	CUresult code;

	sim_lock();
	c.to = sim_translate((void *)(uintptr_t)to, bytes, "a copy to the device");
	code = enqueue(stream, &c, from);
	sim_unlock();
	return code;
}

EXPORTED CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
				       CUstream stream)
{
	struct copy c = {.to = to, .bytes = bytes};
	CUresult code;

	sim_lock();
	c.from = sim_translate((void *)(uintptr_t)from, bytes, "a copy from the device");
	code = enqueue(stream, &c, to);
	sim_unlock();
	return code;
}

EXPORTED CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
				  CUstream stream)
{
	struct copy c = {.bytes = bytes, .value = value};
	CUresult code;

	sim_lock();
	c.to = sim_translate((void *)(uintptr_t)to, bytes, "filling memory");
	code = enqueue(stream, &c, NULL);
	sim_unlock();
	return code;
}
