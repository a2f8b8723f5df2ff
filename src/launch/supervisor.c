/* supervisor.c - start ranks, watch them, report, stop; see launch.h */
#include "base/clock.h"
#include "base/util.h"
#include "launch/board.h"
#include "launch/launch.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 50, GRACE_MS = 300 };

struct child {
	pid_t pid;	/* 0: has ended */
	uint64_t signs; /* of life, as last seen */
	double since;	/* when they last changed */
};

struct supervisor {
	const struct launch *launch;
	struct shm_memory *memory;
	struct board_rank *board; /* (ranks), shared */
	struct child children[SHM_RANKS_MAX];
	int running;
	sigset_t signals, before;
};

/* ---- in a rank ---- */

static struct board_rank *own_board;

/* Leave the addresses on the board and die of the signal after all. */
static void on_fatal(int number)
{
	/* Safe in a handler once it was called before, which catch_fatal does. */
	own_board->frames = backtrace(own_board->backtrace, BOARD_FRAMES); /* NOLINT */
	signal(number, SIG_DFL);
	raise(number);
}

static void catch_fatal(struct board_rank *board)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	void *warm_up[1];

	own_board = board;
	(void)backtrace(warm_up, 1); /* the first call allocates: not in a handler */
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		signal(numbers[i], on_fatal);
}

static void export_environment(int rank, int ranks)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", rank);
	setenv("RANK", text, 1);
	setenv("LOCAL_RANK", text, 1);
	snprintf(text, sizeof(text), "%d", ranks);
	setenv("WORLD_SIZE", text, 1);
}

static _Noreturn void run_rank(struct supervisor *s, int number, pid_t parent, rank_fn *fn,
			       void *arg)
{
	struct board_rank *board = &s->board[number];
	struct rank r = {.number = number, .ranks = s->launch->ranks, .board = board};
	enum status st;

	/* A terminal's Ctrl-C reaches us too, but it is the supervisor who decides. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* it died before we could ask to be told */
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	export_environment(number, s->launch->ranks);
	catch_fatal(board);
	TRY(shm_join(&r.world, s->memory, number, &board->error));
	TRY(fn(&r, arg, &board->error));
	comm_free(r.world);
out:
	fflush(stdout);
	_exit(error_exit_code(st));
}

/* ---- in the supervisor ---- */

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
		if (s->children[i].pid > 0) {
			kill(s->children[i].pid, SIGKILL);
			waitpid(s->children[i].pid, NULL, 0);
			s->children[i].pid = 0;
			s->running--;
		}
}

static void describe(struct supervisor *s, int rank, char *buf, size_t size)
{
	board_describe(&s->board[rank], shm_status(s->memory, rank), buf, size);
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
	const struct board_rank *board = &s->board[rank];
	char doing[256], host[64] = "this machine";
	enum status code = ERR_FAILED;
	int exit_code;

	gethostname(host, sizeof(host) - 1);
	describe(s, rank, doing, sizeof(doing));
	if (WIFSIGNALED(status)) {
		exit_code = 128 + WTERMSIG(status);
		FAIL(err, code, "rank %d of %d on %s was ended by signal %d (%s), %s", rank,
		     s->launch->ranks, host, WTERMSIG(status), strsignal(WTERMSIG(status)),
		     doing);
		print_backtrace(board);
	} else {
		exit_code = WEXITSTATUS(status);
		code = board->error.code != OK ? board->error.code : ERR_FAILED;
		FAIL(err, code, "rank %d of %d on %s: %.300s", rank, s->launch->ranks, host,
		     board->error.code != OK ? board->error.msg : "ended without a message");
		HINT(err, "%s", board->error.hint);
	}
	err->exit_code = exit_code;
	return code;
}

/* Collect ranks that have ended; the first failure ends the run. */
static enum status reap(struct supervisor *s, struct error *err)
{
	for (int i = 0; i < s->launch->ranks; i++) {
		int status;

		if (s->children[i].pid <= 0 ||
		    waitpid(s->children[i].pid, &status, WNOHANG) != s->children[i].pid)
			continue;
		s->children[i].pid = 0;
		s->running--;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			return report_failure(s, i, status, err);
	}
	return OK;
}

/* A rank shows no sign of life: name it and who waits for it. Ranks that wait are not
   to blame while there is one that does not. */
static enum status report_hang(struct supervisor *s, const double idle[], struct error *err)
{
	char doing[256], line[512];
	int culprit = -1, waiting = 0, n = 0;

	for (int i = 0; i < s->launch->ranks; i++) {
		bool waits = shm_status(s->memory, i)->kind != REQUEST_NONE;

		if (s->children[i].pid > 0 && !waits &&
		    (culprit < 0 || idle[i] > idle[culprit]))
			culprit = i;
		waiting += s->children[i].pid > 0 && waits;
	}
	for (int i = 0; i < s->launch->ranks && culprit < 0; i++)
		if (s->children[i].pid > 0)
			culprit = i; /* all wait for each other */
	line[0] = '\0';
	for (int i = 0; i < s->launch->ranks; i++) {
		if (s->children[i].pid <= 0 || i == culprit)
			continue;
		describe(s, i, doing, sizeof(doing));
		if (n >= 0 && (size_t)n < sizeof(line))
			n += snprintf(line + n, sizeof(line) - (size_t)n, "  rank %d %s\n", i,
				      doing);
	}
	describe(s, culprit, doing, sizeof(doing));
	fprintf(stderr, "no sign of life for %.1f s; the other ranks:\n%s", idle[culprit] / 1e3,
		line);
	return FAIL(err, ERR_FAILED,
		    "rank %d of %d hangs: last %s, for %.1f s; %d other ranks wait", culprit,
		    s->launch->ranks, doing, idle[culprit] / 1e3, waiting);
}

static enum status check_progress(struct supervisor *s, struct error *err)
{
	double now = clock_ms(), idle[SHM_RANKS_MAX] = {0};
	bool hang = false;

	if (s->launch->timeout_ms <= 0)
		return OK;
	for (int i = 0; i < s->launch->ranks; i++) {
		struct child *c = &s->children[i];
		uint64_t signs = s->board[i].beats + shm_status(s->memory, i)->completed;

		if (c->pid <= 0)
			continue;
		if (signs != c->signs) {
			c->signs = signs;
			c->since = now;
		}
		idle[i] = now - c->since;
		hang = hang || idle[i] > s->launch->timeout_ms;
	}
	return hang ? report_hang(s, idle, err) : OK;
}

static enum status on_signal(int number, struct error *err)
{
	enum status code = number == SIGINT    ? ERR_INTERRUPTED
			   : number == SIGTERM ? ERR_TERMINATED
					       : ERR_HANGUP;

	return FAIL(err, code, "stopped by %s",
		    number == SIGINT ? "Ctrl-C" : strsignal(number));
}

static enum status watch(struct supervisor *s, struct error *err)
{
	enum status st = OK;
	struct timespec poll = {.tv_nsec = POLL_MS * 1000 * 1000};

	while (s->running > 0) {
		int number = sigtimedwait(&s->signals, NULL, &poll);

		if (number == SIGINT || number == SIGTERM || number == SIGHUP)
			return on_signal(number, err);
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
			run_rank(s, i, parent, fn, arg);
		s->children[i].pid = pid;
		s->children[i].since = clock_ms();
		s->running++;
	}
	return OK;
}

static int cores_allowed(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

enum status launch_run(const struct launch *l, rank_fn *fn, void *arg, struct error *err)
{
	enum status st;
	struct supervisor s = {.launch = l};
	size_t size = sizeof(*s.board) * (size_t)l->ranks;

	sigemptyset(&s.signals);
	sigaddset(&s.signals, SIGCHLD);
	sigaddset(&s.signals, SIGINT);
	sigaddset(&s.signals, SIGTERM);
	sigaddset(&s.signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &s.signals, &s.before);
	s.board = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s.board == MAP_FAILED) {
		s.board = NULL;
		st = FAIL(err, ERR_MEMORY, "no memory for the status of %d ranks", l->ranks);
		goto out;
	}
	TRY(shm_prepare(&s.memory, l->ranks, l->ranks <= cores_allowed(), err));
	TRY(start_ranks(&s, fn, arg, err));
	TRY(watch(&s, err));
out:
	if (s.running > 0)
		stop_all(&s);
	shm_release(s.memory);
	if (s.board)
		munmap(s.board, size);
	sigprocmask(SIG_SETMASK, &s.before, NULL);
	return st;
}
