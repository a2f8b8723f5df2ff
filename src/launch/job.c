/*
 * job.c - being a rank of a job that mpirun or srun has started; see launch.h
 *
 * There is no supervisor here. A thread of each rank watches this rank: one that shows
 * no sign of life while it waits for nobody reports itself. One that waits speaks up only
 * if nobody on its machine shows one, and much later, when the culprit has not spoken: it
 * may be stopped, or its machine gone.
 */
#include "base/clock.h"
#include "base/util.h"
#include "comm/mpi/mpi.h"
#include "launch/impl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 50, TWICE_MS = 500, PATIENCE = 3 }; /* timeouts of a rank that waits */

struct watch {
	const struct launch *launch;
	const struct rank *rank;
	struct shm_memory *memory;
	const struct comm_status *status; /* of this rank */
	int local;
	pthread_t thread;
	_Atomic bool end;
};

static struct board_rank *own_board;

/* The first one asks for an orderly end; another one ends us at once, but not the echo of
   the first: mpirun passes on what the terminal has sent to all. */
static void on_signal(int number)
{
	static double first;

	if (first > 0 && clock_ms() - first > TWICE_MS) {
		signal(number, SIG_DFL);
		raise(number);
	}
	if (first == 0)
		first = clock_ms();
	if (own_board)
		own_board->stop = number;
}

static void catch_signals(struct board_rank *board, bool graceful)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	own_board = board;
	for (size_t i = 0; graceful && i < ARRAY_SIZE(numbers); i++) {
		sigaction(numbers[i], NULL, &before);
		if (numbers[i] != SIGHUP || before.sa_handler != SIG_IGN) /* nohup */
			sigaction(numbers[i], &action, NULL);
	}
}

static _Noreturn void report_hang(const struct watch *w, bool waiting, double ms)
{
	char name[192], doing[256];
	struct error err;

	/* The process is stuck: what is printed here is its last word. */
	if (!shm_first_failure(w->memory))
		sleep(2); /* somebody here is about to take us all down */
	board_name(w->launch, w->rank->number, name, sizeof(name));
	board_describe(w->rank->board, w->status, doing, sizeof(doing));
	FAIL(&err, ERR_FAILED, "%s %s: last %s, for %.1f s", name, waiting ? "waits" : "hangs",
	     doing, ms / 1e3);
	if (waiting)
		HINT(&err,
		     "the rank that it waits for works for long (then raise --timeout), is "
		     "stopped, or its machine is gone");
	error_print(&err);
	mpi_abort(1);
}

/* Of this rank, or of all on this machine. */
static uint64_t signs_of_life(const struct watch *w, bool all)
{
	uint64_t signs = w->rank->board->beats + w->status->completed;

	for (int i = 0; all && i < w->rank->locals; i++)
		signs += board_of(w->memory, i)->beats + shm_status(w->memory, i)->completed;
	return signs;
}

static void *watch_rank(void *arg)
{
	struct watch *w = arg;
	uint64_t seen = 0;
	double since = clock_ms();
	struct timespec poll = {.tv_nsec = POLL_MS * 1000 * 1000};

	while (!w->end) {
		bool waiting = w->status->kind != REQUEST_NONE;
		uint64_t signs = signs_of_life(w, waiting);
		double now = clock_ms();

		if (signs != seen)
			since = now;
		seen = signs;
		if (now - since > w->launch->timeout_ms * (waiting ? PATIENCE : 1))
			report_hang(w, waiting, now - since);
		nanosleep(&poll, NULL);
	}
	return NULL;
}

/* Without it MPI_Init would end the process with pages of advice. */
static enum status check_pmi(const struct launcher *by, struct error *err)
{
	if (strcmp(by->name, "Slurm") || getenv("PMIX_RANK"))
		return OK;
	FAIL(err, ERR_USAGE, "srun has started %d processes that MPI can't join", by->ranks);
	return HINT(err, "use srun --mpi=pmix");
}

static enum status check_job(const struct launch *l, const struct launcher *by, int ranks,
			     struct error *err)
{
	if (ranks != by->ranks) {
		FAIL(err, ERR_USAGE, "%s has started %d processes, but %s sees %d", by->name,
		     by->ranks, mpi_library(), ranks);
		return HINT(err, "use the mpirun of the MPI that kolm was built with");
	}
	if (ranks != l->ranks) {
		FAIL(err, ERR_USAGE, "%s has started %d processes, but %d ranks are needed",
		     by->name, ranks, l->ranks);
		return HINT(err, "start %d", l->ranks);
	}
	return OK;
}

static bool is_orderly(enum status st)
{
	return st == OK || st == ERR_INTERRUPTED || st == ERR_TERMINATED || st == ERR_HANGUP;
}

/* Say how this rank failed, unless another one here has said so already, and end all. */
static _Noreturn void take_down(const struct watch *w, enum status st, struct error *err)
{
	struct error named = *err;
	char name[192];

	board_name(w->launch, w->rank->number, name, sizeof(name));
	FAIL(&named, st, "%s: %.300s", name, err->msg);
	HINT(&named, "%s", err->hint);
	if (shm_first_failure(w->memory))
		error_print(&named);
	else
		sleep(2); /* who was first is about to end us all, and must not lose its word */
	fflush(NULL);
	mpi_abort(error_exit_code(st));
}

enum status job_run(const struct launch *l, const struct launcher *by, rank_fn *fn, void *arg,
		    struct error *err)
{
	enum status st;
	struct rank r = {.number = by->rank, .ranks = by->ranks};
	struct watch w = {.launch = l, .rank = &r};
	struct mpi_place place;
	int ranks;

	TRY(check_pmi(by, err));
	TRY(mpi_start(&r.number, &ranks, err));
	st = check_job(l, by, ranks, err);
	if (st != OK) {
		mpi_end();
		return st;
	}
	st = mpi_open(&r.world, ranks, &place, err);
	if (st != OK) {
		if (err->reported)
			sleep(2); /* who knows why must not lose its word */
		error_print(err);
		mpi_abort(error_exit_code(st));
	}
	w.memory = mpi_memory(r.world);
	w.status = shm_status(w.memory, place.local);
	r.host = place.host;
	r.locals = place.locals;
	r.host_cores = place.cores;
	r.memory = w.memory;
	r.board = board_of(w.memory, place.local);
	r.pulse = &r.board->pulse;
	comm_set_place(r.world, r.board->at);
	/* Where mpirun has bound us to cores, they stay. */
	rank_prepare(&r, place.local, l->pin && place.cores_shared);
	catch_signals(r.board, l->graceful);
	if (l->timeout_ms > 0 && pthread_create(&w.thread, NULL, watch_rank, &w))
		take_down(&w, FAIL(err, ERR_FAILED, "can't start a thread"), err);
	st = fn(&r, arg, err);
	if (!is_orderly(st))
		take_down(&w, st, err);
	w.end = true;
	if (l->timeout_ms > 0)
		pthread_join(w.thread, NULL);
	own_board = NULL;
	rank_forget_board();
	comm_free(r.world);
	mpi_end();
out:
	return st;
}
