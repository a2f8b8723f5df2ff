/* memory.c - making and mapping the shared memory; see shm.h */
#include "comm/shm/memory.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/util.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 2 << 20 };

static const int64_t ADDRESS_SPACE = 32ll << 40; /* for all ranks together, at most */

/* What others may look at. */
static size_t shown_size(int ranks)
{
	return sizeof(struct control) + (size_t)ranks * sizeof(struct shown);
}

/* And the arrays behind it, one after the other. */
static size_t control_size(int ranks)
{
	size_t n = (size_t)ranks;

	return shown_size(ranks) + n * sizeof(struct bell) +
	       GROUPS_MAX * n * sizeof(struct member) +
	       n * n * COMM_CHANNELS * sizeof(struct channel);
}

static void lay_out(struct shm_memory *m)
{
	m->bells = (void *)((char *)m->control + shown_size(m->ranks));
	m->members = (void *)(m->bells + m->ranks);
	m->channels = (void *)(m->members + (size_t)GROUPS_MAX * (size_t)m->ranks);
}

static enum status map(struct shm_memory *m, void *at, struct error *err)
{
	size_t size = shm_size(m);
	int fixed = at ? MAP_FIXED_NOREPLACE : 0;
	void *p = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed,
		       m->fd, 0);

	if (p != MAP_FAILED && at && p != at) { /* kernels before 4.17 take it for a wish */
		munmap(p, size);
		errno = EEXIST;
		p = MAP_FAILED;
	}
	if (p == MAP_FAILED) {
		FAIL(err, ERR_MEMORY, "can't map %zu bytes of shared memory: %s", size,
		     strerror(errno));
		return HINT(err, "is 'ulimit -v' too small?");
	}
	m->control = p;
	lay_out(m);
	return OK;
}

static enum status describe(struct shm_memory **out, int ranks, bool spin, struct error *err)
{
	struct shm_memory *m;

	assert(ranks >= 1 && ranks <= RANKS_MAX); /* launch_run sees to it */
	m = calloc(1, sizeof(*m));
	if (!m)
		return FAIL(err, ERR_MEMORY, "no memory for %d ranks", ranks);
	m->ranks = ranks;
	m->spin = spin;
	m->fd = -1;
	m->control_size = (size_t)round_up((int64_t)control_size(ranks), PAGE);
	/* Address space for one rank's buffers: as much as the machine has memory. Only
	   touched pages take any. */
	m->segment_size =
		(size_t)round_up(min64((int64_t)machine_memory(), ADDRESS_SPACE / ranks), PAGE);
	*out = m;
	return OK;
}

enum status shm_prepare(struct shm_memory **out, int ranks, bool spin, void *at,
			struct error *err)
{
	enum status st;
	struct shm_memory *m = NULL;

	TRY(describe(&m, ranks, spin, err));
	m->fd = memfd_create("kolm", MFD_CLOEXEC);
	if (m->fd < 0 || ftruncate(m->fd, (off_t)shm_size(m))) {
		st = FAIL(err, ERR_FAILED, "can't make shared memory: %s", strerror(errno));
		goto out;
	}
	TRY(map(m, at, err));
	m->control->ranks = ranks;
	if (getrandom(&m->control->token, sizeof(m->control->token), 0) < 0)
		m->control->token = (uint64_t)(clock_ms() * 1e3) ^ (uint64_t)getpid() << 40;
	*out = m;
	m = NULL; /* the caller's now */
out:
	shm_release(m);
	return st;
}

enum status shm_attach(struct shm_memory **out, int ranks, bool spin, void *at, int pid, int fd,
		       size_t size, struct error *err)
{
	enum status st;
	struct shm_memory *m = NULL;
	char path[64];

	TRY(describe(&m, ranks, spin, err));
	/* Another limit in another container would give another size. */
	m->segment_size = (size - m->control_size) / (size_t)ranks;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	m->fd = open(path, O_RDWR | O_CLOEXEC);
	if (m->fd < 0) {
		FAIL(err, ERR_FAILED, "can't reach the shared memory of process %d: %s", pid,
		     strerror(errno));
		st = HINT(err, "are the ranks in different containers?");
		goto out;
	}
	TRY(map(m, at, err));
	*out = m;
	m = NULL; /* the caller's now */
out:
	shm_release(m);
	return st;
}

bool shm_look_again(struct shm_memory *m)
{
	size_t size = shown_size(m->ranks), done = 0;

	while (done < size) {
		ssize_t n = pread(m->fd, (char *)m->control + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : ENODATA;
			return false;
		}
		done += (size_t)n;
	}
	errno = ESRCH;
	return m->control->token == m->token && m->control->ranks == m->ranks;
}

/* A file of another process, which may have become anything: a pipe must not block us, a
   terminal not be ours. */
static bool open_theirs(struct shm_memory *m, int pid, int fd)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	m->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (m->fd < 0)
		return false;
	errno = ESRCH;
	return !fstat(m->fd, &st) && S_ISREG(st.st_mode);
}

bool shm_look(struct shm_memory **out, int ranks, int pid, int fd, uint64_t token)
{
	struct shm_memory *m = NULL;
	bool found;
	int code;

	*out = NULL;
	if (describe(&m, ranks, false, NULL) != OK || !m)
		return false;
	m->copied = true;
	m->token = token;
	m->control = aligned_alloc(_Alignof(struct control), shown_size(ranks));
	found = m->control && open_theirs(m, pid, fd) && shm_look_again(m);
	code = errno;
	if (found)
		*out = m;
	else
		shm_release(m);
	errno = code;
	return found;
}

bool shm_still_there(const struct shm_memory *m, int pid, int fd)
{
	struct stat ours, theirs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return !fstat(m->fd, &ours) && !stat(path, &theirs) && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

uint64_t shm_token(const struct shm_memory *m)
{
	return m->control->token;
}

size_t shm_layout(void)
{
	return sizeof(struct control) ^ sizeof(struct shown) << 1 ^
	       offsetof(struct shown, page) << 2;
}

void shm_release(struct shm_memory *m)
{
	if (!m)
		return;
	if (m->copied)
		free(m->control);
	else if (m->control)
		munmap(m->control, shm_size(m));
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

int shm_fd(const struct shm_memory *m)
{
	return m->fd;
}

size_t shm_size(const struct shm_memory *m)
{
	return m->control_size + (size_t)m->ranks * m->segment_size;
}

struct comm_status *shm_status(struct shm_memory *m, int rank)
{
	return &m->control->shown[rank].status;
}

void *shm_page(struct shm_memory *m, int rank)
{
	return m->control->shown[rank].page;
}

bool shm_first_failure(struct shm_memory *m)
{
	return !atomic_exchange(&m->control->failed, 1);
}

bool shm_has_failed(const struct shm_memory *m)
{
	return atomic_load(&m->control->failed);
}

void shm_stop(struct shm_memory *m)
{
	atomic_store(&m->control->stop, 1);
	for (int i = 0; i < m->ranks; i++) {
		atomic_store(&m->bells[i].asleep, 0);
		syscall(SYS_futex, &m->bells[i].asleep, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}
