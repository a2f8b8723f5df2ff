/*
 * cpu_element.c - losses, updates, norms and casts, cut in parts for the threads. A
 * reduction has a fixed number of partial sums that are added in order, so that it
 * does not depend on the number of threads.
 */
#include "base/util.h"
#include "device/cpu/cpu.h"

#include <assert.h>

enum { CHUNK = 1 << 15 }; /* elements of a partial sum, at least */

struct sum_job {
	struct cpu *cpu;
	int64_t items, chunk; /* partial i covers items [i * chunk, (i + 1) * chunk) */
	double (*sum)(const struct sum_job *job, int64_t begin, int64_t end);
	const void *args;
};

static void sum_part(void *arg, int part, int parts)
{
	struct sum_job *job = arg;
	int64_t n = ceil_div(job->items, job->chunk);

	for (int64_t i = part_begin(n, part, parts); i < part_begin(n, part + 1, parts); i++)
		job->cpu->partials[i] =
			job->sum(job, i * job->chunk, min64((i + 1) * job->chunk, job->items));
}

static double run_sum(struct sum_job *job)
{
	double total = 0;

	assert(ceil_div(job->items, job->chunk) <= job->cpu->partials_size);
	pool_run(job->cpu->pool, sum_part, job);
	for (int64_t i = 0; i < ceil_div(job->items, job->chunk); i++)
		total += job->cpu->partials[i];
	return total;
}

/* The chunk depends on n alone, so that the sum does not depend on the threads. */
static int64_t chunk_for(size_t n)
{
	int64_t chunk = round_up(ceil_div((int64_t)n, PARTIALS), 64);

	return chunk > CHUNK ? chunk : CHUNK;
}

struct activation_job {
	const struct kernels *kernels;
	struct view y, other; /* before, or saved */
	const float *bias;
	int rows, columns;
	enum activation act;
};

static float *row_of(struct view v, int row)
{
	return v.data ? v.data + (size_t)row * v.stride : NULL;
}

static void activate_part(void *arg, int part, int parts)
{
	const struct activation_job *job = arg;
	int end = (int)part_begin(job->rows, part + 1, parts);

	for (int r = (int)part_begin(job->rows, part, parts); r < end; r++)
		job->kernels->activate_row(row_of(job->y, r), job->bias, row_of(job->other, r),
					   job->columns, job->act);
}

static void derive_part(void *arg, int part, int parts)
{
	const struct activation_job *job = arg;
	int end = (int)part_begin(job->rows, part + 1, parts);

	for (int r = (int)part_begin(job->rows, part, parts); r < end; r++)
		job->kernels->derive_row(row_of(job->y, r), row_of(job->other, r), job->columns,
					 job->act);
}

void cpu_activate(struct device *dev, struct view y, const float *bias, struct view before,
		  int rows, int columns, enum activation act)
{
	struct activation_job job = {cpu_of(dev)->kernels, y, before, bias, rows, columns, act};

	pool_run(cpu_of(dev)->pool, activate_part, &job);
}

void cpu_derive(struct device *dev, struct view dy, struct view saved, int rows, int columns,
		enum activation act)
{
	struct activation_job job = {cpu_of(dev)->kernels, dy, saved, NULL, rows, columns, act};

	if (act != ACT_NONE)
		pool_run(cpu_of(dev)->pool, derive_part, &job);
}

struct loss_args {
	struct view y, target, dy;
	const int32_t *labels;
	int columns;
	float scale;
};

static double mse_rows(const struct sum_job *job, int64_t begin, int64_t end)
{
	const struct loss_args *a = job->args;
	double sum = 0;

	for (int64_t r = begin; r < end; r++)
		sum += job->cpu->kernels->mse_row(a->y.data + (size_t)r * a->y.stride,
						  a->target.data + (size_t)r * a->target.stride,
						  a->dy.data + (size_t)r * a->dy.stride,
						  a->columns, 2 * a->scale);
	return sum;
}

static double cross_entropy_rows(const struct sum_job *job, int64_t begin, int64_t end)
{
	const struct loss_args *a = job->args;
	double sum = 0;

	for (int64_t r = begin; r < end; r++)
		sum += job->cpu->kernels->cross_entropy_row(
			a->y.data + (size_t)r * a->y.stride, a->labels[r],
			a->dy.data + (size_t)r * a->dy.stride, a->columns, a->scale);
	return sum;
}

double cpu_mse(struct device *dev, struct view y, struct view target, struct view dy, int rows,
	       int columns, float scale)
{
	struct loss_args args = {y, target, dy, NULL, columns, scale};
	struct sum_job job = {cpu_of(dev), rows, 1, mse_rows, &args};

	return run_sum(&job);
}

double cpu_cross_entropy(struct device *dev, struct view y, const int32_t *labels,
			 struct view dy, int rows, int columns, float scale)
{
	struct loss_args args = {y, {0}, dy, labels, columns, scale};
	struct sum_job job = {cpu_of(dev), rows, 1, cross_entropy_rows, &args};

	return run_sum(&job);
}

static double update_chunk(const struct sum_job *job, int64_t begin, int64_t end)
{
	return job->cpu->kernels->update(job->args, (size_t)begin, (size_t)end);
}

double cpu_update(struct device *dev, const struct update *u, size_t n)
{
	struct sum_job job = {cpu_of(dev), (int64_t)n, chunk_for(n), update_chunk, u};

	return run_sum(&job);
}

static double squares_chunk(const struct sum_job *job, int64_t begin, int64_t end)
{
	return job->cpu->kernels->sum_squares((const float *)job->args + begin,
					      (size_t)(end - begin));
}

double cpu_sum_squares(struct device *dev, const float *x, size_t n)
{
	struct sum_job job = {cpu_of(dev), (int64_t)n, chunk_for(n), squares_chunk, x};

	return run_sum(&job);
}

struct scale_args {
	float *x;
	float scale;
};

/* Counts the chunks that are not finite. */
static double scale_chunk(const struct sum_job *job, int64_t begin, int64_t end)
{
	const struct scale_args *a = job->args;

	return !job->cpu->kernels->scale_check(a->x + begin, (size_t)(end - begin), a->scale);
}

bool cpu_scale_check(struct device *dev, float *x, size_t n, float scale)
{
	struct scale_args args = {x, scale};
	struct sum_job job = {cpu_of(dev), (int64_t)n, chunk_for(n), scale_chunk, &args};

	return run_sum(&job) == 0;
}

struct cast_job {
	const struct kernels *kernels;
	const void *src;
	void *dst;
	enum dtype from, to;
	size_t n;
};

static void cast_part(void *arg, int part, int parts)
{
	const struct cast_job *job = arg;
	size_t a = (size_t)part_begin((int64_t)job->n, part, parts);
	size_t n = (size_t)part_begin((int64_t)job->n, part + 1, parts) - a;

	if (job->from == DTYPE_F32 && job->to == DTYPE_F16)
		job->kernels->f32_to_f16((const float *)job->src + a, (uint16_t *)job->dst + a,
					 n);
	else if (job->from == DTYPE_F32 && job->to == DTYPE_BF16)
		job->kernels->f32_to_bf16((const float *)job->src + a, (uint16_t *)job->dst + a,
					  n);
	else if (job->from == DTYPE_F16 && job->to == DTYPE_F32)
		job->kernels->f16_to_f32((const uint16_t *)job->src + a, (float *)job->dst + a,
					 n);
	else if (job->from == DTYPE_BF16 && job->to == DTYPE_F32)
		job->kernels->bf16_to_f32((const uint16_t *)job->src + a, (float *)job->dst + a,
					  n);
	else
		assert(!"one side of a cast is DTYPE_F32, the other a 16-bit type");
}

void cpu_cast(struct device *dev, const void *src, enum dtype from, void *dst, enum dtype to,
	      size_t n)
{
	struct cast_job job = {cpu_of(dev)->kernels, src, dst, from, to, n};

	pool_run(cpu_of(dev)->pool, cast_part, &job);
}

struct fma_job {
	const struct kernels *kernels;
	long n;
	double flops; /* of part 0; all do the same */
};

static void fma_part(void *arg, int part, int parts)
{
	struct fma_job *job = arg;
	double flops = job->kernels->fma_rounds(job->n);

	if (part == 0)
		job->flops = flops * parts;
}

double cpu_fma_rounds(struct device *dev, long n)
{
	struct fma_job job = {cpu_of(dev)->kernels, n, 0};

	pool_run(cpu_of(dev)->pool, fma_part, &job);
	return job.flops;
}
