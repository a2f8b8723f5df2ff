/* trace.c - see trace.h */
#include "trace/trace.h"

#include <stdlib.h>

const char *trace_track_name(enum trace_track track)
{
#define X(id, name) name,
	static const char *const names[TRACK_COUNT] = {TRACE_TRACKS(X)};
#undef X
	return names[track];
}

enum trace_track trace_track_of(enum record_kind kind)
{
	static const enum trace_track tracks[RECORD_KIND_COUNT] = {
		[RECORD_FORWARD] = TRACK_COMPUTE,
		[RECORD_BACKWARD] = TRACK_COMPUTE,
		[RECORD_INPUT] = TRACK_COMPUTE,
		[RECORD_WEIGHT] = TRACK_COMPUTE,
		[RECORD_UPDATE] = TRACK_COMPUTE,
		[RECORD_PAUSE] = TRACK_WAITING,
		[RECORD_WAIT] = TRACK_WAITING,
		[RECORD_SEND] = TRACK_SEND,
		[RECORD_RECEIVE] = TRACK_RECEIVE,
		[RECORD_STEP] = TRACK_STEP,
		[RECORD_COLLECTIVE] = TRACK_COLLECTIVES,
		[RECORD_OUT] = TRACK_OUT,
		[RECORD_IN] = TRACK_IN,
	};

	return tracks[kind];
}

enum status trace_init(struct trace *t, struct error *err)
{
	t->ranks = calloc((size_t)grid_size(&t->grid), sizeof(*t->ranks));
	if (!t->ranks)
		return FAIL(err, ERR_MEMORY, "no memory for the trace of %d ranks",
			    grid_size(&t->grid));
	return OK;
}

void trace_release(struct trace *t)
{
	for (int i = 0; t->ranks && i < grid_size(&t->grid); i++)
		free(t->ranks[i].records);
	free(t->ranks);
	free(t->clocks);
	*t = (struct trace){0};
}

int64_t trace_records_per_step(const struct trace_plan *p)
{
	/* Transfers are recorded, and waits for them: two each. */
	int64_t m = p->micro_batches;
	int64_t actions = 2 * (int64_t)p->order->count;
	int64_t slices = p->mp > 1 ? 2 * m * (int64_t)p->slice_sums : 0;
	int64_t replicas = p->dp > 1 ? 4 * (int64_t)p->layers : 0;
	int64_t master = p->dp > 1 ? 6 * m * (p->dp - 1) : 0;
	enum { ENDS = 32 }; /* the step, the optimizer, reports, pauses */

	/* And copies for them, either way, and waits for these. */
	return (p->copies ? 3 : 1) * (actions + slices + replicas + master + ENDS);
}

const struct record *trace_find(const struct trace *t, int rank, enum trace_track track,
				int step, int *count)
{
	const struct trace_rank *r = &t->ranks[rank];
	int64_t first = 0, end;

	while (first < r->count &&
	       (trace_track_of((enum record_kind)r->records[first].kind) != track ||
		r->records[first].step != step))
		first++;
	for (end = first; end < r->count && r->records[end].step == step; end++)
		if (trace_track_of((enum record_kind)r->records[end].kind) != track)
			break;
	*count = (int)(end - first);
	return r->count ? r->records + first : NULL;
}
