/* job.c - being a rank of a job that mpirun or srun has started; see launch.h, guard.h */
#include "base/clock.h"
#include "base/util.h"
#include "comm/mpi/mpi.h"
#include "device/device.h"
#include "launch/guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TWICE_MS = 500 };

/* The first one asks for an orderly end; another one ends us at once, but not the echo of
   the first: mpirun passes on what the terminal has sent to all. */
static void on_signal(int number)
{
	static double first;
	struct board_rank *board = rank_own_board();

	if (first > 0 && clock_ms() - first > TWICE_MS) {
		signal(number, SIG_DFL);
		raise(number);
	}
	if (first == 0)
		first = clock_ms();
	if (board)
		board->stop = number;
}

static void on_warning(int number)
{
	struct board_rank *board = rank_own_board();

	(void)number;
	if (board)
		board->asked = true;
}

static void catch_signals(bool graceful)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	struct sigaction warning = {.sa_handler = on_warning, .sa_flags = SA_RESTART};

	if (graceful)
		sigaction(SIGUSR1, &warning, NULL);
	for (size_t i = 0; graceful && i < ARRAY_SIZE(numbers); i++) {
		sigaction(numbers[i], NULL, &before);
		if (numbers[i] != SIGHUP || before.sa_handler != SIG_IGN) /* nohup */
			sigaction(numbers[i], &action, NULL);
	}
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
static _Noreturn void take_down(const struct guard *g, enum status st, struct error *err)
{
	struct error named = {0};
	char name[192];

	board_name(g->launch, g->rank->number, NULL, name, sizeof(name));
	FAIL(&named, st, "%s: %.300s", name, err->msg);
	HINT(&named, "%s", err->hint);
	if (shm_first_failure(g->rank->memory))
		error_print(&named);
	else
		sleep(2); /* who was first is about to end us all, and must not lose its word */
	fflush(NULL);
	mpi_abort(error_exit_code(st));
}

static struct guard *own_guard;

/* Its device has failed, in whatever thread. */
static void on_loss(const struct error *err)
{
	struct error copy = *err;

	guard_abandon(own_guard);
	take_down(own_guard, err->code, &copy);
}

/* Join the others; those that can't, say why and end the job. */
static enum status join(struct rank *r, struct mpi_place *place, const struct launch *l,
			const struct launcher *by, struct error *err)
{
	enum status st;
	int ranks;

	TRY(check_pmi(by, err));
	TRY(mpi_start(&r->number, &ranks, err));
	st = check_job(l, by, ranks, err);
	if (st != OK) {
		mpi_end();
		return st;
	}
	st = mpi_open(&r->world, ranks, getenv("KOLM_MPI_HOSTS"), place, err);
	if (st != OK) {
		if (err->reported)
			sleep(2); /* who knows why must not lose its word */
		error_print(err);
		mpi_abort(error_exit_code(st));
	}
	r->host = place->host;
	r->locals = place->locals;
	r->hosts = mpi_hosts(r->world);
	r->host_cores = place->cores;
	r->hurried = l->hurry && by->hurries;
	r->memory = mpi_memory(r->world);
	r->board = board_of(r->memory, place->local);
	r->pulse = &r->board->pulse;
	comm_set_place(r->world, r->board->at);
out:
	return st;
}

/* A run that a signal has ended ends so on all ranks: some launchers pass on the exit code
   of any of them. What is to be said comes before anybody leaves. */
static enum status end_of(struct guard *g, enum status st, struct error *err)
{
	const char *name;

	if (st == OK && g->rank->ended_by) {
		st = error_of_signal(g->rank->ended_by, &name);
		err->reported = true; /* by rank 0 */
	} else if (st != OK && !atomic_exchange(&g->said, true)) {
		if (shm_has_failed(g->rank->memory)) /* and who did has said so */
			err->reported = true;
		error_print(err);
	}
	return st;
}

enum status job_run(const struct launch *l, const struct launcher *by, rank_fn *fn, void *arg,
		    struct error *err)
{
	enum status st;
	struct rank r = {.number = by->rank, .ranks = by->ranks};
	struct guard g = {.launch = l, .rank = &r, .arg = arg};
	struct mpi_place place;

	TRY(join(&r, &place, l, by, err));
	g.local = place.local;
	/* Where mpirun has bound us to cores, they stay. */
	rank_prepare(&r, place.local, l->pin && place.cores_shared);
	catch_signals(l->graceful);
	st = guard_start(&g, err);
	if (st != OK)
		take_down(&g, st, err);
	own_guard = &g;
	device_on_loss(on_loss);
	st = fn(&r, arg, err);
	if (!is_orderly(st))
		take_down(&g, st, err);
	st = end_of(&g, st, err);
	/* Nobody is left alone with one that never gets here. */
	rank_at(&r, "the end");
	(void)comm_run(r.world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, NULL);
	device_on_loss(NULL);
	guard_end(&g);
	rank_forget_board();
	comm_free(r.world);
	mpi_end();
out:
	return st;
}
