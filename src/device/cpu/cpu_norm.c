/*
 * cpu_norm.c - layer norm and rms norm, cut in parts for the threads: rows, or for column sums
 * columns, so that every sum is taken by one thread in one order.
 */
#include "base/util.h"
#include "device/cpu/cpu.h"
#include "device/cpu/pieces.h"

#include <assert.h>
#include <math.h>

enum {
	SUM_ROWS = 128,	     /* that column sums in float take before they join the total */
	GRAIN = LINE_FLOATS, /* columns are cut here, so that a vector is never divided */
};

struct norm_job {
	struct cpu *cpu;
	const struct norm *norm;
};

/* Is the mean taken off? */
static bool is_centred(const struct norm *norm)
{
	switch (norm->kind) {
	case NORM_NONE:
		break;
	case NORM_LAYER:
		return true;
	case NORM_RMS:
		return false;
	}
	assert(!"no norm has no kernels");
	return false;
}

/* What a row's kernels need of columns [c, c + n); the room of each operand is its own. */
static struct norm_piece piece_of(const struct norm_job *job, int r, int c, int n,
				  float *scratch)
{
	const struct kernels *k = job->cpu->kernels;
	const struct norm *norm = job->norm;
	struct view x = view_from(norm->x, (size_t)r);
	size_t at = (size_t)c, count = (size_t)n;

	return (struct norm_piece){.n = n, .x = widen(k, x.data, at, x.type, count, scratch)};
}

static void add_gradient(const struct norm_job *job, struct norm_piece *p, int r, int c,
			 float *scratch)
{
	struct view dy = view_from(job->norm->y, (size_t)r);

	p->dy = widen(job->cpu->kernels, dy.data, (size_t)c, dy.type, (size_t)p->n,
		      scratch + PIECE);
}

static void add_weight(const struct norm_job *job, struct norm_piece *p, int c, float *scratch)
{
	const struct norm *norm = job->norm;

	p->weight = widen(job->cpu->kernels, norm->weight, (size_t)c, norm->type, (size_t)p->n,
			  scratch + 2 * PIECE);
}

static void add_bias(const struct norm_job *job, struct norm_piece *p, int c, float *scratch)
{
	const struct norm *norm = job->norm;

	if (norm->bias)
		p->bias = widen(job->cpu->kernels, norm->bias, (size_t)c, norm->type,
				(size_t)p->n, scratch + 3 * PIECE);
}

/* Where the result of a piece is computed. */
static float *room_for(struct view to, int c, float *scratch)
{
	return to.type == DTYPE_F32 ? (float *)to.data + c : scratch + 4 * PIECE;
}

static float *saved_of(const struct norm *norm, int r)
{
	return view_from(norm->saved, (size_t)r).data;
}

/* ---- forward ---- */

/*
 * Mean and factor of a row. The mean is improved by what is left when it is taken off, which
 * makes up for sums in float; the variance knows that remainder too.
 */
static void measure_row(const struct norm_job *job, int r, float *scratch)
{
	const struct kernels *k = job->cpu->kernels;
	const struct norm *norm = job->norm;
	double sum = 0, sums[2] = {0}, mean = 0, variance, n = norm->columns;
	float *saved = saved_of(norm, r);

	for (int c = 0; c < norm->columns && is_centred(norm); c += PIECE) {
		struct norm_piece p =
			piece_of(job, r, c, imin(PIECE, norm->columns - c), scratch);

		sum += k->norm_sum(&p);
	}
	mean = (float)(sum / n);
	for (int c = 0; c < norm->columns; c += PIECE) {
		struct norm_piece p =
			piece_of(job, r, c, imin(PIECE, norm->columns - c), scratch);

		p.mean = (float)mean;
		k->norm_spread(&p, sums);
	}
	variance = sums[1] / n;
	if (is_centred(norm)) {
		variance = fmax(variance - sums[0] / n * (sums[0] / n), 0);
		mean += sums[0] / n;
	}
	saved[0] = (float)mean;
	saved[1] = (float)(1 / sqrt(variance + norm->eps));
}

static void forward_row(const struct norm_job *job, int r, float *scratch)
{
	const struct kernels *k = job->cpu->kernels;
	const struct norm *norm = job->norm;
	struct view y = view_from(norm->y, (size_t)r);
	const float *saved = saved_of(norm, r);

	measure_row(job, r, scratch);
	for (int c = 0; c < norm->columns; c += PIECE) {
		struct norm_piece p =
			piece_of(job, r, c, imin(PIECE, norm->columns - c), scratch);

		add_weight(job, &p, c, scratch);
		add_bias(job, &p, c, scratch);
		p.mean = saved[0];
		p.factor = saved[1];
		p.out = room_for(y, c, scratch);
		k->norm_forward(&p);
		narrow(k, p.out, y.data, (size_t)c, y.type, (size_t)p.n);
	}
}

/* ---- the gradient of what goes in ---- */

static struct norm_piece gradient_piece(const struct norm_job *job, int r, int c,
					float *scratch)
{
	const struct norm *norm = job->norm;
	const float *saved = saved_of(norm, r);
	struct norm_piece p = piece_of(job, r, c, imin(PIECE, norm->columns - c), scratch);

	add_gradient(job, &p, r, c, scratch);
	add_weight(job, &p, c, scratch);
	p.mean = saved[0];
	p.factor = saved[1];
	return p;
}

static void input_row(const struct norm_job *job, int r, float *scratch)
{
	const struct kernels *k = job->cpu->kernels;
	const struct norm *norm = job->norm;
	struct view dx = view_from(norm->dx, (size_t)r);
	double sums[2] = {0};
	float means[2];

	for (int c = 0; c < norm->columns; c += PIECE) {
		struct norm_piece p = gradient_piece(job, r, c, scratch);

		k->norm_sums(&p, sums);
	}
	means[0] = is_centred(norm) ? (float)(sums[0] / norm->columns) : 0;
	means[1] = (float)(sums[1] / norm->columns);
	for (int c = 0; c < norm->columns; c += PIECE) {
		struct norm_piece p = gradient_piece(job, r, c, scratch);

		p.out = room_for(dx, c, scratch);
		k->norm_input(&p, means);
		narrow(k, p.out, dx.data, (size_t)c, dx.type, (size_t)p.n);
	}
}

/* ---- the gradients of weight and bias ---- */

/* Sums over some rows, for n columns. */
struct column_sums {
	float *weight, *bias;
	int n;
};

static void clear(struct column_sums sums)
{
	memset(sums.weight, 0, (size_t)sums.n * sizeof(float));
	memset(sums.bias, 0, (size_t)sums.n * sizeof(float));
}

static void add_rows(const struct norm_job *job, int begin, int end, int c,
		     struct column_sums sums, float *scratch)
{
	for (int r = begin; r < end; r++) {
		const float *saved = saved_of(job->norm, r);
		struct norm_piece p = piece_of(job, r, c, sums.n, scratch);

		add_gradient(job, &p, r, c, scratch);
		p.mean = saved[0];
		p.factor = saved[1];
		job->cpu->kernels->norm_weight(&p, sums.weight, sums.bias);
	}
}

static void put_sums(const struct norm_job *job, const float *sums, void *to, int c, int n,
		     float *room)
{
	const struct norm *norm = job->norm;
	const struct kernels *k = job->cpu->kernels;
	const float *old = widen(k, to, (size_t)c, norm->grad_type, (size_t)n, room);

	for (int i = 0; i < n; i++)
		room[i] = sums[i] + (norm->accumulate ? old[i] : 0);
	put(k, room, to, (size_t)c, norm->grad_type, (size_t)n);
}

/* Groups of SUM_ROWS rows, then the groups: that keeps sums in float accurate. */
static void weight_columns(const struct norm_job *job, int c, int n, float *scratch)
{
	const struct norm *norm = job->norm;
	struct column_sums total = {scratch + 2 * PIECE, scratch + 3 * PIECE, n};
	struct column_sums group = {scratch + 4 * PIECE, scratch + 5 * PIECE, n};

	clear(total);
	for (int r = 0; r < norm->rows; r += SUM_ROWS) {
		clear(group);
		add_rows(job, r, imin(r + SUM_ROWS, norm->rows), c, group, scratch);
		for (int i = 0; i < n; i++) {
			total.weight[i] += group.weight[i];
			total.bias[i] += group.bias[i];
		}
	}
	put_sums(job, total.weight, norm->dweight, c, n, scratch);
	if (norm->dbias)
		put_sums(job, total.bias, norm->dbias, c, n, scratch);
}

/* ---- for the threads ---- */

static void forward_part(void *arg, int part, int parts)
{
	const struct norm_job *job = arg;
	int end = (int)part_begin(job->norm->rows, part + 1, parts);

	for (int r = (int)part_begin(job->norm->rows, part, parts); r < end; r++)
		forward_row(job, r, scratch_of(job->cpu, part));
}

static void input_part(void *arg, int part, int parts)
{
	const struct norm_job *job = arg;
	int end = (int)part_begin(job->norm->rows, part + 1, parts);

	for (int r = (int)part_begin(job->norm->rows, part, parts); r < end; r++)
		input_row(job, r, scratch_of(job->cpu, part));
}

static void weight_part(void *arg, int part, int parts)
{
	const struct norm_job *job = arg;
	int64_t grains = ceil_div(job->norm->columns, GRAIN);
	int end = imin((int)part_begin(grains, part + 1, parts) * GRAIN, job->norm->columns);

	for (int c = (int)part_begin(grains, part, parts) * GRAIN; c < end; c += PIECE)
		weight_columns(job, c, imin(PIECE, end - c), scratch_of(job->cpu, part));
}

static void run(struct device *dev, const struct norm *norm, void (*part)(void *, int, int))
{
	struct norm_job job = {cpu_of(dev), norm};

	assert(job.cpu->scratch);
	assert(norm->saved.type == DTYPE_F32);
	pool_run(job.cpu->pool, part, &job);
}

void cpu_norm_forward(struct device *dev, const struct norm *norm)
{
	run(dev, norm, forward_part);
}

void cpu_norm_backward_input(struct device *dev, const struct norm *norm)
{
	run(dev, norm, input_part);
}

void cpu_norm_backward_weight(struct device *dev, const struct norm *norm)
{
	run(dev, norm, weight_part);
}
