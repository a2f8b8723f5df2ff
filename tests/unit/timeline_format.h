/*
 * timeline_format.h - is a timeline.json what it should be? Written against the description
 * of the Trace Event Format, not against the code that writes the file.
 */
#ifndef KOLM_TESTS_TIMELINE_FORMAT_H
#define KOLM_TESTS_TIMELINE_FORMAT_H

#include "testing.h"

#include "grid/grid.h"
#include "schedule/schedule.h"

#include <jansson.h>

enum { TIDS_MAX = 16 };

/* What is known of a file when it has been checked. */
struct format {
	const char *path;
	json_t *root, *events;
	int first_step, last_step;
	struct grid grid;
	int flows;
};

/* An event that takes time, in ns. */
struct slice {
	int pid, tid, step;
	int64_t begin, end;
	const json_t *event;
};

struct slices {
	struct slice *all;
	int count;
};

#define expect(f, what, ...)                                         \
	do {                                                         \
		if (!(what)) {                                       \
			char said_[256];                             \
			snprintf(said_, sizeof(said_), __VA_ARGS__); \
			fail_msg("%s: %s", (f)->path, said_);        \
		}                                                    \
	} while (0)

static inline const char *format_text(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static inline int format_int(const struct format *f, const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	expect(f, json_is_integer(v), "no whole number %s", name);
	return (int)json_integer_value(v);
}

static inline int64_t format_time(const struct format *f, const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	expect(f, json_is_number(v), "no number %s", name);
	expect(f, isfinite(json_number_value(v)) && json_number_value(v) >= 0, "%s is %g", name,
	       json_number_value(v));
	return llround(json_number_value(v) * 1e3);
}

/* Every event has these, whatever it is. */
static inline void format_check_common(const struct format *f, const json_t *e)
{
	const char *ph = format_text(e, "ph");

	expect(f, json_is_object(e) && format_text(e, "name") && ph,
	       "an event has no name or ph");
	expect(f, strlen(ph) == 1 && strchr("XsfM", *ph), "unknown phase %s", ph);
	expect(f, format_int(f, e, "pid") >= 0 && format_int(f, e, "tid") >= 0,
	       "odd pid or tid");
}

static inline void format_check_metadata(const struct format *f, const json_t *e)
{
	const char *name = format_text(e, "name");
	const json_t *args = json_object_get(e, "args");

	if (!strcmp(name, "process_name") || !strcmp(name, "thread_name"))
		expect(f, format_text(args, "name"), "%s without a name", name);
	else if (!strcmp(name, "process_sort_index") || !strcmp(name, "thread_sort_index"))
		format_int(f, args, "sort_index");
	else
		fail_msg("%s: unknown metadata %s", f->path, name);
}

static inline bool format_is(const json_t *e, const char *phase)
{
	return !strcmp(format_text(e, "ph"), phase);
}

static inline int format_compare(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid - y->pid;
	if (x->tid != y->tid)
		return x->tid - y->tid;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* All slices, by process, thread and time; they must not overlap. */
static inline struct slices format_slices(const struct format *f)
{
	struct slices out = {calloc(json_array_size(f->events), sizeof(struct slice)), 0};
	size_t i;
	json_t *e;

	json_array_foreach(f->events, i, e)
	{
		struct slice *s = &out.all[out.count];

		format_check_common(f, e);
		if (format_is(e, "M"))
			format_check_metadata(f, e);
		if (!format_is(e, "X"))
			continue;
		expect(f, format_text(e, "cat"), "an event without a category");
		s->pid = format_int(f, e, "pid");
		s->tid = format_int(f, e, "tid");
		s->begin = format_time(f, e, "ts");
		s->end = s->begin + format_time(f, e, "dur");
		s->step = format_int(f, json_object_get(e, "args"), "step");
		s->event = e;
		out.count++;
	}
	qsort(out.all, (size_t)out.count, sizeof(*out.all), format_compare);
	for (int k = 1; k < out.count; k++) {
		const struct slice *a = &out.all[k - 1], *b = &out.all[k];

		if (a->pid == b->pid && a->tid == b->tid)
			expect(f, a->end <= b->begin, "%s and %s of rank %d overlap",
			       format_text(a->event, "name"), format_text(b->event, "name"),
			       a->pid);
	}
	return out;
}

/* Every process and thread that is used has one name. */
static inline void format_check_names(const struct format *f, const struct slices *slices)
{
	int ranks = grid_size(&f->grid);
	int *named = calloc((size_t)ranks * (TIDS_MAX + 1), sizeof(*named));
	size_t i;
	json_t *e;

	json_array_foreach(f->events, i, e)
	{
		int pid = format_int(f, e, "pid"), tid = format_int(f, e, "tid");

		expect(f, pid < ranks && tid < TIDS_MAX, "process %d, thread %d", pid, tid);
		if (!strcmp(format_text(e, "name"), "thread_name"))
			named[pid * (TIDS_MAX + 1) + tid]++;
		if (!strcmp(format_text(e, "name"), "process_name"))
			named[pid * (TIDS_MAX + 1) + TIDS_MAX]++;
	}
	for (int k = 0; k < slices->count; k++) {
		const struct slice *s = &slices->all[k];

		expect(f, named[s->pid * (TIDS_MAX + 1) + s->tid] == 1,
		       "thread %d of rank %d has not one name", s->tid, s->pid);
	}
	for (int rank = 0; rank < ranks; rank++)
		expect(f, named[rank * (TIDS_MAX + 1) + TIDS_MAX] == 1,
		       "process %d has not one name", rank);
	free(named);
}

/* A flow begins and ends once, in this order, each time inside a slice of its thread. */
static inline void format_check_flows(struct format *f, const struct slices *slices)
{
	size_t n = json_array_size(f->events), i;
	int64_t *begun = malloc((n + 1) * sizeof(*begun)),
		*ended = malloc((n + 1) * sizeof(*ended));
	json_t *e;

	memset(begun, -1, (n + 1) * sizeof(*begun));
	memset(ended, -1, (n + 1) * sizeof(*ended));
	json_array_foreach(f->events, i, e)
	{
		bool start = format_is(e, "s"), inside = false;
		int64_t *at, ts;
		size_t id;

		if (!start && !format_is(e, "f"))
			continue;
		id = (size_t)format_int(f, e, "id");
		ts = format_time(f, e, "ts");
		expect(f, id > 0 && id <= n && format_text(e, "cat"), "flow %zu", id);
		expect(f, start || !strcmp(format_text(e, "bp"), "e"), "a flow ends nowhere");
		at = start ? &begun[id] : &ended[id];
		expect(f, *at < 0, "flow %zu twice", id);
		*at = ts;
		f->flows += start;
		for (int k = 0; k < slices->count && !inside; k++)
			inside = slices->all[k].pid == format_int(f, e, "pid") &&
				 slices->all[k].tid == format_int(f, e, "tid") &&
				 slices->all[k].begin <= ts && slices->all[k].end >= ts;
		expect(f, inside, "flow %zu in no slice", id);
	}
	for (i = 0; i <= n; i++) {
		expect(f, (begun[i] < 0) == (ended[i] < 0), "flow %zu has one end", i);
		expect(f, begun[i] <= ended[i], "flow %zu ends before it begins", i);
	}
	free(begun);
	free(ended);
}

/* Everything lies in the step that it belongs to, of the same rank. */
static inline void format_check_steps(const struct format *f, const struct slices *slices)
{
	int steps = f->last_step - f->first_step + 1, ranks = grid_size(&f->grid);
	const struct slice **whole = calloc((size_t)(steps * ranks), sizeof(*whole));

	for (int k = 0; k < slices->count; k++) {
		const struct slice *s = &slices->all[k];

		expect(f, s->step >= f->first_step && s->step <= f->last_step, "step %d",
		       s->step);
		if (!strcmp(format_text(s->event, "cat"), "step"))
			whole[s->pid * steps + s->step - f->first_step] = s;
	}
	for (int k = 0; k < steps * ranks; k++)
		expect(f, whole[k], "step %d of rank %d is missing", k % steps + f->first_step,
		       k / steps);
	for (int k = 0; k < slices->count; k++) {
		const struct slice *s = &slices->all[k];
		const struct slice *of = whole[s->pid * steps + s->step - f->first_step];

		expect(f, s->begin >= of->begin && s->end <= of->end,
		       "%s of rank %d is not in step %d", format_text(s->event, "name"), s->pid,
		       s->step);
	}
	free(whole);
}

/* The format and what holds for every run. The caller asks for more and closes it. */
static inline struct slices format_open(struct format *f, const char *path)
{
	json_error_t bad;
	const json_t *run, *grid;
	struct slices out;

	*f = (struct format){.path = path,
			     .root = json_load_file(path, JSON_REJECT_DUPLICATES, &bad)};
	expect(f, f->root, "line %d: %s", bad.line, bad.text);
	expect(f, !strcmp(format_text(f->root, "displayTimeUnit"), "ms"), "no unit");
	f->events = json_object_get(f->root, "traceEvents");
	run = json_object_get(f->root, "otherData");
	grid = json_object_get(run, "grid");
	expect(f, json_is_array(f->events) && json_is_object(grid), "no events or no grid");
	f->grid = (struct grid){.dp = format_int(f, grid, "dp"),
				.pp = format_int(f, grid, "pp"),
				.mp = format_int(f, grid, "mp")};
	f->first_step = format_int(f, run, "first_step");
	f->last_step = format_int(f, run, "last_step");
	out = format_slices(f);
	format_check_names(f, &out);
	format_check_steps(f, &out);
	format_check_flows(f, &out);
	return out;
}

static inline void format_close(struct format *f, struct slices *slices)
{
	free(slices->all);
	json_decref(f->root);
}

#endif
