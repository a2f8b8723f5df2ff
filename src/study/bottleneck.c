/* bottleneck.c - see bottleneck.h */
#include "study/bottleneck.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loss {
	int part;
	const struct row *row;
	double ms, share;
};

/* What costs time, why, and what helps. Not every study has all of these columns. */
static const struct {
	const char *what, *key, *cause, *remedy;
} parts[] = {
	{"exposed communication", "comm_ms",
	 "gradients and activations travel when there is nothing left to compute",
	 "more samples per rank, smaller buckets (--bucket-mb), 16-bit gradients, a faster link"},
	{"the pipeline's bubble", "bubble_ms",
	 "stages have nothing to do while the pipeline fills and drains",
	 "more micro-batches, --schedule zb-h1 or interleaved, fewer stages"},
	{"waiting for slower ranks", "imbalance_ms",
	 "ranks come to a sum at different times, and it ends with the last one",
	 "equal stages (--layers-per-stage), pinned ranks, nothing else on the machine"},
	{"compute that does not shrink with the ranks", "more_compute_ms",
	 "every rank updates all weights, and its products have fewer rows",
	 "sharded updates (--zero 1), larger batches, model or pipeline parallel ranks"},
	{"overhead between operations", "other_ms",
	 "what a step does besides products, sums and messages",
	 "larger micro-batches, so that there are fewer and longer operations"},
};

static const char *const devices[] = {"real", "simulated"};

static int by_share(const void *a, const void *b)
{
	double x = ((const struct loss *)a)->share, y = ((const struct loss *)b)->share;

	return (x < y) - (x > y);
}

static bool option_is(const struct run_case *c, const char *name, const char *value)
{
	const char *own = json_string_value(json_object_get(c->options, name));

	return own && !strcmp(own, value);
}

/* Is it the engine that is seen here? Not trouble that was put in, nor a baseline, nor
   ranks that shared cores. */
static bool shows_engine(const struct results *r, const struct row *row)
{
	const struct run_case *c = row->run_case;

	return row->good && !json_object_get(c->options, "inject") &&
	       !option_is(c, "engine", "base") && !option_is(c, "schedule", "naive") &&
	       !option_is(c, "grad-sync", "master") && row_value(r, row, "oversubscribed") != 1;
}

static struct loss find_worst(const struct results *r, int part, const char *device)
{
	struct loss worst = {.part = part};
	bool known = columns_find(r->columns, parts[part].key) >= 0;

	for (int i = 0; i < r->count && known; i++) {
		const struct row *row = &r->rows[i];
		double ms = row_value(r, row, parts[part].key);
		double share = ms / row_value(r, row, "step_mean_ms");
		const char *own = row_cell(r, row, "device")->text;

		if (own && !strcmp(own, device) && shows_engine(r, row) &&
		    share > worst.share) {
			worst.row = row;
			worst.ms = ms;
			worst.share = share;
		}
	}
	return worst;
}

/* "ranks 4, model small, simulated" */
static void describe(const struct results *r, const struct row *row, struct text *out)
{
	for (int i = 0; i < row->run_case->axis_count; i++) {
		const struct axis_value *a = &row->run_case->axes[i];

		text_addf(out, "%s %s, ",
			  r->columns->list[columns_find(r->columns, a->axis)].label, a->text);
	}
	text_add(out, row->run_case->place == PLACE_VIRTUAL ? "simulated" : "this machine");
}

void bottlenecks_put(const struct results *r, struct json *j)
{
	struct loss all[ARRAY_SIZE(parts) * ARRAY_SIZE(devices)];
	struct text where;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = find_worst(r, (int)(i % ARRAY_SIZE(parts)),
				    devices[i / ARRAY_SIZE(parts)]);
	qsort(all, ARRAY_SIZE(all), sizeof(all[0]), by_share);
	json_begin_array(j, "bottlenecks");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!all[i].row || all[i].share < 0.05)
			continue;
		text_init(&where);
		describe(r, all[i].row, &where);
		json_begin_object(j, NULL);
		json_put_string(j, "what", parts[all[i].part].what);
		json_put_string(j, "cause", parts[all[i].part].cause);
		json_put_string(j, "remedy", parts[all[i].part].remedy);
		json_put_string(j, "where", where.data);
		json_put_bool(j, "simulated", all[i].row->run_case->place == PLACE_VIRTUAL);
		json_put_double(j, "ms", all[i].ms);
		json_put_double(j, "share", all[i].share);
		json_end_object(j);
		text_release(&where);
	}
	json_end_array(j);
}
