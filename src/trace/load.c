/* load.c - timeline.json, read again; see trace.h */
#include "base/file.h"
#include "base/util.h"
#include "comm/comm.h"
#include "config/config.h"
#include "engine/engine.h"
#include "trace/trace.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	FILE_LIMIT = 1 << 29,
	PLAN_LIMIT = 1 << 20, /* stages times micro-batches times chunks */
	CHUNKS_LIMIT = 4096,
	STEPS_LIMIT = 1 << 30,
};

#define NS_LIMIT 4e18 /* of times: what int64_t holds, and differences of them */

struct reader {
	struct trace *trace;
	const char *where;
	struct error *err;
};

static enum status wrong(const struct reader *r, const char *what)
{
	FAIL(r->err, ERR_USAGE, "%s is no timeline of kolm: %s", r->where, what);
	return HINT(r->err, "kolm train writes timeline.json, unless --trace is off");
}

/* A whole number within bounds. */
static bool get_int(const json_t *o, const char *name, int64_t min, int64_t max, int64_t *out)
{
	const json_t *v = json_object_get(o, name);

	if (!json_is_integer(v) || json_integer_value(v) < min || json_integer_value(v) > max)
		return false;
	*out = json_integer_value(v);
	return true;
}

/* A time in us, as ns. */
static bool get_time(const json_t *o, const char *name, int64_t *ns)
{
	const json_t *v = json_object_get(o, name);
	double us = json_number_value(v);

	if (!json_is_number(v) || !(fabs(us * 1e3) < NS_LIMIT / 4))
		return false;
	*ns = llround(us * 1e3);
	return true;
}

static bool get_choice(const json_t *o, const char *name, const char *const *choices, int *out)
{
	const char *text = json_string_value(json_object_get(o, name));

	for (int i = 0; text && choices[i]; i++)
		if (!strcmp(choices[i], text)) {
			*out = i;
			return true;
		}
	return false;
}

/* ---- the run as a whole ---- */

static enum status read_grid(struct reader *r, const json_t *run)
{
	struct trace *t = r->trace;
	const json_t *g = json_object_get(run, "grid");
	int64_t dp, pp, mp, m, chunks;
	int schedule;

	if (!get_int(g, "dp", 1, RANKS_MAX, &dp) || !get_int(g, "pp", 1, RANKS_MAX, &pp) ||
	    !get_int(g, "mp", 1, RANKS_MAX, &mp) || dp * pp * mp > RANKS_MAX)
		return wrong(r, "no grid");
	if (!get_int(run, "micro_batches", 1, PLAN_LIMIT, &m) ||
	    !get_int(run, "chunks", 1, CHUNKS_LIMIT, &chunks) || pp * m * chunks > PLAN_LIMIT)
		return wrong(r, "no micro-batches or chunks, or too many");
	if (!get_choice(run, "schedule", schedule_names, &schedule))
		return wrong(r, "no schedule");
	t->grid = (struct grid){.dp = (int)dp, .pp = (int)pp, .mp = (int)mp};
	t->micro_batches = (int)m;
	t->chunks = (int)chunks;
	t->schedule = (enum schedule_kind)schedule;
	return OK;
}

/* All of it, or nothing. */
static void read_prediction(struct trace *t, const json_t *from)
{
	struct trace_prediction p = {json_number_value(json_object_get(from, "step_ms")),
				     json_number_value(json_object_get(from, "low_ms")),
				     json_number_value(json_object_get(from, "high_ms"))};

	if (p.low_ms >= 0 && p.low_ms <= p.step_ms && p.step_ms <= p.high_ms &&
	    p.high_ms < 1e12)
		t->before = p;
}

static enum status read_run(struct reader *r, const json_t *run)
{
	struct trace *t = r->trace;
	const char *schema = json_string_value(json_object_get(run, "schema"));
	const char *device = json_string_value(json_object_get(run, "device"));
	const json_t *link = json_object_get(run, "link");
	int64_t first, last, latency, us_per_mb;
	int engine;
	enum status st;

	if (!schema || strcmp(schema, "kolm.timeline/1"))
		return wrong(r, "its otherData has no schema kolm.timeline/1");
	TRY(read_grid(r, run));
	if (!get_choice(run, "engine", engine_names, &engine))
		return wrong(r, "no engine");
	if (!get_int(run, "first_step", 0, STEPS_LIMIT, &first) ||
	    !get_int(run, "last_step", first, STEPS_LIMIT, &last))
		return wrong(r, "no steps");
	t->base = engine;
	t->first_step = (int)first;
	t->last_step = (int)last;
	snprintf(t->device, sizeof(t->device), "%s", device ? device : "");
	if (link && get_time(link, "latency_us", &latency) && latency >= 0 &&
	    get_time(link, "us_per_mb", &us_per_mb) && us_per_mb >= 0) {
		t->linked = true;
		t->latency_ns = (double)latency;
		t->ns_per_byte = (double)us_per_mb * 1e-6;
	}
	read_prediction(t, json_object_get(run, "predicted_before"));
out:
	return st;
}

static enum status read_clocks(struct reader *r, const json_t *run)
{
	struct trace *t = r->trace;
	const json_t *all = json_object_get(run, "clocks");
	size_t n = json_array_size(all);

	t->clocks = calloc(n + 1, sizeof(*t->clocks));
	if (!t->clocks)
		return FAIL(r->err, ERR_MEMORY, "no memory for %zu clocks", n);
	for (size_t i = 0; i < n; i++) {
		const json_t *each = json_array_get(all, i);
		struct trace_clock *c = &t->clocks[t->n_clocks++];
		int64_t host;

		if (!get_int(each, "first_rank", 0, grid_size(&t->grid) - 1, &host) ||
		    !get_time(each, "offset_us", &c->offset_ns) ||
		    !get_time(each, "error_us", &c->error_ns))
			return wrong(r, "a clock is incomplete");
		c->host = (int)host;
	}
	return OK;
}

/* ---- events ---- */

static bool find_kind(const char *name, int16_t *out)
{
	for (int k = 0; name && k < RECORD_KIND_COUNT; k++)
		if (!strcmp(record_kind_name((enum record_kind)k), name)) {
			*out = (int16_t)k;
			return true;
		}
	return false;
}

static bool find_op(const char *name, int16_t *out)
{
	for (int k = 0; name && k < COMM_OP_COUNT; k++)
		if (!strcmp(comm_op_name((enum comm_op)k), name)) {
			*out = (int16_t)k;
			return true;
		}
	return false;
}

/* Files of earlier versions do not say it: what is known of them is for the replicas. */
static bool find_purpose(const json_t *value, int16_t *out)
{
	const char *name = json_string_value(value);

	*out = COMM_FOR_REPLICAS;
	for (int k = 0; name && k < COMM_PURPOSE_COUNT; k++)
		if (!strcmp(comm_purpose_name((enum comm_purpose)k), name)) {
			*out = (int16_t)k;
			return true;
		}
	return !value;
}

static bool read_copy(const json_t *args, struct record *out)
{
	int64_t queue;

	if (!get_int(args, "queue", 0, QUEUE_COUNT - 1, &queue))
		return false;
	out->op = (int16_t)queue;
	return get_int(args, "bytes", 0, INT64_MAX, &out->bytes);
}

static bool read_transfer(const struct trace *t, const json_t *args, struct record *out)
{
	int ranks = grid_size(&t->grid);
	int64_t peer, size = 2, message = 0;
	int16_t kind = out->kind;

	if (kind == RECORD_WAIT) {
		if (!find_kind(json_string_value(json_object_get(args, "of")), &out->of) ||
		    out->of < RECORD_SEND || out->of > RECORD_IN)
			return false;
		kind = out->of;
	}
	if (kind == RECORD_OUT || kind == RECORD_IN)
		return read_copy(args, out);
	if (kind == RECORD_COLLECTIVE) {
		if (!find_op(json_string_value(json_object_get(args, "op")), &out->op) ||
		    !find_purpose(json_object_get(args, "for"), &out->purpose) ||
		    !get_int(args, "ranks", 1, ranks, &size) ||
		    !get_int(args, "first", 0, ranks - 1, &peer))
			return false;
	} else if (!get_int(args, "peer", 0, ranks - 1, &peer) ||
		   !get_int(args, "message", 0, INT64_MAX, &message)) {
		return false;
	}
	out->peer = (int16_t)peer;
	out->size = (int16_t)size;
	out->sequence = (uint64_t)message;
	return get_int(args, "bytes", 0, INT64_MAX, &out->bytes);
}

/* What takes time. Others may have added events of their own: they are left alone. */
static bool read_record(const struct trace *t, const json_t *e, struct record *out)
{
	const json_t *args = json_object_get(e, "args");
	int64_t duration, step, micro_batch = -1, chunk = 0;

	if (!get_time(e, "ts", &out->begin) || !get_time(e, "dur", &duration) ||
	    out->begin < 0 || duration < 0 ||
	    !get_int(args, "step", t->first_step, t->last_step, &step))
		return false;
	if (json_object_get(args, "micro_batch") &&
	    (!get_int(args, "micro_batch", 0, t->micro_batches - 1, &micro_batch) ||
	     !get_int(args, "chunk", 0, t->chunks - 1, &chunk)))
		return false;
	out->end = out->begin + duration;
	if (!get_time(args, "ready", &out->ready))
		out->ready = TRACE_UNKNOWN;
	out->step = (int32_t)step;
	out->micro_batch = (int32_t)micro_batch;
	out->chunk = (int16_t)chunk;
	if (out->kind <= RECORD_WEIGHT && micro_batch < 0)
		return false;
	return out->kind < RECORD_WAIT || out->kind > RECORD_IN || read_transfer(t, args, out);
}

static enum status add(struct trace_rank *r, const struct record *what, struct error *err)
{
	if ((r->count & (r->count - 1)) == 0) { /* full: its room is a power of two */
		size_t room = r->count ? (size_t)r->count * 2 : 1;
		struct record *more = realloc(r->records, room * sizeof(*more));

		if (!more)
			return FAIL(err, ERR_MEMORY, "no memory for a trace of %zu records",
				    room);
		r->records = more;
	}
	r->records[r->count++] = *what;
	return OK;
}

static int compare(const void *a, const void *b)
{
	const struct record *x = a, *y = b;
	enum trace_track p = trace_track_of((enum record_kind)x->kind);
	enum trace_track q = trace_track_of((enum record_kind)y->kind);

	if (p != q)
		return p < q ? -1 : 1;
	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

static enum status read_events(struct reader *r, const json_t *events)
{
	struct trace *t = r->trace;
	enum status st = OK;
	size_t i;
	json_t *e;

	json_array_foreach(events, i, e)
	{
		const char *phase = json_string_value(json_object_get(e, "ph"));
		struct record record = {0};
		char what[64];
		int64_t rank;

		if (!phase || strcmp(phase, "X") ||
		    !find_kind(json_string_value(json_object_get(e, "cat")), &record.kind))
			continue;
		if (!get_int(e, "pid", 0, grid_size(&t->grid) - 1, &rank) ||
		    !read_record(t, e, &record)) {
			snprintf(what, sizeof(what), "event %zu is incomplete", i);
			return wrong(r, what);
		}
		TRY(add(&t->ranks[rank], &record, r->err));
	}
	for (int k = 0; k < grid_size(&t->grid); k++)
		if (t->ranks[k].count)
			qsort(t->ranks[k].records, (size_t)t->ranks[k].count,
			      sizeof(struct record), compare);
out:
	return st;
}

enum status trace_parse(struct trace *t, const char *bytes, size_t size, const char *where,
			struct error *err)
{
	struct reader r = {t, where, err};
	json_error_t bad;
	json_t *root = json_loadb(bytes, size, 0, &bad);
	const json_t *run = json_object_get(root, "otherData");
	enum status st;

	*t = (struct trace){0};
	if (!root) {
		st = FAIL(err, ERR_USAGE, "%s is no JSON: line %d: %.200s", where, bad.line,
			  bad.text);
		goto out;
	}
	TRY(read_run(&r, run));
	TRY(trace_init(t, err));
	TRY(read_clocks(&r, run));
	TRY(read_events(&r, json_object_get(root, "traceEvents")));
out:
	json_decref(root);
	if (st != OK)
		trace_release(t);
	return st;
}

enum status trace_load(struct trace *t, const char *run, struct error *err)
{
	char path[PATH_MAX], *bytes = NULL;
	struct stat about;
	size_t size;
	enum status st;

	if (stat(run, &about) == 0 && S_ISDIR(about.st_mode))
		TRY(file_path(path, run, "timeline.json", err));
	else
		snprintf(path, sizeof(path), "%s", run);
	st = file_read(path, FILE_LIMIT, &bytes, &size, err);
	if (st == ERR_USAGE || st == ERR_FAILED)
		HINT(err, "give the folder of a run, or its timeline.json; --trace off leaves "
			  "none");
	if (st == OK)
		st = trace_parse(t, bytes, size, path, err);
out:
	free(bytes);
	return st;
}
