/* watch.c - where the time of a step goes; see engine.h */
#include "engine/impl.h"

void engine_times_add(struct engine_times *sum, const struct engine_times *t)
{
	sum->steps += t->steps;
	sum->step += t->step;
	sum->compute += t->compute;
	sum->update += t->update;
	sum->comm += t->comm;
	sum->lost += t->lost;
	sum->pause += t->pause;
	sum->window += t->window;
	sum->actions += t->actions;
	for (int k = 0; k <= RECORD_WEIGHT; k++) {
		sum->kind_ns[k] += t->kind_ns[k];
		sum->kind_count[k] += t->kind_count[k];
	}
}

static struct comm_times comm_times_of(const struct engine *e)
{
	return comm_times(e->options.world);
}

/* What is not work, so far. */
static int64_t apart(const struct engine *e)
{
	struct comm_times t = comm_times_of(e);

	return t.lost + t.busy + e->times.pause;
}

int64_t watch_now(const struct engine *e)
{
	return device_has_stamps(e->dev) ? device_stamp(e->dev, QUEUE_COMPUTE)
					 : pace_now(e->options.pace);
}

double watch_ms_since(const struct engine *e, int64_t now)
{
	int64_t begin = device_has_stamps(e->dev) ? device_time_of(e->dev, now) : now;

	return (double)(pace_now(e->options.pace) - begin) * 1e-6;
}

struct watch watch_begin(const struct engine *e)
{
	return (struct watch){.begin = watch_now(e), .apart = apart(e)};
}

/* On the rank's own clock. */
static void count(struct engine *e, struct watch w, enum record_kind kind, int64_t end,
		  bool of_batch)
{
	int64_t own = end - w.begin - (apart(e) - w.apart);

	if (kind == RECORD_PAUSE) {
		e->times.pause += end - w.begin;
	} else {
		e->times.compute += own;
		e->times.update += kind == RECORD_UPDATE ? own : 0;
	}
	if (!of_batch || kind > RECORD_WEIGHT)
		return;
	if (!e->times.window) /* its end is not known yet */
		e->times.window = -w.begin;
	e->times.kind_ns[kind] += own;
	e->times.kind_count[kind]++;
	e->times.actions += end - w.begin;
	if (kind == RECORD_BACKWARD) {
		e->times.kind_ns[RECORD_WEIGHT] += end - e->run.dx_ready;
		e->times.kind_count[RECORD_WEIGHT]++;
	}
}

void watch_end(struct engine *e, struct watch w, enum record_kind kind, const struct action *a)
{
	struct record what = {.begin = w.begin,
			      .end = watch_now(e),
			      .kind = (int16_t)kind,
			      .chunk = (int16_t)(a ? a->chunk : 0),
			      .micro_batch = a ? a->micro_batch : -1,
			      .stamped = device_has_stamps(e->dev)};

	if (!what.stamped)
		count(e, w, kind, what.end, a != NULL);
	if (kind == RECORD_BACKWARD && !e->chunks[a->chunk].begins)
		what.ready = e->run.dx_ready;
	records_add(e->options.records, &what);
}

void watch_begin_step(struct engine *e)
{
	struct comm_times t = comm_times_of(e);

	/* What was counted before is taken off at the end. */
	e->times = (struct engine_times){.steps = 1,
					 .step = -pace_now(e->options.pace),
					 .comm = -t.busy,
					 .lost = -t.lost};
	if (e->options.records)
		e->options.records->step = e->step;
	if (device_has_stamps(e->dev))
		watch_begin_stamps(e);
}

void watch_end_pipeline(struct engine *e)
{
	if (!device_has_stamps(e->dev))
		e->times.window += pace_now(e->options.pace);
}

void watch_end_step(struct engine *e)
{
	struct record what = {.begin = -e->times.step, .kind = RECORD_STEP, .micro_batch = -1};
	struct comm_times t = comm_times_of(e);

	e->times.comm += t.busy;
	e->times.lost += t.lost;
	if (device_has_stamps(e->dev))
		watch_end_stamps(e, what.begin);
	what.end = pace_now(e->options.pace);
	e->times.step += what.end;
	records_add(e->options.records, &what);
}
