/*
 * train_end.c - how a run ends: what the ranks have measured goes to rank 0, which writes the
 * summary. After a signal there may be no time to end the step: then a thread beside writes
 * it from what was kept last. See training.h
 */
#include "base/clock.h"
#include "base/file.h"
#include "cmd/training.h"
#include "engine/digest.h"

#include <stdlib.h>
#include <string.h>

/* A row of each rank, to rank 0. */
static enum status gather(struct training *t, void *rows, size_t size, struct error *err)
{
	return comm_run(t->rank->world, COMM_GATHER, rows, size * (size_t)t->rank->ranks,
			DTYPE_BYTE, 0, err);
}

enum status training_gather_times(struct training *t, const struct engine_times *own,
				  struct error *err)
{
	t->all_times[t->rank->number] = *own;
	return gather(t, t->all_times, sizeof(*own), err);
}

/* A step allocates nothing, so this is done before the first. */
static enum status make_room(struct kept *k, size_t ranks, struct error *err)
{
	if (k->times)
		return OK;
	k->ranks = calloc(ranks, sizeof(*k->ranks));
	k->times = calloc(ranks, sizeof(*k->times));
	if (!k->ranks || !k->times)
		return FAIL(err, ERR_MEMORY, "no memory for what %zu ranks measure", ranks);
	return OK;
}

enum status training_keep(struct training *t, struct error *err)
{
	size_t ranks = (size_t)t->rank->ranks;
	struct kept *k = &t->kept;
	enum status st;

	rank_summary_fill(&t->summaries[t->rank->number], t->engine, t->rank->pulse, t->done);
	training_meter_fill(t, &t->summaries[t->rank->number]);
	TRY(training_gather_times(t, &t->times, err));
	TRY(gather(t, t->summaries, sizeof(*t->summaries), err));
	engine_kept(t->engine);
	if (t->rank->number > 0)
		return OK;
	pthread_mutex_lock(&k->lock);
	st = make_room(k, ranks, err);
	if (st == OK) {
		memcpy(k->ranks, t->summaries, ranks * sizeof(*k->ranks));
		memcpy(k->times, t->all_times, ranks * sizeof(*k->times));
		k->any = true;
	}
	pthread_mutex_unlock(&k->lock);
out:
	return st;
}

/* How a run ends that a signal has stopped. */
static enum status stopped_by(int number, const struct training *t, struct error *err)
{
	const char *name;
	enum status code = error_of_signal(number, &name);

	FAIL(err, code, "stopped by %s after %d of %d steps", name,
	     t->metrics.first + t->metrics.count, t->config.steps);
	if (t->discarded || t->run.fd < 0)
		return code; /* there will be nothing to see */
	if (t->saver.on && t->saver.written == t->done)
		return HINT(err, "kolm train --resume %s goes on", t->run.folder);
	return HINT(err, "what was measured is in %s", t->run.folder);
}

/* Of what was kept last, with the lock held. The breakdowns are the caller's, also where it
   fails. */
static enum status write_summary(struct training *t, const struct evaluation *evaluation,
				 int stopped, struct breakdowns *breakdowns,
				 struct run_summary *summary, struct error *err)
{
	enum status st;

	*summary = (struct run_summary){
		.config = &t->config,
		.rank = t->rank,
		.grid = &t->grid,
		.ranks = t->kept.ranks,
		.metrics = &t->metrics,
		.dev = t->dev,
		.engine = t->engine,
		.evaluation = evaluation,
		.breakdowns = breakdowns,
		.predicted = &t->predicted,
		.planned_ms = t->planned_ms,
		.best = t->course.best.step >= 0 ? &t->course.best : NULL,
		.interrupted = stopped != 0,
		.stopped_early = t->ended == COURSE_OUT_OF_PATIENCE,
		.diverged = t->ended == COURSE_DIVERGED,
		.resumed_from = t->from.state ? t->from.step : -1,
		.restarts = t->restarted,
		.sequence = t->data.sequence,
		.language = t->data.language,
		.saved = t->saver.count,
		.saving_ms = t->saver.held_ms,
		.saved_ms = t->saver.took_ms,
		.weights_sha256 = *t->weights_sha256 ? t->weights_sha256 : NULL,
	};
	TRY(breakdowns_init(breakdowns, t->kept.times, t->rank->ranks, &t->schedule, t->grid.pp,
			    err));
	TRY(run_write_summary(&t->run, summary, err));
	t->kept.written = true;
out:
	return st;
}

/* Is there no time but for the summary? */
static bool is_hurried(const struct training *t)
{
	return t->stopped && t->rank->hurried;
}

/* Rank 0: write the timeline and, last of all files, the summary: where there is one, the
   run is complete. Say how it went. */
static enum status close_run(struct training *t, const struct evaluation *evaluation,
			     struct error *err)
{
	enum status st;
	struct breakdowns breakdowns = {0};
	struct run_summary summary;

	rank_at(t->rank, "the end");
	if (!is_hurried(t))
		TRY(training_trace_write(t, err));
	pthread_mutex_lock(&t->kept.lock);
	st = write_summary(t, evaluation, t->stopped, &breakdowns, &summary, err);
	pthread_mutex_unlock(&t->kept.lock);
	if (st != OK)
		goto out;
	training_print_closing(&summary);
	if (t->stopped)
		st = stopped_by(t->stopped, t, err);
	else if (t->ended == COURSE_DIVERGED)
		st = training_diverged(t, err);
out:
	breakdowns_release(&breakdowns);
	return st;
}

/* What kolm verify compares. */
static enum status write_record(struct training *t, struct error *err)
{
	int copy = sketch_copy(t->engine, t->done - 1);
	enum status st;

	TRY(dump_masters(t->engine, copy, t->record_folder, "final.safetensors", err));
	if (t->wants_gradients)
		TRY(dump_gradients(t->engine, copy, t->record_folder, err));
	if (t->transcript.sums)
		TRY(transcript_write(&t->transcript, t->engine, t->record_folder, err));
	if (is_first(t) && t->fingerprint.on)
		TRY(fingerprint_write(&t->fingerprint, t->record_folder, err));
	else if (is_first(t))
		TRY(sketch_write(&t->sketch, t->record_folder, err));
out:
	return st;
}

/* A checkpoint of them has it already; otherwise they go through rank 0 once more. */
static enum status note_weights(struct training *t, struct error *err)
{
	const struct saver *s = &t->saver;
	bool saved = s->on && s->written == t->done;

	if (saved) {
		memcpy(t->weights_sha256, s->sha256, sizeof(s->sha256));
		return OK;
	}
	if (t->stopped || t->ended == COURSE_DIVERGED || t->discarded ||
	    device_is_virtual(t->dev) || !digest_is_cheap(t->engine))
		return OK;
	return digest_weights(t->engine, t->weights_sha256, err);
}

static void put_options(const void *options, struct json *j)
{
	options_write_json(options, j);
}

enum status training_finish(struct training *t, struct error *err)
{
	enum status st = OK;
	bool well = !t->stopped && t->ended != COURSE_DIVERGED;
	bool evaluated = t->data.held_out && well && !device_is_virtual(t->dev);

	t->rank->ended_by = t->stopped;
	if (!is_hurried(t)) /* first: what follows is not part of a step */
		TRY(training_trace_collect(t, err));
	TRY(training_keep(t, err));
	if (t->dump.folder && well)
		TRY(dump_end(&t->dump, t->engine, put_options, &t->config.values,
			     t->metrics.losses, t->metrics.count, err));
	if (t->record_folder && well)
		TRY(write_record(t, err));
	if (t->ended != COURSE_DIVERGED) /* nobody should go on from there */
		TRY(training_save_end(t, err));
	TRY(note_weights(t, err));
	if (evaluated)
		TRY(training_evaluate(t, err));
	if (t->rank->number == 0)
		TRY(close_run(t, evaluated ? &t->evaluation : NULL, err));
out:
	return st;
}

void training_close(struct training *t)
{
	pthread_mutex_lock(&t->kept.lock);
	t->kept.written = true; /* or there is none: nobody writes it now */
	dump_abort(&t->dump);
	run_close(&t->run);
	training_release(t);
	metrics_release(&t->metrics);
	sketch_release(&t->sketch);
	fingerprint_release(&t->fingerprint);
	transcript_release(&t->transcript);
	free(t->kept.ranks);
	free(t->kept.times);
	pthread_mutex_unlock(&t->kept.lock);
}

void training_abandon(void *arg)
{
	struct training *t = arg;

	/* For good: this is the end. Who has the lock is about to do it as well. */
	if (!pthread_mutex_trylock(&t->kept.lock))
		training_release(t);
}

enum status training_hurry(void *arg, int number, struct error *err)
{
	struct training *t = arg;
	struct breakdowns breakdowns;
	struct run_summary summary;
	enum status st = OK;

	file_hurry();
	pthread_mutex_lock(&t->kept.lock); /* for good: this is the end */
	if (t->kept.any && !t->kept.written)
		st = write_summary(t, NULL, number, &breakdowns, &summary, err);
	if (st == OK)
		st = stopped_by(number, t, err);
	training_release(t);
	return st;
}
