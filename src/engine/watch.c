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

struct watch watch_begin(const struct engine *e)
{
	return (struct watch){.begin = pace_now(e->options.pace), .apart = apart(e)};
}

void watch_end(struct engine *e, struct watch w, enum record_kind kind, const struct action *a)
{
	int64_t end = pace_now(e->options.pace), own = end - w.begin - (apart(e) - w.apart);
	struct record what = {.begin = w.begin,
			      .end = end,
			      .kind = (int16_t)kind,
			      .chunk = (int16_t)(a ? a->chunk : 0),
			      .micro_batch = a ? a->micro_batch : -1};

	if (kind == RECORD_PAUSE) {
		e->times.pause += end - w.begin;
	} else {
		e->times.compute += own;
		e->times.update += kind == RECORD_UPDATE ? own : 0;
	}
	if (a && kind <= RECORD_WEIGHT) {
		e->times.kind_ns[kind] += own;
		e->times.kind_count[kind]++;
		e->times.actions += end - w.begin;
	}
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
}

void watch_end_step(struct engine *e)
{
	struct comm_times t = comm_times_of(e);
	int64_t end = pace_now(e->options.pace);
	struct record what = {
		.begin = -e->times.step, .end = end, .kind = RECORD_STEP, .micro_batch = -1};

	e->times.step += end;
	e->times.comm += t.busy;
	e->times.lost += t.lost;
	records_add(e->options.records, &what);
}
