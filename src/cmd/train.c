/*
 * train.c - kolm train: read the options, start the ranks; each builds its part of the
 * run and loops over the steps; rank 0 writes down what was measured.
 */
#include "cmd/cmd.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "base/version.h"
#include "config/config.h"
#include "data/data.h"
#include "engine/dump.h"
#include "engine/engine.h"
#include "grid/grid.h"
#include "launch/launch.h"
#include "trace/metrics.h"
#include "trace/run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Everything that a run owns, in the order in which it is made. */
struct training {
	int argc; /* the command line behind "kolm train" */
	char *const *argv;
	struct config config;
	struct grid grid;
	struct inject_plan inject;
	struct data data;
	/* of each rank */
	struct rank *rank;
	struct device *dev;
	struct engine *engine;
	struct metrics metrics;
	struct rank_summary *summaries; /* (ranks) */
	int stopped;			/* the signal that has ended the run, or 0 */
	/* of rank 0 */
	struct run run;
	struct dump dump;
};

static bool is_first(const struct training *t)
{
	return t->rank->number == 0;
}

static enum status source_of_world(void *arg, size_t bytes, void **out, struct error *err)
{
	return comm_alloc(arg, bytes, out, err);
}

static enum status open_engine(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	struct device_options device = {
		.threads = c->threads ? c->threads : t->rank->cores,
		.pin = c->pin == PIN_AUTO,
		.crowded = t->rank->oversubscribed,
		.memory = c->device_memory,
	};
	struct engine_options engine = {
		.shape = {.depth = c->depth,
			  .in = t->data.in,
			  .dim = c->dim,
			  .out = t->data.out,
			  .act = (enum activation)c->activation,
			  .rows = c->micro_batch_size},
		.micro_batches = c->micro_batches,
		.labelled = t->data.labelled,
		.optimizer = {.kind = (enum optimizer)c->optimizer,
			      .lr = (float)c->lr,
			      .momentum = (float)c->momentum,
			      .beta1 = (float)c->beta1,
			      .beta2 = (float)c->beta2,
			      .eps = (float)c->eps,
			      .weight_decay = (float)c->weight_decay},
		.clip = c->clip_grad,
		.seed = (uint64_t)c->seed,
		.rank = t->rank,
		.inject = &t->inject,
	};
	enum status st;

	TRY(device_open(&t->dev, c->device, &device, err));
	c->threads = device_threads(t->dev);
	if (t->rank->ranks > 1)
		device_share(t->dev, source_of_world, t->rank->world);
	TRY(engine_create(&t->engine, t->dev, &engine, err));
	TRY(comm_alloc(t->rank->world, (size_t)t->rank->ranks * sizeof(*t->summaries),
		       (void **)&t->summaries, err));
out:
	return st;
}

static void print_memory(const struct device *dev)
{
	const struct memory_account *a = device_memory(dev);
	char size[32];

	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		if (!a->now[k])
			continue;
		units_format_size(a->now[k], size, sizeof(size));
		log_verbose("  %-12s %10s", memory_kind_name((enum memory_kind)k), size);
	}
}

static void print_ranks(const struct training *t)
{
	const struct rank *r = t->rank;

	if (r->ranks > 1)
		log_info("%d ranks: dp %d; %d on this machine with %d cores%s", r->ranks,
			 t->grid.dp, r->locals, r->host_cores,
			 r->oversubscribed ? ": oversubscribed, timings say little" : "");
	else if (t->config.threads > r->host_cores)
		log_warn("%d threads on %d cores: timings are oversubscribed",
			 t->config.threads, r->host_cores);
}

static void print_heading(const struct training *t)
{
	const struct config *c = &t->config;
	const struct stack_shape *shape = &t->engine->options.shape;
	char size[32], parameters[32];

	units_format_size(device_memory(t->dev)->total, size, sizeof(size));
	units_format_count(stack_parameters(shape), parameters, sizeof(parameters));
	log_info("kolm %s: %d layer%s, %d inputs, %d wide, %d outputs; %s parameters; loss %s",
		 KOLM_VERSION, c->depth, c->depth == 1 ? "" : "s", shape->in,
		 c->depth == 1 ? shape->out : shape->dim, shape->out, parameters,
		 t->data.labelled ? "cross-entropy" : "mse");
	if (t->data.kind == DATA_TABLE)
		log_info("data: %lld samples to learn from, %lld held out; %d features, %s",
			 (long long)t->data.train, (long long)t->data.held_out, t->data.in,
			 t->data.labelled ? "labelled" : "with targets");
	print_ranks(t);
	log_info("batch %d = %d x %d x %d; %s; %s in use%s", c->batch, t->grid.dp,
		 c->micro_batches, c->micro_batch_size, device_description(t->dev), size,
		 t->rank->ranks > 1 ? " per rank" : "");
	print_memory(t->dev);
	log_info("run folder: %s", t->run.folder);
}

static enum status print_step(struct training *t, const struct step_metrics *s,
			      struct error *err)
{
	const struct config *c = &t->config;
	double samples_per_s = c->batch / s->ms * 1e3;

	if (c->quiet)
		return OK;
	if (c->log_format == LOG_JSONL)
		fputs(t->run.line.text.data, stdout);
	else
		printf("step %4d  loss %-10.6g  grad_norm %-9.4g  %9.3f ms  %10.1f samples/s"
		       "  %7.1f GFLOP/s%s\n",
		       s->step, s->loss, s->grad_norm, s->ms, samples_per_s,
		       samples_per_s * stack_flops(&t->engine->options.shape) * 1e-9,
		       s->warmup ? "  (warm-up)" : "");
	if (fflush(stdout) || ferror(stdout))
		return FAIL(err, ERR_FAILED, "can't write to standard output: %s",
			    strerror(errno));
	return OK;
}

/* Rank 0 writes down a step. */
static enum status record(struct training *t, const struct step_metrics *s, struct error *err)
{
	enum status st;

	if (!isfinite(s->loss) && (s->step == 0 || isfinite(t->metrics.losses[s->step - 1])))
		log_warn(
			"step %d: the loss is not finite; try a smaller --lr, or --clip-grad 1",
			s->step);
	metrics_add(&t->metrics, s);
	TRY(run_write_step(&t->run, s, t->config.batch, err));
	TRY(print_step(t, s, err));
out:
	return st;
}

static enum status train_step(struct training *t, int step, struct error *err)
{
	enum status st = OK;
	struct step_metrics s = {.step = step, .warmup = step < t->config.warmup};
	struct step_result result;
	int rows = engine_batch_rows(t->engine);

	data_batch(&t->data, t->dev, step, t->config.batch,
		   rows * grid_coords(&t->grid, t->rank->number).dp, rows, &t->engine->batch);
	if (t->dump.folder)
		TRY(dump_batch(&t->dump, t->engine, &t->data, step, err));
	s.ms = clock_ms();
	TRY(engine_step(t->engine, step, &result, err));
	s.ms = clock_ms() - s.ms;
	s.loss = result.loss;
	s.grad_norm = result.grad_norm;
	t->stopped = result.stop;
	if (is_first(t))
		TRY(record(t, &s, err));
out:
	return st;
}

static void print_closing(const struct run_summary *s)
{
	struct statistics ms = metrics_step_ms(s->metrics);
	int n = s->metrics->count;

	if (!n)
		return;
	log_info("median step %.3f ms (mean %.3f, stdev %.3f) over %d steps: %.1f samples/s, "
		 "%.1f GFLOP/s",
		 ms.median, ms.mean, ms.stdev, ms.count, run_samples_per_s(s), run_gflops(s));
	if (s->evaluation && !isnan(s->evaluation->accuracy))
		log_info("held-out: %lld samples, loss %.6g, accuracy %.2f %%",
			 (long long)s->evaluation->samples, s->evaluation->loss,
			 s->evaluation->accuracy * 100);
	else if (s->evaluation)
		log_info("held-out: %lld samples, loss %.6g", (long long)s->evaluation->samples,
			 s->evaluation->loss);
}

/* How a run ends that a signal has stopped. */
static enum status stopped_by(int number, const struct training *t, struct error *err)
{
	const char *name;
	enum status code = error_of_signal(number, &name);

	FAIL(err, code, "stopped by %s after %d of %d steps", name, t->metrics.count,
	     t->config.steps);
	return HINT(err, "what was measured is in %s", t->run.folder);
}

/* Rank 0: evaluate, write the summary, say how it went. */
static enum status close_run(struct training *t, struct error *err)
{
	enum status st;
	struct evaluation evaluation;
	struct run_summary summary = {
		.config = &t->config,
		.rank = t->rank,
		.grid = &t->grid,
		.ranks = t->summaries,
		.metrics = &t->metrics,
		.dev = t->dev,
		.engine = t->engine,
		.interrupted = t->stopped != 0,
	};

	rank_at(t->rank, "the end");
	if (t->dump.folder && !t->stopped)
		TRY(dump_end(&t->dump, t->engine, &t->config.values, t->metrics.losses,
			     t->metrics.count, err));
	if (t->data.held_out && !t->stopped) {
		evaluation = engine_evaluate(t->engine, &t->data);
		summary.evaluation = &evaluation;
	}
	TRY(run_write_summary(&t->run, &summary, err));
	print_closing(&summary);
	if (t->stopped)
		st = stopped_by(t->stopped, t, err);
out:
	return st;
}

static enum status finish(struct training *t, struct error *err)
{
	enum status st;
	size_t n = sizeof(*t->summaries) / sizeof(float) * (size_t)t->rank->ranks;

	rank_summary_fill(&t->summaries[t->rank->number], t->dev);
	TRY(comm_run(t->rank->world, COMM_GATHER, t->summaries, n, DTYPE_F32, 0, err));
	if (is_first(t))
		TRY(close_run(t, err));
out:
	return st;
}

/* Rank 0: the folder of the run, before the first step. */
static enum status open_run(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	enum status st;

	if (*c->dump_check) /* refuse a bad name before anything is written */
		TRY(file_make_folder(c->dump_check, err));
	TRY(run_create(&t->run, c->run_dir, err));
	TRY(run_write_config(&t->run, &c->values, t->argc, t->argv, err));
	if (*c->dump_check)
		TRY(dump_begin(&t->dump, c->dump_check, t->engine, c->batch, c->steps, err));
	print_heading(t);
out:
	return st;
}

static enum status train_rank(struct rank *rank, void *arg, struct error *err)
{
	enum status st;
	struct training *t = arg;
	struct config *c = &t->config;

	t->rank = rank;
	rank_at(rank, "preparing the run");
	if (c->nproc_per_node && c->nproc_per_node != rank->locals) {
		FAIL(err, ERR_USAGE, "--nproc-per-node %d, but there are %d ranks here",
		     c->nproc_per_node, rank->locals);
		st = HINT(err, "leave it out, or start as many");
		goto out;
	}
	TRY(open_engine(t, err));
	TRY(metrics_init(&t->metrics, c->steps, c->warmup, err));
	if (is_first(t))
		TRY(open_run(t, err));
	for (int step = 0; step < c->steps && !t->stopped; step++)
		TRY(train_step(t, step, err));
	TRY(finish(t, err));
out:
	dump_abort(&t->dump);
	run_close(&t->run);
	metrics_release(&t->metrics);
	engine_free(t->engine);
	device_close(t->dev);
	return st;
}

/* How many ranks there are, or could be, and the grid over them. */
static enum status open_grid(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	struct launcher by;
	bool launched = launcher_detect(&by);
	enum status st;

	if (c->transport == TRANSPORT_SHM && launched && by.ranks > 1) {
		FAIL(err, ERR_USAGE, "--transport shm, but %s has started %d processes",
		     by.name, by.ranks);
		return HINT(err, "start kolm on its own: it starts its ranks itself");
	}
	if (c->transport == TRANSPORT_MPI && !launched) {
		FAIL(err, ERR_USAGE, "--transport mpi, but nobody has started this as a rank");
		return HINT(err, "use mpirun -n N kolm train ..., or leave it out");
	}
	t->grid = (struct grid){.dp = c->dp, .pp = 1, .mp = 1};
	TRY(grid_resolve(&t->grid, launched ? by.ranks : launch_cores(), launched, err));
	c->dp = t->grid.dp;
	TRY(config_resolve_batch(c, err));
out:
	return st;
}

static void place(const void *arg, int rank, char *buf, size_t size)
{
	grid_describe(arg, rank, buf, size);
}

enum status cmd_train(int argc, char *const *argv, struct error *err)
{
	enum status st;
	struct training *t = calloc(1, sizeof(*t));
	struct config *c;
	struct launch launch;

	if (!t)
		return FAIL(err, ERR_MEMORY, "no memory to start");
	c = &t->config;
	t->argc = argc;
	t->argv = argv;
	t->run.fd = -1;
	TRY(config_read(c, argc, argv, err));
	if (c->values.help) {
		options_print_help(&config_table, stdout);
		goto out;
	}
	log_set_level(c->quiet ? LOG_QUIET : c->verbose ? LOG_VERBOSE : LOG_NORMAL);
	TRY(open_grid(t, err));
	TRY(inject_parse(&t->inject, c->inject, grid_size(&t->grid), c->steps, err));
	TRY(data_open(&t->data, c->data, (enum data_task)c->loss, c->dim, (uint64_t)c->seed,
		      c->holdout, err));
	launch = (struct launch){.ranks = grid_size(&t->grid),
				 .timeout_ms = c->timeout * 1e3,
				 .graceful = true,
				 .pin = c->pin == PIN_AUTO,
				 .place = grid_size(&t->grid) > 1 ? place : NULL,
				 .place_arg = &t->grid};
	TRY(launch_run(&launch, train_rank, t, err));
out:
	data_close(&t->data);
	free(t);
	return st;
}
