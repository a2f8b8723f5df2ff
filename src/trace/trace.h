/*
 * trace.h - what all ranks did in the last steps of a run, when, on one clock.
 *
 * Rank 0 gathers the records of all ranks (gather.h), arranges them into tracks on which
 * nothing overlaps, and writes them as timeline.json in the Trace Event Format, which
 * Perfetto and chrome://tracing show. kolm trace reads that file again.
 */
#ifndef KOLM_TRACE_TRACE_H
#define KOLM_TRACE_TRACE_H

#include "base/json.h"
#include "base/records.h"
#include "grid/grid.h"
#include "schedule/schedule.h"

/* Every rank has these; a track without events is left out of the file. */
#define TRACE_TRACKS(X)               \
	X(STEP, "step")               \
	X(COMPUTE, "compute")         \
	X(WAITING, "waiting")         \
	X(SEND, "send")               \
	X(RECEIVE, "receive")         \
	X(COLLECTIVES, "collectives") \
	X(OUT, "copies out")          \
	X(IN, "copies in")
#define X(id, name) TRACK_##id,
enum trace_track { TRACE_TRACKS(X) TRACK_COUNT };
#undef X
const char *trace_track_name(enum trace_track track);
enum trace_track trace_track_of(enum record_kind kind);

/* How far the clock of a machine is ahead of rank 0's, and by how much that may be wrong. */
struct trace_clock {
	int host; /* the number of the first rank there */
	int64_t offset_ns, error_ns;
};

/*
 * By track, and on it in order of time. Times are in ns since the first step kept has
 * begun. Messages: sequence is the number of the message in the trace, the same at both
 * ends and in the waits for it; 0 where the other end is missing. ready is TRACE_UNKNOWN
 * where nobody knows it.
 */
#define TRACE_UNKNOWN INT64_MIN

struct trace_rank {
	struct record *records;
	int64_t count;
	bool overwritten; /* the oldest step is not whole */
};

/* What a step was expected to take before the first one, in ms; 0: nothing was. */
struct trace_prediction {
	double step_ms, low_ms, high_ms;
};

struct trace {
	struct grid grid;
	enum schedule_kind schedule;
	int micro_batches, chunks;
	bool base;   /* every message is waited for where it stands */
	bool linked; /* virtual links: what a message takes is known */
	double latency_ns, ns_per_byte;
	char device[192];
	struct trace_prediction before;
	int first_step, last_step;
	struct trace_rank *ranks;   /* (grid_size) */
	struct trace_clock *clocks; /* (n_clocks), of the machines but rank 0's */
	int n_clocks;
};

/* Memory for the ranks of t->grid. */
enum status trace_init(struct trace *t, struct error *err);
void trace_release(struct trace *t);

/* What a rank may record in a step, at most, so that memory can be planned. */
struct trace_plan {
	const struct order *order;
	int layers, micro_batches;
	int slice_sums; /* and collections, of a micro-batch there and back */
	bool copies;	/* between host and device are recorded too */
	int dp, mp;
};
int64_t trace_records_per_step(const struct trace_plan *p);

/*
 * From what the ranks have recorded to what is kept: the last steps (at most so many) that
 * are whole on all ranks; both ends of a message brought together; messages given their
 * micro-batch; transfers of a track cut so that they follow each other.
 */
enum status trace_arrange(struct trace *t, int steps, const struct schedule *s,
			  struct error *err);

/* How the clocks of the machines differ, and what was expected, as members of an object. */
void trace_put_clocks(struct json *j, const struct trace *t);
void trace_put_prediction(struct json *j, const struct trace *t);

/* A whole file or none. */
enum status trace_write(const struct trace *t, const char *path, struct error *err);

/* The timeline of a run: its folder, or the file itself. Whatever is in it, what is
   accepted has sizes and numbers that fit each other. */
enum status trace_load(struct trace *t, const char *run, struct error *err);
enum status trace_parse(struct trace *t, const char *bytes, size_t size, const char *where,
			struct error *err);

/* The records of a rank on a track in a step: the first of them, or NULL; how many. */
const struct record *trace_find(const struct trace *t, int rank, enum trace_track track,
				int step, int *count);

#endif
