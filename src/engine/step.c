/* step.c - a training step around its schedule: see engine.h */
#include "engine/impl.h"
#include "base/clock.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void engine_say(struct engine *e, const char *fmt, ...)
{
	char place[64];
	va_list ap;

	if (!e->options.observer.at)
		return;
	va_start(ap, fmt);
	vsnprintf(place, sizeof(place), fmt, ap);
	va_end(ap);
	e->options.observer.at(e->options.observer.arg, place);
}

enum status engine_check(const struct engine *e, struct error *err)
{
	if (!e->failed)
		return OK;
	FAIL(err, ERR_FAILED, "an earlier call has failed on this rank");
	return HINT(err, "make a new engine, in a new world");
}

void engine_give_up(struct engine *e)
{
	e->failed = true;
	comm_abandon(e->options.world);
}

int engine_stop(const struct engine *e)
{
	const struct engine_observer *o = &e->options.observer;

	return o->stop ? o->stop(o->arg) : 0;
}

void engine_reach(struct engine *e, enum inject_at at, int micro_batch)
{
	const struct inject_plan *inject = e->options.inject;
	struct watch w;

	if (e->run.layer_done) /* a trial is no step */
		return;
	switch (at) {
	case AT_STEP:
		engine_say(e, "step %d", e->step);
		break;
	case AT_FORWARD:
		engine_say(e, "step %d forward %d", e->step, micro_batch);
		break;
	case AT_BACKWARD:
		engine_say(e, "step %d backward %d", e->step, micro_batch);
		break;
	case AT_OPTIMIZER:
		engine_say(e, "step %d optimizer", e->step);
		break;
	}
	if (!inject || !inject->count)
		return;
	w = watch_begin(e);
	inject_do(inject, e->number, e->step, at, e->options.pace);
	watch_end(e, w, RECORD_PAUSE, NULL);
}

enum status engine_exchange(struct engine *e, struct report own, struct report *sum,
			    struct error *err)
{
	enum status st;

	e->reports[e->number] = own;
	TRY(comm_run(e->options.world, COMM_ALLGATHER, e->reports,
		     (size_t)e->ranks * sizeof(*e->reports), DTYPE_BYTE, 0, err));
	*sum = (struct report){.keep = e->reports[0].keep};
	for (int i = 0; i < e->ranks; i++) {
		exact_merge(&sum->loss, &e->reports[i].loss);
		exact_merge(&sum->squares, &e->reports[i].squares);
		sum->correct += e->reports[i].correct;
		sum->stop = fmax(sum->stop, e->reports[i].stop);
		sum->word.asked = fmax(sum->word.asked, e->reports[i].word.asked);
		sum->word.busy += e->reports[i].word.busy;
	}
out:
	return st;
}

enum status engine_agree(struct engine *e, bool well, struct error *err)
{
	struct report sum;
	enum status st;

	TRY(engine_exchange(e, (struct report){.correct = well}, &sum, err));
	if (sum.correct < e->ranks)
		return FAIL(err, ERR_FAILED, "another rank has failed");
out:
	return st;
}

void engine_clear_numbers(struct engine *e)
{
	device_clear(e->dev, e->numbers, NUMBER_COUNT + (size_t)e->options.micro_batches);
	if (e->squares)
		device_clear_exact(e->dev, e->squares, 1);
}

const double *engine_read_numbers(const struct engine *e, struct exact *loss)
{
	size_t n = (size_t)e->options.micro_batches;

	engine_wait_devices(e, true);
	device_numbers(e->dev, e->numbers, NUMBER_COUNT + n, e->yielded);
	engine_wait_devices(e, false);
	exact_add_all(loss, e->yielded + NUMBER_COUNT, n);
	return e->yielded;
}

double engine_mean_loss(const struct engine *e, const struct exact *sum)
{
	const struct engine_options *o = &e->options;

	if (device_is_virtual(e->dev))
		return NAN; /* nothing was computed */
	return exact_value(sum) / (e->run.divisor * o->loss->terms(o->model->out));
}

/* What this rank knows of the step: the only time that it looks into the device's memory. The
   loss is known to all slices of a layer; squares are what this rank alone adds. */
static struct report report_of(const struct engine *e)
{
	const struct engine_options *o = &e->options;
	const struct engine_observer *by = &o->observer;
	struct report r = {.stop = engine_stop(e),
			   .keep = o->keep_ms > 0 && clock_ms() - e->kept_at > o->keep_ms,
			   .word = by->word ? by->word(by->arg) : (struct engine_word){0}};
	const double *numbers = engine_read_numbers(e, &r.loss);

	transcript_losses(e, numbers + NUMBER_COUNT);

	if (e->at.mp > 0) /* the first slice has the same */
		exact_clear(&r.loss);
	if (e->squares)
		device_exact(e->dev, e->squares, 1, &r.squares);
	else
		exact_add(&r.squares, numbers[NUMBER_SQUARES]);
	return r;
}

bool engine_looks(const struct engine *e)
{
	return e->options.clip > 0 || e->options.type != DTYPE_F32;
}

static enum status look_and_update(struct engine *e, bool idle, struct report *sum,
				   struct error *err)
{
	struct step_result *result = e->run.result;
	double scale = e->scaler.scale, norm;
	enum status st;

	if (!idle)
		sync_squares(&e->sync, &e->numbers[NUMBER_SQUARES]);
	TRY(engine_exchange(e, report_of(e), sum, err));
	norm = sqrt(exact_value(&sum->squares)) / scale;
	/* Everybody has the same sum: not finite if one gradient anywhere is not. */
	result->skipped = e->options.type != DTYPE_F32 && !isfinite(norm);
	if (!result->skipped) {
		optim_begin(&e->optim, optim_clip_scale(norm, e->options.clip) / scale);
		if (!idle && !spoil_update(e))
			sync_update(&e->sync, &e->optim, &e->numbers[NUMBER_UNUSED], false);
		TRY(sync_share(&e->sync, err));
	}
	TRY(scaler_update(&e->scaler, result->skipped, err));
	result->grad_norm = norm;
out:
	return st;
}

/* Where nothing depends on the norm, the update itself sums the squares: one pass less. */
static enum status just_update(struct engine *e, bool idle, struct report *sum,
			       struct error *err)
{
	struct report own;
	enum status st;

	optim_begin(&e->optim, 1);
	if (!idle && !spoil_update(e))
		sync_update(&e->sync, &e->optim, &e->numbers[NUMBER_SQUARES], true);
	TRY(sync_share(&e->sync, err));
	own = report_of(e);
	if (!e->sync.zero && e->at.dp > 0)
		exact_clear(&own.squares); /* the first replica has the same */
	TRY(engine_exchange(e, own, sum, err));
	e->run.result->grad_norm = sqrt(exact_value(&sum->squares));
out:
	return st;
}

enum status engine_update(struct engine *e, struct error *err)
{
	/* Of DataParallel the first replica does it for all. */
	bool idle = e->options.grad_sync == SYNC_MASTER && e->at.dp > 0;
	struct step_result *result = e->run.result;
	struct report sum;
	struct watch w;
	enum status st;

	TRY(sync_finish(&e->sync, err));
	engine_reach(e, AT_OPTIMIZER, 0);
	w = watch_begin(e);
	result->loss_scale = e->scaler.scale;
	if (engine_looks(e))
		TRY(look_and_update(e, idle, &sum, err));
	else
		TRY(just_update(e, idle, &sum, err));
	result->loss = engine_mean_loss(e, &sum.loss);
	result->stop = (int)sum.stop;
	result->keep = sum.keep > 0;
	result->word = sum.word;
	watch_end(e, w, RECORD_UPDATE, NULL);
out:
	return st;
}

void engine_set_lr(struct engine *e, double lr)
{
	e->optim.update.lr = (float)lr;
}

enum status engine_step(struct engine *e, int step, struct step_result *result,
			struct error *err)
{
	struct comm_traffic before = comm_traffic(e->options.world), after;
	enum status st;

	*result = (struct step_result){0};
	TRY(engine_check(e, err));
	e->step = step;
	e->run.result = result;
	e->run.rows = e->options.rows;
	e->run.training = true;
	e->run.divisor = (double)engine_batch_rows(e) * e->options.grid.dp;
	watch_begin_step(e);
	engine_reach(e, AT_STEP, 0);
	spoil_order(e);
	engine_clear_numbers(e);
	st = engine_execute(e, &e->options.schedule->orders[e->at.pp], err);
	if (st != OK) {
		engine_give_up(e);
		goto out;
	}
	watch_end_step(e);
	after = comm_traffic(e->options.world);
	e->traffic.collective_bytes = e->sync.bytes + e->sum_bytes;
	e->traffic.moved.in += after.in - before.in;
	e->traffic.moved.out += after.out - before.out;
out:
	return st;
}
