/* memory.c - making and mapping the shared memory; see shm.h */
#include "comm/shm/memory.h"
#include "base/machine.h"
#include "base/util.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Only touched pages take memory, so sizes can be generous. */
static enum status map_segment(size_t size, int *fd, void **out, struct error *err)
{
	*fd = memfd_create("kolm", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, (off_t)size))
		return FAIL(err, ERR_FAILED, "can't make shared memory: %s", strerror(errno));
	*out = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
	if (*out == MAP_FAILED) {
		*out = NULL;
		FAIL(err, ERR_MEMORY, "can't map %zu bytes of shared memory: %s", size,
		     strerror(errno));
		return HINT(err, "is 'ulimit -v' too small?");
	}
	return OK;
}

enum status shm_prepare(struct shm_memory **out, int ranks, bool spin, struct error *err)
{
	enum status st;
	struct shm_memory *m = calloc(1, sizeof(*m));
	int control_fd = -1;

	if (ranks > SHM_RANKS_MAX) {
		free(m);
		FAIL(err, ERR_USAGE, "%d ranks on one machine are too many", ranks);
		return HINT(err, "at most %d", SHM_RANKS_MAX);
	}
	if (!m)
		return FAIL(err, ERR_MEMORY, "no memory for %d ranks", ranks);
	m->ranks = ranks;
	m->spin = spin;
	/* Address space for one rank's buffers: as much as the machine has memory. */
	m->segment_size = (size_t)round_up((int64_t)machine_memory(), 2 << 20);
	for (int i = 0; i < SHM_RANKS_MAX; i++)
		m->fds[i] = -1;
	TRY(map_segment(sizeof(struct control), &control_fd, (void **)&m->control, err));
	m->control->ranks = ranks;
	for (int i = 0; i < ranks; i++)
		TRY(map_segment(m->segment_size, &m->fds[i], (void **)&m->segments[i], err));
	*out = m;
	m = NULL; /* the caller's now */
out:
	if (control_fd >= 0)
		close(control_fd); /* the mapping keeps it alive */
	shm_release(m);
	return st;
}

void shm_release(struct shm_memory *m)
{
	if (!m)
		return;
	for (int i = 0; i < m->ranks; i++) {
		if (m->segments[i])
			munmap(m->segments[i], m->segment_size);
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	}
	if (m->control)
		munmap(m->control, sizeof(*m->control));
	free(m);
}

struct comm_status *shm_status(struct shm_memory *m, int rank)
{
	return &m->control->status[rank];
}

void shm_stop(struct shm_memory *m)
{
	atomic_store(&m->control->stop, 1);
	for (int i = 0; i < m->ranks; i++) {
		atomic_fetch_add(&m->control->bells[i].word, 1);
		syscall(SYS_futex, &m->control->bells[i].word, FUTEX_WAKE, INT_MAX, NULL, NULL,
			0);
	}
}
