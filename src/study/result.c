/* result.c - see result.h */
#include "study/result.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/version.h"
#include "study/bottleneck.h"
#include "study/runner.h"
#include "study/tree.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

enum { CURVE_MAX = 64 << 20, TIMELINE_STEPS = 8 };

/* What follows key in the first line of a system file that begins with it. */
static void read_fact(const char *path, const char *key, const char *marks, char *buf,
		      size_t size)
{
	char line[512], *value;
	FILE *f = fopen(path, "re");

	snprintf(buf, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		value = line + strlen(key);
		value += strspn(value, marks);
		value[strcspn(value, "\"\n")] = '\0';
		if (text_is_utf8(value))
			snprintf(buf, size, "%s", value);
		break;
	}
	if (f)
		fclose(f);
}

static void put_machine(struct json *j)
{
	char cpu[256], os[256], text[600], date[32];
	time_t now = time(NULL);
	struct utsname kernel;
	cpu_set_t cores;
	struct tm local;

	read_fact("/proc/cpuinfo", "model name", "\t :", cpu, sizeof(cpu));
	read_fact("/etc/os-release", "PRETTY_NAME", "=\"", os, sizeof(os));
	json_begin_object(j, "machine");
	json_put_string(j, "cpu", cpu);
	json_put_int(j, "cores",
		     sched_getaffinity(0, sizeof(cores), &cores) ? 1 : CPU_COUNT(&cores));
	json_put_int(j, "memory_bytes", (int64_t)machine_memory());
	snprintf(text, sizeof(text), "%s, Linux %s", os, uname(&kernel) ? "" : kernel.release);
	json_put_string(j, "os", text);
	json_put_string(j, "kolm", "" KOLM_VERSION " (compiler " __VERSION__ ")");
	strftime(date, sizeof(date), "%Y-%m-%d", localtime_r(&now, &local));
	json_put_string(j, "date", date);
	json_end_object(j);
}

/* The lines that the first run of a case has written, one per step; NULL: none. */
static char *read_metrics(const struct result *r, const struct row *row)
{
	char path[PATH_MAX], folder[PATH_MAX], *bytes = NULL;
	size_t size;

	if (runner_folder(r->folder, row->run_case, 0, folder, NULL) != OK ||
	    file_path(path, folder, "metrics.jsonl", NULL) != OK ||
	    file_read(path, CURVE_MAX, &bytes, &size, NULL) != OK)
		return NULL;
	return bytes;
}

static void put_series(const struct result *r, const json_t *curve, const struct row *row,
		       struct json *j)
{
	const char *y = json_string_value(json_object_get(curve, "y"));
	char name[256], *bytes = read_metrics(r, row), *rest, *line;

	if (!bytes)
		return;
	row_text(&r->tables->by_case, row, json_string_value(json_object_get(curve, "label")),
		 name, sizeof(name));
	json_begin_object(j, NULL);
	json_put_string(j, "name", name);
	json_begin_array(j, "points");
	rest = bytes;
	while ((line = strsep(&rest, "\n")) && *line) {
		json_t *step = json_loads(line, 0, NULL);
		const json_t *value = json_object_get(step, y);

		if (json_is_number(value)) {
			json_begin_array(j, NULL);
			json_put_int(j, NULL,
				     json_integer_value(json_object_get(step, "step")));
			json_put_double(j, NULL, json_number_value(value));
			json_end_array(j);
		}
		json_decref(step);
	}
	json_end_array(j);
	json_end_object(j);
	free(bytes);
}

static void put_curve(const struct result *r, const json_t *curve, struct json *j)
{
	const struct results *cases = &r->tables->by_case;
	const char *label = json_string_value(json_object_get(curve, "y_label"));
	const char *y = json_string_value(json_object_get(curve, "y"));

	json_begin_object(j, NULL);
	json_put_string(j, "id", json_string_value(json_object_get(curve, "id")));
	json_put_string(j, "title", json_string_value(json_object_get(curve, "title")));
	json_put_string(j, "x_label", "step");
	json_put_string(j, "y_label", label ? label : y);
	json_put_bool(j, "log_y", json_is_true(json_object_get(curve, "log_y")));
	json_begin_array(j, "series");
	for (int i = 0; i < cases->count; i++)
		if (cases->rows[i].good &&
		    row_matches(cases, &cases->rows[i], json_object_get(curve, "where")))
			put_series(r, curve, &cases->rows[i], j);
	json_end_array(j);
	json_end_object(j);
}

/* Of the last steps, of which there is a timeline, the one nearest to the median. */
static int64_t typical_step(const struct result *r, const struct row *row)
{
	const struct results *cases = &r->tables->by_case;
	double median = row_value(cases, row, "step_ms"), nearest = INFINITY;
	int64_t last = (int64_t)row_value(cases, row, "steps") - 1, typical = last;
	char *bytes = read_metrics(r, row), *rest = bytes, *line;

	while (rest && (line = strsep(&rest, "\n")) && *line) {
		json_t *step = json_loads(line, 0, NULL);
		int64_t number = json_integer_value(json_object_get(step, "step"));
		double ms = json_number_value(json_object_get(step, "step_ms"));

		if (number > last - TIMELINE_STEPS && fabs(ms - median) < nearest) {
			nearest = fabs(ms - median);
			typical = number;
		}
		json_decref(step);
	}
	free(bytes);
	return typical;
}

/* The first run that it is about. */
static void put_gantt(const struct result *r, const json_t *gantt, struct json *j)
{
	const struct results *cases = &r->tables->by_case;

	for (int i = 0; i < cases->count; i++) {
		const struct row *row = &cases->rows[i];
		char run[PATH_MAX];

		if (!row->good || !row_matches(cases, row, json_object_get(gantt, "where")))
			continue;
		snprintf(run, sizeof(run), "runs/%s-1", row->run_case->name);
		json_begin_object(j, NULL);
		json_put_string(j, "title", json_string_value(json_object_get(gantt, "title")));
		json_put_string(j, "run", run);
		json_put_int(j, "step", typical_step(r, row));
		json_put_bool(j, "simulated", row->run_case->place == PLACE_VIRTUAL);
		json_end_object(j);
		return;
	}
}

static void put_lists(const struct result *r, struct json *j)
{
	const json_t *root = r->tables->study->root, *list;

	json_begin_array(j, "tables");
	list = json_object_get(root, "tables");
	for (size_t i = 0; i < json_array_size(list); i++)
		table_put_json(r->tables, json_array_get(list, i), j);
	json_end_array(j);
	json_begin_array(j, "charts");
	list = json_object_get(root, "charts");
	for (size_t i = 0; i < json_array_size(list); i++)
		tree_put(j, NULL, json_array_get(list, i));
	json_end_array(j);
	json_begin_array(j, "curves");
	list = json_object_get(root, "curves");
	for (size_t i = 0; i < json_array_size(list); i++)
		put_curve(r, json_array_get(list, i), j);
	json_end_array(j);
	json_begin_array(j, "gantts");
	list = json_object_get(root, "gantts");
	for (size_t i = 0; i < json_array_size(list); i++)
		put_gantt(r, json_array_get(list, i), j);
	json_end_array(j);
}

static enum status write_document(const struct result *r, struct error *err)
{
	const struct study *s = r->tables->study;
	const json_t *requirements = json_object_get(s->root, "requirements");
	char path[PATH_MAX];
	struct text about;
	struct json j;
	enum status st;

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_string(&j, "schema", "kolm.study/2");
	json_put_string(&j, "name", s->name);
	json_put_string(&j, "title", s->title);
	json_begin_array(&j, "requirements");
	for (size_t i = 0; i < json_array_size(requirements); i++)
		tree_put(&j, NULL, json_array_get(requirements, i));
	json_end_array(&j);
	text_init(&about);
	plan_add_text(r->tables->plan, s->about, &about);
	json_put_string(&j, "about", about.data);
	text_release(&about);
	text_init(&about);
	tables_add_reading(r->tables, &about);
	json_put_string(&j, "reading", about.data);
	text_release(&about);
	json_put_bool(&j, "quick", r->quick);
	json_put_bool(&j, "complete", r->complete);
	put_machine(&j);
	put_lists(r, &j);
	tree_put(&j, "answers", r->answers);
	bottlenecks_put(&r->tables->by_case, &j);
	json_end_object(&j);
	TRY(file_path(path, r->folder, "result.json", err));
	TRY(json_write_file(&j, path, err));
out:
	json_release(&j);
	return st;
}

static enum status write_table(const struct result *r, const json_t *table, const char *ending,
			       void (*add)(const struct tables *, const json_t *,
					   struct text *),
			       struct error *err)
{
	char path[PATH_MAX], name[STUDY_NAME_MAX + 8];
	struct text text;
	enum status st;

	text_init(&text);
	add(r->tables, table, &text);
	snprintf(name, sizeof(name), "%s.%s", json_string_value(json_object_get(table, "id")),
		 ending);
	TRY(file_path(path, r->folder, name, err));
	if (text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory for %s", path);
	else
		st = file_write_whole(path, text.data, text.len, err);
out:
	text_release(&text);
	return st;
}

enum status result_write(const struct result *r, struct error *err)
{
	const json_t *tables = json_object_get(r->tables->study->root, "tables");
	enum status st;

	for (size_t i = 0; i < json_array_size(tables); i++) {
		const json_t *table = json_array_get(tables, i);

		TRY(write_table(r, table, "csv", table_add_csv, err));
		TRY(write_table(r, table, "md", table_add_markdown, err));
	}
	TRY(write_document(r, err));
out:
	return st;
}

/* Line by line, with control characters escaped: titles and cells are the study's own. */
static void print_lines(char *text)
{
	struct text shown;
	char *line;

	text_init(&shown);
	while ((line = strsep(&text, "\n"))) {
		text_add_printable(&shown, line);
		if (text)
			text_add(&shown, "\n");
	}
	fputs(shown.data, stdout);
	text_release(&shown);
}

static const char *string_of(const json_t *object, const char *name)
{
	const char *s = json_string_value(json_object_get(object, name));

	return s ? s : "";
}

static void add_answer(struct text *out, const json_t *answer)
{
	const json_t *parts = json_object_get(answer, "parts");
	const char *verdict = string_of(answer, "verdict");

	text_addf(out, "%s  %s\n  %s\n", string_of(answer, "id"), string_of(answer, "question"),
		  verdict);
	for (size_t i = 0; i < json_array_size(parts); i++) {
		const json_t *part = json_array_get(parts, i);
		const json_t *sentences = json_object_get(part, "sentences");
		const char *device = string_of(part, "device");

		text_addf(out, "  %s%s", device, *device ? ":" : "");
		if (strcmp(string_of(part, "verdict"), verdict))
			text_addf(out, " %s", string_of(part, "verdict"));
		for (size_t k = 0; k < json_array_size(sentences); k++)
			text_addf(out, " %s", json_string_value(json_array_get(sentences, k)));
		text_add(out, "\n");
	}
	text_add(out, "\n");
}

void result_print(const struct result *r)
{
	const json_t *tables = json_object_get(r->tables->study->root, "tables");
	struct text text;

	text_init(&text);
	text_addf(&text, "%s%s\n", r->tables->study->title, r->quick ? " (quick)" : "");
	plan_add_text(r->tables->plan, r->tables->study->about, &text);
	text_add(&text, "\n\n");
	for (size_t i = 0; i < json_array_size(tables); i++)
		table_add_text(r->tables, json_array_get(tables, i), &text);
	tables_add_reading(r->tables, &text);
	text_add(&text, "\n\n");
	for (size_t i = 0; i < json_array_size(r->answers); i++)
		add_answer(&text, json_array_get(r->answers, i));
	text_add(&text, "\n");
	print_lines(text.data);
	text_release(&text);
}
