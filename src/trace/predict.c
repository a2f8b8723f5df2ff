/* predict.c - the step that the simulator expects, and where its time goes. */
#include "base/util.h"
#include "trace/compare.h"

#include <math.h>
#include <stdlib.h>

/* What a message takes on a link that carries one at a time, in ms; 0: not known. */
static double transfer_of(const struct trace *t)
{
	if (t->linked)
		for (int rank = 0; rank < grid_size(&t->grid); rank++)
			for (int64_t i = 0; i < t->ranks[rank].count; i++)
				if (t->ranks[rank].records[i].kind == RECORD_SEND)
					return (double)t->ranks[rank].records[i].bytes *
					       t->ns_per_byte * 1e-6;
	return 0;
}

static void fill_parts(const struct profile *p, struct message_cost message,
		       struct part_cost *parts)
{
	const struct trace *t = p->trace;

	for (int stage = 0; stage < t->grid.pp; stage++)
		for (int chunk = 0; chunk < t->chunks; chunk++) {
			double w = profile_operation(p, stage, chunk, ACTION_W)->ms;
			double b = profile_operation(p, stage, chunk, ACTION_B)->ms;
			double i = profile_operation(p, stage, chunk, ACTION_I)->ms;

			parts[stage * t->chunks + chunk] = (struct part_cost){
				.f = profile_operation(p, stage, chunk, ACTION_F)->ms,
				.b = b > 0 ? b : i + w,
				.w = w,
				.forward = message,
				.backward = message,
			};
		}
}

/* ---- where the time goes ---- */

/* When forwards and backwards end: what the next part waits for. */
struct ends {
	const struct schedule *schedule;
	double message; /* what one takes */
	bool stop_and_wait;
	double *at; /* (2, parts, micro_batches) */
};

static double *end_at(const struct ends *e, bool forward, int part, int micro_batch)
{
	int parts = schedule_parts(e->schedule);

	return &e->at[((size_t)!forward * (size_t)parts + (size_t)part) *
			      (size_t)e->schedule->micro_batches +
		      (size_t)micro_batch];
}

static int part_of(const struct ends *e, const struct span *x)
{
	return schedule_part(e->schedule, x->stage, x->action.chunk);
}

/* When what a span waits for was ready to be sent; 0: it waits for nothing. */
static double input_ready(const struct ends *e, const struct span *x)
{
	bool forward = x->action.kind == ACTION_F;
	int from = part_of(e, x) + (forward ? -1 : 1);

	if (x->action.kind == ACTION_W || from < 0 || from >= schedule_parts(e->schedule))
		return 0;
	return *end_at(e, forward, from, x->action.micro_batch);
}

/* Does the output of a span go to another stage? */
static bool is_sent(const struct ends *e, const struct span *x)
{
	int to = part_of(e, x) + (x->action.kind == ACTION_F ? 1 : -1);

	return x->action.kind != ACTION_W && to >= 0 && to < schedule_parts(e->schedule);
}

static void add_operation(const struct mean_cost *c, struct time_account *out)
{
	out->compute += c->parts.compute;
	out->messages += c->parts.messages;
	out->waiting += c->parts.waiting;
	out->pause += c->parts.pause;
}

/* The gaps before operations: until the input is ready a stage waits, then it is the
   message's time. So is what it waits for its own messages: for each, or for the last one
   before the step ends. */
static void account_stage(const struct profile *p, const struct timeline *t,
			  const struct ends *ends, int *at, struct time_account *out)
{
	int stage = t->spans[*at].stage;
	double before = 0, sent = 0;

	for (; *at < t->count && t->spans[*at].stage == stage; ++*at) {
		const struct span *x = &t->spans[*at];
		double gap = x->begin_ms - before;
		double own = ends->stop_and_wait ? fmin(fmax(sent - before, 0), gap) : 0;
		double waiting = fmin(fmax(input_ready(ends, x) - before - own, 0), gap - own);

		out->waiting += waiting;
		out->messages += gap - waiting;
		add_operation(profile_operation(p, stage, x->action.chunk, x->action.kind),
			      out);
		before = x->end_ms;
		if (is_sent(ends, x))
			sent = x->end_ms + ends->message;
	}
	out->messages += fmax(sent - before, 0);
	add_operation(&p->ends[stage], out);
}

/* How long before its end a span sends what it yields. */
static double behind_send(const struct costs *c, const struct schedule *s, const struct span *x)
{
	if (!c->send_early || x->action.kind != ACTION_B)
		return 0;
	return c->parts[x->stage * s->chunks + x->action.chunk].w;
}

static enum status account_all(const struct profile *p, const struct schedule *s,
			       const struct costs *c, const struct timeline *t,
			       struct time_account *out, struct error *err)
{
	struct ends ends = {.schedule = s,
			    .message = c->parts->forward.transfer + c->parts->forward.latency,
			    .stop_and_wait = c->stop_and_wait};
	size_t n = 2 * (size_t)schedule_parts(s) * (size_t)s->micro_batches;

	*out = (struct time_account){0};
	ends.at = calloc(n, sizeof(*ends.at));
	if (!ends.at)
		return FAIL(err, ERR_MEMORY, "no memory to compare %d spans", t->count);
	for (int i = 0; i < t->count; i++) {
		const struct span *x = &t->spans[i];

		if (x->action.kind != ACTION_W)
			*end_at(&ends, x->action.kind == ACTION_F, part_of(&ends, x),
				x->action.micro_batch) = x->end_ms - behind_send(c, s, x);
	}
	for (int at = 0; at < t->count;)
		account_stage(p, t, &ends, &at, out);
	free(ends.at);
	return OK;
}

/* ---- what ends the step ---- */

/* The sums, the optimizer and the whole step behind the operations of each stage. */
static enum status add_ends(const struct profile *p, struct timeline *t, struct error *err)
{
	struct span *spans = calloc((size_t)t->count + 2 * (size_t)t->stages, sizeof(*spans));
	int n = 0, at = 0;

	if (!spans)
		return FAIL(err, ERR_MEMORY, "no memory for %d spans", t->count);
	t->makespan_ms = 0;
	for (int stage = 0; stage < t->stages; stage++) {
		const struct time_account *parts = &p->ends[stage].parts;
		double sums = t->totals[stage].end_ms, update = sums + parts->messages;
		double end = update + parts->pause + parts->compute;

		while (at < t->count && t->spans[at].stage == stage)
			spans[n++] = t->spans[at++];
		if (parts->messages > 0)
			spans[n++] = (struct span){stage, {ACTION_REDUCE, 0, 0}, sums, update};
		spans[n++] =
			(struct span){stage, {ACTION_STEP, 0, 0}, update + parts->pause, end};
		t->makespan_ms = fmax(t->makespan_ms, end);
	}
	free(t->spans);
	t->spans = spans;
	t->count = n;
	return OK;
}

/* Over the stages; who is through early waits for the others. */
static void finish(const struct timeline *t, struct time_account *a)
{
	double n = t->stages;

	a->compute /= n;
	a->messages /= n;
	a->waiting /= n;
	a->pause /= n;
	a->total = t->makespan_ms;
	a->waiting += a->total - a->compute - a->messages - a->waiting - a->pause;
}

enum status predict_step(const struct profile *p, struct timeline *out,
			 struct time_account *account, struct error *err)
{
	const struct trace *t = p->trace;
	struct schedule schedule = {0};
	struct message_cost message = {transfer_of(t),
				       t->linked ? t->latency_ns * 1e-6 : p->message.ms};
	struct part_cost *parts =
		calloc((size_t)t->grid.pp * (size_t)t->chunks, sizeof(*parts));
	struct costs costs = {.parts = parts, .stop_and_wait = t->base, .send_early = !t->base};
	enum status st;

	if (!parts)
		return FAIL(err, ERR_MEMORY, "no memory for the costs of %d stages",
			    t->grid.pp);
	fill_parts(p, message, parts);
	TRY(schedule_init(&schedule, t->schedule, t->grid.pp, t->micro_batches, t->chunks,
			  err));
	TRY(timeline_simulate(out, &schedule, &costs, err));
	TRY(account_all(p, &schedule, &costs, out, account, err));
	TRY(add_ends(p, out, err));
	finish(out, account);
out:
	schedule_release(&schedule);
	free(parts);
	return st;
}
