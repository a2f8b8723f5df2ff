/* compare.c - see compare.h */
#include "trace/compare.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STANDS_OUT 0.01 /* how much longer than anybody else */

static enum status check_step(const struct trace *t, int step, struct error *err)
{
	if (step >= t->first_step && step <= t->last_step)
		return OK;
	FAIL(err, ERR_USAGE, "step %d is not in the timeline", step);
	return HINT(err, "it has steps %d to %d; kolm train --trace N keeps the last N",
		    t->first_step, t->last_step);
}

/* The ranks whose rows are drawn. */
static enum status choose_rows(struct comparison *c, const struct trace *t, bool all, int rows,
			       struct error *err)
{
	c->rows = calloc((size_t)grid_size(&t->grid), sizeof(*c->rows));
	if (!c->rows)
		return FAIL(err, ERR_MEMORY, "no memory for %d rows", grid_size(&t->grid));
	for (int i = 0; i < rows; i++)
		c->rows[i] = all ? i : grid_rank(&t->grid, (struct coords){.pp = i});
	return OK;
}

static struct time_account mean_over_ranks(const struct trace *t, int step)
{
	struct time_account sum = {0};
	int n = grid_size(&t->grid);

	for (int rank = 0; rank < n; rank++) {
		struct time_account a = account_of(t, rank, step);

		sum.total += a.total / n;
		sum.compute += a.compute / n;
		sum.messages += a.messages / n;
		sum.waiting += a.waiting / n;
		sum.pause += a.pause / n;
		sum.other += a.other / n;
	}
	return sum;
}

/* The stage, or where there is one only the rank, that is busy longest, on purpose or not. */
static enum status find_slowest(struct comparison *c, const struct trace *t, struct error *err)
{
	int ranks = grid_size(&t->grid), groups = t->grid.pp > 1 ? t->grid.pp : ranks;
	double *ms = calloc((size_t)groups, sizeof(*ms));
	double mean = 0, slowest = 0, second = 0;

	if (!ms)
		return FAIL(err, ERR_MEMORY, "no memory for %d stages", groups);
	c->slowest = -1;
	for (int rank = 0; rank < ranks; rank++) {
		int group = groups == ranks ? rank : grid_coords(&t->grid, rank).pp;
		struct time_account a = account_of(t, rank, c->step);
		double own = a.compute + a.pause;

		ms[group] += own * groups / ranks;
		mean += own / ranks;
	}
	for (int i = 0; i < groups; i++) {
		second = fmax(second, fmin(ms[i], slowest));
		if (ms[i] > slowest)
			c->slowest = i;
		slowest = fmax(slowest, ms[i]);
	}
	if (groups == 1 || slowest < second * (1 + STANDS_OUT))
		c->slowest = -1;
	else
		c->excess = slowest / mean - 1;
	free(ms);
	return OK;
}

enum status compare_step(struct comparison *c, const struct trace *t, int step, bool all_ranks,
			 struct error *err)
{
	struct profile profile = {0};
	int rows = all_ranks ? grid_size(&t->grid) : t->grid.pp;
	enum status st;

	*c = (struct comparison){.step = step,
				 .part = rows < grid_size(&t->grid),
				 .before = t->before,
				 .simulated = !strncmp(t->device, "virtual", 7)};
	TRY(check_step(t, step, err));
	TRY(choose_rows(c, t, all_ranks, rows, err));
	TRY(measured_step(t, step, c->rows, rows, &c->measured, err));
	if (all_ranks) {
		c->measured.row = "rank";
		c->measured.rows = c->rows;
	}
	TRY(profile_init(&profile, t, err));
	TRY(predict_step(&profile, &c->predicted, &c->expected, err));
	c->took = mean_over_ranks(t, step);
	TRY(find_slowest(c, t, err));
out:
	profile_release(&profile);
	if (st != OK)
		comparison_release(c);
	return st;
}

void comparison_release(struct comparison *c)
{
	timeline_release(&c->measured);
	timeline_release(&c->predicted);
	free(c->rows);
	*c = (struct comparison){0};
}
