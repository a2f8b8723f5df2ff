/* fork.c - see fork.h */
#include "comm/fork.h"
#include "base/clock.h"
#include "comm/shm/shm.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_FIRST_NS = 100 * 1000, LOOK_MOST_NS = 5 * 1000 * 1000, GRACE_MS = 1000 };

enum { RUNNING, WELL, FAILED };

/* How a rank ends, in its page of the shared memory. */
struct end {
	_Atomic int how;
	bool first;	    /* of those that could say so */
	struct error error; /* what it says */
};

struct family {
	struct shm_memory *memory;
	int ranks, running;
	struct {
		pid_t pid; /* 0: has ended, or was never there */
		int status;
	} * children; /* (ranks) */
	int culprit;  /* the first that failed; -1: none */
};

static struct end *end_of(const struct family *f, int rank)
{
	_Static_assert(sizeof(struct end) <= SHM_PAGE, "it has a page");
	return shm_page(f->memory, rank);
}

static bool has_cores(int ranks)
{
	cpu_set_t cores;

	return !sched_getaffinity(0, sizeof(cores), &cores) && ranks <= CPU_COUNT(&cores);
}

/* ---- in a rank ---- */

static _Noreturn void be_rank(const struct family *f, int rank, pid_t parent, comm_fork_fn *fn,
			      void *arg)
{
	struct end *end = end_of(f, rank);
	struct comm *world;
	enum status st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* it died before we could ask to be told */
	TRY(shm_join(&world, f->memory, rank, &end->error));
	TRY(fn(world, arg, &end->error));
	comm_free(world);
out:
	end->first = st != OK && shm_first_failure(f->memory);
	atomic_store(&end->how, st == OK ? WELL : FAILED);
	_exit(st == OK ? 0 : 1);
}

/* ---- in the parent ---- */

static enum status start(struct family *f, comm_fork_fn *fn, void *arg, struct error *err)
{
	pid_t parent = getpid();

	for (int i = 0; i < f->ranks; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			FAIL(err, ERR_FAILED, "can't start rank %d of %d: %s", i, f->ranks,
			     strerror(errno));
			return HINT(err, "is 'ulimit -u' too small?");
		}
		if (pid == 0)
			be_rank(f, i, parent, fn, arg);
		f->children[i].pid = pid;
		f->running++;
	}
	return OK;
}

static bool went_well(const struct family *f, int rank)
{
	return f->children[rank].status == 0 && end_of(f, rank)->how == WELL;
}

/* Only our own: the program may have other children. If it ignores SIGCHLD or waits for all of
   them elsewhere, there is no status; then what the rank has left tells. */
static bool has_ended(struct family *f, int rank, int flags)
{
	pid_t pid = f->children[rank].pid, got;
	int status = 0;

	do
		got = waitpid(pid, &status, flags);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return false;
	f->children[rank].status = got == pid ? status : 0;
	f->children[rank].pid = 0;
	f->running--;
	return true;
}

static void collect(struct family *f)
{
	for (int i = 0; i < f->ranks; i++)
		if (f->children[i].pid && has_ended(f, i, WNOHANG) && !went_well(f, i) &&
		    (f->culprit < 0 || end_of(f, i)->first))
			f->culprit = i;
}

/* Until all have ended, one has failed, or, with one that has, the time is over. */
static void watch(struct family *f, bool failed)
{
	double deadline = clock_ms() + GRACE_MS;
	struct timespec pause = {.tv_nsec = LOOK_FIRST_NS};

	for (collect(f); f->running > 0; collect(f)) {
		if (failed ? clock_ms() > deadline : f->culprit >= 0)
			return;
		nanosleep(&pause, NULL);
		pause.tv_nsec =
			pause.tv_nsec < LOOK_MOST_NS / 2 ? 2 * pause.tv_nsec : LOOK_MOST_NS;
	}
}

static void stop(struct family *f)
{
	int culprit = f->culprit;

	shm_stop(f->memory);
	watch(f, true);
	f->culprit = culprit; /* what ends now is a consequence */
	for (int i = 0; i < f->ranks; i++)
		if (f->children[i].pid)
			kill(f->children[i].pid, SIGKILL);
	for (int i = 0; i < f->ranks; i++)
		if (f->children[i].pid)
			has_ended(f, i, 0);
}

/* In its own words, which are of another process: they may lack their end. */
static enum status tell(const struct family *f, struct error *err)
{
	const struct end *end = end_of(f, f->culprit);
	int status = f->children[f->culprit].status;
	struct error said = end->error;

	said.msg[sizeof(said.msg) - 1] = said.hint[sizeof(said.hint) - 1] = '\0';
	if (WIFSIGNALED(status))
		return FAIL(err, ERR_FAILED, "rank %d of %d was ended by signal %d (%s)",
			    f->culprit, f->ranks, WTERMSIG(status),
			    strsignal(WTERMSIG(status)));
	if (end->how != FAILED || said.code == OK)
		return FAIL(err, ERR_FAILED, "rank %d of %d ended without a message",
			    f->culprit, f->ranks);
	FAIL(err, said.code, "rank %d of %d: %.400s", f->culprit, f->ranks, said.msg);
	return HINT(err, "%s", said.hint);
}

enum status comm_fork(int ranks, comm_fork_fn *fn, void *arg, struct error *err)
{
	struct family f = {.ranks = ranks, .culprit = -1};
	enum status st;

	if (ranks < 1 || ranks > RANKS_MAX) {
		FAIL(err, ERR_USAGE, "a world of %d ranks", ranks);
		return HINT(err, "from 1 to %d", RANKS_MAX);
	}
	TRY(shm_prepare(&f.memory, ranks, has_cores(ranks), 0, -1, err));
	f.children = calloc((size_t)ranks, sizeof(*f.children));
	if (!f.children) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d ranks", ranks);
		goto out;
	}
	TRY(start(&f, fn, arg, err));
	watch(&f, false);
	if (f.culprit >= 0)
		st = tell(&f, err);
out:
	if (f.running > 0)
		stop(&f);
	free(f.children);
	shm_release(f.memory);
	return st;
}
