/* child.c - see child.h */
#include "study/child.h"
#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 100, PATIENCE_MS = 10000, ARGS_MAX = 256 };

static const int taken[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};

void child_signals_take(struct child_signals *s)
{
	struct sigaction plain = {.sa_handler = SIG_DFL};

	s->stopped = 0;
	sigemptyset(&s->taken);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		sigaction(taken[i], NULL, &s->actions[i]);
		/* nohup means it; a shell that ignores SIGINT for background jobs does not. */
		if (taken[i] == SIGHUP && s->actions[i].sa_handler == SIG_IGN)
			continue;
		sigaction(taken[i], &plain, NULL);
		sigaddset(&s->taken, taken[i]);
	}
	sigprocmask(SIG_BLOCK, &s->taken, &s->before);
}

void child_signals_release(struct child_signals *s)
{
	struct timespec now = {0};

	while (sigtimedwait(&s->taken, NULL, &now) > 0)
		;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
		sigaction(taken[i], &s->actions[i], NULL);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* In the child: a group of its own, so that a terminal's Ctrl-C comes from us only. */
static void become(const char *const *argv, const struct child_signals *s, pid_t parent,
		   int out, int err_fd)
{
	const char *words[ARGS_MAX] = {"kolm"};
	int input = open("/dev/null", O_RDONLY);

	for (int i = 0; argv[i] && i < ARGS_MAX - 2; i++)
		words[i + 1] = argv[i];
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* who goes on finds its folder free */
	if (getppid() != parent)
		_exit(1);
	dup2(input, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err_fd, STDERR_FILENO);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
	execv("/proc/self/exe", (char *const *)(uintptr_t)words);
	dprintf(STDERR_FILENO, "can't start kolm: %s\n", strerror(errno));
	_exit(127);
}

/* Wait for its end; a signal is handed on once, and after some patience it is killed. */
static int wait_for(pid_t pid, struct child_signals *s)
{
	struct timespec poll = {.tv_nsec = POLL_MS * 1000 * 1000};
	double asked_at = 0;
	int status = 0;

	for (;;) {
		int number = sigtimedwait(&s->taken, NULL, &poll);

		if ((number == SIGINT || number == SIGTERM || number == SIGHUP) &&
		    !s->stopped) {
			s->stopped = number;
			asked_at = clock_ms();
			kill(pid, number);
		}
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		if (s->stopped && clock_ms() - asked_at > PATIENCE_MS)
			kill(-pid, SIGKILL);
	}
}

static void read_all(int fd, struct text *out)
{
	char buf[4096];
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		text_add_n(out, buf, (size_t)n);
}

/* The line that says why: the first that begins as our errors do, or else the last. */
static void find_reason(char *said, int status, char *reason, size_t size)
{
	char *rest = said, *line, *best = NULL;
	bool ours = false;

	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "kolm: ", 6) && strncmp(line, "kolm: warning", 13) &&
		    !ours) {
			best = line + 6;
			ours = true;
		} else if (*line && !ours) {
			best = line;
		}
	if (best)
		text_printable(reason, size, best);
	else if (WIFSIGNALED(status))
		snprintf(reason, size, "ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(reason, size, "exit code %d", WEXITSTATUS(status));
}

enum status child_run(const char *const *argv, struct child_signals *s, struct child_result *r,
		      struct error *err)
{
	int out = memfd_create("output", MFD_CLOEXEC),
	    said_fd = memfd_create("said", MFD_CLOEXEC);
	pid_t parent = getpid(), pid;
	double start = clock_ms();
	struct text said;
	int status;

	*r = (struct child_result){.ok = false};
	text_init(&r->output);
	fflush(NULL);
	pid = out < 0 || said_fd < 0 ? -1 : fork();
	if (pid == 0)
		become(argv, s, parent, out, said_fd);
	if (pid < 0) {
		FAIL(err, ERR_FAILED, "can't start a run: %s", strerror(errno));
		close(out);
		close(said_fd);
		return HINT(err, "is 'ulimit -u' or 'ulimit -n' too small?");
	}
	status = wait_for(pid, s);
	r->ms = clock_ms() - start;
	r->ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	text_init(&said);
	read_all(out, &r->output);
	read_all(said_fd, &said);
	if (!r->ok)
		find_reason(said.data, status, r->reason, sizeof(r->reason));
	text_release(&said);
	close(out);
	close(said_fd);
	return OK;
}

void child_result_release(struct child_result *r)
{
	text_release(&r->output);
}
