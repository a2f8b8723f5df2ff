/* rank.c - a rank's side of a launch: what it sets up before its function runs. */
#include "base/log.h"
#include "base/machine.h"
#include "base/util.h"
#include "comm/self.h"
#include "device/device.h"
#include "launch/impl.h"

#include <errno.h>
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct board_rank *own_board;

struct board_rank *rank_own_board(void)
{
	return own_board;
}

void rank_forget_board(void)
{
	own_board = NULL;
}

/* Leave the addresses on the board and die of the signal after all. */
static void on_fatal(int number)
{
	signal(number, SIG_DFL);
	/* Safe in a handler once it was called before, which catch_fatal does. */
	if (own_board)
		own_board->frames = backtrace(own_board->backtrace, BOARD_FRAMES); /* NOLINT */
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

static void export_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

void rank_prepare(struct rank *r, int local, bool pin)
{
	r->board->number = r->number;
	r->board->pid = getpid();
	r->stop = &r->board->stop;
	r->oversubscribed = r->locals > r->host_cores;
	r->cores = imax(1, r->host_cores / r->locals);
	if (pin && !r->oversubscribed)
		r->cores = device_take_cores(local, r->locals);
	export_number("RANK", r->number);
	export_number("LOCAL_RANK", local);
	export_number("WORLD_SIZE", r->ranks);
	catch_fatal(r->board);
}

/* The device is gone, and the rank with it: the supervisor says so. */
static void on_loss(const struct error *err)
{
	own_board->error = *err;
	own_board->lost = true;
	_exit(error_exit_code(err->code));
}

_Noreturn void rank_run(const struct rank_start *start)
{
	struct board_rank *board = board_of(start->memory, start->number);
	int ranks = start->launch->ranks;
	struct rank r = {.number = start->number,
			 .ranks = ranks,
			 .locals = ranks,
			 .host_cores = machine_cores(),
			 .memory = start->memory,
			 .board = board,
			 .pulse = &board->pulse};
	enum status st;

	/* A terminal's Ctrl-C reaches us too, as does what batch systems send to the whole
	   group, but it is the supervisor who decides. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGTERM, start->launch->graceful ? SIG_IGN : SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != start->supervisor)
		_exit(1); /* it died before we could ask to be told */
	sigprocmask(SIG_SETMASK, start->signals, NULL);
	progress_join(start->progress);
	rank_prepare(&r, start->number, start->launch->pin);
	device_on_loss(on_loss);
	if (ranks == 1)
		TRY(comm_open_self(&r.world, &board->error));
	else
		TRY(shm_join(&r.world, start->memory, start->number, &board->error));
	comm_set_place(r.world, board->at);
	TRY(start->fn(&r, start->arg, &board->error));
	comm_free(r.world);
out:
	if (st == OK)
		st = log_flush_results(&board->error);
	_exit(error_exit_code(st));
}
