/* run_sections.c - a run's part of a report: tables and charts from its summary. */
#include "report/run_result.h"
#include "base/util.h"
#include "report/fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 32 }; /* of a timeline */

static struct value number(double x)
{
	return (struct value){.present = !isnan(x), .number = x};
}

static struct value text(struct document *d, const char *s)
{
	return (struct value){.present = *s != '\0', .text = document_string(d, s)};
}

/* "step_ms.median": a member of a member. */
static double number_at(const json_t *o, const char *path)
{
	const char *dot = strchr(path, '.');
	char name[64];

	if (dot) {
		snprintf(name, sizeof(name), "%.*s", (int)(dot - path), path);
		o = json_object_get(o, name);
		path = dot + 1;
	}
	o = json_object_get(o, path);
	return json_is_number(o) ? json_number_value(o) : NAN;
}

static const char *string_at(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "";
}

struct shown {
	struct column column;
	const char *path;
};

/* What a row of the comparison shows of a run. */
static const struct shown compared[] = {
	{{"ranks", "", COLUMN_INTEGER, 0}, "ranks"},
	{{"dp", "", COLUMN_INTEGER, 0}, "grid.dp"},
	{{"pp", "", COLUMN_INTEGER, 0}, "grid.pp"},
	{{"mp", "", COLUMN_INTEGER, 0}, "grid.mp"},
	{{"precision", "", COLUMN_TEXT, -1}, "precision"},
	{{"batch", "", COLUMN_INTEGER, 0}, "batch"},
	{{"step", "ms", COLUMN_NUMBER, -1}, "step_ms.median"},
	{{"samples per second", "", COLUMN_NUMBER, 0}, "samples_per_s"},
	{{"tokens per second", "", COLUMN_NUMBER, 0}, "tokens_per_s"},
	{{"GFLOP/s", "", COLUMN_NUMBER, 1}, "gflops"},
	{{"peak GFLOP/s", "", COLUMN_NUMBER, 1}, "peak_gflops"},
	{{"peak of", "", COLUMN_TEXT, -1}, "peak_dtype"},
	{{"bubble", "", COLUMN_PERCENT, -1}, "bubble"},
	{{"final loss", "", COLUMN_NUMBER, 4}, "final_loss"},
	{{"skipped steps", "", COLUMN_INTEGER, 0}, "skipped_steps"},
	{{"more ranks than cores", "", COLUMN_FLAG, -1}, "oversubscribed"},
};

static struct value value_at(struct document *d, const json_t *root, const struct shown *s)
{
	if (s->column.kind == COLUMN_TEXT)
		return text(d, string_at(root, s->path));
	if (s->column.kind == COLUMN_FLAG)
		return (struct value){.present = true,
				      .number = json_is_true(json_object_get(root, s->path))};
	return number(number_at(root, s->path));
}

struct table *run_result_compare(const struct run_result *runs, int n, struct document *d)
{
	struct table *t = table_new(&d->arena, 1 + ARRAY_SIZE(compared), n);

	if (!t)
		return NULL;
	t->columns[0].label = "run";
	for (size_t k = 0; k < ARRAY_SIZE(compared); k++)
		t->columns[1 + k] = compared[k].column;
	for (int i = 0; i < n; i++) {
		t->rows[i].values[0] = text(d, run_result_name(&runs[i]));
		t->rows[i].values[0].link = runs[i].section.anchor;
		for (size_t k = 0; k < ARRAY_SIZE(compared); k++) {
			struct value v = value_at(d, runs[i].root, &compared[k]);

			if (!strcmp(compared[k].path, "step_ms.median"))
				v.spread = fmax(number_at(runs[i].root, "step_ms.stdev"), 0);
			/* Of language models one counts tokens. */
			if (!strcmp(compared[k].path, "samples_per_s"))
				v.present &= isnan(number_at(runs[i].root, "tokens_per_s"));
			t->rows[i].values[1 + k] = v;
		}
	}
	t->note = "Step: median over the steps behind the warm-up, ± standard deviation.";
	table_drop_empty(t);
	return t;
}

/* Parts of something per rank, on top of each other. */
struct part {
	const char *key, *name;
};

static const struct part memory_parts[] = {
	{"params_bytes", "parameters"},	  {"grads_bytes", "gradients"},
	{"optimizer_bytes", "optimizer"}, {"activations_bytes", "activations"},
	{"comm_bytes", "communication"},  {"workspace_bytes", "workspace"},
};

static const struct part time_parts[] = {
	{"compute", "compute"}, {"comm_exposed", "exposed communication"},
	{"bubble", "bubble"},	{"imbalance", "imbalance"},
	{"other", "other"},
};

/* One bar per rank; of is the member of a rank that holds the parts, or NULL. */
static struct chart *stack(struct document *d, const json_t *ranks, const char *of,
			   const struct part *parts, int part_count)
{
	struct chart *c = chart_new(&d->arena, CHART_STACKED, part_count);
	int n = (int)json_array_size(ranks);

	if (!c)
		return NULL;
	c->x_label = "rank";
	c->categories = arena_get(&d->arena, (size_t)n, sizeof(char *));
	c->category_count = c->categories ? n : 0;
	for (int i = 0; i < c->category_count; i++)
		c->categories[i] = document_stringf(d, "%d", i);
	for (int k = 0; k < c->series_count; k++) {
		struct chart_series *s = &c->series[k];

		s->name = parts[k].name;
		s->points = arena_get(&d->arena, (size_t)n, sizeof(*s->points));
		for (int i = 0; s->points && i < c->category_count; i++) {
			const json_t *rank = json_array_get(ranks, (size_t)i);
			double y =
				number_at(of ? json_object_get(rank, of) : rank, parts[k].key);

			if (!isnan(y))
				s->points[s->count++] = (struct chart_point){.x = i, .y = y};
		}
	}
	return c;
}

/* The breakdown of the step as one bar, where ranks have none of their own. */
static struct chart *breakdown(struct document *d, const struct run_result *r)
{
	const json_t *ranks = json_object_get(r->root, "per_rank");
	json_t *one = NULL;
	struct chart *c;

	if (json_object_get(json_array_get(ranks, 0), "breakdown_ms")) {
		c = stack(d, ranks, "breakdown_ms", time_parts, ARRAY_SIZE(time_parts));
	} else {
		one = json_pack("[O]", r->root);
		c = one ? stack(d, one, "breakdown_ms", time_parts, ARRAY_SIZE(time_parts))
			: NULL;
		if (c && c->category_count)
			c->categories[0] = "all ranks";
		if (c)
			c->x_label = "";
	}
	if (c) {
		c->title = "Where the time of a step goes";
		c->y_label = "ms";
	}
	json_decref(one);
	return c;
}

static struct chart *memory(struct document *d, const struct run_result *r)
{
	struct chart *c = stack(d, json_object_get(r->root, "per_rank"), NULL, memory_parts,
				ARRAY_SIZE(memory_parts));

	if (c) {
		c->title = "Memory of each rank, by kind (peaks)";
		c->y_kind = COLUMN_BYTES;
	}
	return c;
}

/* How near it came to what its cores can do, and in what type that is; older runs do not say.
 */
static void add_speed(struct document *d, const struct run_result *r)
{
	double gflops = number_at(r->root, "gflops"), peak = number_at(r->root, "peak_gflops");
	const char *type = string_at(r->root, "peak_dtype");

	if (gflops > 0 && peak > 0 && *type)
		document_paragraphf(d,
				    "It made %.1f GFLOP/s, %.1f %% of the %.1f GFLOP/s of %s "
				    "multiply-adds that its ranks could do.",
				    gflops, gflops / peak * 100, peak, type);
}

/* How it went, as far as the summary says. */
static void add_outcome(struct document *d, const struct run_result *r)
{
	double step = number_at(r->root, "best.step"), loss = number_at(r->root, "best.loss");
	double accuracy = number_at(r->root, "best.accuracy");
	double perplexity = number_at(r->root, "held_out.perplexity");
	double per_byte = number_at(r->root, "held_out.bits_per_byte");
	char correct[48] = "", bits[48] = "";

	if (!isnan(per_byte))
		snprintf(bits, sizeof(bits), ", %.4f bits per byte", per_byte);
	if (json_is_true(json_object_get(r->root, "diverged")))
		document_paragraphf(d, "It diverged: its last losses are not finite.");
	if (!isnan(perplexity))
		document_paragraphf(d, "At its end the perplexity of held-out text was %.5g%s.",
				    perplexity, bits);
	if (isnan(step) || isnan(loss))
		return;
	if (!isnan(accuracy))
		snprintf(correct, sizeof(correct), ", with an accuracy of %.2f %%",
			 accuracy * 100);
	document_paragraphf(
		d, "The smallest loss on held-out samples was %.6g, behind step %.0f%s%s.",
		loss, step, correct,
		json_is_true(json_object_get(r->root, "stopped_early"))
			? "; none of the evaluations that followed was better, so it "
			  "stopped before its last step"
			: "");
}

static const struct shown rank_columns[] = {
	{{"rank", "", COLUMN_INTEGER, 0}, "rank"},
	{{"dp", "", COLUMN_INTEGER, 0}, "dp"},
	{{"pp", "", COLUMN_INTEGER, 0}, "pp"},
	{{"mp", "", COLUMN_INTEGER, 0}, "mp"},
	{{"utilisation", "", COLUMN_PERCENT, -1}, "utilization"},
	{{"peak memory", "", COLUMN_BYTES, -1}, "peak_bytes"},
	{{"GPU busy", "", COLUMN_PERCENT, -1}, "gpu_utilization"},
	{{"GPU memory", "", COLUMN_BYTES, -1}, "gpu_bytes"},
	{{"hottest", "°C", COLUMN_NUMBER, 0}, "gpu_celsius"},
	{{"power", "W", COLUMN_NUMBER, 0}, "gpu_watts"},
	{{"messages", "", COLUMN_INTEGER, 0}, "p2p_messages"},
	{{"sent in messages", "", COLUMN_BYTES, -1}, "p2p_bytes"},
	{{"in collectives", "", COLUMN_BYTES, -1}, "collective_bytes"},
};

/* 0 1 2 3 is written as 0 to 3. */
static void add_numbers(struct text *out, const json_t *layers)
{
	size_t n = json_array_size(layers);

	for (size_t i = 0; i < n;) {
		json_int_t first = json_integer_value(json_array_get(layers, i)), last = first;

		while (++i < n && json_integer_value(json_array_get(layers, i)) == last + 1)
			last++;
		text_addf(out, "%s%lld", out->len ? ", " : "", (long long)first);
		if (last > first)
			text_addf(out, " to %lld", (long long)last);
	}
}

/* By their names, if they have some: embedding, blocks 0-1. */
static const char *layers_text(struct document *d, const json_t *names, const json_t *layers)
{
	size_t n = json_array_size(layers);
	const char **list = calloc(n + 1, sizeof(*list));
	bool named = list && n > 0;
	struct text out;
	const char *s;

	text_init(&out);
	for (size_t i = 0; i < n && named; i++) {
		json_int_t number = json_integer_value(json_array_get(layers, i));

		list[i] = json_string_value(json_array_get(names, (size_t)number));
		named = list[i] != NULL;
	}
	if (named)
		text_add_series(&out, list, (int)n);
	else
		add_numbers(&out, layers);
	s = document_string(d, out.data);
	text_release(&out);
	free(list);
	return s;
}

static struct table *rank_table(struct document *d, const struct run_result *r)
{
	const json_t *ranks = json_object_get(r->root, "per_rank");
	struct table *t =
		table_new(&d->arena, 1 + ARRAY_SIZE(rank_columns), (int)json_array_size(ranks));

	if (!t)
		return NULL;
	t->title = "Ranks";
	for (size_t k = 0; k < ARRAY_SIZE(rank_columns); k++)
		t->columns[k] = rank_columns[k].column;
	t->columns[ARRAY_SIZE(rank_columns)].label = "layers";
	for (int i = 0; i < t->row_count; i++) {
		const json_t *rank = json_array_get(ranks, (size_t)i);

		for (size_t k = 0; k < ARRAY_SIZE(rank_columns); k++)
			t->rows[i].values[k] = value_at(d, rank, &rank_columns[k]);
		t->rows[i].values[ARRAY_SIZE(rank_columns)] = (struct value){
			.present = true,
			.text = layers_text(d, json_object_get(r->root, "layer_names"),
					    json_object_get(rank, "layers"))};
	}
	table_drop_empty(t);
	return t;
}

/* The last step that the run has kept, if there are not too many rows to be read. */
static void add_timeline(struct run_result *r, struct document *d, timeline_reader reader)
{
	struct timeline t = {.stages = 0};
	bool simulated = !strncmp(string_at(r->root, "device"), "virtual", 7);

	if (reader && *r->folder && reader(r->folder, -1, &t, NULL) == OK && t.stages > 0 &&
	    t.stages <= ROWS_MAX)
		figure_timeline(d, &t,
				simulated ? "The last step, simulated"
					  : "The last step, as measured",
				"");
	timeline_release(&t);
}

void run_result_add(struct run_result *r, struct document *d, timeline_reader reader)
{
	r->section = document_heading(d, 2, run_result_name(r), run_result_name(r));
	document_paragraphf(d,
			    "%d rank%s as dp %d × pp %d × mp %d on %s; %s, schedule %s, "
			    "engine %s%s.",
			    grid_size(&r->grid), grid_size(&r->grid) == 1 ? "" : "s",
			    r->grid.dp, r->grid.pp, r->grid.mp, string_at(r->root, "device"),
			    string_at(r->root, "precision"), string_at(r->root, "schedule"),
			    string_at(r->root, "engine"),
			    json_is_true(json_object_get(r->root, "interrupted"))
				    ? "; stopped before its end"
				    : "");
	add_speed(d, r);
	add_outcome(d, r);
	if (r->command)
		document_code(d, r->command);
	document_table(d, rank_table(d, r));
	add_timeline(r, d, reader);
	document_chart(d, breakdown(d, r));
	document_chart(d, memory(d, r));
	run_result_add_curves(r, d);
}
