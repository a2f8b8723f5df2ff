/* profile.c - where the time of ranks went, and what operations took on average. */
#include "base/util.h"
#include "comm/comm.h"
#include "engine/engine.h"
#include "trace/compare.h"

#include <stdlib.h>

static double ms_of(int64_t ns)
{
	return (double)ns * 1e-6;
}

bool is_control(const struct record *r)
{
	return r->purpose == COMM_FOR_CONTROL;
}

/* Until the partner has come it is waiting, from then on the message's time. */
static void add_wait(const struct record *w, struct time_account *out)
{
	int64_t met = w->ready == TRACE_UNKNOWN || w->ready < w->begin ? w->begin
		      : w->ready > w->end			       ? w->end
								       : w->ready;

	if (w->kind == RECORD_PAUSE) {
		out->pause += ms_of(w->end - w->begin);
		return;
	}
	out->waiting += ms_of(met - w->begin);
	out->messages += ms_of(w->end - met);
}

void account_waits(const struct record *waits, int n, int *at, int64_t begin, int64_t end,
		   struct time_account *out)
{
	while (*at < n && waits[*at].begin < begin)
		++*at;
	for (; *at < n && waits[*at].end <= end; ++*at)
		add_wait(&waits[*at], out);
}

static double apart(const struct time_account *a)
{
	return a->messages + a->waiting + a->pause;
}

struct time_account account_of(const struct trace *t, int rank, int step)
{
	struct time_account out = {0};
	int n, n_waits, n_steps, at = 0;
	const struct record *work = trace_find(t, rank, TRACK_COMPUTE, step, &n);
	const struct record *waits = trace_find(t, rank, TRACK_WAITING, step, &n_waits);
	const struct record *whole = trace_find(t, rank, TRACK_STEP, step, &n_steps);

	for (int i = 0; i < n_waits; i++)
		add_wait(&waits[i], &out);
	for (int i = 0; i < n; i++) {
		struct time_account inside = {0};

		account_waits(waits, n_waits, &at, work[i].begin, work[i].end, &inside);
		out.compute += ms_of(work[i].end - work[i].begin) - apart(&inside);
	}
	out.total = n_steps ? ms_of(whole->end - whole->begin) : 0;
	out.other = out.total - out.compute - apart(&out);
	return out;
}

/* ---- means ---- */

static struct mean_cost *operation(const struct profile *p, int stage, int chunk, int kind)
{
	return &p->operations[(stage * p->trace->chunks + chunk) * (ACTION_W + 1) + kind];
}

const struct mean_cost *profile_operation(const struct profile *p, int stage, int chunk,
					  enum action_kind kind)
{
	return operation(p, stage, chunk, (int)kind);
}

static void add(struct mean_cost *to, double ms, const struct time_account *inside)
{
	to->count++;
	to->ms += ms;
	to->parts.compute += ms - apart(inside);
	to->parts.messages += inside->messages;
	to->parts.waiting += inside->waiting;
	to->parts.pause += inside->pause;
}

static void divide(struct mean_cost *c)
{
	double n = c->count > 0 ? c->count : 1;

	c->ms /= n;
	c->parts.compute /= n;
	c->parts.messages /= n;
	c->parts.waiting /= n;
	c->parts.pause /= n;
}

/* Sums that nothing hid, and pauses, outside of operations. What moves between stages is
   the schedule's matter; what DataParallel moves is not. */
static void add_end(const struct profile *p, const struct record *w, struct time_account *out)
{
	struct time_account a = {0};

	add_wait(w, &a);
	out->pause += a.pause;
	if (p->trace->grid.pp == 1 || (w->of == RECORD_COLLECTIVE && !is_control(w)) ||
	    (w->of == RECORD_IN && w->op == QUEUE_SEND)) /* what was summed comes back */
		out->messages += a.messages;
}

/* How much of a backward pass comes behind the gradient of its input, which is sent then. */
static double ms_behind_input(const struct record *b)
{
	return b->ready > b->begin && b->ready < b->end ? ms_of(b->end - b->ready) : 0;
}

static void add_step(struct profile *p, int rank, int step)
{
	static const enum action_kind kinds[] = {[RECORD_FORWARD] = ACTION_F,
						 [RECORD_BACKWARD] = ACTION_B,
						 [RECORD_INPUT] = ACTION_I,
						 [RECORD_WEIGHT] = ACTION_W};
	const struct trace *t = p->trace;
	int n, n_waits, at = 0, stage = grid_coords(&t->grid, rank).pp;
	const struct record *work = trace_find(t, rank, TRACK_COMPUTE, step, &n);
	const struct record *waits = trace_find(t, rank, TRACK_WAITING, step, &n_waits);
	struct time_account end = {0};
	double optimizer = 0;

	for (int i = 0; i < n; i++) {
		struct time_account inside = {0};
		double ms = ms_of(work[i].end - work[i].begin);
		bool update = work[i].kind == RECORD_UPDATE;

		for (; at < n_waits && waits[at].begin < work[i].begin; at++)
			add_end(p, &waits[at], &end);
		for (int k = at; update && k < n_waits && waits[k].end <= work[i].end; k++)
			add_end(p, &waits[k], &end);
		account_waits(waits, n_waits, &at, work[i].begin, work[i].end, &inside);
		if (update)
			optimizer += ms - apart(&inside);
		else
			add(operation(p, stage, work[i].chunk, kinds[work[i].kind]), ms,
			    &inside);
		if (work[i].kind == RECORD_BACKWARD)
			add(operation(p, stage, work[i].chunk, ACTION_W),
			    ms_behind_input(&work[i]), &(struct time_account){0});
	}
	for (; at < n_waits; at++)
		add_end(p, &waits[at], &end);
	add(&p->ends[stage], optimizer + apart(&end), &end);
}

/* Copies of as many bytes as a message has take part in it, one at either end. */
static double ms_of_copies(const struct trace *t, enum record_kind kind, int64_t bytes)
{
	struct mean_cost mean = {0};

	for (int rank = 0; rank < grid_size(&t->grid); rank++)
		for (int64_t i = 0; i < t->ranks[rank].count; i++) {
			const struct record *r = &t->ranks[rank].records[i];

			if (r->kind == (int)kind && r->bytes == bytes)
				add(&mean, ms_of(r->end - r->begin), &(struct time_account){0});
		}
	divide(&mean);
	return mean.ms;
}

/* What a message takes whose receiver waits for it: one that computes meanwhile may take it
   later than it could. Where nobody waits, what is known of all. */
static void add_messages(struct profile *p)
{
	const struct trace *t = p->trace;
	struct mean_cost any = {0};
	struct time_account none = {0};
	int64_t bytes = 0;

	for (int rank = 0; rank < grid_size(&t->grid); rank++)
		for (int64_t i = 0; i < t->ranks[rank].count; i++) {
			const struct record *r = &t->ranks[rank].records[i];

			if (r->kind == RECORD_RECEIVE)
				bytes = r->bytes;
			if (r->kind == RECORD_RECEIVE)
				add(&any, ms_of(r->end - r->begin), &none);
			if (r->kind == RECORD_WAIT && r->of == RECORD_RECEIVE &&
			    r->ready > r->begin && r->ready <= r->end)
				add(&p->message, ms_of(r->end - r->ready), &none);
		}
	if (!p->message.count)
		p->message = any;
	divide(&p->message);
	p->message.ms += ms_of_copies(t, RECORD_OUT, bytes) + ms_of_copies(t, RECORD_IN, bytes);
}

enum status profile_init(struct profile *p, const struct trace *t, struct error *err)
{
	size_t n = (size_t)t->grid.pp * (size_t)t->chunks * (ACTION_W + 1);

	*p = (struct profile){.trace = t};
	p->operations = calloc(n, sizeof(*p->operations));
	p->ends = calloc((size_t)t->grid.pp, sizeof(*p->ends));
	if (!p->operations || !p->ends) {
		profile_release(p);
		return FAIL(err, ERR_MEMORY, "no memory for the costs of %d stages",
			    t->grid.pp);
	}
	for (int rank = 0; rank < grid_size(&t->grid); rank++)
		for (int64_t i = 0; i < t->ranks[rank].count; i++) {
			const struct record *r = &t->ranks[rank].records[i];

			/* Everything is cold in the first step of a run. */
			if (r->kind == RECORD_STEP && (r->step > 0 || t->last_step == 0))
				add_step(p, rank, r->step);
		}
	for (size_t i = 0; i < n; i++)
		divide(&p->operations[i]);
	for (int i = 0; i < t->grid.pp; i++)
		divide(&p->ends[i]);
	add_messages(p);
	return OK;
}

void profile_release(struct profile *p)
{
	free(p->operations);
	free(p->ends);
	*p = (struct profile){0};
}
