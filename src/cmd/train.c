/* train.c - kolm train: read the options, build the run, loop over steps, write it down. */
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
#include "trace/metrics.h"
#include "trace/run.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Everything that a run owns, in the order in which it is made. */
struct training {
	struct config config;
	struct data data;
	struct device *dev;
	struct engine *engine;
	struct metrics metrics;
	struct run run;
	struct dump dump;
};

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
	stop_signal = number;
}

/* The first Ctrl-C ends the run after the step in hand; a second one at once. */
static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	stop_signal = 0;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static enum status open_engine(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	struct device_options device = {
		.threads = c->threads,
		.pin = c->pin == PIN_AUTO,
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
	};
	enum status st;

	TRY(device_open(&t->dev, c->device, &device, err));
	c->threads = device_threads(t->dev);
	TRY(engine_create(&t->engine, t->dev, &engine, err));
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
	log_info("batch %d = %d x %d; %s; %s in use", c->batch, c->micro_batches,
		 c->micro_batch_size, device_description(t->dev), size);
	if (c->threads > device_cores(t->dev))
		log_warn("%d threads on %d cores: timings are oversubscribed", c->threads,
			 device_cores(t->dev));
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

static enum status train_step(struct training *t, int step, struct error *err)
{
	enum status st = OK;
	struct step_metrics s = {.step = step, .warmup = step < t->config.warmup};
	struct step_result result;

	data_batch(&t->data, t->dev, step, t->config.batch, &t->engine->batch);
	if (t->dump.folder)
		TRY(dump_batch(&t->dump, t->engine, err));
	s.ms = clock_ms();
	result = engine_step(t->engine);
	s.ms = clock_ms() - s.ms;
	s.loss = result.loss;
	s.grad_norm = result.grad_norm;
	if (!isfinite(s.loss) && (step == 0 || isfinite(t->metrics.losses[step - 1])))
		log_warn(
			"step %d: the loss is not finite; try a smaller --lr, or --clip-grad 1",
			step);
	metrics_add(&t->metrics, &s);
	TRY(run_write_step(&t->run, &s, t->config.batch, err));
	TRY(print_step(t, &s, err));
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

static enum status finish(struct training *t, struct error *err)
{
	enum status st;
	int stopped = stop_signal; /* one that comes later finds everything done */
	struct evaluation evaluation;
	struct run_summary summary = {
		.config = &t->config,
		.metrics = &t->metrics,
		.dev = t->dev,
		.engine = t->engine,
		.interrupted = stopped != 0,
	};

	if (t->dump.folder && !stopped)
		TRY(dump_end(&t->dump, t->engine, &t->config.values, t->metrics.losses,
			     t->metrics.count, err));
	if (t->data.held_out && !stopped) {
		evaluation = engine_evaluate(t->engine, &t->data);
		summary.evaluation = &evaluation;
	}
	TRY(run_write_summary(&t->run, &summary, err));
	print_closing(&summary);
	if (stopped)
		st = stopped_by(stopped, t, err);
out:
	return st;
}

enum status cmd_train(int argc, char *const *argv, struct error *err)
{
	enum status st;
	struct training *t = calloc(1, sizeof(*t));
	struct config *c;

	if (!t)
		return FAIL(err, ERR_MEMORY, "no memory to start");
	c = &t->config;
	t->run.fd = -1;
	TRY(config_read(c, argc, argv, err));
	if (c->values.help) {
		options_print_help(&config_table, stdout);
		goto out;
	}
	log_set_level(c->quiet ? LOG_QUIET : c->verbose ? LOG_VERBOSE : LOG_NORMAL);
	TRY(data_open(&t->data, c->data, (enum data_task)c->loss, c->dim, (uint64_t)c->seed,
		      c->holdout, err));
	TRY(open_engine(t, err));
	TRY(metrics_init(&t->metrics, c->steps, c->warmup, err));
	catch_signals();
	if (*c->dump_check) /* refuse a bad name before anything is written */
		TRY(file_make_folder(c->dump_check, err));
	TRY(run_create(&t->run, c->run_dir, err));
	TRY(run_write_config(&t->run, &c->values, argc, argv, err));
	if (*c->dump_check)
		TRY(dump_begin(&t->dump, c->dump_check, t->engine, c->steps, err));
	print_heading(t);
	for (int step = 0; step < c->steps && !stop_signal; step++)
		TRY(train_step(t, step, err));
	TRY(finish(t, err));
out:
	dump_abort(&t->dump);
	run_close(&t->run);
	metrics_release(&t->metrics);
	engine_free(t->engine);
	device_close(t->dev);
	data_close(&t->data);
	free(t);
	return st;
}
