/*
 * cpu.c - the CPU as a device: memory from the kernel, threads from the pool, weights in
 * the layout of layout.h.
 */
#include "device/cpu/cpu.h"
#include "base/half.h"
#include "base/room.h"
#include "device/cpu/layout.h"
#include "device/cpu/topology.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	HUGE_PAGE = 2 << 20,
	CHECK_FREE = 64 << 20, /* ask whether the machine has it from here on */
};

static enum status cpu_open(struct device *dev, const char *spec,
			    const struct device_options *o, struct error *err)
{
	enum status st;
	struct topology topo;
	struct cpu *cpu = calloc(1, sizeof(*cpu));

	(void)spec;
	if (!cpu)
		return FAIL(err, ERR_MEMORY, "no memory for the CPU device");
	cpu->kernels = kernels_select(o->kernels);
	if (!cpu->kernels) {
		st = FAIL(err, ERR_USAGE, "KOLM_CPU=%s: no such kernels on this CPU",
			  o->kernels);
		HINT(err,
		     "unset it, or use one of reference, generic, avx2, avx512, avx512bf16, "
		     "amx, emulated, emulated-amx");
		goto out;
	}
	TRY(topology_init(&topo, err));
	dev->cores = topo.cores;
	dev->threads = o->threads ? o->threads : topo.cores;
	if (o->plan)
		dev->threads = o->threads; /* for the scratch memory of each; none starts */
	TRY(pool_create(&cpu->pool, o->plan ? 1 : dev->threads,
			o->pin && dev->threads <= topo.cores && !o->crowded ? topo.cpu : NULL,
			dev->threads <= topo.cores && !o->crowded, err));
	snprintf(dev->description, sizeof(dev->description),
		 "cpu (%s), %d thread%s on %d core%s", cpu->kernels->name, dev->threads,
		 dev->threads == 1 ? "" : "s", topo.cores, topo.cores == 1 ? "" : "s");
	dev->state = cpu;
	cpu = NULL; /* the device's now */
out:
	free(cpu);
	return st;
}

const char *device_other_kernels(const char *used)
{
	const struct kernels *table = kernels_select(used);

	for (const struct kernels *const *t = kernels_available(); *t; t++)
		if (*t != table && *t != &kernels_reference)
			return (*t)->name;
	return NULL;
}

static void cpu_close(struct device *dev)
{
	pool_free(cpu_of(dev)->pool);
	free(dev->state);
}

static size_t mapped_size(uint64_t bytes)
{
	return (size_t)round_up((int64_t)bytes, bytes >= HUGE_PAGE ? HUGE_PAGE : 4096);
}

/*
 * Straight from the kernel: zeroed, and where it is large in huge pages and touched now,
 * so that a lack of memory shows here and not in the middle of a step.
 */
static void *cpu_map(struct device *dev, uint64_t bytes)
{
	size_t size = mapped_size(bytes), slack = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
	char *p, *aligned;

	(void)dev;
	if (bytes >= CHECK_FREE && bytes > room_of(ROOM_MEMORY).free)
		return NULL;
	p = mmap(NULL, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	if (p == MAP_FAILED)
		return NULL;
	if (!slack)
		return p;
	aligned = (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
	if (aligned > p)
		munmap(p, (size_t)(aligned - p));
	if (aligned + size < p + size + slack)
		munmap(aligned + size, (size_t)(p + slack - aligned));
	madvise(aligned, size, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
	/* Older kernels don't know it (EINVAL) and hand out pages as they are touched. */
	if (madvise(aligned, size, MADV_POPULATE_WRITE) && errno == ENOMEM) {
		munmap(aligned, size);
		return NULL;
	}
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
	int packers = rows >= dev->threads * ROWS_MAX ? imax(1, dev->threads) : 1;
	int partials = imax(PARTIALS, rows);

	if (!cpu->scratch)
		TRY(grow(dev, (void **)&cpu->scratch,
			 (uint64_t)dev->threads * SCRATCH * sizeof(float), "thread scratch",
			 err));
	if (packed > cpu->packed_size || packers > cpu->packers) {
		cpu->packed_size = packed > cpu->packed_size ? packed : cpu->packed_size;
		cpu->packers = imax(packers, cpu->packers);
		TRY(grow(dev, &cpu->packed,
			 (uint64_t)cpu->packers * cpu->packed_size * sizeof(float),
			 "packed gradients", err));
	}
	if (partials > cpu->partials_size) {
		TRY(grow(dev, (void **)&cpu->partials, (uint64_t)partials * sizeof(double),
			 "partial sums", err));
		cpu->partials_size = partials;
	}
	if (rows > cpu->order_size) {
		TRY(grow(dev, (void **)&cpu->order, 2 * (uint64_t)rows * sizeof(*cpu->order),
			 "rows in the order of their tokens", err));
		cpu->order_size = rows;
	}
out:
	return st;
}

static void cpu_parallel(struct device *dev, void (*fn)(void *, int, int), void *arg)
{
	pool_run(cpu_of(dev)->pool, fn, arg);
}

/* Rows of a matrix between its layout and values, either way: a piece of a panel at a time,
   which the first-level cache holds. */
static inline __attribute__((always_inline)) void move_rows(char *matrix, enum dtype type,
							    int out, int in, int row, int rows,
							    float *values, bool reads)
{
	for (int o = row, n; o < row + rows; o += n) {
		n = imin(row + rows, (o / PANEL + 1) * PANEL) - o;
		for (int first = 0; first < in; first += SLAB) {
			size_t at = layout_index(out, in, o, first);
			int width = imin(SLAB, in - first);

			for (int r = 0; r < n; r++) {
				float *v = values + (size_t)(o - row + r) * (size_t)in + first;

				for (int i = 0; i < width; i++)
					if (reads)
						v[i] = float_from(matrix,
								  at + (size_t)(i * PANEL + r),
								  type);
					else
						float_to(matrix, at + (size_t)(i * PANEL + r),
							 type, v[i]);
			}
		}
	}
}

static void cpu_matrix_write(struct device *dev, void *matrix, enum dtype type, int out, int in,
			     int row, int rows, const float *values)
{
	float *v = (float *)(uintptr_t)values;

	(void)dev;
	if (type == DTYPE_F32)
		move_rows(matrix, DTYPE_F32, out, in, row, rows, v, false);
	else
		move_rows(matrix, type, out, in, row, rows, v, false);
}

static void cpu_matrix_read(struct device *dev, const void *matrix, enum dtype type, int out,
			    int in, int row, int rows, float *values)
{
	char *m = (char *)(uintptr_t)matrix;

	(void)dev;
	if (type == DTYPE_F32)
		move_rows(m, DTYPE_F32, out, in, row, rows, values, true);
	else
		move_rows(m, type, out, in, row, rows, values, true);
}

/* Reading and writing stay in the calling thread: it may be one of the pool's. */
static void cpu_write(struct device *dev, void *memory, enum dtype type, size_t n,
		      const float *values)
{
	const struct kernels *k = cpu_of(dev)->kernels;

	if (type == DTYPE_F32)
		memcpy(memory, values, n * sizeof(*values));
	else
		(type == DTYPE_F16 ? k->f32_to_f16 : k->f32_to_bf16)(values, memory, n);
}

static void cpu_read(struct device *dev, const void *memory, enum dtype type, size_t n,
		     float *values)
{
	const struct kernels *k = cpu_of(dev)->kernels;

	if (type == DTYPE_F32)
		memcpy(values, memory, n * sizeof(*values));
	else
		(type == DTYPE_F16 ? k->f16_to_f32 : k->bf16_to_f32)(memory, values, n);
}

const struct device_ops device_cpu = {
	.name = "cpu",
	.open = cpu_open,
	.close = cpu_close,
	.map = cpu_map,
	.unmap = cpu_unmap,
	.reserve = cpu_reserve,
	.reserve_attention = cpu_reserve_attention,
	.parallel = cpu_parallel,
	.matrix_size = layout_size,
	.matrix_write = cpu_matrix_write,
	.matrix_read = cpu_matrix_read,
	.write = cpu_write,
	.read = cpu_read,
	.copy = cpu_copy,
	.forward = cpu_forward,
	.backward_input = cpu_backward_input,
	.backward_weight = cpu_backward_weight,
	.activate = cpu_activate,
	.derive = cpu_derive,
	.add = cpu_add,
	.dropout = cpu_dropout,
	.norm_forward = cpu_norm_forward,
	.norm_backward_input = cpu_norm_backward_input,
	.norm_backward_weight = cpu_norm_backward_weight,
	.embed = cpu_embed,
	.embed_gradient = cpu_embed_gradient,
	.add_positions = cpu_add_positions,
	.positions_gradient = cpu_positions_gradient,
	.gate = cpu_gate,
	.gate_gradient = cpu_gate_gradient,
	.attention_forward = cpu_attention_forward,
	.attention_backward = cpu_attention_backward,
	.rotate = cpu_rotate,
	.clear = cpu_clear,
	.numbers = cpu_numbers,
	.mse = cpu_mse,
	.class_stats = cpu_class_stats,
	.class_loss = cpu_class_loss,
	.update = cpu_update,
	.sum_squares = cpu_sum_squares,
	.exact_squares = cpu_exact_squares,
	.cast = cpu_cast,
	.multiplies = cpu_multiplies,
	.fma_rounds = cpu_fma_rounds,
};
