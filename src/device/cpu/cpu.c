/*
 * cpu.c - the CPU as a device: memory from the kernel, threads from the pool, and
 * every kernel cut in parts for them. Cuts never change a result's bits: a part is
 * computed the same way whoever does it, and partial sums are added in a fixed order.
 */
#include "device/cpu/kernels.h"
#include "device/cpu/layout.h"
#include "device/cpu/pool.h"
#include "device/cpu/topology.h"
#include "device/impl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PARTIALS = 4096,	 /* partial sums of a reduction */
	CHUNK = 1 << 15,	 /* elements of one, at least */
	HUGE = 2 << 20,
	CHECK_FREE = 64 << 20,	 /* ask whether the machine has it from here on */
};

struct cpu {
	const struct kernels *kernels;
	struct pool *pool;
	float *scratch;	  /* SCRATCH per thread */
	float *packed;	  /* output gradients of up to ROWS_MAX rows */
	double *partials; /* PARTIALS, or one per row */
	size_t packed_size;
	int partials_size;
};

static struct cpu *cpu_of(struct device *dev)
{
	return dev->state;
}

static enum status cpu_open(struct device *dev, const char *spec,
			    const struct device_options *o, struct error *err)
{
	enum status st;
	struct topology topo;
	struct cpu *cpu = calloc(1, sizeof(*cpu));
	const char *wanted = getenv("KOLM_CPU");

	(void)spec;
	if (!cpu)
		return FAIL(err, ERR_MEMORY, "no memory for the CPU device");
	cpu->kernels = kernels_select(wanted);
	if (!cpu->kernels) {
		st = FAIL(err, ERR_USAGE, "KOLM_CPU=%s: no such kernels on this CPU", wanted);
		HINT(err, "unset it, or use one of reference, generic, avx2, avx512");
		goto out;
	}
	TRY(topology_init(&topo, err));
	dev->cores = topo.cores;
	dev->threads = o->threads ? o->threads : topo.cores;
	TRY(pool_create(&cpu->pool, dev->threads,
			o->pin && dev->threads <= topo.cores ? topo.cpu : NULL,
			dev->threads <= topo.cores, err));
	snprintf(dev->description, sizeof(dev->description), "cpu (%s), %d thread%s on %d core%s",
		 cpu->kernels->name, dev->threads, dev->threads == 1 ? "" : "s", topo.cores,
		 topo.cores == 1 ? "" : "s");
	dev->state = cpu;
	cpu = NULL; /* the device's now */
out:
	free(cpu);
	return st;
}

static void cpu_close(struct device *dev)
{
	pool_free(cpu_of(dev)->pool);
	free(dev->state);
}

/* Bytes that the machine could still hand out, or all there are if it won't say. */
static uint64_t machine_free(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = UINT64_MAX / 1024;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return (uint64_t)kib * 1024;
}

static size_t mapped_size(uint64_t bytes)
{
	return (size_t)round_up((int64_t)bytes, bytes >= HUGE ? HUGE : 4096);
}

/*
 * Straight from the kernel: zeroed, in huge pages where it is large, and touched now
 * so that no step takes a page fault and a lack of memory shows here.
 */
static void *cpu_map(struct device *dev, uint64_t bytes)
{
	size_t size = mapped_size(bytes), slack = bytes >= HUGE ? HUGE : 0;
	char *p, *aligned;

	(void)dev;
	if (bytes >= CHECK_FREE && bytes > machine_free())
		return NULL;
	p = mmap(NULL, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (!slack)
		return p;
	aligned = (char *)(((uintptr_t)p + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
	if (aligned > p)
		munmap(p, (size_t)(aligned - p));
	if (aligned + size < p + size + slack)
		munmap(aligned + size, (size_t)(p + slack - aligned));
	madvise(aligned, size, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
	madvise(aligned, size, MADV_POPULATE_WRITE);
#endif
	return aligned;
}

static void cpu_unmap(struct device *dev, void *memory, uint64_t bytes)
{
	(void)dev;
	munmap(memory, mapped_size(bytes));
}

static enum status grow(struct device *dev, void **memory, uint64_t bytes, const char *what,
			struct error *err)
{
	device_free(dev, *memory);
	*memory = NULL;
	return device_alloc(dev, MEMORY_WORKSPACE, bytes, what, memory, err);
}

static enum status cpu_reserve(struct device *dev, int rows, int width, struct error *err)
{
	enum status st = OK;
	struct cpu *cpu = cpu_of(dev);
	size_t packed = kernels_packed_size(imin(rows, ROWS_MAX), width);
	int partials = imax(PARTIALS, rows);

	if (!cpu->scratch)
		TRY(grow(dev, (void **)&cpu->scratch,
			 (uint64_t)dev->threads * SCRATCH * sizeof(float), "thread scratch", err));
	if (packed > cpu->packed_size) {
		TRY(grow(dev, (void **)&cpu->packed, packed * sizeof(float),
			 "packed gradients", err));
		cpu->packed_size = packed;
	}
	if (partials > cpu->partials_size) {
		TRY(grow(dev, (void **)&cpu->partials, (uint64_t)partials * sizeof(double),
			 "partial sums", err));
		cpu->partials_size = partials;
	}
out:
	return st;
}

static void cpu_parallel(struct device *dev, void (*fn)(void *, int, int), void *arg)
{
	pool_run(cpu_of(dev)->pool, fn, arg);
}

static void cpu_matrix_write(struct device *dev, float *matrix, int out, int in, int row,
			     int rows, const float *values)
{
	(void)dev;
	for (int o = row; o < row + rows; o++)
		for (int i = 0; i < in; i++)
			matrix[layout_index(out, in, o, i)] = *values++;
}

static void cpu_matrix_read(struct device *dev, const float *matrix, int out, int in, int row,
			    int rows, float *values)
{
	(void)dev;
	for (int o = row; o < row + rows; o++)
		for (int i = 0; i < in; i++)
			*values++ = matrix[layout_index(out, in, o, i)];
}

/* ---- linear layers ---- */

struct linear_job {
	struct cpu *cpu;
	struct linear l;
};

static float *scratch_of(const struct linear_job *job, int part)
{
	return job->cpu->scratch + (size_t)part * SCRATCH;
}

static void forward_part(void *arg, int part, int parts)
{
	struct linear_job *job = arg;
	int panels = layout_panels(job->l.out);
	int a = (int)part_begin(panels, part, parts);
	int b = (int)part_begin(panels, part + 1, parts);

	if (a < b)
		job->cpu->kernels->forward(&job->l, a, b, scratch_of(job, part));
}

static void pack_part(void *arg, int part, int parts)
{
	struct linear_job *job = arg;

	job->cpu->kernels->pack_dy(&job->l, (int)part_begin(job->l.rows, part, parts),
				   (int)part_begin(job->l.rows, part + 1, parts),
				   job->cpu->packed);
}

/* Whole slabs where there are enough of them, otherwise as fine as the layout allows. */
static void backward_input_part(void *arg, int part, int parts)
{
	struct linear_job *job = arg;
	int in = job->l.in, grain = layout_slabs(in) % parts ? 16 : SLAB;
	int64_t grains = ceil_div(in, grain);
	int a = (int)part_begin(grains, part, parts) * grain;
	int b = imin((int)part_begin(grains, part + 1, parts) * grain, in);

	if (a < b)
		job->cpu->kernels->backward_input(&job->l, job->cpu->packed, a, b,
						  scratch_of(job, part));
}

static void backward_weight_part(void *arg, int part, int parts)
{
	struct linear_job *job = arg;
	int panels = layout_panels(job->l.out);
	int a = (int)part_begin(panels, part, parts);
	int b = (int)part_begin(panels, part + 1, parts);

	if (a < b)
		job->cpu->kernels->backward_weight(&job->l, a, b, scratch_of(job, part));
}

/* Rows [r0, r1) of a layer's operands. */
static struct linear rows_of(const struct linear *l, int r0, int r1)
{
	struct linear part = *l;

	part.rows = r1 - r0;
	part.x.data += (size_t)r0 * l->x.stride;
	part.y.data += (size_t)r0 * l->y.stride;
	if (l->saved.data)
		part.saved.data += (size_t)r0 * l->saved.stride;
	part.accumulate = l->accumulate || r0 > 0;
	return part;
}

/* Run the kernels over near-equal chunks of at most ROWS_MAX rows. */
static void over_rows(struct device *dev, const struct linear *l, void (*first)(void *, int, int),
		      void (*then)(void *, int, int))
{
	struct cpu *cpu = cpu_of(dev);
	int chunks = (int)ceil_div(l->rows, ROWS_MAX);

	assert(cpu->scratch);
	for (int i = 0; i < chunks; i++) {
		struct linear_job job = {
			.cpu = cpu,
			.l = rows_of(l, (int)part_begin(l->rows, i, chunks),
				     (int)part_begin(l->rows, i + 1, chunks)),
		};

		pool_run(cpu->pool, first, &job);
		if (then)
			pool_run(cpu->pool, then, &job);
	}
}

static void cpu_forward(struct device *dev, const struct linear *l)
{
	over_rows(dev, l, forward_part, NULL);
}

static void cpu_backward_input(struct device *dev, const struct linear *l)
{
	assert(kernels_packed_size(imin(l->rows, ROWS_MAX), l->out) <= cpu_of(dev)->packed_size);
	over_rows(dev, l, pack_part, backward_input_part);
}

static void cpu_backward_weight(struct device *dev, const struct linear *l)
{
	over_rows(dev, l, backward_weight_part, NULL);
}

/* ---- reductions: a fixed number of partial sums, added in order ---- */

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
		job->cpu->partials[i] = job->sum(job, i * job->chunk,
						 min64((i + 1) * job->chunk, job->items));
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

static double cpu_mse(struct device *dev, struct view y, struct view target, struct view dy,
		      int rows, int columns, float scale)
{
	struct loss_args args = {y, target, dy, NULL, columns, scale};
	struct sum_job job = {cpu_of(dev), rows, 1, mse_rows, &args};

	return run_sum(&job);
}

static double cpu_cross_entropy(struct device *dev, struct view y, const int32_t *labels,
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

static double cpu_update(struct device *dev, const struct update *u, size_t n)
{
	struct sum_job job = {cpu_of(dev), (int64_t)n, chunk_for(n), update_chunk, u};

	return run_sum(&job);
}

static double squares_chunk(const struct sum_job *job, int64_t begin, int64_t end)
{
	return job->cpu->kernels->sum_squares((const float *)job->args + begin,
					      (size_t)(end - begin));
}

static double cpu_sum_squares(struct device *dev, const float *x, size_t n)
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

static bool cpu_scale_check(struct device *dev, float *x, size_t n, float scale)
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
		job->kernels->f32_to_f16((const float *)job->src + a, (uint16_t *)job->dst + a, n);
	else if (job->from == DTYPE_F32 && job->to == DTYPE_BF16)
		job->kernels->f32_to_bf16((const float *)job->src + a, (uint16_t *)job->dst + a, n);
	else if (job->from == DTYPE_F16 && job->to == DTYPE_F32)
		job->kernels->f16_to_f32((const uint16_t *)job->src + a, (float *)job->dst + a, n);
	else if (job->from == DTYPE_BF16 && job->to == DTYPE_F32)
		job->kernels->bf16_to_f32((const uint16_t *)job->src + a, (float *)job->dst + a, n);
	else
		assert(!"one side of a cast is DTYPE_F32, the other a 16-bit type");
}

static void cpu_cast(struct device *dev, const void *src, enum dtype from, void *dst,
		     enum dtype to, size_t n)
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

static double cpu_fma_rounds(struct device *dev, long n)
{
	struct fma_job job = {cpu_of(dev)->kernels, n, 0};

	pool_run(cpu_of(dev)->pool, fma_part, &job);
	return job.flops;
}

const struct device_ops device_cpu = {
	.name = "cpu",
	.open = cpu_open,
	.close = cpu_close,
	.map = cpu_map,
	.unmap = cpu_unmap,
	.reserve = cpu_reserve,
	.parallel = cpu_parallel,
	.matrix_size = layout_size,
	.matrix_write = cpu_matrix_write,
	.matrix_read = cpu_matrix_read,
	.forward = cpu_forward,
	.backward_input = cpu_backward_input,
	.backward_weight = cpu_backward_weight,
	.mse = cpu_mse,
	.cross_entropy = cpu_cross_entropy,
	.update = cpu_update,
	.sum_squares = cpu_sum_squares,
	.scale_check = cpu_scale_check,
	.cast = cpu_cast,
	.fma_rounds = cpu_fma_rounds,
};
