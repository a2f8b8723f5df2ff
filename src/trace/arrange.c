/* arrange.c - from the records of all ranks to tracks; see trace_arrange */
#include "trace/trace.h"
#include "base/util.h"
#include "engine/engine.h"

#include <stdlib.h>

static enum trace_track track_of(const struct record *r)
{
	return trace_track_of((enum record_kind)r->kind);
}

/* ---- which steps are kept ---- */

/* The steps that are whole on all ranks. */
static void choose_steps(struct trace *t, int steps)
{
	t->first_step = 0;
	t->last_step = -1;
	for (int i = 0; i < grid_size(&t->grid); i++) {
		const struct trace_rank *r = &t->ranks[i];
		int first = r->count ? r->records[0].step + r->overwritten : 0, last = -1;

		for (int64_t k = 0; k < r->count; k++)
			if (r->records[k].kind == RECORD_STEP)
				last = imax(last, r->records[k].step);
		t->first_step = imax(t->first_step, first);
		t->last_step = i ? imin(t->last_step, last) : last;
	}
	t->first_step = imax(t->first_step, t->last_step - steps + 1);
}

/* Outside of the step that was under way there is other traffic; and time that did not
   pass is nothing to show. */
static void keep_steps(struct trace *t, struct trace_rank *r, int64_t (*bounds)[2])
{
	int64_t kept = 0;

	for (int64_t i = 0; i < r->count; i++) {
		const struct record *x = &r->records[i];
		int64_t *bound;

		if (x->step < t->first_step || x->step > t->last_step)
			continue;
		bound = bounds[x->step - t->first_step];
		if (x->begin < bound[0] || x->end > bound[1] ||
		    (track_of(x) == TRACK_WAITING && x->end == x->begin))
			continue;
		r->records[kept++] = *x;
	}
	r->count = kept;
}

static enum status drop_others(struct trace *t, struct error *err)
{
	int steps = imax(t->last_step - t->first_step + 1, 0);
	int64_t(*bounds)[2] = calloc((size_t)steps + 1, sizeof(*bounds));

	if (!bounds)
		return FAIL(err, ERR_MEMORY, "no memory for a trace of %d steps", steps);
	for (int i = 0; i < grid_size(&t->grid); i++) {
		struct trace_rank *r = &t->ranks[i];

		for (int64_t k = 0; k < r->count; k++) {
			const struct record *x = &r->records[k];

			if (x->kind == RECORD_STEP && x->step >= t->first_step &&
			    x->step <= t->last_step) {
				bounds[x->step - t->first_step][0] = x->begin;
				bounds[x->step - t->first_step][1] = x->end;
			}
		}
		keep_steps(t, r, bounds);
	}
	free(bounds);
	return OK;
}

/* Time 0 is when the first rank begins the first step. */
static void shift(struct trace *t)
{
	int64_t origin = INT64_MAX;

	for (int i = 0; i < grid_size(&t->grid); i++)
		for (int64_t k = 0; k < t->ranks[i].count; k++)
			if (t->ranks[i].records[k].kind == RECORD_STEP)
				origin = min64(origin, t->ranks[i].records[k].begin);
	for (int i = 0; i < grid_size(&t->grid); i++)
		for (int64_t k = 0; k < t->ranks[i].count; k++) {
			struct record *x = &t->ranks[i].records[k];

			x->begin -= origin;
			x->end -= origin;
			x->ready = x->ready ? x->ready - origin : TRACE_UNKNOWN;
		}
}

/* ---- both ends of a message ---- */

/* A send, a receive or a wait for one of them, by what both ends know of the message. */
struct end {
	int from, to, channel;
	uint64_t sequence;
	int role; /* in this order: a send, a receive, waits */
	struct record *record;
};

enum { ROLE_SEND, ROLE_RECEIVE, ROLE_WAIT };

static int compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->channel != y->channel)
		return x->channel < y->channel ? -1 : 1;
	if (x->sequence != y->sequence)
		return x->sequence < y->sequence ? -1 : 1;
	return x->role - y->role;
}

static bool end_of(int rank, struct record *r, struct end *out)
{
	int kind = r->kind == RECORD_WAIT ? r->of : r->kind;

	if (kind != RECORD_SEND && kind != RECORD_RECEIVE)
		return false;
	*out = (struct end){.from = kind == RECORD_SEND ? rank : r->peer,
			    .to = kind == RECORD_SEND ? r->peer : rank,
			    .channel = r->op,
			    .sequence = r->sequence,
			    .role = r->kind == RECORD_WAIT   ? ROLE_WAIT
				    : r->kind == RECORD_SEND ? ROLE_SEND
							     : ROLE_RECEIVE,
			    .record = r};
	return true;
}

/* Between machines the receiver does not know when its partner came: now we do. What has
   arrived is no longer being sent, whenever the sender has noticed. */
static void join(struct record *send, struct record *receive)
{
	if (receive->ready == TRACE_UNKNOWN) {
		receive->ready = send->begin > receive->begin ? send->begin : receive->begin;
		receive->begin = min64(receive->ready, receive->end);
	}
	if (send->begin > receive->end) /* clocks are compared to some us */
		send->begin = receive->end;
	if (send->end > receive->end)
		send->end = receive->end > send->begin ? receive->end : send->begin;
}

/* ends[0 .. n) belong to one message. */
static void match(struct end *ends, int n, uint64_t *number)
{
	bool whole = n >= 2 && ends[0].role == ROLE_SEND && ends[1].role == ROLE_RECEIVE;

	if (whole) {
		join(ends[0].record, ends[1].record);
		++*number;
	}
	for (int i = 0; i < n; i++) {
		struct record *r = ends[i].record;

		r->sequence = whole ? *number : 0;
		if (whole && r->kind == RECORD_WAIT && r->ready == TRACE_UNKNOWN)
			r->ready = r->of == RECORD_RECEIVE ? ends[1].record->ready : r->begin;
	}
}

static bool same_message(const struct end *a, const struct end *b)
{
	return a->from == b->from && a->to == b->to && a->channel == b->channel &&
	       a->sequence == b->sequence;
}

/* ---- which micro-batch a message belongs to ---- */

static bool is_message_of(const struct action *a, const struct end *e)
{
	bool forward = a->kind == ACTION_SEND_F || a->kind == ACTION_RECV_F;
	bool sent = a->kind == ACTION_SEND_F || a->kind == ACTION_SEND_B;

	return action_is_message(a->kind) && forward == (e->channel == CHANNEL_FORWARD) &&
	       sent == (e->role == ROLE_SEND);
}

/* A channel carries the messages of a step in the order of the schedule. ends are those of
   one channel and one role, in that order; at is where in the order of its stage the last
   one was. */
static void number(const struct trace *t, const struct schedule *s, const struct end *e,
		   int *at, int *step)
{
	int rank = e->role == ROLE_SEND ? e->from : e->to;
	const struct order *o = &s->orders[grid_coords(&t->grid, rank).pp];

	if (e->channel == CHANNEL_MASTER || e->role == ROLE_WAIT)
		return;
	if (e->record->step != *step)
		*at = -1;
	*step = e->record->step;
	for (++*at; *at < o->count; ++*at)
		if (is_message_of(&o->actions[*at], e)) {
			e->record->chunk = (int16_t)o->actions[*at].chunk;
			e->record->micro_batch = o->actions[*at].micro_batch;
			return;
		}
}

static void number_channel(const struct trace *t, const struct schedule *s,
			   const struct end *ends, int64_t n)
{
	int at[2] = {-1, -1}, step[2] = {-1, -1};

	for (int64_t i = 0; i < n; i++)
		if (ends[i].role != ROLE_WAIT)
			number(t, s, &ends[i], &at[ends[i].role], &step[ends[i].role]);
}

static enum status match_messages(struct trace *t, const struct schedule *s, uint64_t *messages,
				  struct error *err)
{
	int64_t n = 0, total = 0, channel = 0;
	struct end *ends;

	for (int i = 0; i < grid_size(&t->grid); i++)
		total += t->ranks[i].count;
	ends = calloc((size_t)total + 1, sizeof(*ends));
	if (!ends)
		return FAIL(err, ERR_MEMORY, "no memory for a trace of %lld records",
			    (long long)total);
	for (int i = 0; i < grid_size(&t->grid); i++)
		for (int64_t k = 0; k < t->ranks[i].count; k++)
			n += end_of(i, &t->ranks[i].records[k], &ends[n]);
	qsort(ends, (size_t)n, sizeof(*ends), compare_ends);
	for (int64_t i = 0, k; i < n; i = k) {
		for (k = i + 1; k < n && same_message(&ends[i], &ends[k]); k++)
			;
		match(&ends[i], (int)(k - i), messages);
		if (k == n || ends[k].from != ends[i].from || ends[k].to != ends[i].to ||
		    ends[k].channel != ends[i].channel) {
			number_channel(t, s, ends + channel, k - channel);
			channel = k;
		}
	}
	free(ends);
	return OK;
}

/* ---- tracks ---- */

static int compare_places(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	if (track_of(x) != track_of(y))
		return track_of(x) < track_of(y) ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Several transfers may be under way at once: each is shown from the end of the one before
   it, which is when a link that carries one at a time was free for it. */
static void cut(struct trace_rank *r)
{
	qsort(r->records, (size_t)r->count, sizeof(*r->records), compare_places);
	for (int64_t i = 1; i < r->count; i++) {
		const struct record *before = &r->records[i - 1];
		struct record *x = &r->records[i];

		if (track_of(before) == track_of(x) && x->begin < before->end)
			x->begin = before->end;
	}
}

/* No message is received before it is sent: also where the send was cut. */
static enum status order_ends(struct trace *t, uint64_t messages, struct error *err)
{
	int64_t *sent = calloc((size_t)messages + 1, sizeof(*sent));

	if (!sent)
		return FAIL(err, ERR_MEMORY, "no memory for %llu messages of a trace",
			    (unsigned long long)messages);
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < grid_size(&t->grid); i++)
			for (int64_t k = 0; k < t->ranks[i].count; k++) {
				struct record *r = &t->ranks[i].records[k];

				if (pass == 0 && r->kind == RECORD_SEND)
					sent[r->sequence] = r->begin;
				if (pass == 1 && r->kind == RECORD_RECEIVE && r->sequence &&
				    r->begin < sent[r->sequence]) {
					r->begin = sent[r->sequence];
					r->end = max64(r->begin, r->end);
				}
			}
	free(sent);
	return OK;
}

enum status trace_arrange(struct trace *t, int steps, const struct schedule *s,
			  struct error *err)
{
	uint64_t messages = 0;
	enum status st;

	choose_steps(t, steps);
	TRY(drop_others(t, err));
	shift(t);
	TRY(match_messages(t, s, &messages, err));
	for (int i = 0; i < grid_size(&t->grid); i++)
		cut(&t->ranks[i]);
	TRY(order_ends(t, messages, err));
	for (int i = 0; i < grid_size(&t->grid); i++)
		cut(&t->ranks[i]); /* a receive may end later than before */
out:
	return st;
}
