/* study_sections.c - a study's part of a report; see study_result.h */
#include "report/study_result.h"
#include "base/file.h"
#include "report/fields.h"
#include "report/figures.h"
#include "report/requirements.h"

#include <string.h>

static void add_heading(struct study *s, struct document *d)
{
	const char *id;
	struct text text;

	s->section = document_heading(d, 2, s->name, s->title);
	text_init(&text);
	for (int i = 0; (id = study_requirement(s, i)); i++) {
		const struct requirement *r = requirement_find(id);

		text_addf(&text, "%s%s%s%s", i ? "; " : "Answers ", id, r ? ": " : "",
			  r ? r->what : "");
	}
	if (text.len)
		text_add(&text, ". ");
	if (study_is_quick(s))
		text_add(&text, "Measured with --quick: fewer cases and repetitions. ");
	if (!study_is_complete(s))
		text_addf(&text, "Stopped before its end: 'kolm study %s' goes on.", s->name);
	document_note(d, text.data);
	text_release(&text);
}

/* Charts follow the table that they are made from. */
static void add_charts(struct study *s, struct document *d, struct fields *f, const char *table)
{
	json_t *charts = field_array(f, s->root, "charts");

	for (size_t i = 0; i < json_array_size(charts); i++) {
		size_t back = fields_enter(f, "charts", i);
		const json_t *spec = field_element(f, charts, i);
		const char *of = json_string_value(json_object_get(spec, "table"));

		if (of && !strcmp(of, table))
			document_chart(d, study_chart(f, s->root, spec, d));
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

		document_table(d, study_table(f, spec, d));
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

		document_chart(d, study_curve(f, field_element(f, curves, i), d));
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
			    .step = (int)json_integer_value(json_object_get(spec, "step"))};
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
			figure_timeline(
				d, &g.timeline, g.title,
				document_stringf(d, "Measured: step %d of %s.", g.step, g.run));
		timeline_release(&g.timeline);
	}
}

static void add_answers(struct study *s, struct document *d, struct fields *f)
{
	json_t *answers = field_array(f, s->root, "answers");

	if (json_array_size(answers))
		document_heading(d, 3, "answers", "Answers");
	for (size_t i = 0; i < json_array_size(answers); i++) {
		size_t back = fields_enter(f, "answers", i);
		const json_t *a = field_element(f, answers, i);

		document_answer(d, field_string(f, a, "question", ""),
				field_string(f, a, "answer", NULL),
				field_bool(f, a, "supported", true));
		fields_leave(f, back);
	}
}

enum status study_add(struct study *s, struct document *d, timeline_reader reader,
		      struct error *err)
{
	struct fields f = {.where = s->where, .err = err};

	add_heading(s, d);
	document_paragraph(d, field_string(&f, s->root, "about", ""));
	check_charts(s, &f);
	add_tables(s, d, &f);
	add_curves(s, d, &f);
	add_gantts(s, d, &f, reader);
	add_answers(s, d, &f);
	if (s->commands && *s->commands) {
		document_heading(d, 3, "commands", "Commands");
		document_code(d, s->commands);
	}
	return f.status;
}
