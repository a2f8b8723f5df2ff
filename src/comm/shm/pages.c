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
size_t shm_piece_align(size_t bytes)
{
	return bytes >= HUGE_PAGE ? HUGE_PAGE : PAGE;
}

size_t shm_piece_size(size_t bytes)
{
	return (size_t)round_up((int64_t)(bytes ? bytes : 1), (int64_t)shm_piece_align(bytes));
}

size_t shm_room(size_t bytes)
{
	return shm_piece_size(bytes) + shm_piece_align(bytes) - PAGE;
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

uint64_t shm_extend(struct shm_memory *m, size_t size, size_t align, uint64_t *got)
{
	uint64_t used = atomic_load(&m->control->used), end;

	do
		end = (uint64_t)round_up((int64_t)used, (int64_t)align) + size;
	while (!atomic_compare_exchange_weak(&m->control->used, &used, end));
	*got = end - used;
	return used;
}

/* EINTR is no answer; 0 or why not. */
static int change_pages(const struct shm_memory *m, int mode, uint64_t at, size_t size)
{
	int code;

	do
		code = fallocate(m->fd, mode, (off_t)at, (off_t)size) ? errno : 0;
	while (code == EINTR);
	return code;
}

/* Take the pages now: running out of memory later would be a SIGBUS. */
static enum status take_pages(struct shm_memory *m, uint64_t at, size_t size, struct error *err)
{
	enum status st;
	int code;

	TRY(room_check(ROOM_FILE, at + size, "the shared memory of the ranks takes", err));
	if (size >= CHECK_FREE)
		TRY(room_check(ROOM_MEMORY, size, "a buffer that ranks share takes", err));
	code = change_pages(m, 0, at, size);
	if (code)
		st = FAIL(err, ERR_MEMORY, "can't reserve %zu bytes of shared memory: %s", size,
			  strerror(code));
out:
	return st == OK ? OK : HINT(err, "use a smaller model or fewer ranks");
}

enum status shm_reserve(struct shm_memory *m, uint64_t at, size_t size, struct error *err)
{
	enum status st;
	bool taken = false;

	TRY(take_pages(m, at, size, err));
	taken = true;
	TRY(shm_reach(m, err));
	if (size >= HUGE_PAGE) /* as far as the machine allows it here */
		madvise((char *)m->control + at, size, MADV_HUGEPAGE);
out:
	if (st != OK && taken)
		change_pages(m, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, size);
	return st;
}

/* Where pages can't be let go they are at least as if they were new. */
void shm_discard(struct shm_memory *m, uint64_t at, size_t size)
{
	if (change_pages(m, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, size))
		memset((char *)m->control + at, 0, size);
}

bool shm_holds(const struct shm_memory *m, const void *data, size_t bytes)
{
	const char *from = (const char *)m->control + m->control_size;
	const char *to = (const char *)m->control + m->control->used;

	return !bytes || ((const char *)data >= from && (const char *)data + bytes <= to);
}
