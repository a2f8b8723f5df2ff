/* schedule.c - kolm schedule: make a pipeline schedule, check it, predict and draw it. */
#include "cmd/cmd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/util.h"
#include "schedule/schedule.h"
#include "schedule/timeline.h"

#include <limits.h>
#include <stdio.h>

enum { COLUMNS = 100, PP_MAX = 1024, MICRO_BATCHES_MAX = 1 << 16, DRAW_MAX = 1 << 20 };

struct options {
	int kind, stages, micro_batches, chunks;
	struct costs costs;
	bool as_json;
	char svg[PATH_MAX];
};

#define AT(member)   .offset = offsetof(struct options, member)
#define TIME(member) .type = OPTION_TIME, AT(member), .meta = "T", .max = 1e9

/* clang-format off */
static const struct option options[] = {
	{"schedule", .group = "Schedule", .type = OPTION_CHOICE, AT(kind), .choices = schedule_names,
	 .initial = "1f1b", .help = "the order of forwards and backwards"},
	{"pp", .group = "Schedule", .type = OPTION_INT, AT(stages), .initial = "4", .meta = "N",
	 .min = 1, .max = PP_MAX, .help = "pipeline stages"},
	{"micro-batches", "accum-steps", .group = "Schedule", .type = OPTION_INT,
	 AT(micro_batches), .initial = "8", .meta = "M", .min = 1, .max = MICRO_BATCHES_MAX,
	 .help = "micro-batches per step"},
	{"chunks", .group = "Schedule", .type = OPTION_INT, AT(chunks), .initial = "auto",
	 .zero = "auto", .meta = "V", .min = 1, .max = 256,
	 .help = "parts of the model on each stage, for interleaved; auto: 2 there"},

	{"cost-f", .group = "Costs", TIME(costs.f), .initial = "1",
	 .help = "forward of one micro-batch through one stage; bare numbers are ms"},
	{"cost-b", .group = "Costs", TIME(costs.b), .initial = "2",
	 .help = "whole backward of one micro-batch through one stage"},
	{"cost-w", .group = "Costs", TIME(costs.w), .min = 1e-9, .initial = "half", .zero = "half",
	 .help = "the part of --cost-b that makes the weights' gradient; half: of --cost-b"},
	{"latency", .group = "Costs", TIME(costs.latency), .initial = "0",
	 .help = "from the end of an operation until its message is there"},
	{"send-early", .group = "Costs", .type = OPTION_FLAG, AT(costs.send_early), .initial = "false",
	 .help = "the gradient of a stage's input is sent before that of its weights is computed, as kolm train does it"},

	{"json", .group = "Output", .type = OPTION_FLAG, AT(as_json), .initial = "false",
	 .help = "print one JSON document instead of text"},
	{"svg", .group = "Output", .type = OPTION_STRING, AT(svg), .capacity = PATH_MAX,
	 .reserved = true, .initial = "", .meta = "FILE", .help = "draw it into this file"},
};
/* clang-format on */

static const char *const examples[] = {
	"kolm schedule --schedule gpipe --pp 4 --micro-batches 8",
	"kolm schedule --schedule interleaved --chunks 2",
	"kolm schedule --schedule zb-h1 --cost-f 18.5 --cost-b 27.4 --latency 0.6",
	NULL,
};

const struct option_table schedule_table = {
	.command = "schedule",
	.usage = "kolm schedule [options]",
	.summary =
		"Draw a pipeline schedule and predict its bubble from what its operations cost. The "
		"schedule is the one that training runs; it is checked before it is shown.",
	.options = options,
	.count = ARRAY_SIZE(options),
	.examples = examples,
};

static enum status resolve(struct options *o, struct error *err)
{
	if (o->chunks == 0)
		o->chunks = schedule_chunks((enum schedule_kind)o->kind, 0);
	if ((int64_t)o->stages * o->micro_batches * o->chunks > DRAW_MAX) {
		FAIL(err, ERR_USAGE,
		     "--pp %d --micro-batches %d --chunks %d is too much to draw", o->stages,
		     o->micro_batches, o->chunks);
		return HINT(err, "their product may be %d", DRAW_MAX);
	}
	if (o->costs.w == 0)
		o->costs.w = o->costs.b / 2;
	if (o->costs.w > o->costs.b) {
		FAIL(err, ERR_USAGE, "--cost-w %g is more than --cost-b %g", o->costs.w,
		     o->costs.b);
		return HINT(err, "--cost-w is a part of --cost-b");
	}
	return OK;
}

static void print_text(const struct schedule *s, const struct timeline *t, struct text *out)
{
	timeline_draw_text(t, COLUMNS, out);
	text_addf(out,
		  "\n%s: %d stages, %d micro-batches, %d chunk%s; bubble %.2f %%, "
		  "makespan %.6g ms\n\n"
		  "%5s %10s %8s %11s %8s  order\n",
		  schedule_name(s->kind), s->stages, s->micro_batches, s->chunks,
		  s->chunks == 1 ? "" : "s", t->bubble * 100, t->makespan_ms, "stage",
		  "busy ms", "bubble", "activations", "messages");
	for (int i = 0; i < s->stages; i++) {
		text_addf(out, "%5d %10.6g %6.2f %% %11d %8d  ", i, t->totals[i].busy_ms,
			  timeline_stage_bubble(t, i) * 100,
			  schedule_activations(&s->orders[i]),
			  schedule_messages(&s->orders[i]));
		order_format(&s->orders[i], false, out);
		text_add(out, "\n");
	}
}

static void put_stage(const struct schedule *s, const struct timeline *t, int stage,
		      struct json *j)
{
	struct text order;

	text_init(&order);
	order_format(&s->orders[stage], false, &order);
	json_begin_object(j, NULL);
	json_put_int(j, "stage", stage);
	json_put_double(j, "busy_ms", t->totals[stage].busy_ms);
	json_put_double(j, "bubble", timeline_stage_bubble(t, stage));
	json_put_int(j, "activations", schedule_activations(&s->orders[stage]));
	json_put_int(j, "messages", schedule_messages(&s->orders[stage]));
	json_put_string(j, "order", order.data);
	json_end_object(j);
	j->text.failed |= order.failed;
	text_release(&order);
}

static void put_json(const struct schedule *s, const struct timeline *t, struct json *j)
{
	json_begin_object(j, NULL);
	json_put_string(j, "schedule", schedule_name(s->kind));
	json_put_int(j, "pp", s->stages);
	json_put_int(j, "micro_batches", s->micro_batches);
	json_put_int(j, "chunks", s->chunks);
	json_put_double(j, "bubble", t->bubble);
	json_put_double(j, "makespan_ms", t->makespan_ms);
	json_begin_array(j, "stages");
	for (int i = 0; i < s->stages; i++)
		put_stage(s, t, i, j);
	json_end_array(j);
	json_end_object(j);
}

static enum status write_svg(const char *path, const struct schedule *s,
			     const struct timeline *t, struct error *err)
{
	struct text svg;
	char title[160];
	enum status st;

	text_init(&svg);
	snprintf(title, sizeof(title), "%s, %d stages, %d micro-batches: bubble %.2f %%",
		 schedule_name(s->kind), s->stages, s->micro_batches, t->bubble * 100);
	timeline_draw_svg(t, title, &svg);
	st = svg.failed ? FAIL(err, ERR_MEMORY, "no memory to draw the schedule")
			: file_write_whole(path, svg.data, svg.len, err);
	text_release(&svg);
	return st;
}

static enum status show(const struct options *o, const struct schedule *s,
			const struct timeline *t, struct error *err)
{
	struct json json;
	enum status st = OK;

	json_init(&json, true);
	if (*o->svg)
		TRY(write_svg(o->svg, s, t, err));
	if (o->as_json)
		put_json(s, t, &json);
	else
		print_text(s, t, &json.text);
	if (json.text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory to show the schedule");
	else
		fputs(json.text.data, stdout);
out:
	json_release(&json);
	return st;
}

enum status cmd_schedule(int argc, char *const *argv, struct error *err)
{
	struct options o = {0};
	struct option_values values;
	struct schedule schedule = {0};
	struct timeline timeline = {0};
	enum status st;

	options_init(&values, &schedule_table, &o);
	TRY(options_parse(&values, argc, argv, err));
	if (values.help) {
		options_print_help(&schedule_table, stdout);
		goto out;
	}
	TRY(resolve(&o, err));
	TRY(schedule_init(&schedule, (enum schedule_kind)o.kind, o.stages, o.micro_batches,
			  o.chunks, err));
	TRY(timeline_simulate(&timeline, &schedule, &o.costs, err));
	TRY(show(&o, &schedule, &timeline, err));
out:
	timeline_release(&timeline);
	schedule_release(&schedule);
	return st;
}
