/* loss.c - see loss.h */
#include "model/loss.h"
#include "base/util.h"
#include "model/collective.h"

struct target target_from(const struct target *t, size_t row)
{
	return (struct target){view_from(t->values, row), t->labels ? t->labels + row : NULL};
}

static double all_columns(int columns)
{
	return columns;
}

static double one_term(int columns)
{
	(void)columns;
	return 1;
}

static enum status run_mse(const struct loss_run *r, struct error *err)
{
	(void)err;
	device_mse(r->dev, r->y, r->target.values, r->dy, r->rows, r->columns, r->scale,
		   r->sum);
	return OK;
}

/* What is known of the other ranks' classes is their largest value and the sum of their
   exponentials. */
static enum status exchange(const struct loss_run *r, struct error *err)
{
	size_t n = (size_t)r->shards * (size_t)r->rows * CLASS_STATS;

	*r->sum_bytes += (int64_t)(n * sizeof(float));
	return collective_run(r->dev, r->slices, COMM_ALLGATHER, r->stats, n, DTYPE_F32, err);
}

/* One of our shards of the classes. */
static struct class_slice slice_of(const struct loss_run *r, int held)
{
	int shard = r->shard * r->held + held;
	int first = (int)part_begin(r->columns, shard, r->shards);
	int at = held * (int)ceil_div(r->columns, r->shards);

	return (struct class_slice){
		.rows = r->rows,
		.columns = (int)part_begin(r->columns, shard + 1, r->shards) - first,
		.first = first,
		.y = view_at(r->y, at),
		.dy = view_at(r->dy, at),
		.labels = r->target.labels,
		.stats = r->stats,
		.slices = r->shards,
		.slice = shard,
		.scale = r->scale};
}

static enum status run_cross_entropy(const struct loss_run *r, struct error *err)
{
	enum status st = OK;

	for (int h = 0; h < r->held; h++) {
		struct class_slice c = slice_of(r, h);

		device_class_stats(r->dev, &c);
	}
	if (r->slices)
		TRY(exchange(r, err));
	for (int h = 0; h < r->held; h++) { /* all have the same loss */
		struct class_slice c = slice_of(r, h);

		device_class_loss(r->dev, &c, h ? r->unused : r->sum, h ? NULL : r->correct);
	}
out:
	return st;
}

const struct loss loss_mse = {.name = "mse", .terms = all_columns, .run = run_mse};

const struct loss loss_cross_entropy = {
	.name = "cross-entropy", .labelled = true, .terms = one_term, .run = run_cross_entropy};
