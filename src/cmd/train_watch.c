/* train_watch.c - how a run is watched while it goes on; see training.h */
#include "base/clock.h"
#include "cmd/training.h"
#include "launch/attach.h"
#include "launch/screen.h"

#include <math.h>
#include <unistd.h>

/* The best of some short trials is what the cores can do, even where others use them too. */
enum { PEAK_MS = 3, PEAK_TRIALS = 8, PEAK_ROUNDS = 30000, PEAK_VIRTUAL = 100 };

static enum status no_screen(const char *why, const char *hint, struct error *err)
{
	FAIL(err, ERR_USAGE, "there can be no progress screen: %s", why);
	return HINT(err, "%s", hint);
}

enum status training_choose_screen(struct training *t, struct error *err)
{
	const struct config *c = &t->config;
	bool lines = c->log_format == LOG_JSONL && isatty(STDOUT_FILENO);
	bool wanted = c->progress == PROGRESS_SCREEN || c->progress == PROGRESS_RANKS;
	struct launcher by;
	bool launched = launcher_detect(&by);

	if (c->progress == PROGRESS_PLAIN || c->quiet)
		return OK;
	/* There is no supervisor to draw it, and isatty of a rank lies. */
	if (wanted && launched)
		return no_screen("other processes have started this as a rank",
				 "use --progress plain, and kolm top on its machine", err);
	if (wanted && !screen_possible(STDERR_FILENO))
		return no_screen("standard error is no terminal that can move its cursor",
				 "use --progress plain", err);
	if (wanted && lines)
		return no_screen("--log-format jsonl prints its lines on the same terminal",
				 "send standard output to a file", err);
	/* timeout(1) makes its child a background job: plain lines are safe there. */
	if (wanted || (!launched && !lines && screen_possible(STDERR_FILENO) &&
		       screen_in_front(STDERR_FILENO)))
		t->screen = c->progress == PROGRESS_RANKS ? SCREEN_RANKS : SCREEN_RUN;
	return OK;
}

static double measure_once(const struct training *t, long rounds)
{
	int64_t begin = pace_now(&t->rank->pace);
	double flops = device_fma_rounds(t->dev, engine_options(t->engine)->type, rounds);

	return flops / (double)(pace_now(&t->rank->pace) - begin);
}

/* What the cores of this rank could do, in GFLOP/s; those that ranks share count once. */
static double measure_peak(const struct training *t)
{
	const struct rank *r = t->rank;
	double best = 0, start = clock_ms();
	double threads = (double)device_threads(t->dev) * r->locals;

	if (device_is_virtual(t->dev)) /* its time is exact, and its cores are its own */
		return measure_once(t, PEAK_VIRTUAL);
	for (int i = 0; i < PEAK_TRIALS || clock_ms() - start < PEAK_MS; i++)
		best = fmax(best, measure_once(t, PEAK_ROUNDS));
	return best * fmin(1, r->host_cores / threads);
}

enum status training_announce(struct training *t, struct error *err)
{
	struct pulse *p = t->rank->pulse;
	const struct memory_account *memory = device_memory(t->dev);
	enum status st = OK;

	p->peak_gflops = measure_peak(t);
	p->peak_type = (int)device_peak_type(t->dev, engine_options(t->engine)->type);
	p->loss = NAN;
	p->loss_scale = engine_options(t->engine)->scaler.scale;
	p->now_bytes = memory->total;
	p->peak_bytes = memory->total_peak;
	if (t->rank->number == 0)
		TRY(attach_publish(t->rank, &t->grid, t->run.folder, err));
	p->steps = t->config.steps; /* last: it says that the rest is there */
out:
	return st;
}
