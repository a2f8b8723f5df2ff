/*
 * pages.c - the pages of the shared memory: handing them out and mapping them; see memory.h
 *
 * An address is the place where all begins plus the offset in the file, in every process. So
 * that a process can map more of it later, the places are far from where programs, heaps,
 * libraries and stacks are, and far apart.
 */
#include "base/room.h"
#include "base/util.h"
#include "comm/shm/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	HUGE_PAGE = 2 << 20,
	CHECK_FREE = 64 << 20, /* ask whether the machine has it from here on */
};

/* The first is within 39 bits, and the only one where ThreadSanitizer has memory;
   AddressSanitizer has its own there. */
static const uintptr_t places[SHM_PLACES] = {0x2000000000, 0x200000000000, 0x100000000000,
					     0x300000000000};

/* Pieces of a huge page and more begin at one. */
static size_t align_of(size_t bytes)
{
	return bytes >= HUGE_PAGE ? HUGE_PAGE : PAGE;
}

static size_t size_of(size_t bytes)
{
	return (size_t)round_up((int64_t)(bytes ? bytes : 1), (int64_t)align_of(bytes));
}

size_t shm_room(size_t bytes)
{
	return size_of(bytes) + align_of(bytes) - PAGE;
}

/* A part of the file at its address; errno says why not. */
static bool map_part(struct shm_memory *m, char *at, uint64_t from, uint64_t to)
{
	size_t size = to - from;
	void *p = mmap(at + from, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, m->fd, (off_t)from);

	if (p != MAP_FAILED && p != at + from) { /* kernels before 4.17 take it for a wish */
		munmap(p, size);
		errno = EEXIST;
		p = MAP_FAILED;
	}
	return p != MAP_FAILED;
}

static enum status can_not_map(uint64_t bytes, struct error *err)
{
	int code = errno;

	if (room_check(ROOM_ADDRESSES, bytes, "the shared memory of the ranks takes", err) ==
	    OK)
		FAIL(err, ERR_MEMORY, "can't map %llu bytes of shared memory: %s",
		     (unsigned long long)bytes, strerror(code));
	return HINT(err, "use a smaller model or fewer ranks");
}

enum status shm_map(struct shm_memory *m, size_t bytes, int place, struct error *err)
{
	uint64_t size = (uint64_t)round_up((int64_t)bytes, HUGE_PAGE);

	for (int i = place < 0 ? 0 : place; i < (place < 0 ? SHM_PLACES : place + 1); i++) {
		char *at = (char *)places[i]; /* NOLINT: an address is what is meant */

		if (!map_part(m, at, 0, size))
			continue;
		m->control = (struct control *)at;
		m->mapped = size;
		return OK;
	}
	return can_not_map(size, err);
}

enum status shm_grow(struct shm_memory *m, uint64_t to, struct error *err)
{
	enum status st = OK;

	to = (uint64_t)round_up((int64_t)to, HUGE_PAGE);
	pthread_mutex_lock(&m->growing);
	if (to > m->mapped) { /* or another rank of this process has just done it */
		if (map_part(m, (char *)m->control, m->mapped, to))
			atomic_store_explicit(&m->mapped, to, memory_order_release);
		else
			st = can_not_map(to - m->mapped, err);
	}
	pthread_mutex_unlock(&m->growing);
	return st;
}

/* Reserve the pages now: running out of memory later would be a SIGBUS. */
static enum status reserve(struct shm_memory *m, uint64_t at, size_t size, struct error *err)
{
	enum status st;
	int code;

	TRY(room_check(ROOM_FILE, at + size, "the shared memory of the ranks takes", err));
	if (size >= CHECK_FREE)
		TRY(room_check(ROOM_MEMORY, size, "a buffer that ranks share takes", err));
	do
		code = fallocate(m->fd, 0, (off_t)at, (off_t)size) ? errno : 0;
	while (code == EINTR);
	if (code)
		st = FAIL(err, ERR_MEMORY, "can't reserve %zu bytes of shared memory: %s", size,
			  strerror(code));
out:
	return st == OK ? OK : HINT(err, "use a smaller model or fewer ranks");
}

enum status shm_alloc(struct shm_memory *m, size_t bytes, void **out, struct error *err)
{
	size_t size = size_of(bytes);
	uint64_t used = atomic_load(&m->control->used), at;
	enum status st;

	do
		at = (uint64_t)round_up((int64_t)used, (int64_t)align_of(bytes));
	while (!atomic_compare_exchange_weak(&m->control->used, &used, at + size));
	TRY(reserve(m, at, size, err));
	TRY(shm_reach(m, err));
	*out = (char *)m->control + at;
	if (bytes >= HUGE_PAGE)
		madvise(*out, size, MADV_HUGEPAGE); /* as far as the machine allows it here */
out:
	return st;
}

bool shm_holds(const struct shm_memory *m, const void *data, size_t bytes)
{
	const char *from = (const char *)m->control + m->control_size;
	const char *to = (const char *)m->control + m->control->used;

	return !bytes || ((const char *)data >= from && (const char *)data + bytes <= to);
}
