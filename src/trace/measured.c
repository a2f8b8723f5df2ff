/* measured.c - what ranks did in a step, as a timeline like the predicted one. */
#include "trace/compare.h"

#include <math.h>
#include <stdlib.h>

struct builder {
	const struct trace *trace;
	struct timeline *out;
	int64_t origin, end; /* when the first rank begins the step, and the last ends it */
	int row;
};

static void put(struct builder *b, struct action a, int64_t begin, int64_t end)
{
	begin = begin > b->origin ? begin : b->origin;
	end = end < b->end ? end : b->end;
	if (end > begin)
		b->out->spans[b->out->count++] =
			(struct span){b->row, a, (double)(begin - b->origin) * 1e-6,
				      (double)(end - b->origin) * 1e-6};
}

static bool is_sum(const struct record *w)
{
	return w->kind == RECORD_WAIT && w->of == RECORD_COLLECTIVE && !is_control(w);
}

/* The optimizer, without what it waits for; no wait is looked at twice. */
static void put_update(struct builder *b, const struct record *r, const struct record *waits,
		       int n, int *at)
{
	int64_t begin = r->begin;

	for (; *at < n && waits[*at].begin < r->end; ++*at)
		if (waits[*at].end > begin) {
			put(b, (struct action){ACTION_STEP, 0, 0}, begin, waits[*at].begin);
			begin = waits[*at].end;
		}
	put(b, (struct action){ACTION_STEP, 0, 0}, begin, r->end);
}

/* Where nothing is injected this time, a pause is recorded that takes next to no time. */
static bool is_sleep(const struct record *w)
{
	return w->kind == RECORD_PAUSE && w->end - w->begin > 1000;
}

/* An operation, without the sleeps in it. */
static void put_operation(struct builder *b, struct action a, const struct record *r,
			  const struct record *waits, int n, int *at)
{
	int64_t begin = r->begin;

	for (; *at < n && waits[*at].begin < r->end; ++*at)
		if (is_sleep(&waits[*at]) && waits[*at].end > begin) {
			put(b, a, begin, waits[*at].begin);
			begin = waits[*at].end;
		}
	put(b, a, begin, r->end);
}

static void put_pauses(struct builder *b, const struct record *waits, int n)
{
	for (int i = 0; i < n; i++)
		if (is_sleep(&waits[i]))
			put(b, (struct action){ACTION_PAUSE, 0, 0}, waits[i].begin,
			    waits[i].end);
}

/* Sums that nothing hid: waits for them that lie in no operation. */
static void put_sums(struct builder *b, const struct record *work, int n,
		     const struct record *waits, int n_waits)
{
	int at = 0;

	for (int i = 0; i < n_waits; i++) {
		const struct record *w = &waits[i];

		while (at < n && work[at].end <= w->begin)
			at++;
		if (is_sum(w) &&
		    (at == n || work[at].begin > w->begin || work[at].kind == RECORD_UPDATE))
			put(b, (struct action){ACTION_REDUCE, 0, 0},
			    w->ready > w->begin ? w->ready : w->begin, w->end);
	}
}

static void put_rank(struct builder *b, int rank, int step)
{
	static const enum action_kind kinds[] = {[RECORD_FORWARD] = ACTION_F,
						 [RECORD_BACKWARD] = ACTION_B,
						 [RECORD_INPUT] = ACTION_I,
						 [RECORD_WEIGHT] = ACTION_W};
	struct stage_time *total = &b->out->totals[b->row];
	int n, n_waits, at = 0, done = 0;
	const struct record *work = trace_find(b->trace, rank, TRACK_COMPUTE, step, &n);
	const struct record *waits = trace_find(b->trace, rank, TRACK_WAITING, step, &n_waits);

	for (int i = 0; i < n; i++) {
		const struct record *r = &work[i];

		if (r->kind == RECORD_UPDATE) {
			put_update(b, r, waits, n_waits, &at);
			continue;
		}
		put_operation(b, (struct action){kinds[r->kind], r->chunk, r->micro_batch}, r,
			      waits, n_waits, &at);
		if (done++ == 0)
			total->begin_ms = (double)(r->begin - b->origin) * 1e-6;
		total->end_ms = (double)(r->end - b->origin) * 1e-6;
		total->busy_ms += (double)(r->end - r->begin) * 1e-6;
	}
	put_sums(b, work, n, waits, n_waits);
	put_pauses(b, waits, n_waits);
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->stage != y->stage)
		return x->stage < y->stage ? -1 : 1;
	return (x->begin_ms > y->begin_ms) - (x->begin_ms < y->begin_ms);
}

/* When the first of them begins the step, and how long it is until the last one is through;
   how many spans there may be. */
static int64_t measure(struct builder *b, int step, const int *ranks, int rows)
{
	int64_t room = 0;

	b->origin = INT64_MAX;
	for (int i = 0; i < rows; i++) {
		int n, work, waits;
		const struct record *whole =
			trace_find(b->trace, ranks[i], TRACK_STEP, step, &n);

		if (n && whole->begin < b->origin)
			b->origin = whole->begin;
		if (n && whole->end > b->end)
			b->end = whole->end;
		trace_find(b->trace, ranks[i], TRACK_COMPUTE, step, &work);
		trace_find(b->trace, ranks[i], TRACK_WAITING, step, &waits);
		/* Every wait may cut an operation in two and be a sum or a sleep. */
		room += work + 2 * (int64_t)waits;
	}
	if (b->origin > b->end)
		return -1;
	b->out->makespan_ms = (double)(b->end - b->origin) * 1e-6;
	return room;
}

enum status measured_step(const struct trace *t, int step, const int *ranks, int rows,
			  struct timeline *out, struct error *err)
{
	struct builder b = {.trace = t, .out = out};
	struct longest longest = {0};
	int64_t room;

	*out = (struct timeline){.stages = rows};
	room = measure(&b, step, ranks, rows);
	if (room < 0)
		return FAIL(err, ERR_USAGE, "step %d is not in the timeline", step);
	out->spans = calloc((size_t)room + 1, sizeof(*out->spans));
	out->totals = calloc((size_t)rows, sizeof(*out->totals));
	if (!out->spans || !out->totals) {
		timeline_release(out);
		return FAIL(err, ERR_MEMORY, "no memory for the timeline of %d ranks", rows);
	}
	for (b.row = 0; b.row < rows; b.row++)
		put_rank(&b, ranks[b.row], step);
	qsort(out->spans, (size_t)out->count, sizeof(*out->spans), compare_spans);
	for (int i = 0; i < rows; i++)
		longest_add(&longest, out->totals[i].end_ms - out->totals[i].begin_ms,
			    timeline_stage_bubble(out, i));
	out->bubble = longest.idle;
	return OK;
}
