/*
 * timeline_json.c - timeline.json: the Trace Event Format of Chrome, which Perfetto reads.
 *
 * A process is a rank, a thread one of its tracks. What takes time is a complete event
 * ("X"), a message a flow ("s" to "f"), names are metadata ("M"). Times are in us. One
 * event per line; all texts are ours and need no quoting.
 */
#include "base/file.h"
#include "base/json.h"
#include "base/version.h"
#include "comm/comm.h"
#include "config/config.h"
#include "engine/engine.h"
#include "trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FLUSH_BYTES = 1 << 16 };

struct writer {
	const struct trace *trace;
	struct file file;
	struct text text;
	bool first;
};

static enum status flush(struct writer *w, struct error *err)
{
	enum status st;

	if (w->text.failed)
		return FAIL(err, ERR_MEMORY, "no memory for the text of %s", w->file.path);
	st = file_write(&w->file, w->text.data, w->text.len, err);
	w->text.len = 0;
	return st;
}

/* ns as us, exactly. */
struct us {
	char text[32];
};

static struct us us_of(int64_t ns)
{
	struct us out;

	snprintf(out.text, sizeof(out.text), "%s%" PRId64 ".%03d", ns < 0 ? "-" : "",
		 (ns < 0 ? -ns : ns) / 1000, (int)((ns < 0 ? -ns : ns) % 1000));
	return out;
}

/* Up to its phase; what follows begins with a comma. */
static void begin_event(struct writer *w, const char *name, const char *category,
			const char *phase, int rank, enum trace_track track)
{
	text_addf(&w->text, "%s{\"name\": \"%s\", ", w->first ? "" : ",\n", name);
	w->first = false;
	if (category)
		text_addf(&w->text, "\"cat\": \"%s\", ", category);
	text_addf(&w->text, "\"ph\": \"%s\", \"pid\": %d, \"tid\": %d", phase, rank,
		  (int)track + 1);
}

static void put_name(struct writer *w, const char *what, int rank, enum trace_track track,
		     const char *name, int place)
{
	char kind[32];

	snprintf(kind, sizeof(kind), "%s_name", what);
	begin_event(w, kind, NULL, "M", rank, track);
	text_addf(&w->text, ", \"args\": {\"name\": \"%s\"}}", name);
	snprintf(kind, sizeof(kind), "%s_sort_index", what);
	begin_event(w, kind, NULL, "M", rank, track);
	text_addf(&w->text, ", \"args\": {\"sort_index\": %d}}", place);
}

static void put_names(struct writer *w, int rank)
{
	const struct trace_rank *r = &w->trace->ranks[rank];
	char place[64], name[96];
	unsigned seen = 0;

	grid_describe(&w->trace->grid, rank, place, sizeof(place));
	snprintf(name, sizeof(name), "rank %d (%s)", rank, place);
	put_name(w, "process", rank, TRACK_STEP, name, rank);
	for (int64_t i = 0; i < r->count; i++)
		seen |= 1u << trace_track_of((enum record_kind)r->records[i].kind);
	for (int k = 0; k < TRACK_COUNT; k++)
		if (seen & 1u << k)
			put_name(w, "thread", rank, (enum trace_track)k,
				 trace_track_name((enum trace_track)k), k);
}

/* "activations 3.1", "gradients 0", "message": a message by what it carries. */
static void name_message(const struct record *r, char *buf, size_t size)
{
	const char *what = r->op == CHANNEL_FORWARD ? "activations" : "gradients";

	if (r->micro_batch < 0)
		snprintf(buf, size, "message");
	else if (r->chunk)
		snprintf(buf, size, "%s %d.%d", what, r->micro_batch, r->chunk);
	else
		snprintf(buf, size, "%s %d", what, r->micro_batch);
}

static void name_record(const struct record *r, char *buf, size_t size)
{
	const char *kind = record_kind_name((enum record_kind)r->kind);

	switch ((enum record_kind)r->kind) {
	case RECORD_STEP:
		snprintf(buf, size, "step %d", r->step);
		break;
	case RECORD_SEND:
	case RECORD_RECEIVE:
		name_message(r, buf, size);
		break;
	case RECORD_COLLECTIVE:
		snprintf(buf, size, "%s", comm_op_name((enum comm_op)r->op));
		break;
	case RECORD_WAIT:
		if (r->of == RECORD_COLLECTIVE)
			snprintf(buf, size, "wait in %s", comm_op_name((enum comm_op)r->op));
		else if (r->of == RECORD_OUT || r->of == RECORD_IN)
			snprintf(buf, size, "wait for a %s",
				 record_kind_name((enum record_kind)r->of));
		else
			snprintf(buf, size, "wait for rank %d", r->peer);
		break;
	case RECORD_FORWARD:
	case RECORD_BACKWARD:
	case RECORD_INPUT:
	case RECORD_WEIGHT:
	case RECORD_UPDATE:
	case RECORD_PAUSE:
	case RECORD_OUT:
	case RECORD_IN:
		if (r->micro_batch < 0)
			snprintf(buf, size, "%s", kind);
		else if (r->chunk)
			snprintf(buf, size, "%s %d.%d", kind, r->micro_batch, r->chunk);
		else
			snprintf(buf, size, "%s %d", kind, r->micro_batch);
	}
}

static void put_arguments(struct text *out, const struct record *r)
{
	int kind = r->kind == RECORD_WAIT ? r->of : r->kind;
	bool copy = kind == RECORD_OUT || kind == RECORD_IN;
	bool transfer = r->kind >= RECORD_WAIT && r->kind <= RECORD_COLLECTIVE && !copy;

	text_addf(out, ", \"args\": {\"step\": %d", r->step);
	if (r->micro_batch >= 0)
		text_addf(out, ", \"micro_batch\": %d, \"chunk\": %d", r->micro_batch,
			  r->chunk);
	if (r->kind == RECORD_WAIT)
		text_addf(out, ", \"of\": \"%s\"", record_kind_name((enum record_kind)r->of));
	if (transfer && kind == RECORD_COLLECTIVE)
		text_addf(out,
			  ", \"op\": \"%s\", \"for\": \"%s\", \"ranks\": %d, \"first\": %d",
			  comm_op_name((enum comm_op)r->op),
			  comm_purpose_name((enum comm_purpose)r->purpose), r->size, r->peer);
	else if (transfer)
		text_addf(out, ", \"peer\": %d, \"message\": %" PRIu64, r->peer, r->sequence);
	if (copy)
		text_addf(out, ", \"queue\": %d", r->op);
	if (transfer || copy)
		text_addf(out, ", \"bytes\": %" PRId64, r->bytes);
	if (r->ready != TRACE_UNKNOWN)
		text_addf(out, ", \"ready\": %s", us_of(r->ready).text);
	text_add(out, "}}");
}

/* An arrow from where a send begins to where its receive does. */
static void put_flow(struct writer *w, int rank, const struct record *r)
{
	bool sent = r->kind == RECORD_SEND;

	begin_event(w, "message", "message", sent ? "s" : "f", rank,
		    trace_track_of((enum record_kind)r->kind));
	text_addf(&w->text, ", \"ts\": %s, \"id\": %" PRIu64 "%s}", us_of(r->begin).text,
		  r->sequence, sent ? "" : ", \"bp\": \"e\"");
}

static void put_record(struct writer *w, int rank, const struct record *r)
{
	char name[64];

	name_record(r, name, sizeof(name));
	begin_event(w, name, record_kind_name((enum record_kind)r->kind), "X", rank,
		    trace_track_of((enum record_kind)r->kind));
	text_addf(&w->text, ", \"ts\": %s, \"dur\": %s", us_of(r->begin).text,
		  us_of(r->end - r->begin).text);
	put_arguments(&w->text, r);
	if (r->sequence && (r->kind == RECORD_SEND || r->kind == RECORD_RECEIVE))
		put_flow(w, rank, r);
}

/* ---- what is said about the run as a whole ---- */

void trace_put_clocks(struct json *j, const struct trace *t)
{
	json_begin_array(j, "clocks");
	for (int i = 0; i < t->n_clocks; i++) {
		json_begin_object(j, NULL);
		json_put_int(j, "first_rank", t->clocks[i].host);
		json_put_double(j, "offset_us", (double)t->clocks[i].offset_ns * 1e-3);
		json_put_double(j, "error_us", (double)t->clocks[i].error_ns * 1e-3);
		json_end_object(j);
	}
	json_end_array(j);
}

void trace_put_prediction(struct json *j, const struct trace *t)
{
	if (t->before.step_ms <= 0)
		return;
	json_begin_object(j, "predicted_before");
	json_put_double(j, "step_ms", t->before.step_ms);
	json_put_double(j, "low_ms", t->before.low_ms);
	json_put_double(j, "high_ms", t->before.high_ms);
	json_end_object(j);
}

static void put_run(struct json *j, const struct trace *t)
{
	json_begin_object(j, NULL);
	json_put_string(j, "schema", "kolm.timeline/1");
	json_put_string(j, "version", KOLM_VERSION);
	json_put_string(j, "device", t->device);
	json_begin_object(j, "grid");
	json_put_int(j, "dp", t->grid.dp);
	json_put_int(j, "pp", t->grid.pp);
	json_put_int(j, "mp", t->grid.mp);
	json_end_object(j);
	json_put_string(j, "schedule", schedule_name(t->schedule));
	json_put_int(j, "micro_batches", t->micro_batches);
	json_put_int(j, "chunks", t->chunks);
	json_put_string(j, "engine", engine_names[t->base ? ENGINE_BASE : ENGINE_HYBRID]);
	json_put_int(j, "first_step", t->first_step);
	json_put_int(j, "last_step", t->last_step);
	if (t->linked) {
		json_begin_object(j, "link");
		json_put_double(j, "latency_us", t->latency_ns * 1e-3);
		json_put_double(j, "us_per_mb", t->ns_per_byte * 1e3);
		json_end_object(j);
	}
	trace_put_prediction(j, t);
	trace_put_clocks(j, t);
	json_end_object(j);
}

static enum status put_all(struct writer *w, struct error *err)
{
	const struct trace *t = w->trace;
	struct json run;
	enum status st = OK;

	text_add(&w->text, "{\"displayTimeUnit\": \"ms\",\n\"otherData\": ");
	json_init(&run, false);
	put_run(&run, t);
	w->text.failed |= run.text.failed;
	text_add(&w->text, run.text.data);
	json_release(&run);
	text_add(&w->text, ",\n\"traceEvents\": [\n");
	w->first = true;
	for (int rank = 0; rank < grid_size(&t->grid); rank++) {
		put_names(w, rank);
		for (int64_t i = 0; i < t->ranks[rank].count; i++) {
			put_record(w, rank, &t->ranks[rank].records[i]);
			if (w->text.len >= FLUSH_BYTES)
				TRY(flush(w, err));
		}
	}
	text_add(&w->text, "\n]}\n");
	TRY(flush(w, err));
out:
	return st;
}

enum status trace_write(const struct trace *t, const char *path, struct error *err)
{
	struct writer w = {.trace = t, .file = {.fd = -1}};
	enum status st;

	text_init(&w.text);
	TRY(file_create(&w.file, path, err));
	TRY(put_all(&w, err));
	TRY(file_commit(&w.file, err));
out:
	file_abort(&w.file);
	text_release(&w.text);
	return st;
}
