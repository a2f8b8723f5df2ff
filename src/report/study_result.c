/* study_result.c - see study_result.h */
#include "report/study_result.h"
#include "base/file.h"
#include "base/util.h"
#include "report/fields.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESULT_MAX = 256 << 20, COMMANDS_MAX = 4 << 20, SUMMARY_MAX = 16 << 20 };

static struct fields fields_of(const struct study *s, struct error *err)
{
	return (struct fields){.where = s->where, .err = err};
}

/* What every section needs; the rest is checked where it is used. */
static void check(struct study *s, struct fields *f)
{
	const char *schema = field_string(f, s->root, "schema", NULL);
	json_t *requirements = field_array(f, s->root, "requirements"), *r;
	size_t i;

	if (f->status == OK && strcmp(schema, "kolm.study/2"))
		fields_fail(f, "schema", "is '%.40s', not kolm.study/2", schema);
	s->name = field_string(f, s->root, "name", NULL);
	s->title = field_string(f, s->root, "title", s->name);
	field_string(f, s->root, "about", "");
	field_bool(f, s->root, "quick", false);
	field_bool(f, s->root, "complete", true);
	field_object(f, s->root, "machine");
	json_array_foreach(requirements, i, r)
	{
		if (!json_is_string(r))
			fields_fail(f, "requirements", "has an element that is not a string");
	}
}

enum status study_parse(struct study *s, const char *bytes, size_t size, const char *where,
			struct error *err)
{
	struct fields f;

	*s = (struct study){.name = "", .title = ""};
	snprintf(s->where, sizeof(s->where), "%s", where);
	f = fields_of(s, err);
	s->root = fields_parse(&f, bytes, size);
	if (s->root)
		check(s, &f);
	if (f.status != OK)
		study_release(s);
	return f.status;
}

enum status study_read(struct study *s, const char *folder, struct error *err)
{
	enum status st;
	char path[PATH_MAX], *bytes = NULL;
	size_t size;

	*s = (struct study){.name = "", .title = ""};
	TRY(file_path(path, folder, "result.json", err));
	TRY(file_read(path, RESULT_MAX, &bytes, &size, err));
	TRY(study_parse(s, bytes, size, path, err));
	snprintf(s->folder, sizeof(s->folder), "%s", folder);
	/* A result without its commands can still be shown. */
	if (file_path(path, folder, "commands.txt", NULL) == OK)
		file_read(path, COMMANDS_MAX, &s->commands, &size, NULL);
out:
	free(bytes);
	return st;
}

void study_release(struct study *s)
{
	json_decref(s->root);
	free(s->commands);
	*s = (struct study){.name = "", .title = ""};
}

const char *study_requirement(const struct study *s, int i)
{
	return json_string_value(
		json_array_get(json_object_get(s->root, "requirements"), (size_t)i));
}

bool study_is_quick(const struct study *s)
{
	return json_is_true(json_object_get(s->root, "quick"));
}

bool study_is_complete(const struct study *s)
{
	return !json_is_false(json_object_get(s->root, "complete"));
}

void study_count(const struct study *s, int *rows, int *failed)
{
	size_t i, k;
	json_t *table, *row;

	*rows = *failed = 0;
	json_array_foreach(json_object_get(s->root, "tables"), i, table)
	{
		json_array_foreach(json_object_get(table, "rows"), k, row)
		{
			++*rows;
			*failed += json_is_string(json_object_get(row, "failed"));
		}
	}
}

bool study_answer(const struct study *s, size_t i, struct answer *a)
{
	const json_t *o = json_array_get(json_object_get(s->root, "answers"), i);
	const char *id = json_string_value(json_object_get(o, "id"));
	const char *question = json_string_value(json_object_get(o, "question"));
	const char *verdict = json_string_value(json_object_get(o, "verdict"));
	const char *anchor = json_string_value(json_object_get(o, "anchor"));

	*a = (struct answer){.id = id ? id : "",
			     .question = question ? question : "",
			     .verdict = verdict ? verdict : "",
			     .anchor = anchor,
			     .supported = !json_is_false(json_object_get(o, "supported"))};
	return o != NULL;
}

bool study_bottleneck(const struct study *s, size_t i, struct bottleneck *b)
{
	const json_t *o = json_array_get(json_object_get(s->root, "bottlenecks"), i);
	const json_t *ms = json_object_get(o, "ms"), *share = json_object_get(o, "share");
	const char *what = json_string_value(json_object_get(o, "what"));
	const char *where = json_string_value(json_object_get(o, "where"));
	const char *cause = json_string_value(json_object_get(o, "cause"));
	const char *remedy = json_string_value(json_object_get(o, "remedy"));

	if (!o)
		return false;
	*b = (struct bottleneck){
		.what = what ? what : "",
		.where = where ? where : "",
		.cause = cause ? cause : "",
		.remedy = remedy ? remedy : "",
		.simulated = json_is_true(json_object_get(o, "simulated")),
		.study = s,
		.ms = json_is_number(ms) ? json_number_value(ms) : NAN,
		.share = json_is_number(share) ? json_number_value(share) : NAN,
	};
	return true;
}

static bool grid_of_summary(const char *path, struct grid *g)
{
	char *bytes = NULL;
	size_t size;
	json_t *root, *o;

	if (file_read(path, SUMMARY_MAX, &bytes, &size, NULL) != OK)
		return false;
	root = json_loadb(bytes, size, 0, NULL);
	o = json_object_get(root, "grid");
	*g = (struct grid){(int)json_integer_value(json_object_get(o, "dp")),
			   (int)json_integer_value(json_object_get(o, "pp")),
			   (int)json_integer_value(json_object_get(o, "mp"))};
	json_decref(root);
	free(bytes);
	return g->dp > 0 && g->pp > 0 && g->mp > 0 && g->dp <= RANKS_MAX &&
	       g->pp <= RANKS_MAX / g->dp && g->mp <= RANKS_MAX / g->dp / g->pp;
}

/* Of two grids of a size, the one with more directions says more. */
static int directions(const struct grid *g)
{
	return (g->dp > 1) + (g->pp > 1) + (g->mp > 1);
}

bool grid_says_more(const struct grid *g, int limit, const struct grid *best)
{
	if (grid_size(g) > limit)
		return false;
	if (directions(g) != directions(best))
		return directions(g) > directions(best);
	return grid_size(g) > grid_size(best);
}

bool study_largest_grid(const struct study *s, int limit, struct grid *best)
{
	char runs[PATH_MAX], run[PATH_MAX], path[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *folder;

	if (!*s->folder || file_path(runs, s->folder, "runs", NULL) != OK)
		return false;
	folder = opendir(runs);
	while (folder && (entry = readdir(folder))) {
		struct grid g;

		if (entry->d_name[0] == '.' ||
		    file_path(run, runs, entry->d_name, NULL) != OK ||
		    file_path(path, run, "summary.json", NULL) != OK ||
		    !grid_of_summary(path, &g))
			continue;
		if (grid_says_more(&g, limit, best)) {
			*best = g;
			found = true;
		}
	}
	if (folder)
		closedir(folder);
	return found;
}

struct table *study_machine(const struct study *s, struct document *d)
{
	static const struct {
		const char *key, *name;
		enum column_kind kind;
	} known[] = {{"cpu", "processor", COLUMN_TEXT},
		     {"cores", "cores", COLUMN_INTEGER},
		     {"memory_bytes", "memory", COLUMN_BYTES},
		     {"os", "system", COLUMN_TEXT},
		     {"kolm", "kolm", COLUMN_TEXT},
		     {"date", "measured on", COLUMN_TEXT}};
	const json_t *machine = json_object_get(s->root, "machine");
	struct table *t = table_new(&d->arena, ARRAY_SIZE(known), 1);

	if (!t || !json_object_size(machine))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const json_t *value = json_object_get(machine, known[i].key);
		struct value *v = &t->rows[0].values[i];

		t->columns[i] = (struct column){known[i].name, "", known[i].kind, -1};
		v->present = known[i].kind == COLUMN_TEXT ? json_is_string(value)
							  : json_is_number(value);
		v->number = json_number_value(value);
		if (json_is_string(value))
			v->text = document_string(d, json_string_value(value));
	}
	table_drop_empty(t);
	return t->column_count ? t : NULL;
}
