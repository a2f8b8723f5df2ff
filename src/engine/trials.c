/*
 * trials.c - trials of the parts of a step, until it is clear what they take; see predict.h
 *
 * A machine is disturbed for moments: by other programs, by other guests of its host. What
 * was disturbed took longer, never shorter, so estimates come from the quicker trials, and
 * there are more trials while they differ. Two virtual cores that share a real one are slow
 * for tenths of a second, in which all trials agree: they go on for some time in any case, if
 * the run is long enough to be worth it.
 */
#include "base/clock.h"
#include "base/stats.h"
#include "engine/impl.h"
#include "engine/predict_impl.h"

#include <math.h>
#include <stdlib.h>

/* At least so many, for the time of so many steps, and for that share of the run, which need
   not be longer; then until they agree to that. */
enum { TRIALS_MIN = 3, TRIALS_MAX = 60, STEPS_MIN = 2, WHILE_MS = 400 };
#define SHARE 0.2
#define AGREE 1.1
/* But if they never do, for the time of so many steps, or for so long if that is longer; and no
   new one begins when they have taken very long. */
enum { STEPS_MAX = 8, SHORT_MS = 100, LONG_MS = 10000 };

void costs_estimate(const double *trials, int n, size_t size, double *rows)
{
	static const double shares[COSTS_COUNT] = {0, 1. / 3, 3. / 4};
	double values[TRIALS_MAX];

	for (size_t i = 0; i < size; i++) {
		for (int k = 0; k < n; k++)
			values[k] = trials[(size_t)k * size + i];
		statistics_of(values, n); /* sorts them */
		for (size_t c = 0; c < COSTS_COUNT; c++)
			rows[c * size + i] = quantile_of(values, n, shares[c]);
	}
}

/* What a rank does itself in a step that has these costs. */
static double work_of(const struct engine *e, struct cost_row row)
{
	double ms = row.rank->squares + row.rank->update + row.rank->exchange;

	for (int k = 0; k < e->n_chunks; k++)
		ms += e->options.micro_batches * (row.parts[k].f + row.parts[k].b);
	for (int i = 0; i < (int)row.rank->buckets; i++)
		ms += row.buckets[i].sum + row.buckets[i].share;
	return ms;
}

/* Is it enough? The same on all ranks: they go on if one of them wants more, and end if the
   time of one is over. */
static enum status is_enough(struct engine *e, int steps, double *rows, int n, double took_ms,
			     bool *enough, struct error *err)
{
	double low = work_of(e, cost_row_at(e, rows, COSTS_LOW));
	double likely = work_of(e, cost_row_at(e, rows, COSTS_LIKELY));
	double high = work_of(e, cost_row_at(e, rows, COSTS_HIGH));
	double least = fmax(STEPS_MIN * likely, fmin(SHARE * steps * likely, WHILE_MS));
	bool tried = n >= TRIALS_MIN && took_ms > least;
	bool over =
		n >= TRIALS_MIN && took_ms > fmax(fmax(STEPS_MAX * likely, SHORT_MS), least);
	struct report own = {.correct = tried && high <= low * AGREE,
			     .stop = over || took_ms > LONG_MS || engine_stop(e)};
	struct report all;
	enum status st;

	TRY(engine_exchange(e, own, &all, err));
	*enough = all.correct == e->ranks || all.stop > 0;
out:
	return st;
}

enum status engine_calibrate(struct engine *e, int steps, double *rows, int *trials,
			     struct error *err)
{
	size_t size = cost_row_size(e);
	double *all = calloc(TRIALS_MAX * size, sizeof(*all)), begin;
	bool enough = device_is_virtual(e->dev); /* each is like the other */
	struct trial t = {.e = e};
	enum status st = OK;

	if (!all)
		return FAIL(err, ERR_MEMORY, "no memory for trials of a step");
	begin = clock_ms();
	if (!enough) /* the first touches memory and fills caches */
		TRY(trial_run(&t, all, err));
	*trials = 0;
	do {
		TRY(trial_run(&t, all + (size_t)*trials * size, err));
		++*trials;
		costs_estimate(all, *trials, size, rows);
		if (!enough)
			TRY(is_enough(e, steps, rows, *trials, clock_ms() - begin, &enough,
				      err));
	} while (!enough && *trials < TRIALS_MAX);
out:
	free(all);
	return st;
}
