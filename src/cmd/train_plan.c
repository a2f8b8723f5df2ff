/*
 * train_plan.c - kolm train --plan and --dry-run; see training.h
 *
 * What can be run is forecast by building the engine of every rank on a virtual device that is
 * like this machine, and trying its parts there (engine/imagine.h). Of a real machine that is
 * not enough to choose by: the best ones are started, which tries their parts with all that
 * ranks take from each other, and the quickest of these is run.
 */
#include "base/file.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/signals.h"
#include "base/units.h"
#include "base/util.h"
#include "cmd/gpus.h"
#include "cmd/machine_speed.h"
#include "cmd/training.h"
#include "engine/imagine.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many are started, none that is forecast to take that many times as long as the best, and
   so many are shown. */
enum { TRIED_MAX = 4, SHOWN_MAX = 8, SUMMARY_MAX = 1 << 26 };
#define HOPELESS 2.0
#define SECONDS	 0.02 /* for each figure of this machine */

struct choosing {
	struct training *t;
	struct machine_speed speed;
	bool is_virtual;
	int gpus; /* 0: on cores */
	struct candidate *list;
	int count;
};

/* A virtual device that is like a rank's part of this machine. */
static void spec_of(const struct choosing *x, int threads, char *spec, size_t size)
{
	const struct machine_speed *s = &x->speed;

	if (x->is_virtual) {
		snprintf(spec, size, "%s", x->t->config.device);
		return;
	}
	if (x->gpus)
		threads = 1; /* of whatever the host has */
	snprintf(spec, size, "virtual:gflops=%.6g,gflops16=%.6g,bandwidth=%.0fMB/s",
		 s->products * threads, s->products16 * threads, s->bandwidth * threads * 1e3);
	if (s->sum_count)
		snprintf(spec + strlen(spec), size - strlen(spec),
			 ",link=%.0fMB/s,latency=%.3gus", s->sums[0].gb_per_s * 1e3,
			 s->sums[0].us / 2);
}

/* A training of the same command line, as a candidate would have it. */
static enum status open_candidate(const struct choosing *x, const struct candidate *c,
				  struct training **out, struct error *err)
{
	struct training *t = training_new(x->t->argc, x->t->argv, err);
	enum status st;

	if (!t)
		return ERR_MEMORY;
	TRY(config_read(&t->config, t->argc, t->argv, err));
	training_apply(&t->config, c);
	t->config.plan = t->config.dry_run = false;
	*out = t;
	t = NULL; /* the caller's now */
out:
	if (t)
		training_free(t);
	return st;
}

static enum status imagine(const struct choosing *x, struct candidate *c, struct error *err)
{
	struct imagined im = {.bytes = NULL};
	struct engine_options options;
	struct training *t = NULL;
	char spec[512];
	enum status st;

	spec_of(x, imax(1, c->threads), spec, sizeof(spec));
	TRY(open_candidate(x, c, &t, err));
	TRY(training_plan(t, err));
	TRY(training_prepare(t, err));
	options = training_engine_options(t);
	TRY(engine_imagine(&options, spec, x->is_virtual ? t->config.device_memory : 0,
			   t->config.breakdown, &im, err));
	c->imagined_ms = im.step_ms;
	c->bytes = t->memory.account.total;
out:
	if (t)
		training_free(t);
	return st;
}

/* How long a step is said to take by who has started it, from summary.json. */
static enum status read_predicted(const char *folder, double *ms, struct error *err)
{
	char path[PATH_MAX], *bytes = NULL;
	json_t *root = NULL, *value;
	size_t size;
	enum status st;

	TRY(file_path(path, folder, "summary.json", err));
	TRY(file_read(path, SUMMARY_MAX, &bytes, &size, err));
	root = json_loadb(bytes, size, 0, NULL);
	value = json_object_get(root, "predicted_ms");
	*ms = json_is_number(value) ? json_number_value(value) : NAN;
out:
	json_decref(root);
	free(bytes);
	return st;
}

/* Start it for one step, in a folder that goes away. */
static enum status start(const struct choosing *x, struct candidate *c, struct error *err)
{
	struct training *t = NULL;
	struct folder folder = {0};
	const struct config *own = &x->t->config;
	sigset_t signals;
	enum status st;

	signals_hold(&signals);
	TRY(folder_make_temporary(&folder, "plan", err));
	TRY(open_candidate(x, c, &t, err));
	t->config.quiet = true;
	t->config.steps = 1;
	t->config.epochs = 0;
	t->config.warmup = t->config.lr_warmup = 0;
	t->config.eval_every = t->config.patience = t->config.trace = t->config.restarts = 0;
	t->config.dump_check[0] = t->config.save_every[0] = t->config.resume[0] = '\0';
	t->config.save = t->config.tensorboard = false;
	t->config.overwrite = true;
	config_shorten_course(&t->config);
	snprintf(t->config.run_dir, sizeof(t->config.run_dir), "%s", folder.path);
	log_set_level(LOG_QUIET);
	TRY(training_run(t, err));
	TRY(read_predicted(folder.path, &c->tried_ms, err));
out:
	log_set_level(own->quiet ? LOG_QUIET : own->verbose ? LOG_VERBOSE : LOG_NORMAL);
	if (t)
		training_free(t);
	folder_remove_temporary(&folder);
	signals_let_go(&signals);
	return st;
}

/* ---- choosing ---- */

static double rank_of(const struct candidate *c)
{
	return isnan(c->tried_ms) ? isnan(c->imagined_ms) ? INFINITY : c->imagined_ms
				  : c->tried_ms;
}

/* What was tried before what was not; of equals the earlier one. */
static int by_time(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (isnan(x->tried_ms) != isnan(y->tried_ms))
		return isnan(x->tried_ms) ? 1 : -1;
	return rank_of(x) < rank_of(y) ? -1 : rank_of(x) > rank_of(y);
}

static void show(const struct choosing *x)
{
	char what[160], size[32];
	int shown = 0;

	log_info("%d ways to run it, forecast%s:", x->count,
		 x->is_virtual ? "" : " from what this machine was measured to do");
	for (int i = 0; i < x->count && shown < SHOWN_MAX && isfinite(rank_of(&x->list[i]));
	     i++, shown++) {
		const struct candidate *c = &x->list[i];

		units_format_size(c->bytes, size, sizeof(size));
		training_describe(c, what, sizeof(what));
		if (isnan(c->tried_ms))
			log_info("  %10.3f ms %14s %10s  %s%s", c->imagined_ms, "", size, what,
				 i ? "" : "  <- chosen");
		else
			log_info("  %10.3f ms, tried %8.3f %10s  %s%s", c->imagined_ms,
				 c->tried_ms, size, what, i ? "" : "  <- chosen");
	}
}

static enum status nothing_runs(const struct choosing *x, struct error *err)
{
	for (int i = 0; i < x->count; i++)
		if (*x->list[i].why) {
			FAIL(err, ERR_USAGE, "none of %d ways can be run: %s", x->count,
			     x->list[i].why);
			return HINT(err, "give --dp, --pp and --mp");
		}
	FAIL(err, ERR_USAGE, "there is no such grid");
	return HINT(err, "give --dp, --pp and --mp");
}

/* The best forecasts of grids that differ. */
static enum status try_best(struct choosing *x, struct error *err)
{
	enum status st = OK;
	int tried = 0;

	for (int i = 0; i < x->count && tried < TRIED_MAX; i++) {
		struct candidate *c = &x->list[i];
		bool again = false;

		if (!(c->imagined_ms <= HOPELESS * x->list[0].imagined_ms))
			break;
		for (int k = 0; k < i; k++)
			again |= !memcmp(&x->list[k].grid, &c->grid, sizeof(c->grid)) &&
				 !isnan(x->list[k].tried_ms);
		if (again)
			continue;
		TRY(start(x, c, err));
		tried++;
	}
	qsort(x->list, (size_t)x->count, sizeof(*x->list), by_time);
out:
	return st;
}

static enum status forecast_all(struct choosing *x, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < x->count; i++) {
		struct candidate *c = &x->list[i];
		struct error why = {0};

		st = imagine(x, c, &why);
		if (st == ERR_USAGE || st == ERR_MEMORY) { /* it can't be run */
			snprintf(c->why, sizeof(c->why), "%.150s", why.msg);
			st = OK;
		} else if (st != OK) {
			return error_copy(err, &why);
		}
	}
	qsort(x->list, (size_t)x->count, sizeof(*x->list), by_time);
	if (!x->count || !isfinite(rank_of(&x->list[0])))
		st = nothing_runs(x, err);
	return st;
}

/* Ranks compute on GPUs, and what goes between them goes through this machine. */
static enum status measure_gpu(struct choosing *x, struct error *err)
{
	struct config *c = &x->t->config;
	struct gpu_speed speed;
	enum status st;

	TRY(gpus_resolve(c->device, sizeof(c->device), true, err));
	TRY(gpus_measure(c->device, &speed, err));
	x->speed.products = x->speed.products16 = speed.gflops;
	x->speed.bandwidth = speed.gb_per_s;
out:
	return st;
}

static enum status open_choosing(struct choosing *x, struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	struct speed_options o = {.seconds = SECONDS,
				  .rows = imax(8, imin(256, c->batch)),
				  .width = imax(64, imin(1024, c->dim))};
	enum status st;

	*x = (struct choosing){.t = t, .is_virtual = !strncmp(c->device, "virtual", 7)};
	x->list = calloc(CANDIDATES_MAX, sizeof(*x->list));
	if (!x->list)
		return FAIL(err, ERR_MEMORY, "no memory to choose a grid");
	if (x->is_virtual)
		return OK;
	TRY(machine_speed_measure(&x->speed, &o, err));
	x->gpus = gpus_count(c->device);
	if (x->gpus)
		TRY(measure_gpu(x, err));
out:
	return st;
}

enum status training_choose(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	struct launcher by;
	struct choosing x;
	enum status st;
	int wanted = c->nproc_per_node;

	if (launcher_detect(&by)) {
		FAIL(err, ERR_USAGE, "--plan in what %s has started", by.name);
		return HINT(err, "plan on one machine, and give the grid that it finds");
	}
	TRY(open_choosing(&x, t, err));
	x.count = training_candidates(c, wanted ? wanted : training_places(c),
				      !wanted && !x.is_virtual && !x.gpus, x.list);
	TRY(forecast_all(&x, err));
	if (!x.is_virtual && !c->dry_run)
		TRY(try_best(&x, err));
	show(&x);
	training_apply(c, &x.list[0]);
	c->plan = false;
	t->planned_ms = rank_of(&x.list[0]);
out:
	free(x.list);
	return st;
}

/* ---- --dry-run ---- */

enum status training_dry_run(struct training *t, struct error *err)
{
	struct choosing x;
	struct candidate c = {.schedule = t->config.schedule, .threads = 1};
	struct imagined im = {.bytes = NULL};
	struct engine_options options;
	char spec[512], size[32];
	enum status st;

	TRY(open_choosing(&x, t, err));
	t->config.dry_run = false;
	TRY(training_plan(t, err));
	TRY(training_prepare(t, err));
	c.threads = imax(1, machine_cores() / grid_size(&t->grid));
	spec_of(&x, c.threads, spec, sizeof(spec));
	options = training_engine_options(t);
	TRY(engine_imagine(&options, spec, 0, t->config.breakdown, &im, err));
	if (!x.is_virtual) { /* the real device's accounts, which has matrices of its own form
			      */
		im.fullest = t->memory.rank;
		im.account = t->memory.account;
	}
	units_format_size(im.account.total_peak, size, sizeof(size));
	printf("planned step %.6f ms, bubble %.2f %%; rank %d takes most memory: %llu bytes (%s)\n",
	       im.step_ms, im.bubble * 100, im.fullest,
	       (unsigned long long)im.account.total_peak, size);
out:
	free(x.list);
	return st;
}
