/*
 * cpu_attention.c - attention, cut in parts for the threads: blocks of queries of a head, or
 * for gradients the heads that share keys. Each is the same whoever takes it, so threads take
 * the next one when they are done.
 */
#include "base/util.h"
#include "device/cpu/cpu.h"

#include <assert.h>
#include <stdatomic.h>

struct attention_job {
	struct cpu *cpu;
	const struct attention *a;
	_Atomic int64_t next;
	int64_t count;
};

enum status cpu_reserve_attention(struct device *dev, int keys, int width, struct error *err)
{
	struct cpu *cpu = cpu_of(dev);
	size_t size = kernels_attention_size(keys, width);
	enum status st = OK;

	if (size <= cpu->attention_size)
		return OK;
	device_free(dev, cpu->attention);
	cpu->attention = NULL;
	cpu->attention_size = 0;
	TRY(device_alloc(dev, MEMORY_WORKSPACE, (uint64_t)dev->threads * size * sizeof(float),
			 "attention", (void **)&cpu->attention, err));
	cpu->attention_size = size;
out:
	return st;
}

static float *room_of(const struct attention_job *job, int part)
{
	return job->cpu->attention + (size_t)part * job->cpu->attention_size;
}

/* The later the queries, the more keys: those of a head that take longest come first. */
static void forward_part(void *arg, int part, int parts)
{
	struct attention_job *job = arg;
	const struct attention *a = job->a;
	int64_t blocks = ceil_div(a->queries, ATTENTION_BLOCK), i;

	(void)parts;
	while ((i = atomic_fetch_add(&job->next, 1)) < job->count) {
		int query = (int)(blocks - 1 - i % blocks) * ATTENTION_BLOCK;
		struct attention_block b = {.sequence = (int)(i / blocks / a->heads),
					    .head = (int)(i / blocks % a->heads),
					    .query = query,
					    .n = imin(ATTENTION_BLOCK, a->queries - query)};

		job->cpu->kernels->attention_forward(a, &b, room_of(job, part));
	}
}

static void backward_part(void *arg, int part, int parts)
{
	struct attention_job *job = arg;
	const struct attention *a = job->a;
	int64_t i;

	(void)parts;
	while ((i = atomic_fetch_add(&job->next, 1)) < job->count)
		job->cpu->kernels->attention_backward(
			a, (int)(i / a->kv_heads), (int)(i % a->kv_heads), room_of(job, part));
}

static void run(struct device *dev, const struct attention *a, int64_t count,
		void (*part)(void *, int, int))
{
	struct attention_job job = {.cpu = cpu_of(dev), .a = a, .count = count};

	assert(job.cpu->attention_size >= kernels_attention_size(a->keys, a->width));
	assert(a->saved.type == DTYPE_F32);
	pool_run(job.cpu->pool, part, &job);
}

void cpu_attention_forward(struct device *dev, const struct attention *a)
{
	run(dev, a, ceil_div(a->queries, ATTENTION_BLOCK) * a->heads * a->sequences,
	    forward_part);
}

void cpu_attention_backward(struct device *dev, const struct attention *a)
{
	run(dev, a, (int64_t)a->kv_heads * a->sequences, backward_part);
}
