/* rank.c - a rank's side of a launch: what it sets up before its function runs. */
#include "base/util.h"
#include "launch/impl.h"

#include <errno.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

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

_Noreturn void rank_run(const struct rank_start *start)
{
	struct board_rank *board = start->board;
	struct rank r = {.number = start->number, .ranks = start->ranks, .board = board};
	enum status st;

	/* A terminal's Ctrl-C reaches us too, but it is the supervisor who decides. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != start->supervisor)
		_exit(1); /* it died before we could ask to be told */
	sigprocmask(SIG_SETMASK, start->signals, NULL);
	export_environment(start->number, start->ranks);
	catch_fatal(board);
	TRY(shm_join(&r.world, start->memory, start->number, &board->error));
	TRY(start->fn(&r, start->arg, &board->error));
	comm_free(r.world);
out:
	if (fflush(stdout) && st == OK)
		st = FAIL(&board->error, ERR_FAILED, "can't write to standard output: %s",
			  strerror(errno));
	_exit(error_exit_code(st));
}
