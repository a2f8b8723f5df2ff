/* supervisor.c - start ranks, watch them, report, stop; see launch.h */
#include "base/clock.h"
#include "base/machine.h"
#include "base/util.h"
#include "launch/impl.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 50, GRACE_MS = 300, TWICE_MS = 500 };

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

/* Others that were killed at the same time as the first. */
static void count_lost(struct supervisor *s)
{
	for (int i = 0; i < s->launch->ranks; i++) {
		struct child *c = &s->children[i];
		int status;

		if (c->pid <= 0 || waitpid(c->pid, &status, WNOHANG) != c->pid)
			continue;
		c->pid = 0;
		s->running--;
		s->lost += WIFSIGNALED(status) || board_of(s->memory, i)->lost;
	}
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
		if (WIFSIGNALED(status) || board_of(s->memory, i)->lost)
			s->lost++;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			return supervisor_failed(s, i, status, err);
	}
	return OK;
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
		if (signs != c->signs || supervisor_waits(s, i))
			c->idle_ms = 0;
		c->signs = signs;
		one = one || c->idle_ms > limit;
	}
	if (!one && s->still_ms <= limit)
		return OK;
	s->lost = 1;
	return supervisor_hangs(s, err);
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

/* Everything was stopped and goes on. The ranks' SIGCHLD comes before our SIGCONT. */
static bool was_continued(void)
{
	struct timespec now = {0};
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGCONT);
	return sigtimedwait(&one, NULL, &now) == SIGCONT;
}

static enum status watch(struct supervisor *s, struct error *err)
{
	enum status st = OK;
	struct timespec poll = {.tv_nsec = POLL_MS * 1000 * 1000};

	while (s->running > 0) {
		int number = sigtimedwait(&s->signals, NULL, &poll);

		if (number == SIGUSR1)
			board_of(s->memory, 0)->asked = true;
		if (number == SIGINT || number == SIGTERM || number == SIGHUP)
			TRY(on_signal(s, number, err));
		if (number == SIGCONT || was_continued())
			progress_resume(s->progress);
		TRY(reap(s, err));
		TRY(check_progress(s, err));
		progress_update(s->progress);
	}
out:
	return st;
}

static enum status start_ranks(struct supervisor *s, rank_fn *fn, void *arg, struct error *err)
{
	pid_t parent = getpid();

	fflush(NULL); /* or every rank would print what is still in our buffers */
	for (int i = 0; i < s->launch->ranks; i++) /* the first may show the board before */
		board_of(s->memory, i)->number = i;
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
						      .progress = s->progress,
						      .fn = fn,
						      .arg = arg});
		s->children[i].pid = pid;
		s->running++;
	}
	return OK;
}

static const int taken[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGCONT, SIGUSR1};

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
	s.children = calloc((size_t)l->ranks, sizeof(*s.children));
	if (!s.children) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d ranks", l->ranks);
		goto out;
	}
	TRY(shm_prepare(&s.memory, l->ranks, l->ranks <= machine_cores(), l->shared, -1, err));
	TRY(progress_open(&s.progress, l, s.memory, err));
	TRY(start_ranks(&s, fn, arg, err));
	TRY(watch(&s, err));
out:
	if (s.lost)
		count_lost(&s);
	if (l->lost)
		*l->lost = s.lost;
	if (s.children && s.running > 0)
		stop_all(&s);
	progress_end(s.progress);
	progress_free(s.progress);
	shm_release(s.memory);
	free(s.children);
	give_signals_back(&s);
	return st;
}

enum status launch_run(const struct launch *l, rank_fn *fn, void *arg, struct error *err)
{
	struct launcher by;

	if (l->ranks > RANKS_MAX) {
		FAIL(err, ERR_USAGE, "%d ranks are too many", l->ranks);
		return HINT(err, "at most %d", RANKS_MAX);
	}
	return launcher_detect(&by) ? job_run(l, &by, fn, arg, err)
				    : supervise(l, fn, arg, err);
}
