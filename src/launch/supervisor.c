/* supervisor.c - start ranks, watch them, report, stop; see launch.h */
#include "base/clock.h"
#include "base/util.h"
#include "launch/impl.h"

#include <errno.h>
#include <execinfo.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 50, GRACE_MS = 300, TWICE_MS = 500 };

struct child {
	pid_t pid;	/* 0: has ended */
	bool stopped;	/* by SIGSTOP or a debugger */
	uint64_t signs; /* of life, as last seen */
	double idle_ms; /* watched without a new one, and not waiting */
};

struct supervisor {
	const struct launch *launch;
	struct shm_memory *memory;
	int asked;	 /* the signal after which the ranks are ending by themselves */
	double asked_at; /* ms */
	struct child children[SHM_RANKS_MAX];
	int running;
	double last_poll;
	double still_ms; /* watched without a sign of life of anybody */
	sigset_t signals, before;
	struct sigaction actions[4]; /* of those we take, before */
};

static void stop_all(struct supervisor *s)
{
	double deadline = clock_ms() + GRACE_MS;

	/* Those that wait get an error and can end by themselves; the rest is killed. */
	shm_stop(s->memory);
	while (s->running > 0 && clock_ms() < deadline) {
		struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};

		for (int i = 0; i < s->launch->ranks; i++)
			if (s->children[i].pid > 0 &&
			    waitpid(s->children[i].pid, NULL, WNOHANG) == s->children[i].pid) {
				s->children[i].pid = 0;
				s->running--;
			}
		nanosleep(&pause, NULL);
	}
	for (int i = 0; i < s->launch->ranks; i++)
		if (s->children[i].pid > 0)
			kill(s->children[i].pid, SIGKILL);
	for (int i = 0; i < s->launch->ranks; i++)
		if (s->children[i].pid > 0) {
			waitpid(s->children[i].pid, NULL, 0);
			s->children[i].pid = 0;
			s->running--;
		}
}

static void describe(struct supervisor *s, int rank, char *buf, size_t size)
{
	board_describe(board_of(s->memory, rank), shm_status(s->memory, rank), buf, size);
}

/* The fork shares our addresses, so we can name the functions of a rank's backtrace. */
static void print_backtrace(const struct board_rank *board)
{
	int n = board->frames;
	char **names = n > 0 ? backtrace_symbols(board->backtrace, n) : NULL;

	for (int i = 0; names && i < n; i++)
		fprintf(stderr, "    %s\n", names[i]);
	free(names);
}

/* The first rank that failed: what it was, where, and what it said. */
static enum status report_failure(struct supervisor *s, int rank, int status, struct error *err)
{
	const struct board_rank *board = board_of(s->memory, rank);
	bool spoke = board->error.code != OK;
	char doing[256], name[192];

	describe(s, rank, doing, sizeof(doing));
	board_name(s->launch, rank, name, sizeof(name));
	if (WIFSIGNALED(status)) {
		FAIL(err, ERR_FAILED, "%s was ended by signal %d (%s), %s", name,
		     WTERMSIG(status), strsignal(WTERMSIG(status)), doing);
		err->exit_code = 128 + WTERMSIG(status);
	} else {
		if (spoke && (s->launch->ranks == 1 || s->asked)) /* it speaks for all */
			FAIL(err, board->error.code, "%s", board->error.msg);
		else
			FAIL(err, spoke ? board->error.code : ERR_FAILED, "%s: %.300s", name,
			     spoke ? board->error.msg : "ended without a message");
		HINT(err, "%s", board->error.hint);
		err->exit_code = WEXITSTATUS(status);
	}
	error_print(err); /* now: the cause stands before the details */
	print_backtrace(board);
	return err->code;
}

/* Collect ranks that have ended; the first failure ends the run. */
static enum status reap(struct supervisor *s, struct error *err)
{
	for (int i = 0; i < s->launch->ranks; i++) {
		struct child *c = &s->children[i];
		int status;

		if (c->pid <= 0 ||
		    waitpid(c->pid, &status, WNOHANG | WUNTRACED | WCONTINUED) != c->pid)
			continue;
		if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
			c->stopped = WIFSTOPPED(status);
			continue;
		}
		c->pid = 0;
		s->running--;
		s->still_ms = 0; /* those that it has set free need a moment */
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			return report_failure(s, i, status, err);
	}
	return OK;
}

static bool waits(struct supervisor *s, int rank)
{
	return shm_status(s->memory, rank)->kind != REQUEST_NONE;
}

static bool waits_for(struct supervisor *s, int rank, int other)
{
	const struct comm_status *status = shm_status(s->memory, rank);

	if (status->kind == REQUEST_COLLECTIVE)
		return status->members >> other & 1;
	return status->kind != REQUEST_NONE && status->peer == other;
}

/* A rank that has ended and that somebody still waits for, or -1. */
static int ended_too_early(struct supervisor *s)
{
	for (int i = 0; i < s->launch->ranks; i++)
		for (int j = 0; j < s->launch->ranks && s->children[i].pid > 0; j++)
			if (s->children[j].pid == 0 && waits_for(s, i, j))
				return j;
	return -1;
}

/* Who is to blame when nothing moves: one that is stopped, one that does not wait, one
   that has ended without the others; if all wait for each other, the first. */
static int find_culprit(struct supervisor *s)
{
	int culprit = -1, first = -1;

	for (int i = 0; i < s->launch->ranks; i++) {
		const struct child *c = &s->children[i];

		if (c->pid <= 0)
			continue;
		if (c->stopped)
			return i;
		if (!waits(s, i) && (culprit < 0 || c->idle_ms > s->children[culprit].idle_ms))
			culprit = i;
		first = first < 0 ? i : first;
	}
	if (culprit < 0)
		culprit = ended_too_early(s);
	return culprit < 0 ? first : culprit;
}

/* "; ranks 0-4, 6 wait for it in all-reduce": those of one kind, behind what is there. */
static void add_victims(struct supervisor *s, int culprit, bool collective, char *buf,
			size_t size)
{
	int from = -1, victims = 0, n = 0;
	const struct comm_status *status = NULL;
	char list[96] = "";

	for (int i = 0; i <= s->launch->ranks && n < 70; i++) {
		bool one = i < s->launch->ranks && i != culprit && s->children[i].pid > 0 &&
			   waits_for(s, i, culprit) &&
			   (shm_status(s->memory, i)->kind == REQUEST_COLLECTIVE) == collective;

		victims += one;
		if (one && !status)
			status = shm_status(s->memory, i);
		if (one && from < 0)
			from = i;
		if (one || from < 0)
			continue;
		n += snprintf(list + n, sizeof(list) - (size_t)n, "%s%d", n ? ", " : "", from);
		if (i - 1 > from)
			n += snprintf(list + n, sizeof(list) - (size_t)n, "-%d", i - 1);
		from = -1;
	}
	if (status)
		snprintf(buf + strlen(buf), size - strlen(buf),
			 "; rank%s %s wait%s for it in %s", victims > 1 ? "s" : "", list,
			 victims > 1 ? "" : "s",
			 collective ? comm_op_name((enum comm_op)status->op) : "a message");
}

static enum status report_hang(struct supervisor *s, struct error *err)
{
	int culprit = find_culprit(s);
	const struct child *c = &s->children[culprit];
	char doing[256], name[192], victims[256];

	describe(s, culprit, doing, sizeof(doing));
	board_name(s->launch, culprit, name, sizeof(name));
	victims[0] = '\0';
	add_victims(s, culprit, true, victims, sizeof(victims));
	add_victims(s, culprit, false, victims, sizeof(victims));
	if (c->pid > 0)
		FAIL(err, ERR_FAILED, "%s hangs%s: last %s, for %.1f s%s", name,
		     c->stopped ? " (it is stopped)" : "", doing,
		     fmax(c->idle_ms, s->still_ms) / 1e3, victims);
	else
		FAIL(err, ERR_FAILED, "%s has ended while others wait for it: last %s%s", name,
		     doing, victims);
	error_print(err); /* now: the cause stands before the details */
	for (int i = 0; i < s->launch->ranks; i++) {
		if (s->children[i].pid <= 0 || i == culprit)
			continue;
		describe(s, i, doing, sizeof(doing));
		board_name(s->launch, i, name, sizeof(name));
		fprintf(stderr, "    %s %s\n", name, doing);
	}
	return ERR_FAILED;
}

/*
 * A hang is a rank that shows no sign of life while it does not wait for anybody, or a
 * world in which nobody does: waiting as such is innocent, however long. Time counts
 * only while we watch, so that a job that was stopped as a whole and goes on later is
 * not taken for one that hangs.
 */
static enum status check_progress(struct supervisor *s, struct error *err)
{
	double now = clock_ms(), elapsed = now - s->last_poll;
	double limit = s->launch->timeout_ms;
	bool one = false;

	s->last_poll = now;
	if (limit <= 0 || s->running == 0)
		return OK;
	if (elapsed > 2 * POLL_MS)
		elapsed = 2 * POLL_MS;
	s->still_ms += elapsed;
	for (int i = 0; i < s->launch->ranks; i++) {
		struct child *c = &s->children[i];
		uint64_t signs =
			board_of(s->memory, i)->beats + shm_status(s->memory, i)->completed;

		if (c->pid <= 0)
			continue;
		c->idle_ms += elapsed;
		if (signs != c->signs)
			s->still_ms = 0;
		if (signs != c->signs || waits(s, i))
			c->idle_ms = 0;
		c->signs = signs;
		one = one || c->idle_ms > limit;
	}
	return one || s->still_ms > limit ? report_hang(s, err) : OK;
}

/* The first signal asks ranks that can to end by themselves; the next ends them. */
static enum status on_signal(struct supervisor *s, int number, struct error *err)
{
	const char *name;
	enum status code = error_of_signal(number, &name);

	/* timeout(1) signals us and then the group that we are in: that is one request. */
	if (s->asked && clock_ms() - s->asked_at < TWICE_MS)
		return OK;
	if (!s->launch->graceful || s->asked)
		return FAIL(err, code, "stopped by %s", name);
	s->asked = number;
	s->asked_at = clock_ms();
	for (int i = 0; i < s->launch->ranks; i++)
		board_of(s->memory, i)->stop = number;
	return OK;
}

static enum status watch(struct supervisor *s, struct error *err)
{
	enum status st = OK;
	struct timespec poll = {.tv_nsec = POLL_MS * 1000 * 1000};

	while (s->running > 0) {
		int number = sigtimedwait(&s->signals, NULL, &poll);

		if (number == SIGINT || number == SIGTERM || number == SIGHUP)
			TRY(on_signal(s, number, err));
		TRY(reap(s, err));
		TRY(check_progress(s, err));
	}
out:
	return st;
}

static enum status start_ranks(struct supervisor *s, rank_fn *fn, void *arg, struct error *err)
{
	pid_t parent = getpid();

	fflush(NULL); /* or every rank would print what is still in our buffers */
	for (int i = 0; i < s->launch->ranks; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			FAIL(err, ERR_FAILED, "can't start rank %d of %d: %s", i,
			     s->launch->ranks, strerror(errno));
			return HINT(err, "is 'ulimit -u' too small?");
		}
		if (pid == 0)
			rank_run(&(struct rank_start){.launch = s->launch,
						      .number = i,
						      .supervisor = parent,
						      .memory = s->memory,
						      .signals = &s->before,
						      .fn = fn,
						      .arg = arg});
		s->children[i].pid = pid;
		s->running++;
	}
	return OK;
}

static const int taken[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};

/*
 * The signals that we wait for. What is ignored never reaches us: a shell has its
 * background jobs ignore SIGINT, some parents SIGCHLD. Only nohup means it so.
 */
static void take_signals(struct supervisor *s)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};

	sigemptyset(&s->signals);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		sigaction(taken[i], NULL, &s->actions[i]);
		if (taken[i] == SIGHUP && s->actions[i].sa_handler == SIG_IGN)
			continue;
		sigaction(taken[i], &plain, NULL);
		sigaddset(&s->signals, taken[i]);
	}
	sigprocmask(SIG_BLOCK, &s->signals, &s->before);
}

static void give_signals_back(struct supervisor *s)
{
	struct timespec now = {0};

	/* A second Ctrl-C while we were stopping must not kill us before our report. */
	while (sigtimedwait(&s->signals, NULL, &now) > 0)
		;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		sigaction(taken[i], &s->actions[i], NULL);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

static enum status supervise(const struct launch *l, rank_fn *fn, void *arg, struct error *err)
{
	enum status st;
	struct supervisor s = {.launch = l};

	take_signals(&s);
	s.last_poll = clock_ms();
	TRY(shm_prepare(&s.memory, l->ranks, l->ranks <= launch_cores(), NULL, err));
	TRY(start_ranks(&s, fn, arg, err));
	TRY(watch(&s, err));
out:
	if (s.running > 0)
		stop_all(&s);
	shm_release(s.memory);
	give_signals_back(&s);
	return st;
}

enum status launch_run(const struct launch *l, rank_fn *fn, void *arg, struct error *err)
{
	struct launcher by;

	return launcher_detect(&by) ? job_run(l, &by, fn, arg, err)
				    : supervise(l, fn, arg, err);
}
