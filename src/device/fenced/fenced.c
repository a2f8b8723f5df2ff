/*
 * fenced.c - a device for tests: the CPU, behind a fence that an accelerator would have.
 *
 * Its addresses lead nowhere: whoever follows one outside of the device dies. Its kernels run
 * as late as they may: when somebody waits for them, and then no more than was waited for, so
 * that an event that was forgotten shows as a wrong result. What the host writes through a
 * queue is there at once, since other ranks write there too; a kernel that takes it without
 * having awaited that queue is an error.
 */
#include "device/fenced/fenced.h"
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* No process has memory there: beyond what x86-64 and aarch64 give out, and on most of them no
   address at all. */
static const uintptr_t fence = (uintptr_t)1 << 50;

/* ---- memory ---- */

void *fenced_memory(const void *address)
{
	if (!address)
		return NULL;
	assert((uintptr_t)address & fence); /* memory of the host's, where it must not be */
	return (void *)((uintptr_t)address & ~fence); /* NOLINT: the address is the point */
}

static void *fenced_hide(struct device *dev, void *memory, uint64_t bytes, bool shared)
{
	(void)dev, (void)bytes, (void)shared;
	return (void *)((uintptr_t)memory | fence); /* NOLINT: as above */
}

/* Kernels may still want what is about to be freed, and others may get its addresses. */
static void fenced_forget(struct device *dev, const struct allocation *a)
{
	(void)a;
	fenced_finish(dev);
	fenced_of(dev)->n_writes = 0;
}

static void *fenced_map(struct device *dev, uint64_t bytes)
{
	struct device *cpu = fenced_of(dev)->cpu;

	return cpu->ops->map(cpu, bytes);
}

static void fenced_unmap(struct device *dev, void *memory, uint64_t bytes)
{
	struct device *cpu = fenced_of(dev)->cpu;

	cpu->ops->unmap(cpu, memory, bytes);
}

/* What the CPU takes for itself is on this device's account. */
static enum status reserve_by(struct device *dev, int n, int width,
			      enum status (*reserve)(struct device *, int, int, struct error *),
			      struct error *err)
{
	struct device *cpu = fenced_of(dev)->cpu;
	struct memory_account *a = &dev->account;
	uint64_t before = cpu->account.total, more;
	enum status st;

	fenced_finish(dev);
	TRY(reserve(cpu, n, width, err));
	more = cpu->account.total - before;
	a->now[MEMORY_WORKSPACE] += more;
	a->total += more;
	if (a->now[MEMORY_WORKSPACE] > a->peak[MEMORY_WORKSPACE])
		a->peak[MEMORY_WORKSPACE] = a->now[MEMORY_WORKSPACE];
	if (a->total > a->total_peak)
		a->total_peak = a->total;
out:
	return st;
}

static enum status fenced_reserve(struct device *dev, int rows, int width, struct error *err)
{
	return reserve_by(dev, rows, width, device_reserve, err);
}

static enum status fenced_reserve_attention(struct device *dev, int keys, int width,
					    struct error *err)
{
	return reserve_by(dev, keys, width, device_reserve_attention, err);
}

/* ---- what waits to be computed ---- */

static uint64_t *kernels_put(struct fenced *f)
{
	return &f->seen[QUEUE_COMPUTE].of[QUEUE_COMPUTE];
}

static void run_until(struct fenced *f, uint64_t number)
{
	for (; f->done < number; f->done++) {
		const struct work *w = &f->work[f->done % WORK_MAX];

		w->run(f->cpu, w);
	}
}

void fenced_finish(struct device *dev)
{
	struct fenced *f = fenced_of(dev);

	run_until(f, *kernels_put(f));
}

struct work *fenced_put(struct device *dev, void (*run)(struct device *, const struct work *))
{
	struct fenced *f = fenced_of(dev);
	struct work *w = &f->work[*kernels_put(f) % WORK_MAX];

	if (*kernels_put(f) - f->done == WORK_MAX)
		run_until(f, f->done + 1);
	++*kernels_put(f);
	*w = (struct work){.run = run};
	return w;
}

void *fenced_operand(struct device *dev, const void *address, size_t bytes)
{
	struct fenced *f = fenced_of(dev);
	uintptr_t begin = (uintptr_t)address;
	uint64_t first = f->n_writes > WRITES_MAX ? f->n_writes - WRITES_MAX : 0;

	for (uint64_t i = first; i < f->n_writes && address; i++) {
		const struct host_write *w = &f->writes[i % WRITES_MAX];

		if (w->begin < begin + bytes && begin < w->end &&
		    w->number > f->seen[QUEUE_COMPUTE].of[w->queue])
			assert(!"a kernel takes what the host wrote without awaiting its queue");
	}
	return fenced_memory(address);
}

struct view fenced_view(struct device *dev, struct view v, int rows, int columns)
{
	size_t elements = (size_t)(rows - 1) * v.stride + (size_t)columns;

	v.data = fenced_operand(dev, v.data, rows ? elements * dtype_size(v.type) : 0);
	return v;
}

/* ---- queues and the host ---- */

static struct device_event fenced_mark(struct device *dev, enum device_queue queue)
{
	struct fenced *f = fenced_of(dev);

	f->events[++f->n_events % EVENTS_MAX] = f->seen[queue];
	return (struct device_event){queue, f->n_events};
}

static void fenced_await(struct device *dev, enum device_queue queue, struct device_event event)
{
	struct fenced *f = fenced_of(dev);
	bool known = f->n_events - event.number < EVENTS_MAX;

	if (!event.number)
		return; /* of before anything was marked */
	for (int q = 0; q < QUEUE_COUNT; q++) {
		uint64_t *seen = &f->seen[queue].of[q];
		uint64_t number =
			known ? f->events[event.number % EVENTS_MAX].of[q] : f->seen[q].of[q];

		if (number > *seen)
			*seen = number;
	}
}

static void *fenced_host_begin(struct device *dev, enum device_queue queue, void *memory,
			       size_t bytes, enum host_access access)
{
	struct fenced *f = fenced_of(dev);

	(void)bytes, (void)access;
	run_until(f, f->seen[queue].of[QUEUE_COMPUTE]);
	return fenced_memory(memory);
}

static void fenced_host_end(struct device *dev, enum device_queue queue, void *memory,
			    size_t bytes, enum host_access access)
{
	struct fenced *f = fenced_of(dev);
	uintptr_t begin = (uintptr_t)memory;

	/* Through the kernels' own queue it is in order anyway. */
	if (!(access & HOST_WRITES) || queue == QUEUE_COMPUTE)
		return;
	f->writes[f->n_writes++ % WRITES_MAX] =
		(struct host_write){queue, ++f->seen[queue].of[queue], begin, begin + bytes};
}

static void fenced_parallel(struct device *dev, void (*fn)(void *, int, int), void *arg)
{
	device_parallel(fenced_of(dev)->cpu, fn, arg);
}

/* ---- between host and device, behind all that was computed so far ---- */

static size_t fenced_matrix_size(int out, int in)
{
	return device_cpu.matrix_size(out, in);
}

static void fenced_matrix_write(struct device *dev, void *matrix, enum dtype type, int out,
				int in, int row, int rows, const float *values)
{
	fenced_finish(dev);
	device_matrix_write(fenced_of(dev)->cpu, fenced_memory(matrix), type, out, in, row,
			    rows, values);
}

static void fenced_matrix_read(struct device *dev, const void *matrix, enum dtype type, int out,
			       int in, int row, int rows, float *values)
{
	fenced_finish(dev);
	device_matrix_read(fenced_of(dev)->cpu, fenced_memory(matrix), type, out, in, row, rows,
			   values);
}

static void fenced_write(struct device *dev, void *memory, enum dtype type, size_t n,
			 const float *values)
{
	fenced_finish(dev);
	device_write(fenced_of(dev)->cpu, fenced_memory(memory), type, n, values);
}

static void fenced_read(struct device *dev, const void *memory, enum dtype type, size_t n,
			float *values)
{
	fenced_finish(dev);
	device_read(fenced_of(dev)->cpu, fenced_memory(memory), type, n, values);
}

static void fenced_numbers(struct device *dev, const double *numbers, size_t n, double *out)
{
	fenced_finish(dev);
	device_numbers(fenced_of(dev)->cpu, fenced_memory(numbers), n, out);
}

static bool fenced_multiplies(struct device *dev, enum dtype type)
{
	return device_multiplies(fenced_of(dev)->cpu, type);
}

static double fenced_fma_rounds(struct device *dev, enum dtype type, long n)
{
	return device_fma_rounds(fenced_of(dev)->cpu, type, n);
}

/* ---- the device ---- */

static enum status fenced_open(struct device *dev, const char *spec,
			       const struct device_options *o, struct error *err)
{
	struct fenced *f = calloc(1, sizeof(*f));
	struct device_options own = *o;
	enum status st;

	(void)spec;
	if (!f)
		return FAIL(err, ERR_MEMORY, "no memory for the fenced device");
	own.memory = 0; /* the limit is this device's */
	TRY(device_open(&f->cpu, "cpu", &own, err));
	dev->threads = f->cpu->threads;
	dev->cores = f->cpu->cores;
	snprintf(dev->description, sizeof(dev->description), "fenced %.110s",
		 f->cpu->description);
	dev->state = f;
	f = NULL; /* the device's now */
out:
	free(f);
	return st;
}

static void fenced_close(struct device *dev)
{
	struct fenced *f = fenced_of(dev);

	device_close(f->cpu);
	free(f);
}

const struct device_ops device_fenced = {
	.name = "fenced",
	.open = fenced_open,
	.close = fenced_close,
	.map = fenced_map,
	.unmap = fenced_unmap,
	.hide = fenced_hide,
	.forget = fenced_forget,
	.reserve = fenced_reserve,
	.reserve_attention = fenced_reserve_attention,
	.parallel = fenced_parallel,
	.finish = fenced_finish,
	.mark = fenced_mark,
	.await = fenced_await,
	.host_begin = fenced_host_begin,
	.host_end = fenced_host_end,
	.matrix_size = fenced_matrix_size,
	.matrix_write = fenced_matrix_write,
	.matrix_read = fenced_matrix_read,
	.write = fenced_write,
	.read = fenced_read,
	.copy = fenced_copy,
	.forward = fenced_forward,
	.backward_input = fenced_backward_input,
	.backward_weight = fenced_backward_weight,
	.activate = fenced_activate,
	.derive = fenced_derive,
	.add = fenced_add,
	.dropout = fenced_dropout,
	.norm_forward = fenced_norm_forward,
	.norm_backward_input = fenced_norm_backward_input,
	.norm_backward_weight = fenced_norm_backward_weight,
	.embed = fenced_embed,
	.embed_gradient = fenced_embed_gradient,
	.add_positions = fenced_add_positions,
	.positions_gradient = fenced_positions_gradient,
	.gate = fenced_gate,
	.gate_gradient = fenced_gate_gradient,
	.attention_forward = fenced_attention_forward,
	.attention_backward = fenced_attention_backward,
	.rotate = fenced_rotate,
	.clear = fenced_clear,
	.numbers = fenced_numbers,
	.mse = fenced_mse,
	.class_stats = fenced_class_stats,
	.class_loss = fenced_class_loss,
	.update = fenced_update,
	.sum_squares = fenced_sum_squares,
	.exact_squares = fenced_exact_squares,
	.cast = fenced_cast,
	.multiplies = fenced_multiplies,
	.fma_rounds = fenced_fma_rounds,
};
