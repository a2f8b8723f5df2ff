/*
 * train_rank.c - the life of a rank: it builds its part of the run and loops over the
 * steps; rank 0 writes down what was measured. See training.h
 */
#include "base/clock.h"
#include "base/util.h"
#include "cmd/training.h"

#include <string.h>
#include <time.h>

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
	enum status st = OK;

	pthread_mutex_lock(&t->kept.lock);
	metrics_add(&t->metrics, s);
	if (s->logged)
		st = run_write_step(&t->run, s, t->config.batch, err);
	pthread_mutex_unlock(&t->kept.lock);
	if (st != OK || !s->logged)
		goto out;
	st = training_print_step(t, s, err);
	if (st != OK && is_ending(t)) {
		error_clear(err); /* how it ends is said later */
		st = OK;
	}
out:
	return st;
}

/* Those of the next step. */
static void fill_samples(void *arg, int64_t first, int rows, const struct batch *b)
{
	struct training *t = arg;

	data_batch(&t->data, t->dev, t->samples * t->data.sequence + first, rows, b);
}

/* What the progress screen shows. */
static void show_pulse(struct training *t, const struct step_metrics *s)
{
	struct pulse *p = t->rank->pulse;
	const struct memory_account *memory = device_memory(t->dev);
	const struct engine_times *times = engine_times(t->engine);

	p->simulated = device_is_virtual(t->dev);
	p->loss = s->loss;
	p->loss_scale = s->loss_scale;
	p->scheduled = !lr_is_constant(&t->lr);
	p->lr = s->lr;
	p->evaluated = t->evaluated > 0;
	p->held_out_loss = t->evaluation.loss;
	p->skipped += s->skipped;
	p->step_ms = s->ms;
	p->compute_ms = (double)times->compute * 1e-6;
	p->comm_ms = (double)times->comm * 1e-6;
	p->lost_ms = (double)times->lost * 1e-6;
	p->samples_per_s = t->config.batch / s->ms * 1e3;
	p->tokens = s->tokens;
	p->gflops = p->samples_per_s * t->data.sequence * model_flops(&t->model) * 1e-9;
	p->now_bytes = memory->total;
	p->peak_bytes = memory->total_peak;
	p->steps = t->config.steps;
	p->step = s->step + 1; /* last: it says that there is something new */
}

/* Where the time of this step went. Nobody begins the next one before all have said it, also
   where only rank 0 needs to wait. */
static enum status take_apart(struct training *t, struct step_metrics *s, struct breakdowns *b,
			      struct error *err)
{
	enum status st;

	TRY(training_gather_times(t, engine_times(t->engine), err));
	TRY(comm_run(t->rank->world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
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
	struct step_metrics s = {.step = step,
				 .warmup = step < t->config.warmup,
				 .tokens = t->data.language ? t->data.sequence : 0};
	struct step_result result;
	struct breakdowns breakdowns = {0};

	if (!s.warmup || t->config.steps <= t->config.warmup)
		training_meter_count(t);
	s.data_ms = clock_ms();
	engine_load(t->engine, fill_samples, t);
	s.data_ms = clock_ms() - s.data_ms;
	TRY(data_check(&t->data, err));
	training_set_lr(t, &s);
	if (t->dump.folder)
		TRY(dump_batch(&t->dump, t->engine, &t->data, step, t->samples, err));
	TRY(engine_step(t->engine, step, &result, err));
	if (t->fingerprint.on)
		TRY(fingerprint_add(&t->fingerprint, t->engine, &t->model, step, &result, err));
	if (t->sketch.values)
		TRY(sketch_add(&t->sketch, t->engine, step, result.loss_scale, err));
	s.ms = (double)engine_times(t->engine)->step * 1e-6;
	if (!s.warmup || t->config.steps <= t->config.warmup)
		engine_times_add(&t->times, engine_times(t->engine));
	s.loss = result.loss;
	s.grad_norm = result.grad_norm;
	s.loss_scale = result.loss_scale;
	s.skipped = result.skipped;
	t->stopped = result.stop;
	t->done = step + 1;
	t->samples += t->config.batch;
	TRY(training_follow(t, &s, err));
	show_pulse(t, &s);
	if (t->config.breakdown && s.logged)
		TRY(take_apart(t, &s, &breakdowns, err));
	if (is_first(t))
		TRY(record(t, &s, err));
	if (result.keep)
		TRY(training_keep(t, err));
	if (!training_is_over(t))
		TRY(training_save_step(t, result.word, err));
out:
	breakdowns_release(&breakdowns);
	return st;
}

/* The folder of the run, before the first step. */
static enum status open_run(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	enum status st = OK;

	if (is_first(t)) {
		if (t->from.state && c->in_place)
			TRY(run_continue(&t->run, t->from.step, &t->metrics.first_loss, err));
		else
			TRY(run_create(&t->run, err));
		TRY(run_write_config(&t->run, &c->values, t->argc, t->argv, err));
		if (c->tensorboard)
			TRY(events_open(&t->run.events, t->run.folder,
					t->from.state ? t->from.step : 0, err));
	}
	if (*c->dump_check)
		TRY(dump_begin(&t->dump, c->dump_check, t->engine, c->batch, c->steps, err));
	if (is_first(t))
		training_print_heading(t);
out:
	return st;
}

/* What kolm verify compares. */
static enum status begin_record(struct training *t, struct error *err)
{
	enum status st = OK;

	if (t->wants_bits) {
		fingerprint_init(&t->fingerprint);
		if (t->until)
			TRY(transcript_begin(&t->transcript, t->engine, t->until - 1, err));
	} else if (t->record_folder) {
		TRY(sketch_init(&t->sketch, t->engine, t->config.steps, err));
	}
out:
	return st;
}

enum status training_rank(struct rank *rank, void *arg, struct error *err)
{
	enum status st;
	struct training *t = arg;
	struct config *c = &t->config;

	t->rank = rank;
	rank_at(rank, "preparing the run");
	TRY(training_check_machine(t, err));
	if (!t->schedule.orders) {
		TRY(training_prepare(t, err));
		TRY(training_agree(t, err));
		TRY(training_check_room(t, err));
		if (is_first(t)) {
			TRY(training_claim(t, err));
			TRY(training_find_start(t, err));
		}
		TRY(training_share_start(t, err));
		if (t->nothing_left)
			goto out;
	}
	TRY(training_open_engine(t, err));
	TRY(training_meter_begin(t, err));
	TRY(metrics_init(&t->metrics, t->from.state ? (int)t->from.step : 0, c->steps,
			 c->warmup, err));
	TRY(begin_record(t, err));
	TRY(open_run(t, err));
	rank_at(rank, "predicting the step");
	if (!t->discarded)
		TRY(engine_predict(t->engine, c->steps, c->breakdown, &t->predicted, err));
	TRY(training_announce(t, err));
	TRY(training_trace_begin(t, err));
	if (rank->hurried)
		TRY(training_keep(t, err));
	TRY(training_restore(t, err));
	TRY(training_save_open(t, err));
	while (!training_is_over(t))
		TRY(train_step(t, t->done, err));
	TRY(training_finish(t, err));
out:
	training_meter_end(t);
	training_save_close(t);
	training_close(t);
	if (st == OK) { /* otherwise requests may be under way in what it holds */
		training_trace_end(t);
		engine_free(t->engine);
	}
	return st;
}
