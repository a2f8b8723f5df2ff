/* cpu_element.c - losses, updates, sums and casts, cut in parts for the threads. */
#include "base/half.h"
#include "base/util.h"
#include "device/cpu/cpu.h"
#include "device/cpu/pieces.h"
#include "device/cpu/sums.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

enum { CHUNK = 1 << 15 }; /* elements of a partial sum, at least */

/* The chunk depends on n alone, so that the sum does not depend on the threads. */
static int64_t chunk_for(size_t n)
{
	int64_t chunk = round_up(ceil_div((int64_t)n, PARTIALS), 64);

	return chunk > CHUNK ? chunk : CHUNK;
}

struct mse_args {
	struct view y, target, dy;
	int columns;
	float scale;
};

static double mse_rows(const struct sum_job *job, int64_t begin, int64_t end, float *scratch)
{
	const struct mse_args *a = job->args;
	const struct kernels *k = job->cpu->kernels;
	double sum = 0;

	for (int64_t r = begin; r < end; r++) {
		struct view y = view_from(a->y, (size_t)r), dy = view_from(a->dy, (size_t)r);
		struct view target = view_from(a->target, (size_t)r);

		for (int c = 0; c < a->columns; c += PIECE) {
			size_t at = (size_t)c, n = (size_t)imin(PIECE, a->columns - c);
			float *gradient =
				dy.type == DTYPE_F32 ? (float *)dy.data + c : scratch + PIECE;

			sum += k->mse_row(widen(k, y.data, at, y.type, n, scratch),
					  (const float *)target.data + c, gradient, (int)n,
					  2 * a->scale);
			narrow(k, gradient, dy.data, at, dy.type, n);
		}
	}
	return sum;
}

void cpu_clear(struct device *dev, double *numbers, size_t n)
{
	(void)dev;
	memset(numbers, 0, n * sizeof(*numbers));
}

void cpu_numbers(struct device *dev, const double *numbers, size_t n, double *out)
{
	(void)dev;
	memcpy(out, numbers, n * sizeof(*out));
}

void cpu_mse(struct device *dev, struct view y, struct view target, struct view dy, int rows,
	     int columns, float scale, double *sum)
{
	struct mse_args args = {y, target, dy, columns, scale};
	struct sum_job job = {cpu_of(dev), rows, 1, mse_rows, &args};

	*sum += sum_run(&job);
}

static double update_chunk(const struct sum_job *job, int64_t begin, int64_t end,
			   float *scratch)
{
	(void)scratch;
	return job->cpu->kernels->update(job->args, (size_t)begin, (size_t)end);
}

void cpu_update(struct device *dev, const struct update *u, size_t n, double *squares)
{
	struct sum_job job = {cpu_of(dev), (int64_t)n, chunk_for(n), update_chunk, u};

	assert(u->grad_type == DTYPE_F32 || (u->working && u->grad_type == u->working_type));
	*squares += sum_run(&job);
}

struct squares_args {
	const void *x;
	enum dtype type;
};

static double squares_chunk(const struct sum_job *job, int64_t begin, int64_t end,
			    float *scratch)
{
	const struct squares_args *a = job->args;

	(void)scratch;
	return job->cpu->kernels->sum_squares((const char *)a->x +
						      (size_t)begin * dtype_size(a->type),
					      a->type, (size_t)(end - begin));
}

void cpu_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
		     double factor, double *sum)
{
	struct squares_args args = {x, type};
	struct sum_job job = {cpu_of(dev), (int64_t)n, chunk_for(n), squares_chunk, &args};

	*sum += factor * sum_run(&job);
}

struct exact_job {
	const struct kernels *kernels;
	const char *x;
	enum dtype type;
	size_t n;
	pthread_mutex_t lock;
	struct exact *sum;
};

enum { LINES = 256 }; /* at once: their elements stay in the first cache */

/* The last line, if it is a shorter one. */
static void add_rest(const struct exact_job *job, struct exact *sum)
{
	float line[SQUARES_LINE] = {0};
	size_t rest = job->n % SQUARES_LINE, at = job->n - rest;
	double square;

	for (size_t i = 0; i < rest; i++)
		line[i] = float_from(job->x, at + i, job->type);
	job->kernels->line_squares(line, DTYPE_F32, 1, &square);
	exact_add(sum, square);
}

/* In whatever order the threads are done, the sum is the same. */
static void exact_part(void *arg, int part, int parts)
{
	struct exact_job *job = arg;
	int64_t lines = (int64_t)(job->n / SQUARES_LINE);
	size_t end = (size_t)part_begin(lines, part + 1, parts);
	struct exact own = {0};
	double squares[LINES];

	for (size_t at = (size_t)part_begin(lines, part, parts), n; at < end; at += n) {
		n = end - at < LINES ? end - at : LINES;
		job->kernels->line_squares(job->x + at * SQUARES_LINE * dtype_size(job->type),
					   job->type, n, squares);
		exact_add_all(&own, squares, n);
	}
	if (part == 0 && job->n % SQUARES_LINE)
		add_rest(job, &own);
	pthread_mutex_lock(&job->lock);
	exact_merge(job->sum, &own);
	pthread_mutex_unlock(&job->lock);
}

void cpu_exact_squares(struct device *dev, const void *x, enum dtype type, size_t n,
		       struct exact *sum)
{
	struct exact_job job = {cpu_of(dev)->kernels,	   x,  type, n,
				PTHREAD_MUTEX_INITIALIZER, sum};

	if (n < CHUNK) /* not worth waking anybody */
		exact_part(&job, 0, 1);
	else
		pool_run(cpu_of(dev)->pool, exact_part, &job);
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

bool cpu_multiplies(struct device *dev, enum dtype type)
{
	return type == DTYPE_F32 || (type == DTYPE_BF16 && cpu_of(dev)->kernels->bf16_rounds);
}

struct fma_job {
	double (*rounds)(long n);
	long n;
	double flops; /* of part 0; all do the same */
};

static void fma_part(void *arg, int part, int parts)
{
	struct fma_job *job = arg;
	double flops = job->rounds(job->n);

	if (part == 0)
		job->flops = flops * parts;
}

double cpu_fma_rounds(struct device *dev, enum dtype type, long n)
{
	const struct kernels *k = cpu_of(dev)->kernels;
	bool is_fp32 = type == DTYPE_F32 || !cpu_multiplies(dev, type);
	struct fma_job job = {is_fp32 ? k->fma_rounds : k->bf16_rounds, n, 0};

	pool_run(cpu_of(dev)->pool, fma_part, &job);
	return job.flops;
}
