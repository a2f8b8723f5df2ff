/*
 * cpu_classes.c - cross-entropy, of all classes or of a slice of them. Threads share the rows;
 * a row is taken a piece at a time in fp32, so it may be of any length and type.
 */
#include "base/half.h"
#include "base/util.h"
#include "device/cpu/cpu.h"
#include "device/cpu/pieces.h"
#include "device/cpu/sums.h"

#include <math.h>

/* What there is to know of a row: see struct class_slice. */
struct row_stats {
	double top, sum, label;
};

struct class_job {
	struct cpu *cpu;
	const struct class_slice *slice;
};

/* Sums of exponentials, each taken from its own maximum, as one. */
static struct row_stats join(struct row_stats a, struct row_stats b)
{
	double top = b.top > a.top ? b.top : a.top;

	return (struct row_stats){
		.top = top,
		.sum = a.sum * exp(a.top - top) + b.sum * exp(b.top - top),
		.label = b.label > a.label ? b.label : a.label,
	};
}

static struct row_stats measure_row(const struct kernels *k, const struct class_slice *c, int r,
				    float *scratch)
{
	struct view y = view_from(c->y, (size_t)r);
	int64_t label = (int64_t)c->labels[r] - c->first;
	struct row_stats all = {0};

	for (int at = 0; at < c->columns; at += PIECE) {
		int n = imin(PIECE, c->columns - at);
		struct row_stats piece = {.label = -INFINITY};
		float top;

		piece.sum = k->class_sum(
			widen(k, y.data, (size_t)at, y.type, (size_t)n, scratch), n, &top);
		piece.top = (double)top;
		all = at == 0 ? piece : join(all, piece);
	}
	if (label >= 0 && label < c->columns)
		all.label = (double)float_from(y.data, (size_t)label, y.type);
	return all;
}

/* dy = scale * (softmax - onehot) of a row whose maximum and sum are those of all classes. */
static void row_gradient(const struct kernels *k, const struct class_slice *c, int r,
			 struct row_stats all, float *scratch)
{
	struct view y = view_from(c->y, (size_t)r), dy = view_from(c->dy, (size_t)r);
	int64_t label = (int64_t)c->labels[r] - c->first;
	float factor = (float)((double)c->scale / all.sum);

	for (int at = 0; at < c->columns; at += PIECE) {
		size_t i = (size_t)at, n = (size_t)imin(PIECE, c->columns - at);
		float *room = dy.type == DTYPE_F32 ? (float *)dy.data + at : scratch + PIECE;

		k->class_shares(widen(k, y.data, i, y.type, n, scratch), room, (int)n,
				(float)all.top, factor);
		if (label >= at && label < at + (int64_t)n)
			room[label - at] -= c->scale;
		narrow(k, room, dy.data, i, dy.type, n);
	}
}

static double loss_of(struct row_stats all)
{
	return log(all.sum) - (all.label - all.top);
}

static float *stats_of(const struct class_slice *c, int slice, int r)
{
	return c->stats + ((size_t)slice * (size_t)c->rows + (size_t)r) * CLASS_STATS;
}

static void stats_part(void *arg, int part, int parts)
{
	const struct class_job *job = arg;
	const struct class_slice *c = job->slice;
	int end = (int)part_begin(c->rows, part + 1, parts);

	for (int r = (int)part_begin(c->rows, part, parts); r < end; r++) {
		struct row_stats row =
			measure_row(job->cpu->kernels, c, r, scratch_of(job->cpu, part));
		float *to = stats_of(c, c->slice, r);

		to[0] = (float)row.top;
		to[1] = (float)row.sum;
		to[2] = (float)row.label;
	}
}

void cpu_class_stats(struct device *dev, const struct class_slice *c)
{
	struct class_job job = {cpu_of(dev), c};

	pool_run(job.cpu->pool, stats_part, &job);
}

/* Of all slices, in their order: the same on every rank. */
static struct row_stats all_slices(const struct class_slice *c, int r)
{
	struct row_stats all = {0};

	for (int s = 0; s < c->slices; s++) {
		const float *from = stats_of(c, s, r);
		struct row_stats one = {(double)from[0], (double)from[1], (double)from[2]};

		all = s == 0 ? one : join(all, one);
	}
	return all;
}

static double class_loss_rows(const struct sum_job *job, int64_t begin, int64_t end,
			      float *scratch)
{
	const struct class_slice *c = job->args;
	double sum = 0;

	for (int64_t r = begin; r < end; r++) {
		struct row_stats all = all_slices(c, (int)r);

		row_gradient(job->cpu->kernels, c, (int)r, all, scratch);
		sum += loss_of(all);
	}
	return sum;
}

void cpu_class_loss(struct device *dev, const struct class_slice *c, double *sum,
		    double *correct)
{
	struct sum_job job = {cpu_of(dev), c->rows, 1, class_loss_rows, c};

	*sum += sum_run(&job);
	for (int r = 0; r < c->rows && correct; r++) {
		struct row_stats all = all_slices(c, r);

		*correct += all.label >= all.top;
	}
}
