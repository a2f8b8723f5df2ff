/* memory.c - making and mapping the shared memory; see shm.h */
#include "comm/shm/memory.h"
#include "base/clock.h"
#include "base/room.h"
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

/* What others may look at. */
static size_t shown_size(int ranks)
{
	return sizeof(struct control) + (size_t)ranks * sizeof(struct shown);
}

/* And the arrays behind it, one after the other. */
static size_t control_size(int ranks)
{
	size_t n = (size_t)ranks;
	size_t size = shown_size(ranks) + n * sizeof(struct bell) + n * sizeof(struct seats) +
		      n * n * COMM_CHANNELS * sizeof(struct channel);

	return (size_t)round_up((int64_t)size, 4096);
}

size_t shm_size(int ranks, size_t bytes)
{
	return control_size(ranks) + bytes;
}

static void lay_out(struct shm_memory *m)
{
	m->bells = (void *)((char *)m->control + shown_size(m->ranks));
	m->seats = (void *)(m->bells + m->ranks);
	m->channels = (void *)(m->seats + m->ranks);
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
	m->control_size = control_size(ranks);
	pthread_mutex_init(&m->growing, NULL);
	*out = m;
	return OK;
}

/* Zeroed by the kernel. What is touched of it is little, unless there are many ranks. */
static enum status make_file(struct shm_memory *m, struct error *err)
{
	enum status st;

	TRY(room_check(ROOM_FILE, m->control_size, "the shared memory of the ranks takes",
		       err));
	m->fd = memfd_create("kolm", MFD_CLOEXEC);
	if (m->fd < 0 || ftruncate(m->fd, (off_t)m->control_size))
		st = FAIL(err, ERR_FAILED, "can't make shared memory: %s", strerror(errno));
out:
	return st;
}

enum status shm_prepare(struct shm_memory **out, int ranks, bool spin, size_t bytes, int place,
			struct error *err)
{
	enum status st;
	struct shm_memory *m = NULL;

	TRY(describe(&m, ranks, spin, err));
	TRY(make_file(m, err));
	TRY(shm_map(m, m->control_size + bytes, place, err));
	lay_out(m);
	m->control->ranks = ranks;
	m->control->used = m->control_size;
	if (getrandom(&m->control->token, sizeof(m->control->token), 0) < 0)
		m->control->token = (uint64_t)(clock_ms() * 1e3) ^ (uint64_t)getpid() << 40;
	*out = m;
	m = NULL; /* the caller's now */
out:
	shm_release(m);
	return st;
}

enum status shm_attach(struct shm_memory **out, int ranks, bool spin, int place, int pid,
		       int fd, struct error *err)
{
	enum status st;
	struct shm_memory *m = NULL;
	char path[64];

	TRY(describe(&m, ranks, spin, err));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	m->fd = open(path, O_RDWR | O_CLOEXEC);
	if (m->fd < 0) {
		FAIL(err, ERR_FAILED, "can't reach the shared memory of process %d: %s", pid,
		     strerror(errno));
		st = HINT(err, "are the ranks in different containers?");
		goto out;
	}
	TRY(shm_map(m, m->control_size, place, err));
	lay_out(m);
	*out = m;
	m = NULL; /* the caller's now */
out:
	shm_release(m);
	return st;
}

bool shm_look_again(struct shm_memory *m)
{
	size_t size = shown_size(m->ranks);
	ssize_t n;

	do
		n = pread(m->fd, m->control, size, 0);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)size) { /* what is read on later may be of another memory by then */
		errno = n < 0 ? errno : ENODATA;
		return false;
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
		munmap(m->control, m->mapped);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

int shm_fd(const struct shm_memory *m)
{
	return m->fd;
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
