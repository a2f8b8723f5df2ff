/* guard.c - see guard.h */
#include "launch/guard.h"
#include "base/clock.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	POLL_MS = 50,
	POLL_ASKED_MS = 10,   /* where a signal has asked for the end */
	HURRY_MS = 150,	      /* for an orderly end, of the second that mpirun gives us */
	LOOKS = 20,	      /* at a neighbour or another machine, per timeout */
	HEAD_START_MS = 1000, /* of those beside a rank that is silent: they know why */
};

static struct board_rank *board_at(const struct guard *g, int local)
{
	return board_of(g->rank->memory, local);
}

static uint64_t signs_of(const struct guard *g, int local)
{
	return board_at(g, local)->beats + shm_status(g->rank->memory, local)->completed;
}

static bool waits(const struct guard *g, int local)
{
	return shm_status(g->rank->memory, local)->kind != REQUEST_NONE;
}

void guard_abandon(struct guard *g)
{
	if (g->rank->number == 0 && g->launch->abandon && !g->abandoned)
		g->launch->abandon(g->arg);
	g->abandoned = true;
}

/* The process is stuck: what is printed here is its last word. */
static _Noreturn void report(struct guard *g, struct error *err)
{
	guard_abandon(g);
	if (!shm_first_failure(g->rank->memory))
		sleep(2); /* somebody here is about to take us all down */
	error_print(err);
	mpi_abort(1);
}

static _Noreturn void report_rank(struct guard *g, int local, const char *how, double ms)
{
	const struct board_rank *board = board_at(g, local);
	char name[192], doing[256];
	struct error err = {0};

	board_name(g->launch, board->number, NULL, name, sizeof(name));
	board_describe(board, shm_status(g->rank->memory, local), doing, sizeof(doing));
	FAIL(&err, ERR_FAILED, "%s %s: last %s, for %.1f s", name, how, doing, ms / 1e3);
	report(g, &err);
}

/* By a signal, or a debugger. */
static bool is_stopped(int pid)
{
	char path[64], text[512], *state = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f))
		state = strrchr(text, ')'); /* behind the name, which may hold anything */
	if (f)
		fclose(f);
	return state && (!strncmp(state, ") T", 3) || !strncmp(state, ") t", 3));
}

/* A rank that is stopped may have others be stuck where they don't know that they wait. */
static void watch_self(struct guard *g, double elapsed)
{
	uint64_t signs = signs_of(g, g->local);

	g->own_ms += elapsed;
	if (signs != g->own_signs || waits(g, g->local))
		g->own_ms = 0;
	g->own_signs = signs;
	if (g->own_ms <= g->launch->timeout_ms)
		return;
	for (int i = 0; i < g->rank->locals; i++)
		if (board_at(g, i)->stopped)
			report_rank(g, i, "hangs (it is stopped)", g->own_ms);
	report_rank(g, g->local, "hangs", g->own_ms);
}

/* Ranks watch each other in a ring: one that is stopped is seen by the one before it that
   is not. */
static void watch_neighbour(struct guard *g, double elapsed)
{
	int next = (g->local + 1) % g->rank->locals;
	struct board_rank *board = board_at(g, next);
	uint64_t signs = signs_of(g, next);

	g->next_ms += elapsed;
	if (signs != g->next_signs)
		g->next_ms = 0;
	g->next_signs = signs;
	if (g->next_ms < g->launch->timeout_ms / LOOKS && !board->stopped)
		return;
	board->stopped = is_stopped(board->pid);
	if (!board->stopped)
		g->next_ms = 0;
	else if (g->next_ms > g->launch->timeout_ms)
		report_rank(g, next, "hangs (it is stopped)", g->next_ms);
}

/* How the ranks of this machine go on. */
static struct mpi_sign sign_of_machine(const struct guard *g)
{
	struct mpi_sign sign = {.waits = 1, .failed = shm_has_failed(g->rank->memory)};

	for (int i = 0; i < g->rank->locals; i++) {
		sign.signs += signs_of(g, i);
		sign.waits = sign.waits && waits(g, i) && !board_at(g, i)->stopped;
	}
	return sign;
}

static _Noreturn void report_machine(struct guard *g, const struct mpi_beacon *b)
{
	char name[192];
	struct error err = {0};

	board_name(g->launch, b->rank, b->host, name, sizeof(name));
	FAIL(&err, ERR_FAILED, "%s hangs: nothing was heard from it for %.1f s", name,
	     b->silent_ms / 1e3);
	HINT(&err, "it is stopped, or its machine or the network is gone");
	report(g, &err);
}

/* The first rank of a machine: is there life on the others, and anywhere? */
static void watch_machines(struct guard *g, double elapsed)
{
	struct mpi_sign sum = sign_of_machine(g);
	const struct mpi_beacon *beacons;
	double limit = g->launch->timeout_ms;
	int n = mpi_beacons_look(g->beacons, &sum, elapsed, limit / LOOKS, &beacons);
	bool first = true; /* of those who can speak */

	if (n)
		limit += HEAD_START_MS;
	for (int i = 0; i < n; i++) {
		bool silent = beacons[i].silent_ms > limit;

		first = first && (silent || beacons[i].rank > g->rank->number);
		sum.signs += beacons[i].last.signs;
		sum.waits = sum.waits && beacons[i].last.waits;
		if (beacons[i].last.failed) /* what comes now is a consequence */
			shm_first_failure(g->rank->memory);
		if (silent && first)
			report_machine(g, &beacons[i]);
	}
	g->all_ms += elapsed;
	if (sum.signs != g->all_signs || !sum.waits)
		g->all_ms = 0;
	g->all_signs = sum.signs;
	if (g->all_ms > limit && first)
		report_rank(g, g->local, "waits, and so does everybody", g->all_ms);
}

/* The launcher is about to kill us: leave what there is. Unless it does so because a rank
   has failed, which said what there is to say. */
static void hurry(struct guard *g, int number)
{
	struct error err = {0};
	enum status st;

	if (shm_has_failed(g->rank->memory)) {
		guard_abandon(g);
		return;
	}
	if (!g->rank->hurried)
		return;
	st = g->launch->hurry(g->arg, number, &err);
	if (!atomic_exchange(&g->said, true))
		error_print(&err);
	_exit(error_exit_code(st));
}

static void *watch(void *arg)
{
	struct guard *g = arg;

	g->last = clock_ms();
	while (!g->end) {
		double now = clock_ms(), elapsed = fmin(now - g->last, 2 * POLL_MS);
		int number = rank_stop(g->rank);
		struct timespec poll = {0};

		g->last = now;
		if (g->launch->timeout_ms > 0) {
			watch_self(g, elapsed);
			watch_neighbour(g, elapsed);
			if (g->local == 0)
				watch_machines(g, elapsed);
		}
		if (number && !g->asked_at)
			g->asked_at = now;
		if (number && now - g->asked_at > HURRY_MS && g->rank->number == 0)
			hurry(g, number);
		poll.tv_nsec = (number ? POLL_ASKED_MS : POLL_MS) * 1000 * 1000;
		nanosleep(&poll, NULL);
	}
	return NULL;
}

enum status guard_start(struct guard *g, struct error *err)
{
	enum status st;

	TRY(mpi_beacons_open(&g->beacons, g->rank->world, g->local == 0, err));
	if (pthread_create(&g->thread, NULL, watch, g))
		st = FAIL(err, ERR_MEMORY, "can't start a thread");
out:
	return st;
}

void guard_end(struct guard *g)
{
	g->end = true;
	pthread_join(g->thread, NULL);
	mpi_beacons_close(g->beacons);
}
