/*
 * train_rank.c - the life of a rank: it builds its part of the run and loops over the
 * steps; rank 0 writes down what was measured. See training.h
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/util.h"
#include "cmd/training.h"

#include <math.h>
#include <string.h>
#include <time.h>

static bool is_first(const struct training *t)
{
	return t->rank->number == 0;
}

enum status training_prepare(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	bool base = c->engine == ENGINE_BASE;
	enum schedule_kind kind = base ? SCHEDULE_NAIVE : (enum schedule_kind)c->schedule;
	enum status st;

	/* With one stage there is nothing to interleave. */
	if (c->pp == 1 && (kind == SCHEDULE_INTERLEAVED || kind == SCHEDULE_ZB_H1))
		kind = SCHEDULE_1F1B;
	c->chunks = kind != SCHEDULE_INTERLEAVED ? 1 : c->chunks ? c->chunks : 2;
	TRY(data_open(&t->data, c->data, (enum data_task)c->loss, c->dim, (uint64_t)c->seed,
		      c->holdout, err));
	t->shape = (struct model_shape){.depth = c->depth,
					.in = t->data.in,
					.dim = c->dim,
					.out = t->data.out,
					.act = (enum activation)c->activation,
					.rows = c->micro_batch_size};
	TRY(partition_check_split(&t->shape, c->mp, err));
	TRY(partition_init(&t->partition, &t->shape, c->pp, c->chunks, c->layers_per_stage,
			   err));
	TRY(schedule_init(&t->schedule, kind, c->pp, c->micro_batches, c->chunks, err));
	TRY(training_check_memory(t, err));
out:
	return st;
}

static enum status source_of_world(void *arg, size_t bytes, void **out, struct error *err)
{
	return comm_alloc(arg, bytes, out, err);
}

/* PyTorch scales the loss for fp16 only: bf16 has the range of fp32. */
static struct scaler scaler_of(const struct config *c)
{
	if (c->precision != DTYPE_F16)
		return (struct scaler){.scale = 1};
	if (c->loss_scale > 0)
		return (struct scaler){.scale = c->loss_scale};
	return (struct scaler){.scale = c->init_scale,
			       .growth = c->growth_factor,
			       .backoff = c->backoff_factor,
			       .interval = c->growth_interval};
}

/* Sums over many micro-batches lose their contributions in 16 bit: up to so many, each is
   at least 8 units of rounding of the sum. See docs/precision.md. */
static enum dtype grad_type_of(const struct config *c)
{
	int most = c->precision == DTYPE_F16 ? 256 : 32;

	if (c->grad_dtype == GRAD_FP32 ||
	    (c->grad_dtype == GRAD_AUTO && c->micro_batches > most))
		return DTYPE_F32;
	return (enum dtype)c->precision;
}

struct engine_options training_engine_options(const struct training *t)
{
	const struct config *c = &t->config;

	return (struct engine_options){
		.shape = t->shape,
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
		.grad_sync = c->engine == ENGINE_BASE && c->grad_sync == SYNC_DDP
				     ? SYNC_FLAT
				     : (enum grad_sync)c->grad_sync,
		.bucket_bytes = (size_t)(c->bucket_mb * (1 << 20)),
		.zero = c->zero == 1,
		.type = (enum dtype)c->precision,
		.grad_type = grad_type_of(c),
		.scaler = scaler_of(c),
		.base = c->engine == ENGINE_BASE,
		.rank = t->rank,
		.grid = &t->grid,
		.partition = &t->partition,
		.schedule = &t->schedule,
		.inject = &t->inject,
		.records = (struct records *)&t->records,
	};
}

/* Where nothing is computed there is nothing to learn, and nothing to check. */
static enum status check_virtual(const struct training *t, struct error *err)
{
	if (!device_is_virtual(t->dev))
		return OK;
	if (t->rank->locals < t->rank->ranks) {
		FAIL(err, ERR_USAGE, "virtual devices on several machines");
		return HINT(err, "start all %d ranks on one machine: they only sleep",
			    t->rank->ranks);
	}
	if (*t->config.dump_check || t->weights_folder) {
		FAIL(err, ERR_USAGE, "a virtual device computes no weights to write down");
		return HINT(err, "use --device cpu");
	}
	return OK;
}

static enum status open_engine(struct training *t, struct error *err)
{
	struct config *c = &t->config;
	struct device_options device = {
		.threads = c->threads ? c->threads : t->rank->cores,
		.pin = c->pin == PIN_AUTO,
		.crowded = t->rank->oversubscribed,
		.memory = c->device_memory,
		.rank = t->rank->number,
		.pace = &t->rank->pace,
	};
	struct engine_options engine = training_engine_options(t);
	enum status st;

	TRY(device_open(&t->dev, c->device, &device, err));
	TRY(check_virtual(t, err));
	c->threads = device_threads(t->dev);
	comm_observe(t->rank->world, &t->rank->pace, &t->records);
	if (t->rank->ranks > 1)
		device_share(t->dev, source_of_world, t->rank->world);
	TRY(engine_create(&t->engine, t->dev, &engine, err));
	TRY(comm_alloc(t->rank->world, (size_t)t->rank->ranks * sizeof(*t->summaries),
		       (void **)&t->summaries, err));
	TRY(comm_alloc(t->rank->world, (size_t)t->rank->ranks * sizeof(*t->all_times),
		       (void **)&t->all_times, err));
out:
	return st;
}

/* When mpirun ends a job it closes our output first, and then sends the signal. */
static bool is_ending(const struct training *t)
{
	struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

	for (int i = 0; i < 20 && !rank_stop(t->rank); i++)
		nanosleep(&pause, NULL);
	return rank_stop(t->rank);
}

/* Rank 0 writes down a step. */
static enum status record(struct training *t, const struct step_metrics *s, struct error *err)
{
	enum status st;

	if (!isfinite(s->loss) && !device_is_virtual(t->dev) &&
	    (s->step == 0 || isfinite(t->metrics.losses[s->step - 1])))
		log_warn(
			"step %d: the loss is not finite; try a smaller --lr, or --clip-grad 1",
			s->step);
	metrics_add(&t->metrics, s);
	TRY(run_write_step(&t->run, s, t->config.batch, err));
	st = training_print_step(t, s, err);
	if (st != OK && is_ending(t))
		st = OK;
out:
	return st;
}

/* The samples of this rank's replica; the master of DataParallel makes them for all. */
static void load_batch(struct training *t, int step)
{
	struct engine *e = t->engine;
	int rows = engine_batch_rows(e), batch = t->config.batch;

	if (device_is_virtual(t->dev))
		return;
	if (e->all.x.data)
		data_batch(&t->data, t->dev, step, batch, 0, batch, &e->all);
	else if (engine_needs_batch(e) && e->options.grad_sync != SYNC_MASTER)
		data_batch(&t->data, t->dev, step, batch, rows * e->at.dp, rows, &e->batch);
}

/* What the progress screen shows. */
static void show_pulse(struct training *t, const struct step_metrics *s)
{
	struct pulse *p = t->rank->pulse;
	const struct memory_account *memory = device_memory(t->dev);

	p->loss = s->loss;
	p->loss_scale = s->loss_scale;
	p->skipped += s->skipped;
	p->step_ms = s->ms;
	p->compute_ms = (double)t->engine->times.compute * 1e-6;
	p->comm_ms = (double)t->engine->times.comm * 1e-6;
	p->lost_ms = (double)t->engine->times.lost * 1e-6;
	p->samples_per_s = t->config.batch / s->ms * 1e3;
	p->gflops = p->samples_per_s * shape_flops(&t->shape) * 1e-9;
	p->now_bytes = memory->total;
	p->peak_bytes = memory->total_peak;
	p->steps = t->config.steps;
	p->step = s->step + 1; /* last: it says that there is something new */
}

/* Everybody's times at rank 0. */
static enum status gather_times(struct training *t, const struct engine_times *own,
				struct error *err)
{
	size_t n = sizeof(*own) / sizeof(float) * (size_t)t->rank->ranks;

	t->all_times[t->rank->number] = *own;
	return comm_run(t->rank->world, COMM_GATHER, t->all_times, n, DTYPE_F32, 0, err);
}

/* Where the time of this step went. */
static enum status take_apart(struct training *t, struct step_metrics *s, struct breakdowns *b,
			      struct error *err)
{
	enum status st;

	TRY(gather_times(t, &t->engine->times, err));
	if (!is_first(t))
		return OK;
	TRY(breakdowns_init(b, t->all_times, t->rank->ranks, &t->schedule, t->grid.pp, err));
	s->breakdown = &b->mean;
	s->straggler = b->straggler;
out:
	return st;
}

static enum status train_step(struct training *t, int step, struct error *err)
{
	enum status st = OK;
	struct step_metrics s = {.step = step, .warmup = step < t->config.warmup};
	struct step_result result;
	struct breakdowns breakdowns = {0};

	s.data_ms = clock_ms();
	load_batch(t, step);
	s.data_ms = clock_ms() - s.data_ms;
	if (t->dump.folder)
		TRY(dump_batch(&t->dump, t->engine, &t->data, step, err));
	TRY(engine_step(t->engine, step, &result, err));
	s.ms = (double)t->engine->times.step * 1e-6;
	if (!s.warmup || t->config.steps <= t->config.warmup)
		engine_times_add(&t->times, &t->engine->times);
	s.loss = result.loss;
	s.grad_norm = result.grad_norm;
	s.loss_scale = result.loss_scale;
	s.skipped = result.skipped;
	t->stopped = result.stop;
	show_pulse(t, &s);
	if (t->config.breakdown)
		TRY(take_apart(t, &s, &breakdowns, err));
	if (is_first(t))
		TRY(record(t, &s, err));
out:
	breakdowns_release(&breakdowns);
	return st;
}

/* How a run ends that a signal has stopped. */
static enum status stopped_by(int number, const struct training *t, struct error *err)
{
	const char *name;
	enum status code = error_of_signal(number, &name);

	FAIL(err, code, "stopped by %s after %d of %d steps", name, t->metrics.count,
	     t->config.steps);
	if (t->weights_folder)
		return code; /* kolm verify keeps nothing */
	return HINT(err, "what was measured is in %s", t->run.folder);
}

/* Rank 0: write the summary, say how it went. */
static enum status close_run(struct training *t, const struct evaluation *evaluation,
			     struct error *err)
{
	enum status st;
	struct breakdowns breakdowns;
	struct run_summary summary = {
		.config = &t->config,
		.rank = t->rank,
		.grid = &t->grid,
		.ranks = t->summaries,
		.metrics = &t->metrics,
		.dev = t->dev,
		.engine = t->engine,
		.evaluation = evaluation,
		.breakdowns = &breakdowns,
		.predicted_ms = t->predicted.step_ms,
		.predicted_bubble = t->predicted.bubble,
		.interrupted = t->stopped != 0,
	};

	rank_at(t->rank, "the end");
	TRY(breakdowns_init(&breakdowns, t->all_times, t->rank->ranks, &t->schedule, t->grid.pp,
			    err));
	TRY(run_write_summary(&t->run, &summary, err));
	TRY(training_trace_write(t, err));
	training_print_closing(&summary);
	if (t->stopped)
		st = stopped_by(t->stopped, t, err);
out:
	breakdowns_release(&breakdowns);
	return st;
}

static enum status finish(struct training *t, struct error *err)
{
	enum status st;
	size_t n = sizeof(*t->summaries) / sizeof(float) * (size_t)t->rank->ranks;
	struct evaluation evaluation;
	bool evaluated = t->data.held_out && !t->stopped && !device_is_virtual(t->dev);

	TRY(training_trace_collect(t, err)); /* first: what follows is not part of a step */
	rank_summary_fill(&t->summaries[t->rank->number], t->engine);
	TRY(gather_times(t, &t->times, err));
	TRY(comm_run(t->rank->world, COMM_GATHER, t->summaries, n, DTYPE_F32, 0, err));
	if (t->dump.folder && !t->stopped)
		TRY(dump_end(&t->dump, t->engine, &t->config.values, t->metrics.losses,
			     t->metrics.count, err));
	if (t->weights_folder && !t->stopped)
		TRY(dump_weights(t->engine, t->weights_folder, "final.safetensors", err));
	if (evaluated)
		TRY(engine_evaluate(t->engine, &t->data, &evaluation, err));
	if (is_first(t))
		TRY(close_run(t, evaluated ? &evaluation : NULL, err));
out:
	return st;
}

/* The folder of the run, before the first step. */
static enum status open_run(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	enum status st = OK;

	if (is_first(t)) {
		if (*c->dump_check) /* refuse a bad name before anything is written */
			TRY(file_make_folder(c->dump_check, err));
		TRY(run_create(&t->run, c->run_dir, err));
		TRY(run_write_config(&t->run, &c->values, t->argc, t->argv, err));
	}
	if (*c->dump_check)
		TRY(dump_begin(&t->dump, c->dump_check, t->engine, c->batch, c->steps, err));
	if (is_first(t))
		training_print_heading(t);
out:
	return st;
}

static uint64_t hash(uint64_t h, const void *data, size_t n)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ bytes[i]) * 0x100000001b3;
	return h;
}

/* What must be the same on all ranks, as one number: options and data. */
static uint64_t hash_of(const struct training *t)
{
	const struct data *d = &t->data;
	uint64_t h = 0xcbf29ce484222325;
	struct json j;

	json_init(&j, false);
	json_begin_object(&j, NULL);
	options_write_json(&t->config.values, &j);
	json_put_int(&j, "in", d->in);
	json_put_int(&j, "out", d->out);
	json_put_int(&j, "train", d->train);
	json_put_int(&j, "held_out", d->held_out);
	json_put_bool(&j, "labelled", d->labelled);
	json_end_object(&j);
	h = hash(h, j.text.data, strlen(j.text.data));
	json_release(&j);
	if (d->kind != DATA_TABLE)
		return h;
	h = hash(h, d->table.values,
		 (size_t)d->table.samples * (size_t)d->table.features * sizeof(float));
	if (d->labelled)
		return hash(h, d->table.labels,
			    (size_t)d->table.samples * sizeof(*d->table.labels));
	return hash(h, d->table.targets, (size_t)d->table.samples * sizeof(*d->table.targets));
}

/* Ranks of a job each read their own options and files: they could differ. */
static enum status agree(struct training *t, struct error *err)
{
	struct rank *r = t->rank;
	uint64_t *hashes;
	enum status st;

	TRY(comm_alloc(r->world, (size_t)r->ranks * sizeof(*hashes), (void **)&hashes, err));
	hashes[r->number] = hash_of(t);
	TRY(comm_run(r->world, COMM_ALLGATHER, hashes, (size_t)r->ranks * 2, DTYPE_F32, 0,
		     err));
	for (int i = 1; i < r->ranks; i++)
		if (hashes[i] != hashes[0]) {
			FAIL(err, ERR_USAGE,
			     "rank %d has other options or other data than rank 0", i);
			return HINT(err, "start all ranks with the same command, and the same "
					 "files on all machines");
		}
out:
	return st;
}

static enum status check_machine(const struct training *t, struct error *err)
{
	int wanted = t->config.nproc_per_node;

	if (!wanted || wanted == t->rank->locals)
		return OK;
	FAIL(err, ERR_USAGE, "--nproc-per-node %d, but there are %d ranks here", wanted,
	     t->rank->locals);
	return HINT(err, "leave it out, or start as many");
}

enum status training_rank(struct rank *rank, void *arg, struct error *err)
{
	enum status st;
	struct training *t = arg;
	struct config *c = &t->config;

	t->rank = rank;
	rank_at(rank, "preparing the run");
	TRY(check_machine(t, err));
	if (!t->schedule.orders) {
		TRY(training_prepare(t, err));
		TRY(agree(t, err));
	}
	TRY(open_engine(t, err));
	TRY(metrics_init(&t->metrics, c->steps, c->warmup, err));
	TRY(open_run(t, err));
	rank_at(rank, "predicting the step");
	TRY(engine_predict(t->engine, &t->predicted, err));
	TRY(training_announce(t, err));
	TRY(training_trace_begin(t, err));
	for (int step = 0; step < c->steps && !t->stopped; step++)
		TRY(train_step(t, step, err));
	TRY(finish(t, err));
out:
	training_withdraw(t);
	dump_abort(&t->dump);
	run_close(&t->run);
	metrics_release(&t->metrics);
	if (st == OK) { /* otherwise requests may be under way in what it holds */
		training_trace_end(t);
		engine_free(t->engine);
	}
	return st;
}
