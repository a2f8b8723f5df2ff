/* study_sections.c - a study's part of a report; see study_result.h */
#include "report/study_result.h"
#include "base/file.h"
#include "base/util.h"
#include "report/commands.h"
#include "report/fields.h"
#include "report/figures.h"

#include <string.h>

/* What it answers and whether it is quick is said in the summary. */
static void add_heading(struct study *s, struct document *d)
{
	s->section = document_heading(d, 2, s->name, s->title);
	if (!study_is_complete(s))
		document_note(d, document_stringf(
					 d, "Stopped before its end: 'kolm study %s' goes on.",
					 s->name));
}

/* What number a table or chart of the result has in the document. */
static void remember(const json_t *spec, int number)
{
	if (spec && number)
		json_object_set_new((json_t *)spec, "number", json_integer(number));
}

/* Do two charts show the same quantity, of other rows? */
static bool show_the_same(const json_t *a, const json_t *b)
{
	static const char *const names[] = {"kind", "x", "y", "log_x", "log_y"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const json_t *x = json_object_get(a, names[i]),
			     *y = json_object_get(b, names[i]);

		if (x != y && !json_equal(x, y))
			return false;
	}
	return true;
}

/* Charts follow the table that they are made from. */
static void add_charts(struct study *s, struct document *d, struct fields *f, const char *table)
{
	json_t *charts = field_array(f, s->root, "charts");
	const json_t *last = NULL;
	struct chart *before = NULL;

	for (size_t i = 0; i < json_array_size(charts); i++) {
		size_t back = fields_enter(f, "charts", i);
		const json_t *spec = field_element(f, charts, i);
		const char *of = json_string_value(json_object_get(spec, "table"));

		if (of && !strcmp(of, table)) {
			struct chart *c = study_chart(f, s->root, spec, d);

			remember(spec, document_chart(d, c));
			if (c && before && show_the_same(last, spec)) {
				c->beside = before;
				before->beside = c;
			}
			before = c;
			last = spec;
		}
		fields_leave(f, back);
	}
}

static void check_charts(struct study *s, struct fields *f)
{
	json_t *charts = field_array(f, s->root, "charts");
	json_t *tables = json_object_get(s->root, "tables"), *t;
	size_t k;

	for (size_t i = 0; i < json_array_size(charts); i++) {
		size_t back = fields_enter(f, "charts", i);
		const char *of = field_string(f, field_element(f, charts, i), "table", NULL);
		bool found = false;

		json_array_foreach(tables, k, t)
		{
			const char *id = json_string_value(json_object_get(t, "id"));

			found |= id && !strcmp(id, of);
		}
		if (!found)
			fields_fail(f, "table", "'%.40s' is the id of no table", of);
		fields_leave(f, back);
	}
}

static void add_tables(struct study *s, struct document *d, struct fields *f)
{
	json_t *tables = field_array(f, s->root, "tables");

	for (size_t i = 0; i < json_array_size(tables); i++) {
		size_t back = fields_enter(f, "tables", i);
		const json_t *spec = field_element(f, tables, i);
		const char *id = field_string(f, spec, "id", NULL);

		remember(spec, document_table(d, study_table(f, spec, d)));
		fields_leave(f, back);
		if (f->status == OK)
			add_charts(s, d, f, id);
	}
}

static void add_curves(struct study *s, struct document *d, struct fields *f)
{
	json_t *curves = field_array(f, s->root, "curves");

	for (size_t i = 0; i < json_array_size(curves); i++) {
		size_t back = fields_enter(f, "curves", i);

		const json_t *spec = field_element(f, curves, i);

		remember(spec, document_chart(d, study_curve(f, spec, d)));
		fields_leave(f, back);
	}
}

bool study_gantt(const struct study *s, size_t i, timeline_reader reader, struct gantt *g)
{
	const json_t *spec = json_array_get(json_object_get(s->root, "gantts"), i);
	const char *title = json_string_value(json_object_get(spec, "title"));
	const char *run = json_string_value(json_object_get(spec, "run"));
	char folder[PATH_MAX];

	*g = (struct gantt){.title = title ? title : "",
			    .run = run ? run : "",
			    .step = (int)json_integer_value(json_object_get(spec, "step")),
			    .simulated = json_is_true(json_object_get(spec, "simulated"))};
	if (reader && run && *s->folder && file_path(folder, s->folder, run, NULL) == OK &&
	    reader(folder, g->step, &g->timeline, NULL) != OK)
		g->timeline.stages = 0;
	return spec != NULL;
}

/* A run that has recorded nothing is not the report's concern. */
static void add_gantts(struct study *s, struct document *d, struct fields *f,
		       timeline_reader reader)
{
	struct gantt g;

	field_array(f, s->root, "gantts");
	for (size_t i = 0; f->status == OK && study_gantt(s, i, reader, &g); i++) {
		if (g.timeline.stages > 0)
			figure_timeline(d, &g.timeline, g.title,
					document_stringf(d, "%s. Step %d of %s.",
							 g.simulated ? "Simulated" : "Measured",
							 g.step, g.run));
		timeline_release(&g.timeline);
	}
}

/* The number of the table, chart or curve of that id; 0: it is not shown. */
static int number_of(const struct study *s, const char *list, const char *id)
{
	size_t i;
	json_t *one;

	json_array_foreach(json_object_get(s->root, list), i, one)
	{
		const char *own = json_string_value(json_object_get(one, "id"));

		if (own && id && !strcmp(own, id))
			return (int)json_integer_value(json_object_get(one, "number"));
	}
	return 0;
}

/* "See table 3 and figures 4, 5." */
static const char *references(const struct study *s, const json_t *answer, struct document *d)
{
	int table = number_of(s, "tables", json_string_value(json_object_get(answer, "table"))),
	    shown = 0;
	const char *figures = "";
	size_t i;
	json_t *one;

	json_array_foreach(json_object_get(answer, "figures"), i, one)
	{
		const char *id = json_string_value(one);
		int figure = number_of(s, "charts", id) + number_of(s, "curves", id);

		if (figure)
			figures = document_stringf(d, "%s%s%d", figures, shown++ ? ", " : "",
						   figure);
	}
	if (!table && !shown)
		return "";
	if (!shown)
		return document_stringf(d, "See table %d.", table);
	figures = document_stringf(d, "figure%s %s", shown > 1 ? "s" : "", figures);
	return table ? document_stringf(d, "See table %d and %s.", table, figures)
		     : document_stringf(d, "See %s.", figures);
}

/* An answer while it is written: paragraphs of a few lines. */
struct writer {
	struct document *d;
	const char *lead; /* of the next paragraph */
	const json_t *parts;
	struct text text;
};

enum { PARAGRAPH = 560 }; /* bytes: six lines or so */

static void end_paragraph(struct writer *w)
{
	if (!w->text.len)
		return;
	document_led(w->d, w->lead, w->text.data);
	w->lead = "";
	w->text.len = 0;
}

static void write_sentence(struct writer *w, const char *sentence)
{
	if (w->text.len && w->text.len + strlen(sentence) > PARAGRAPH)
		end_paragraph(w);
	text_addf(&w->text, "%s%s", w->text.len && *sentence ? " " : "", sentence);
}

/* Has a part before that one said so? */
static bool was_said(const json_t *parts, size_t before, const char *sentence)
{
	for (size_t i = 0; i < before; i++) {
		const json_t *part = json_array_get(parts, i);
		const json_t *sentences = json_object_get(part, "sentences");

		for (size_t k = 0; k < json_array_size(sentences); k++) {
			const char *s = json_string_value(json_array_get(sentences, k));

			if (s && !strcmp(s, sentence))
				return true;
		}
	}
	return false;
}

/* What the rows of one device say. */
static void write_part(struct writer *w, size_t at, const char *verdict, struct fields *f)
{
	static const struct {
		const char *device, *lead;
	} leads[] = {{"real", "On this machine:"}, {"simulated", "Simulated devices:"}};
	const json_t *part = field_element(f, w->parts, at);
	const char *device = field_string(f, part, "device", "");
	const char *own = field_string(f, part, "verdict", "");
	const json_t *sentences = field_array(f, part, "sentences");

	end_paragraph(w);
	w->lead = "";
	for (size_t i = 0; i < ARRAY_SIZE(leads); i++)
		if (!strcmp(leads[i].device, device))
			w->lead = leads[i].lead;
	/* The verdict is said above already, unless this part has another one. */
	if (strcmp(own, verdict))
		write_sentence(w, own);
	for (size_t i = 0; i < json_array_size(sentences); i++) {
		const char *sentence = json_string_value(json_array_get(sentences, i));

		if (sentence && !was_said(w->parts, at, sentence))
			write_sentence(w, sentence);
	}
}

/* Pairs of words: this is that. */
static void add_pairs(const json_t *rows, struct document *d)
{
	struct table *t = table_new(&d->arena, 2, (int)json_array_size(rows));
	size_t i;
	json_t *row;

	if (!t || !json_array_size(rows))
		return;
	t->columns[0].label = "in PyTorch";
	t->columns[1].label = "here";
	json_array_foreach(rows, i, row)
	{
		for (size_t k = 0; k < 2; k++) {
			const char *s = json_string_value(json_array_get(row, k));

			t->rows[i].values[k] = (struct value){
				.present = true, .text = document_string(d, s ? s : "")};
		}
	}
	document_table(d, t);
}

static void add_answers(struct study *s, struct document *d, struct fields *f)
{
	json_t *answers = field_array(f, s->root, "answers");

	for (size_t i = 0; i < json_array_size(answers); i++) {
		size_t back = fields_enter(f, "answers", i);
		json_t *a = field_element(f, answers, i);
		const char *verdict = field_string(f, a, "verdict", NULL);
		struct section section = document_answer(
			d, field_string(f, a, "id", ""), field_string(f, a, "question", ""),
			verdict, field_bool(f, a, "supported", true));
		struct writer w = {.d = d, .lead = "", .parts = field_array(f, a, "parts")};

		if (a)
			json_object_set_new(a, "anchor", json_string(section.anchor));
		text_init(&w.text);
		for (size_t k = 0; k < json_array_size(w.parts); k++)
			write_part(&w, k, verdict, f);
		write_sentence(&w, references(s, a, d));
		end_paragraph(&w);
		text_release(&w.text);
		add_pairs(field_array(f, a, "rows"), d);
		fields_leave(f, back);
	}
}

enum status study_add(struct study *s, struct document *d, timeline_reader reader,
		      struct error *err)
{
	struct fields f = {.where = s->where, .err = err};
	struct text commands;

	add_heading(s, d);
	document_paragraph(d, field_string(&f, s->root, "about", ""));
	document_note(d, field_string(&f, s->root, "reading", ""));
	check_charts(s, &f);
	add_tables(s, d, &f);
	add_curves(s, d, &f);
	add_gantts(s, d, &f, reader);
	add_answers(s, d, &f);
	text_init(&commands);
	commands_add(s, &commands);
	document_fold(d, "Commands", commands.data);
	text_release(&commands);
	return f.status;
}
