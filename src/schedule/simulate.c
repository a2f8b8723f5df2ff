/* simulate.c - when each stage would do what, if every action took what its cost says. */
#include "schedule/timeline.h"
#include "schedule/impl.h"

#include <math.h>
#include <stdlib.h>

struct simulation {
	const struct schedule *schedule;
	const struct costs *costs;
	size_t *first;	/* (stages) where each stage's part of the next two is */
	double *began;	/* (all actions) when each action began */
	double *ended;	/* (all actions) and ended; a message: when it arrived */
	double *linked; /* (stages, stages) until when a link is taken */
	double *sent;	/* (stages, chunks, gradients_sent) when the last ones arrived, and */
	int *turn;	/* (stages, chunks) which of these is the next to be used */
};

static struct part_cost part_of(const struct simulation *sim, int stage, int chunk)
{
	const struct costs *c = sim->costs;
	int chunks = sim->schedule->chunks;
	struct message_cost message = {c->transfer, c->latency};

	if (c->parts)
		return c->parts[stage * chunks + chunk];
	return (struct part_cost){c->f / chunks, c->b / chunks, c->w / chunks, message,
				  message};
}

static double cost_of(const struct simulation *sim, int stage, const struct action *a)
{
	struct part_cost part = part_of(sim, stage, a->chunk);

	switch (a->kind) {
	case ACTION_F:
	case ACTION_E:
		return part.f;
	case ACTION_B:
		return part.b;
	case ACTION_I:
		return part.b - part.w;
	case ACTION_W:
		return part.w;
	case ACTION_SEND_F:
	case ACTION_RECV_F:
	case ACTION_SEND_B:
	case ACTION_RECV_B:
	case ACTION_REDUCE:
	case ACTION_STEP:
	case ACTION_PAUSE:
		break;
	}
	return 0;
}

static double *began_at(const struct simulation *sim, int stage, int index)
{
	return &sim->began[sim->first[stage] + (size_t)index];
}

static double *ended_at(const struct simulation *sim, int stage, int index)
{
	return &sim->ended[sim->first[stage] + (size_t)index];
}

static bool is_sent(enum action_kind kind)
{
	return kind == ACTION_SEND_F || kind == ACTION_SEND_B;
}

/* When a stage is free for what follows an action. */
static double free_after(const struct simulation *sim, int stage, int index)
{
	double began = *began_at(sim, stage, index), ended = *ended_at(sim, stage, index);

	if (!is_sent(sim->schedule->orders[stage].actions[index].kind))
		return ended;
	/* What was sent early may have arrived before its operation has ended. */
	return sim->costs->stop_and_wait ? fmax(began, ended) : began;
}

/* When the gradient arrives whose place the next one of a chunk takes; NULL: there is room. */
static double *place_of_next(const struct simulation *sim, int stage, int chunk)
{
	int i = stage * sim->schedule->chunks + chunk, n = sim->costs->gradients_sent;

	return n ? &sim->sent[i * n + sim->turn[i] % n] : NULL;
}

/* When a message leaves whose turn is now: maybe it has left already, with the input part of
   the B before it. */
static double leaves(const struct simulation *sim, int stage, int index, double now)
{
	const struct action *a = &sim->schedule->orders[stage].actions[index];

	if (!sim->costs->send_early || index == 0 || a->kind != ACTION_SEND_B ||
	    a[-1].kind != ACTION_B || a[-1].chunk != a->chunk ||
	    a[-1].micro_batch != a->micro_batch)
		return now;
	return now - part_of(sim, stage, a->chunk).w;
}

/* A message that is sent now arrives then. */
static double carry(struct simulation *sim, int stage, struct action a, double now)
{
	bool forward = a.kind == ACTION_SEND_F;
	struct part_cost part = part_of(sim, stage, a.chunk);
	struct message_cost cost = forward ? part.forward : part.backward;
	int chunk, to = schedule_peer(sim->schedule, stage, a, &chunk);
	double *taken = &sim->linked[stage * sim->schedule->stages + to];
	double *place = forward ? NULL : place_of_next(sim, stage, a.chunk);

	*taken = fmax(*taken, now) + cost.transfer;
	if (place) {
		*place = *taken + cost.latency;
		sim->turn[stage * sim->schedule->chunks + a.chunk]++;
	}
	return *taken + cost.latency;
}

/* When an operation ends that begins now. */
static double compute(const struct simulation *sim, int stage, const struct action *a,
		      double now)
{
	bool sends = a->kind == ACTION_B || a->kind == ACTION_I;
	const double *place = sends ? place_of_next(sim, stage, a->chunk) : NULL;

	return fmax(now, place ? *place : 0) + cost_of(sim, stage, a);
}

static void run(void *arg, int stage, int index, int sent)
{
	struct simulation *sim = arg;
	struct action a = sim->schedule->orders[stage].actions[index];
	double begin = index		   ? free_after(sim, stage, index - 1)
		       : sim->costs->begin ? sim->costs->begin[stage]
					   : 0;

	if (sent >= 0) {
		int chunk, sender = schedule_peer(sim->schedule, stage, a, &chunk);

		begin = fmax(begin, *ended_at(sim, sender, sent));
	}
	*began_at(sim, stage, index) = begin;
	*ended_at(sim, stage, index) =
		is_sent(a.kind) ? carry(sim, stage, a, leaves(sim, stage, index, begin))
				: compute(sim, stage, &a, begin);
}

static enum status allocate(struct simulation *sim, struct timeline *t, struct error *err)
{
	const struct schedule *s = sim->schedule;
	size_t total = 0, parts = (size_t)s->stages * (size_t)s->chunks;

	sim->first = calloc((size_t)s->stages, sizeof(*sim->first));
	for (int i = 0; sim->first && i < s->stages; i++) {
		sim->first[i] = total;
		total += (size_t)s->orders[i].count;
	}
	/* One more: an empty array is none at all to some allocators. */
	sim->began = calloc(total + 1, sizeof(*sim->began));
	sim->ended = calloc(total + 1, sizeof(*sim->ended));
	sim->linked = calloc((size_t)s->stages * (size_t)s->stages, sizeof(*sim->linked));
	sim->sent = calloc(parts * (size_t)sim->costs->gradients_sent + 1, sizeof(*sim->sent));
	sim->turn = calloc(parts, sizeof(*sim->turn));
	t->spans = calloc(total + 1, sizeof(*t->spans));
	t->totals = calloc((size_t)s->stages, sizeof(*t->totals));
	if (sim->first && sim->began && sim->ended && sim->linked && sim->sent && sim->turn &&
	    t->spans && t->totals)
		return OK;
	return FAIL(err, ERR_MEMORY, "no memory to simulate a schedule of %d stages",
		    s->stages);
}

double timeline_stage_bubble(const struct timeline *t, int stage)
{
	const struct stage_time *total = &t->totals[stage];
	double cost = total->end_ms - total->begin_ms;

	return cost > 0 ? 1 - total->busy_ms / cost : 0;
}

static void add_stage(const struct simulation *sim, int stage, struct timeline *t)
{
	const struct order *o = &sim->schedule->orders[stage];
	struct stage_time *total = &t->totals[stage];
	int before = t->count;

	for (int i = 0; i < o->count; i++) {
		struct span span = {stage, o->actions[i], *began_at(sim, stage, i),
				    *ended_at(sim, stage, i)};

		if (is_sent(span.action.kind))
			total->sent_ms = fmax(total->sent_ms, span.end_ms);
		total->end_ms = free_after(sim, stage, i);
		if (!action_is_computed(span.action.kind))
			continue;
		if (t->count == before)
			total->begin_ms = span.begin_ms;
		total->busy_ms += span.end_ms - span.begin_ms;
		t->spans[t->count++] = span;
	}
}

static void add_up(const struct simulation *sim, struct timeline *t)
{
	struct longest longest = {0};

	for (int i = 0; i < t->stages; i++) {
		add_stage(sim, i, t);
		if (t->totals[i].end_ms > t->makespan_ms)
			t->makespan_ms = t->totals[i].end_ms;
		longest_add(&longest, t->totals[i].end_ms - t->totals[i].begin_ms,
			    timeline_stage_bubble(t, i));
	}
	t->bubble = longest.idle;
}

enum status timeline_simulate(struct timeline *t, const struct schedule *s,
			      const struct costs *c, struct error *err)
{
	struct simulation sim = {.schedule = s, .costs = c};
	struct walk walk = {0};
	enum status st;

	*t = (struct timeline){.stages = s->stages};
	TRY(allocate(&sim, t, err));
	TRY(walk_init(&walk, s, err));
	walk.visit = run;
	walk.arg = &sim;
	TRY(walk_run(&walk, err));
	add_up(&sim, t);
out:
	walk_release(&walk);
	free(sim.first);
	free(sim.began);
	free(sim.ended);
	free(sim.linked);
	free(sim.sent);
	free(sim.turn);
	if (st != OK)
		timeline_release(t);
	return st;
}

void timeline_release(struct timeline *t)
{
	free(t->spans);
	free(t->totals);
	*t = (struct timeline){0};
}
