/*
 * report.c - what the supervisor says when a rank has failed or hangs: who, where in the
 * grid, doing what, and who waits for it. See impl.h
 */
#include "launch/impl.h"
#include "base/log.h"

#include <execinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

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
		log_detail("%s", names[i]);
	free(names);
}

enum status supervisor_failed(struct supervisor *s, int rank, int status, struct error *err)
{
	const struct board_rank *board = board_of(s->memory, rank);
	bool spoke = board->error.code != OK;
	char doing[256], name[192];

	progress_end(s->progress);
	describe(s, rank, doing, sizeof(doing));
	board_name(s->launch, rank, NULL, name, sizeof(name));
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

bool supervisor_waits(struct supervisor *s, int rank)
{
	return shm_status(s->memory, rank)->kind != REQUEST_NONE;
}

static bool waits_for(struct supervisor *s, int rank, int other)
{
	const struct comm_status *status = shm_status(s->memory, rank);

	if (status->kind == REQUEST_COLLECTIVE)
		return comm_status_has(status, other);
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
		if (!supervisor_waits(s, i) &&
		    (culprit < 0 || c->idle_ms > s->children[culprit].idle_ms))
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

enum status supervisor_hangs(struct supervisor *s, struct error *err)
{
	int culprit = find_culprit(s);
	const struct child *c = &s->children[culprit];
	char doing[256], name[192], victims[256];

	progress_end(s->progress);
	describe(s, culprit, doing, sizeof(doing));
	board_name(s->launch, culprit, NULL, name, sizeof(name));
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
		board_name(s->launch, i, NULL, name, sizeof(name));
		log_detail("%s %s", name, doing);
	}
	return ERR_FAILED;
}
