/* bottleneck.c - see bottleneck.h */
#include "study/bottleneck.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loss {
	const char *what;
	const struct row *row;
	double ms, share;
};

static const struct {
	const char *what, *key;
} parts[] = {
	{"exposed communication", "comm_ms"},
	{"pipeline bubble", "bubble_ms"},
	{"waiting for slower ranks", "imbalance_ms"},
	{"overhead and injected sleeps", "other_ms"},
};

static const char *const devices[] = {"real", "simulated"};

static int by_share(const void *a, const void *b)
{
	double x = ((const struct loss *)a)->share, y = ((const struct loss *)b)->share;

	return (x < y) - (x > y);
}

static struct loss find_worst(const struct results *r, size_t part, const char *device)
{
	struct loss worst = {.what = parts[part].what};

	for (int i = 0; i < r->count; i++) {
		const struct row *row = &r->rows[i];
		double ms = row_value(r, row, parts[part].key);
		double share = ms / row_value(r, row, "step_mean_ms");
		const char *own = row_cell(r, row, "device")->text;

		if (own && !strcmp(own, device) && share > worst.share) {
			worst.row = row;
			worst.ms = ms;
			worst.share = share;
		}
	}
	return worst;
}

/* "ranks 4, model small, real" */
static void describe(const struct results *r, const struct row *row, struct text *out)
{
	for (int i = 0; i < row->run_case->axis_count; i++) {
		const struct axis_value *a = &row->run_case->axes[i];

		text_addf(out, "%s %s, ",
			  r->columns->list[columns_find(r->columns, a->axis)].label, a->text);
	}
	text_addf(out, "%s%s", place_names[row->run_case->place],
		  row_value(r, row, "oversubscribed") == 1 ? " (shared cores)" : "");
}

void bottlenecks_put(const struct results *r, struct json *j)
{
	struct loss all[ARRAY_SIZE(parts) * ARRAY_SIZE(devices)];
	struct text where;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = find_worst(r, i % ARRAY_SIZE(parts), devices[i / ARRAY_SIZE(parts)]);
	qsort(all, ARRAY_SIZE(all), sizeof(all[0]), by_share);
	json_begin_array(j, "bottlenecks");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (!all[i].row || all[i].share < 0.05)
			continue;
		text_init(&where);
		describe(r, all[i].row, &where);
		json_begin_object(j, NULL);
		json_put_string(j, "what", all[i].what);
		json_put_string(j, "where", where.data);
		json_put_double(j, "ms", all[i].ms);
		json_put_double(j, "share", all[i].share);
		json_end_object(j);
		text_release(&where);
	}
	json_end_array(j);
}
