/* train.c - kolm train: read the options, decide on the grid, start the ranks. */
#include "cmd/cmd.h"
#include "base/log.h"
#include "base/signals.h"
#include "cmd/training.h"
#include "launch/launch.h"

#include <math.h>
#include <stdlib.h>

static enum status check_transport(const struct config *c, const struct launcher *by,
				   bool launched, struct error *err)
{
	if (c->transport == TRANSPORT_SHM && launched && by->ranks > 1) {
		FAIL(err, ERR_USAGE, "--transport shm, but %s has started %d processes",
		     by->name, by->ranks);
		return HINT(err, "start kolm on its own: it starts its ranks itself");
	}
	if (c->transport == TRANSPORT_MPI && !launched) {
		FAIL(err, ERR_USAGE, "--transport mpi, but nobody has started this as a rank");
		return HINT(err, "use mpirun -n N kolm train ..., or leave it out");
	}
	return OK;
}

static enum status check_master(const struct config *c, struct error *err)
{
	if (c->grad_sync != SYNC_MASTER)
		return OK;
	if (c->pp > 1 || c->mp > 1) {
		FAIL(err, ERR_USAGE, "--grad-sync master with --pp %d --mp %d", c->pp, c->mp);
		return HINT(err, "DataParallel has whole replicas only: --pp 1 --mp 1");
	}
	if (c->zero) {
		FAIL(err, ERR_USAGE, "--grad-sync master with --zero 1");
		return HINT(err, "the master updates alone: use --grad-sync ddp");
	}
	return OK;
}

/* How many ranks there are, or could be, and the grid over them. */
static enum status open_grid(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	struct launcher by;
	bool launched = launcher_detect(&by);
	enum status st;

	if (c->plan || c->dry_run)
		return FAIL(err, ERR_USAGE, "--%s is for kolm train",
			    c->plan ? "plan" : "dry-run");
	TRY(check_transport(c, &by, launched, err));
	t->grid = (struct grid){.dp = c->dp, .pp = c->pp, .mp = c->mp};
	TRY(grid_resolve(&t->grid, launched ? by.ranks : training_places(c), launched, err));
	c->dp = t->grid.dp;
	c->pp = t->grid.pp;
	c->mp = t->grid.mp;
	TRY(check_master(c, err));
	TRY(config_resolve_as_if(c, err));
	TRY(config_resolve_batch(c, err));
out:
	return st;
}

enum status training_plan(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	struct inject_limits limits;
	enum status st;

	TRY(open_grid(t, err));
	limits = (struct inject_limits){grid_size(&t->grid), c->epochs ? STEPS_MAX : c->steps,
					c->micro_batches};
	if (t->restarted)
		return OK; /* what is left of it */
	TRY(inject_parse(&t->inject, c->inject, &limits, err));
out:
	return st;
}

/* Start the ranks and wait for their end; *lost takes how many of them were. */
static enum status run_once(struct training *t, bool alone, int *lost, struct error *err)
{
	const struct config *c = &t->config;
	struct launch launch;
	enum status st;

	*lost = 0;
	TRY(training_plan(t, err));
	TRY(training_choose_screen(t, err));
	/* A rank of a job may fail alone, and is then named. */
	if (alone) {
		TRY(training_prepare(t, err));
		TRY(training_check_room(t, err));
		if (!t->restarted)
			TRY(training_claim(t, err));
		TRY(training_find_start(t, err));
		if (t->nothing_left)
			goto out;
	}
	launch = (struct launch){.ranks = grid_size(&t->grid),
				 .timeout_ms = c->timeout * 1e3,
				 .graceful = true,
				 .pin = c->pin == PIN_AUTO,
				 .shared = t->memory.shared,
				 .grid = grid_size(&t->grid) > 1 ? &t->grid : NULL,
				 .screen = t->screen,
				 .hurry = training_hurry,
				 .abandon = training_abandon,
				 .lost = lost};
	TRY(launch_run(&launch, training_rank, t, err));
out:
	return st;
}

/* From the last checkpoint in the folder of the run, which stays claimed. */
static enum status prepare_again(struct training *t, int lost, struct error *err)
{
	struct config *c = &t->config;
	enum status st;

	TRY(training_shrink(t, lost, err));
	inject_survive(&t->inject, c->dp * c->pp * c->mp);
	training_forget(t);
	t->restarted++;
	c->in_place = true;
	snprintf(c->resume, sizeof(c->resume), "auto");
	log_warn("restart %d of %d: from the last checkpoint, on a grid of %d x %d x %d, %d "
		 "micro-batch%s of %d",
		 t->restarted, c->restarts, c->dp, c->pp, c->mp, c->micro_batches,
		 c->micro_batches == 1 ? "" : "es", c->micro_batch_size);
out:
	return st;
}

enum status training_run(struct training *t, struct error *err)
{
	struct launcher by;
	bool alone = !launcher_detect(&by);
	struct error failure = {0};
	sigset_t signals;
	enum status st;
	int lost;

	if (alone)
		signals_hold(&signals);
	for (;;) {
		error_clear(&failure);
		st = run_once(t, alone, &lost, &failure);
		if (st == OK || !alone || !lost || t->restarted >= t->config.restarts)
			break;
		st = prepare_again(t, lost, err);
		if (st != OK)
			goto out;
	}
	if (st != OK)
		st = error_copy(err, &failure);
out:
	training_release(t);
	if (alone)
		signals_let_go(&signals);
	return st;
}

struct training *training_new(int argc, char *const *argv, struct error *err)
{
	struct training *t = calloc(1, sizeof(*t));

	if (!t) {
		FAIL(err, ERR_MEMORY, "no memory to start");
		return NULL;
	}
	*t = (struct training){
		.argc = argc,
		.argv = argv,
		.predicted = {.step_ms = NAN, .low_ms = NAN, .high_ms = NAN, .bubble = NAN},
		.run = {.fd = -1},
		.kept = {.lock = PTHREAD_MUTEX_INITIALIZER}};
	return t;
}

void training_forget(struct training *t)
{
	checkpoint_close(&t->from);
	schedule_release(&t->schedule);
	partition_release(&t->partition);
	model_release(&t->model);
	data_close(&t->data);
}

void training_free(struct training *t)
{
	training_forget(t);
	free(t);
}

enum status cmd_train(int argc, char *const *argv, struct error *err)
{
	enum status st;
	struct training *t = training_new(argc, argv, err);
	struct config *c;

	if (!t)
		return ERR_MEMORY;
	c = &t->config;
	TRY(config_read(c, argc, argv, err));
	if (c->values.help) {
		options_print_help(&config_table, stdout);
		goto out;
	}
	log_set_level(c->quiet ? LOG_QUIET : c->verbose ? LOG_VERBOSE : LOG_NORMAL);
	if (training_is_open(c))
		TRY(training_choose(t, err));
	if (c->dry_run)
		TRY(training_dry_run(t, err));
	else
		TRY(training_run(t, err));
out:
	training_free(t);
	return st;
}
