/* plan_validate.c - kolm plan --validate: predictions of a table against what was measured. */
#include "cmd/plan.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "plan/errors.h"
#include "plan/forecast.h"
#include "plan/setups.h"
#include "plan/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double GIB = 1024.0 * 1024 * 1024;

/* A row and what is said of it. Errors are shares of what was measured; NAN: was not. */
struct judged {
	double ms, gib, ms_error, gib_error;
	struct forecast forecast;
};

static double share(double predicted, double measured)
{
	return predicted / measured - 1; /* NAN stays NAN */
}

/* The clusters that rows name are found once each, as long as rows of one follow each other. */
static enum status judge(const struct plan_settings *o, const struct setups *t,
			 struct judged *judged, struct error *err)
{
	struct cluster cluster;
	const char *found = NULL;
	enum status st = OK;

	for (int i = 0; i < t->count; i++) {
		const struct setups_row *row = &t->rows[i];
		const char *name = *o->cluster ? o->cluster : row->cluster;
		struct judged *j = &judged[i];

		j->ms = j->gib = j->ms_error = j->gib_error = NAN;
		if (*row->problem)
			continue;
		if (!found || strcmp(found, name)) {
			TRY(cluster_find(&cluster, name, err));
			if (strcmp(cluster.name, name) && !strpbrk(name, "./"))
				log_info("cluster %s is not known: %s stands for it", name,
					 cluster.name);
			TRY(cluster_set(&cluster, o->set, err));
		}
		found = name;
		TRY(forecast_make(&j->forecast, &row->setup, &cluster, err));
		TRY(simulate_step(&j->ms, &j->forecast, &row->setup, &cluster, err));
		j->ms = 1e3 * (isnan(j->ms) ? j->forecast.step : j->ms);
		j->gib = j->forecast.memory / GIB;
		j->ms_error = share(j->ms, row->iter_ms);
		j->gib_error = share(j->gib, row->mem_gib);
	}
out:
	return st;
}

static void sum_up(const struct setups *t, const struct judged *judged, struct errors *time,
		   struct errors *memory)
{
	*time = *memory = (struct errors){.count = 0};
	for (int i = 0; i < t->count; i++) {
		errors_add(time, judged[i].ms_error);
		errors_add(memory, judged[i].gib_error);
	}
}

/* NAN is written as null. */
static void put_errors(struct json *j, const struct errors *e, const char *prefix)
{
	char name[64];

#define PUT(member, value) \
	(snprintf(name, sizeof(name), "%s%s", prefix, member), json_put_double(j, name, value))
	PUT("mean_abs_error", errors_mean(e));
	PUT("max_abs_error", e->count ? e->max : NAN);
	PUT("bias", errors_bias(e));
#undef PUT
}

static void put_row(struct json *j, const struct setups_row *row, const struct judged *judged)
{
	const struct setup *s = &row->setup;

	json_begin_object(j, NULL);
	json_put_int(j, "line", row->line);
	json_put_string(j, "cluster", row->cluster);
	json_put_string(j, "model", row->model);
	json_put_int(j, "dp", s->dp);
	json_put_int(j, "tp", s->tp);
	json_put_int(j, "pp", s->pp);
	json_put_double(j, "predicted_ms", judged->ms);
	json_put_double(j, "measured_ms", row->iter_ms);
	json_put_double(j, "error", judged->ms_error);
	json_put_double(j, "bubble", *row->problem ? NAN : forecast_bubble(&judged->forecast));
	json_put_double(j, "predicted_mem_gib", judged->gib);
	json_put_double(j, "measured_mem_gib", row->mem_gib);
	json_put_double(j, "mem_error", judged->gib_error);
	if (*row->problem)
		json_put_string(j, "problem", row->problem);
	json_end_object(j);
}

static void put_json(struct json *j, const struct setups *t, const struct judged *judged)
{
	struct errors time, memory;

	sum_up(t, judged, &time, &memory);
	json_begin_object(j, NULL);
	json_put_int(j, "measured", time.count);
	put_errors(j, &time, "");
	json_put_int(j, "mem_measured", memory.count);
	put_errors(j, &memory, "mem_");
	json_begin_array(j, "rows");
	for (int i = 0; i < t->count; i++)
		put_row(j, &t->rows[i], &judged[i]);
	json_end_array(j);
	json_end_object(j);
}

/* A number with its unit, or a dash. */
static void add_number(struct text *out, int width, const char *format, double value)
{
	char buf[48];

	if (isnan(value))
		snprintf(buf, sizeof(buf), "-");
	else if (*format == '%')
		snprintf(buf, sizeof(buf), "%+.1f %%", value * 100);
	else
		snprintf(buf, sizeof(buf), "%.*f", *format - '0', value);
	text_addf(out, " %*s", width, buf);
}

static void add_row(struct text *out, const struct setups_row *row, const struct judged *judged)
{
	const struct setup *s = &row->setup;

	if (*row->problem)
		return;
	text_addf(out, "%5lld  %-14.14s %4d %4d %4d %5d %-9s %2s", row->line,
		  *row->model ? row->model : row->cluster, s->dp, s->tp, s->pp, s->micro_batch,
		  setup_recompute_names[s->recompute], s->sequence_parallel ? "sp" : "");
	add_number(out, 11, "1", judged->ms);
	add_number(out, 11, "1", row->iter_ms);
	add_number(out, 8, "%", judged->ms_error);
	add_number(out, 7, "2", judged->gib);
	add_number(out, 7, "2", row->mem_gib);
	add_number(out, 8, "%", judged->gib_error);
	text_add(out, "\n");
}

static void add_errors(struct text *out, const char *what, const struct errors *e)
{
	if (e->count)
		text_addf(out,
			  "%s: %d measured, mean error %.2f %%, max %.2f %%, bias %+.2f %%\n",
			  what, e->count, errors_mean(e) * 100, e->max * 100,
			  errors_bias(e) * 100);
}

static void print_text(struct text *out, const struct setups *t, const struct judged *judged)
{
	struct errors time, memory;

	if (t->problems == t->count)
		return;
	text_addf(out, "%5s  %-14s %4s %4s %4s %5s %-12s %11s %11s %8s %7s %7s %8s\n", "line",
		  "model", "dp", "tp", "pp", "micro", "recompute", "predicted", "measured",
		  "error", "GiB", "meas.", "error");
	for (int i = 0; i < t->count; i++)
		add_row(out, &t->rows[i], &judged[i]);
	text_add(out, "\n");
	sum_up(t, judged, &time, &memory);
	add_errors(out, "time", &time);
	errors_add_groups(out, t, &judged->ms_error, sizeof(*judged));
	add_errors(out, "memory", &memory);
}

/* Of rows that were left out the first is the error, behind what could be said of the others.
 */
static enum status tell_problems(const struct setups *t, struct error *err)
{
	bool first = true;

	for (int i = 0; i < t->count; i++) {
		if (!*t->rows[i].problem)
			continue;
		if (first)
			FAIL(err, ERR_USAGE, "%s", t->rows[i].problem);
		else
			log_warn("%s", t->rows[i].problem);
		first = false;
	}
	if (t->problems < t->count)
		HINT(err, "%d of %d rows were left out", t->problems, t->count);
	return ERR_USAGE;
}

enum status plan_validate(const struct plan_settings *o, struct error *err)
{
	struct setups table = {.rows = NULL};
	struct judged *judged = NULL;
	struct json json;
	char *bytes = NULL;
	size_t size;
	enum status st;

	json_init(&json, true);
	TRY(file_read(o->validate, SETUPS_FILE_MAX, &bytes, &size, err));
	TRY(setups_read(&table, bytes, size, o->validate, err));
	judged = calloc((size_t)table.count, sizeof(*judged));
	if (!judged) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d rows", table.count);
		goto out;
	}
	TRY(judge(o, &table, judged, err));
	if (o->as_json)
		put_json(&json, &table, judged);
	else
		print_text(&json.text, &table, judged);
	if (json.text.failed)
		st = FAIL(err, ERR_MEMORY, "no memory to show %d rows", table.count);
	else
		fputs(json.text.data, stdout);
	if (st == OK && table.problems)
		st = tell_problems(&table, err);
out:
	json_release(&json);
	free(judged);
	free(bytes);
	setups_release(&table);
	return st;
}
