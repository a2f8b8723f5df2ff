/* report.c - see report.h */
#include "report/report.h"
#include "base/util.h"
#include "base/version.h"
#include "report/figures.h"
#include "report/plan_sections.h"
#include "report/requirements.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { GRID_DRAWN_MAX = 32, STAGES = 4, MICRO_BATCHES = 8 };

static struct value text_value(const char *s)
{
	return (struct value){.present = *s != '\0', .text = s};
}

static bool all_are_quick(const struct sources *s)
{
	for (int i = 0; i < s->study_count; i++)
		if (!study_is_quick(&s->studies[i]))
			return false;
	return true;
}

/* A row per study: what it is, how many cases it has. */
static void add_overview(struct document *d, const struct sources *s)
{
	struct table *t = table_new(&d->arena, 6, s->study_count);
	bool all = all_are_quick(s);

	if (!t || !s->study_count)
		return;
	t->columns[0].label = "study";
	t->columns[1].label = "requirements";
	t->columns[2] = (struct column){"cases", "", COLUMN_INTEGER, 0};
	t->columns[3] = (struct column){"failed", "", COLUMN_INTEGER, 0};
	t->columns[4] = (struct column){"quick", "", COLUMN_FLAG, -1};
	t->columns[5] = (struct column){"stopped early", "", COLUMN_FLAG, -1};
	for (int i = 0; i < s->study_count; i++) {
		struct value *v = t->rows[i].values;
		const char *list = "", *id;
		int rows, failed;

		for (int k = 0; (id = study_requirement(&s->studies[i], k)); k++)
			list = document_stringf(d, "%s%s%s", list, k ? ", " : "", id);
		study_count(&s->studies[i], &rows, &failed);
		v[0] = text_value(document_string(d, s->studies[i].title));
		v[0].link = s->studies[i].section.anchor;
		v[1] = text_value(list);
		v[2] = (struct value){.present = true, .number = rows};
		v[3] = (struct value){.present = failed > 0, .number = failed};
		v[4] = (struct value){.present = true,
				      .number = !all && study_is_quick(&s->studies[i])};
		v[5] = (struct value){.present = true,
				      .number = !study_is_complete(&s->studies[i])};
	}
	table_drop_empty(t);
	document_table(d, t);
}

static void add_machine(struct document *d, const struct sources *s)
{
	struct table *t = s->study_count ? study_machine(&s->studies[0], d) : NULL;

	if (t) {
		document_heading(d, 3, "machine", "Where it was measured");
		document_table(d, t);
	}
}

/* What holds for all tables. */
static void add_reading(struct document *d, const struct sources *s)
{
	bool quick = false;

	for (int i = 0; i < s->study_count; i++)
		quick |= study_is_quick(&s->studies[i]);
	if (!s->study_count)
		return;
	document_heading(d, 3, "reading", "How to read the tables");
	document_paragraph(
		d, "Rows are grouped. \"On this machine\" has a core for every rank. With "
		   "\"more ranks than cores\" ranks take turns: such rows are shown, but say "
		   "nothing about scaling. \"Simulated\" is the same engine on virtual "
		   "devices: they compute nothing, their clock goes on by what operations and "
		   "transfers are said to cost.");
	if (quick)
		document_paragraph(
			d, all_are_quick(s)
				   ? "All studies were run with --quick: smaller models, fewer "
				     "cases and repetitions."
				   : "Quick studies have smaller models, fewer cases and "
				     "repetitions.");
}

/* A line or two a study: its first question that has a verdict, since "No." says nothing alone.
 */
static void add_short_answers(struct document *d, const struct sources *s)
{
	bool begun = false;

	for (int i = 0; i < s->study_count; i++) {
		struct answer a;

		for (size_t k = 0; study_answer(&s->studies[i], k, &a); k++) {
			if (!a.supported)
				continue;
			if (!begun)
				document_heading(d, 3, "in-short", "In short");
			begun = true;
			document_item(
				d, document_stringf(d, "%s (%s)", s->studies[i].title, a.id),
				document_stringf(d, "%s %s", a.question, a.verdict), a.anchor);
			break;
		}
	}
}

static struct grid choose_grid(const struct sources *s)
{
	struct grid best = {1, 1, 1};

	for (int i = 0; i < s->study_count; i++)
		study_largest_grid(&s->studies[i], GRID_DRAWN_MAX, &best);
	for (int i = 0; i < s->run_count; i++)
		if (grid_says_more(&s->runs[i].grid, GRID_DRAWN_MAX, &best))
			best = s->runs[i].grid;
	/* A grid without one of the three directions explains less than the usual example, and
	   one that can't be read explains nothing. */
	return best.dp > 1 && best.pp > 1 && best.mp > 1 && figure_grid_fits(&best)
		       ? best
		       : (struct grid){2, 2, 2};
}

static void add_grid(struct document *d, const struct sources *s)
{
	struct grid g = choose_grid(s);

	document_heading(d, 1, "grid", "The grid of ranks");

	document_paragraphf(
		d,
		"A run has dp · pp · mp ranks, given as --dp, --pp and --mp; any three numbers "
		"work. A rank's place follows from its number: rank = mp + MP · (dp + DP · pp), "
		"with mp the fastest. From its place it knows its groups, and nobody has to "
		"list them.");
	document_paragraph(
		d, "Ranks of an mp group hold slices of the same layers and exchange sums "
		   "within every layer. Ranks of a dp group hold the same weights and sum "
		   "their gradients once per step. Ranks of a pp group are the stages of "
		   "one pipeline and pass activations on and gradients back. All ranks of "
		   "one colour together hold one copy of the model.");
	figure_grid(
		d, &g,
		document_stringf(d,
				 "The grid --dp %d --pp %d --mp %d, as 'kolm grid' draws it. A "
				 "number is a rank.",
				 g.dp, g.pp, g.mp));
}

/* The study that shows a step whose title begins so, or NULL. */
static const struct study *find_step(const struct sources *s, timeline_reader reader,
				     const char *begin)
{
	struct gantt g;

	for (int i = 0; i < s->study_count; i++)
		for (size_t k = 0; study_gantt(&s->studies[i], k, reader, &g); k++) {
			bool found = g.timeline.stages > 1 &&
				     !strncmp(g.title, begin, strlen(begin));

			timeline_release(&g.timeline);
			if (found)
				return &s->studies[i];
		}
	return NULL;
}

static const struct explained {
	enum schedule_kind kind;
	const char *text, *caption;
} explained[] = {
	{SCHEDULE_NAIVE,
	 "A pipeline cuts the model into stages. A micro-batch goes forward through all stages "
	 "and then back; a stage can't begin before its neighbour has sent what it needs. One "
	 "micro-batch at a time keeps one stage busy and lets all others wait: that is the base "
	 "engine.",
	 "One micro-batch at a time. Predicted for a forward of 1 ms, a backward of 2 ms and "
	 "0.2 ms per message."},
	{SCHEDULE_1F1B,
	 "With 1f1b every stage starts the next micro-batch while the earlier ones are still "
	 "under way in later stages. The first stages run a few forwards ahead; then each stage "
	 "alternates one forward and one backward, so that it never keeps more activations than "
	 "there are stages behind it. Sends do not block, receives are posted before they are "
	 "needed, and a stage waits only where it uses what has not come yet. What remains idle "
	 "is filling the pipeline at the beginning and draining it at the end; more "
	 "micro-batches make that a smaller share.",
	 "The same work with one forward, one backward in turn."},
	{SCHEDULE_ZB_H1,
	 "zb-h1 splits the backward in two. The gradient of the input is what the stage before "
	 "waits for; the gradient of the weights nobody waits for, so it fills gaps.",
	 "The same work with the gradients of the weights put off."},
};

/* A schedule, with a predicted step unless a study has one to show. */
static enum status add_schedule(struct document *d, const struct sources *s,
				timeline_reader reader, const struct explained *e,
				struct error *err)
{
	const struct costs costs = {.f = 1, .b = 2, .w = 1, .latency = 0.2};
	const struct study *study = find_step(s, reader, schedule_name(e->kind));

	if (study) {
		document_paragraphf(d, "%s The study '%s' shows such a step.", e->text,
				    study->title);
		return OK;
	}
	document_paragraph(d, e->text);
	return figure_schedule(d, e->kind, STAGES, MICRO_BATCHES, &costs, e->caption, err);
}

static enum status add_overlap(struct document *d, const struct sources *s,
			       timeline_reader reader, struct error *err)
{
	enum status st;

	document_heading(d, 1, "overlap", "How the pipeline overlaps");
	for (size_t i = 0; i < ARRAY_SIZE(explained); i++)
		TRY(add_schedule(d, s, reader, &explained[i], err));
	document_paragraph(
		d,
		"Two more things overlap in a step: gradients of a bucket of layers are summed "
		"over the replicas while the layers below are still computed, and the sum of "
		"an input's gradient over the slices of a layer is under way while the "
		"gradient of its weights is computed.");
out:
	return st;
}

/* The studies, in chapters by the letter of their first requirement. */
static enum status add_studies(struct document *d, struct sources *s, timeline_reader reader,
			       struct error *err)
{
	const char *chapter = NULL;
	enum status st = OK;

	for (int i = 0; i < s->study_count; i++) {
		const char *id = study_requirement(&s->studies[i], 0);
		const char *group = id ? requirement_group(*id) : NULL;

		group = group ? group : "Other studies";
		if (!chapter || strcmp(chapter, group)) {
			document_heading(d, 1, group, group);
			chapter = group;
		}
		TRY(study_add(&s->studies[i], d, reader, err));
	}
out:
	return st;
}

static void add_runs(struct document *d, struct sources *s, timeline_reader reader)
{
	size_t place, end;

	if (!s->run_count)
		return;
	document_new_page(d);
	document_heading(d, 1, "runs", "Runs");
	document_paragraph(d, "Single runs, as 'kolm train' has left them.");
	/* The table of all of them links to what follows: it is made when that is there. */
	place = d->count;
	for (int i = 0; i < s->run_count; i++)
		run_result_add(&s->runs[i], d, reader);
	end = d->count;
	document_table(d, run_result_compare(s->runs, s->run_count, d));
	document_move(d, end, place);
}

static void add_plans(struct document *d, const struct sources *s)
{
	if (!s->plan_count)
		return;
	document_new_page(d);
	document_heading(d, 1, "plans", "Plans");
	document_paragraph(d, "Steps on machines that are not here, as 'kolm plan' forecasts "
			      "them from their constants.");
	for (int i = 0; i < s->plan_count; i++)
		plan_add(d, s->plans[i], 2);
}

/* "2 studies and 1 run" */
static const char *counts(struct document *d, const struct sources *s)
{
	const struct {
		int n;
		const char *one, *more;
	} kinds[] = {{s->study_count, "study", "studies"},
		     {s->run_count, "run", "runs"},
		     {s->plan_count, "plan", "plans"}};
	const char *text = "";

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].n)
			text = document_stringf(d, "%s%s%d %s", text, *text ? " and " : "",
						kinds[i].n,
						kinds[i].n == 1 ? kinds[i].one : kinds[i].more);
	return text;
}

static void add_title(struct document *d, const struct sources *s,
		      const struct report_options *o)
{
	char date[64] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	d->title = document_string(d, *o->title ? o->title : "Hybrid parallel training");
	d->subtitle = counts(d, s);
	d->subtitle = document_stringf(d, "%s; written by kolm %s", d->subtitle, KOLM_VERSION);
	d->date = document_string(d, date);
}

enum status report_build(struct document *d, struct sources *s, const struct report_options *o,
			 struct error *err)
{
	size_t summary, end;
	enum status st;

	sources_sort(s);
	add_title(d, s, o);
	document_heading(d, 1, "summary", "Summary");
	summary = d->count;
	add_grid(d, s);
	TRY(add_overlap(d, s, o->read_timeline, err));
	TRY(add_studies(d, s, o->read_timeline, err));
	add_runs(d, s, o->read_timeline);
	add_plans(d, s);
	report_add_bottlenecks(d, s);
	if (s->study_count)
		report_add_stand_ins(d);
	report_add_index(d, s);
	/* The summary links to all that: it is made last and put in its place. */
	end = d->count;
	add_overview(d, s);
	add_short_answers(d, s);
	add_reading(d, s);
	add_machine(d, s);
	document_contents(d);
	document_move(d, end, summary);
	TRY(document_check(d, err));
out:
	return st;
}
