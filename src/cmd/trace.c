/* trace.c - kolm trace: one step of a run, as it was and as it was to be expected. */
#include "base/file.h"
#include "base/json.h"
#include "base/util.h"
#include "cmd/cmd.h"
#include "trace/compare.h"

#include <limits.h>
#include <stdio.h>

struct options {
	int step, columns; /* step -1: the last one */
	bool as_json, all_ranks;
	char svg[PATH_MAX];
};

#define AT(member) .offset = offsetof(struct options, member)

/* clang-format off */
static const struct option options[] = {
	{"step", .group = "Step", .type = OPTION_INT, AT(step), .initial = "-1", .meta = "N",
	 .min = -1, .max = 1 << 30, .help = "which one; -1: the last that was kept"},
	{"all-ranks", .group = "Step", .type = OPTION_FLAG, AT(all_ranks), .initial = "false",
	 .help = "a row for every rank, not only for the stages of the first replica"},
	{"columns", .group = "Output", .type = OPTION_INT, AT(columns), .initial = "100",
	 .meta = "N", .min = 10, .max = 10000, .help = "width of the rows of text"},
	{"json", .group = "Output", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document instead of text"},
	{"svg", .group = "Output", .type = OPTION_STRING, AT(svg), .capacity = PATH_MAX,
	 .reserved = true, .initial = "", .meta = "FILE", .help = "draw it into this file"},
};
/* clang-format on */

static const char *const examples[] = {
	"kolm trace runs/20260131-120000-4711",
	"kolm trace runs/old --step 30 --svg step.svg",
	NULL,
};

const struct option_table trace_table = {
	.command = "trace",
	.usage = "kolm trace RUN [options]",
	.summary =
		"Draw what the ranks did in a step of a run, and below it what the simulator expects "
		"from the mean times of the same run; say where the difference comes from. RUN is the "
		"folder of a run. Its timeline.json can also be opened in Perfetto (ui.perfetto.dev).",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
	.positional = 1,
	.arguments = "RUN",
};

static void put_account(struct json *j, const char *name, const struct time_account *a)
{
	json_begin_object(j, name);
	json_put_double(j, "step_ms", a->total);
	json_put_double(j, "compute_ms", a->compute);
	json_put_double(j, "messages_ms", a->messages);
	json_put_double(j, "waiting_ms", a->waiting);
	json_put_double(j, "pause_ms", a->pause);
	json_put_double(j, "other_ms", a->other);
	json_end_object(j);
}

static void put_rows(struct json *j, const char *name, const struct timeline *t)
{
	json_begin_object(j, name);
	json_put_double(j, "makespan_ms", t->makespan_ms);
	json_put_double(j, "bubble", t->bubble);
	json_begin_array(j, "rows");
	for (int i = 0; i < t->stages; i++) {
		char row[ROW_NAME_MAX];

		json_begin_object(j, NULL);
		json_put_string(j, "name", timeline_row_name(t, i, row));
		json_put_double(j, "busy_ms", t->totals[i].busy_ms);
		json_put_double(j, "bubble", timeline_stage_bubble(t, i));
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void put_json(struct json *j, const struct trace *t, const struct comparison *c)
{
	json_begin_object(j, NULL);
	json_put_int(j, "step", c->step);
	json_put_int(j, "first_step", t->first_step);
	json_put_int(j, "last_step", t->last_step);
	json_put_string(j, "schedule", schedule_name(t->schedule));
	put_account(j, "measured", &c->took);
	put_account(j, "predicted", &c->expected);
	put_rows(j, "measured_timeline", &c->measured);
	put_rows(j, "predicted_timeline", &c->predicted);
	if (c->slowest >= 0) {
		json_put_int(j, t->grid.pp > 1 ? "slowest_stage" : "slowest_rank", c->slowest);
		json_put_double(j, "slower_than_mean", c->excess);
	}
	trace_put_prediction(j, t);
	trace_put_clocks(j, t);
	json_end_object(j);
}

static enum status write_svg(const char *path, const struct trace *t,
			     const struct comparison *c, struct error *err)
{
	struct text svg;
	enum status st;

	text_init(&svg);
	comparison_draw_svg(c, t, &svg);
	st = svg.failed ? FAIL(err, ERR_MEMORY, "no memory to draw the step")
			: file_write_whole(path, svg.data, svg.len, err);
	text_release(&svg);
	return st;
}

static enum status show(const struct options *o, const struct trace *t,
			const struct comparison *c, struct error *err)
{
	struct json json;
	enum status st = OK;

	json_init(&json, true);
	if (*o->svg)
		TRY(write_svg(o->svg, t, c, err));
	if (o->as_json)
		put_json(&json, t, c);
	else
		comparison_draw_text(c, o->columns, &json.text);
	if (json.text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory to show the step");
	else
		fputs(json.text.data, stdout);
out:
	json_release(&json);
	return st;
}

enum status cmd_trace(int argc, char *const *argv, struct error *err)
{
	struct options o = {0};
	struct option_values values;
	struct trace trace = {0};
	struct comparison comparison = {0};
	enum status st;

	options_init(&values, &trace_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&trace_table, stdout);
		goto out;
	}
	if (!values.positionals) {
		FAIL(err, ERR_USAGE, "kolm trace needs the folder of a run");
		st = HINT(err, "kolm train prints it, such as runs/20260131-120000-4711");
		goto out;
	}
	TRY(trace_load(&trace, values.positional[0], err));
	TRY(compare_step(&comparison, &trace, o.step < 0 ? trace.last_step : o.step,
			 o.all_ranks, err));
	TRY(show(&o, &trace, &comparison, err));
out:
	comparison_release(&comparison);
	trace_release(&trace);
	return st;
}
