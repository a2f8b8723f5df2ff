/*
 * cpu_attention.c - attention, cut in parts for the threads. Heads are on their own, so each
 * thread gets as many whole ones: most of them are its own, the last ones go to whoever is
 * done. Those that are left over are shared: forward by blocks of queries, backward in turns.
 * Results are the same whoever computes them.
 */
#include "base/util.h"
#include "device/cpu/cpu.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

struct attention_job {
	struct cpu *cpu;
	const struct attention *a;
	int64_t whole; /* heads that are not shared in turns: as many as threads divide */
	int64_t own;   /* of a thread */
	int64_t count; /* of the others: heads, or blocks */
	_Atomic int64_t next; /* of those: whoever is done takes the next one */
	struct attention_turn turn;
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

static struct attention_job job_of(struct device *dev, const struct attention *a, int64_t heads)
{
	struct cpu *cpu = cpu_of(dev);
	int64_t each = heads / dev->threads;

	assert(cpu->attention_size >= kernels_attention_size(a->keys, a->width));
	assert(a->saved.type == DTYPE_F32);
	return (struct attention_job){.cpu = cpu,
				      .a = a,
				      .whole = each * dev->threads,
				      .own = dev->threads > 1 ? each - ceil_div(each, 8)
							      : each};
}

/* ---- forward ---- */

static int64_t blocks_of(const struct attention *a)
{
	return ceil_div(a->queries, ATTENTION_BLOCK);
}

/* Of all heads of all sequences. The later the queries, the more keys: those of a head that
   take longest come first. */
static struct attention_block block_number(const struct attention *a, int64_t i)
{
	int64_t blocks = blocks_of(a), head = i / blocks;
	int query = (int)(blocks - 1 - i % blocks) * ATTENTION_BLOCK;

	return (struct attention_block){.sequence = (int)(head / a->heads),
					.head = (int)(head % a->heads),
					.query = query,
					.n = imin(ATTENTION_BLOCK, a->queries - query)};
}

static void forward_part(void *arg, int part, int parts)
{
	struct attention_job *job = arg;
	const struct attention *a = job->a;
	int64_t blocks = blocks_of(a), i = part * job->own * blocks;
	int64_t end = i + job->own * blocks;
	struct attention_block b = block_number(a, i), next;

	for (; i < end; i++, b = next) {
		next = block_number(a, i + 1);
		job->cpu->kernels->attention_forward(a, &b, i + 1 < end ? &next : NULL,
						     room_of(job, part));
	}
	while ((i = atomic_fetch_add(&job->next, 1)) < job->count) {
		b = block_number(a, parts * job->own * blocks + i);
		job->cpu->kernels->attention_forward(a, &b, NULL, room_of(job, part));
	}
}

void cpu_attention_forward(struct device *dev, const struct attention *a)
{
	int64_t heads = (int64_t)a->sequences * a->heads;
	struct attention_job job = job_of(dev, a, heads);

	job.count = (heads - dev->threads * job.own) * blocks_of(a);
	pool_run(job.cpu->pool, forward_part, &job);
}

/* ---- backward ---- */

static void backward_head(const struct attention_job *job, int64_t i, int part)
{
	const struct attention *a = job->a;

	job->cpu->kernels->attention_backward(a, (int)(i / a->kv_heads), (int)(i % a->kv_heads),
					      room_of(job, part));
}

static void backward_part(void *arg, int part, int parts)
{
	struct attention_job *job = arg;
	int64_t i;

	for (i = 0; i < job->own; i++)
		backward_head(job, part * job->own + i, part);
	while ((i = atomic_fetch_add(&job->next, 1)) < job->count)
		backward_head(job, parts * job->own + i, part);
}

static void turn_part(void *arg, int part, int parts)
{
	struct attention_job *job = arg;

	job->cpu->kernels->attention_turn(job->a, &job->turn, part, parts, room_of(job, part));
}

/* The sums are where those of the first thread would be, what turns leave where those of the
   second one would be. */
static void share_head(struct attention_job *job, int64_t i)
{
	const struct attention *a = job->a;
	size_t size = kernels_attention_sums(a->keys, a->width);
	float *end = room_of(job, 0) + kernels_attention_size(a->keys, a->width);

	job->turn = (struct attention_turn){.sequence = (int)(i / a->kv_heads),
					    .kv_head = (int)(i % a->kv_heads),
					    .sums = end - size,
					    .gradients = end - size + job->cpu->attention_size};
	memset(job->turn.sums, 0, size * sizeof(float));
	for (; job->turn.number <= kernels_attention_turns(a); job->turn.number++)
		pool_run(job->cpu->pool, turn_part, job);
}

void cpu_attention_backward(struct device *dev, const struct attention *a)
{
	int64_t heads = (int64_t)a->sequences * a->kv_heads;
	struct attention_job job = job_of(dev, a, heads);
	/* A turn has to be worth a meeting of the threads. */
	bool shares = job.cpu->kernels->attention_turn && a->keys > 2 * ATTENTION_BLOCK;

	job.count = (shares ? job.whole : heads) - dev->threads * job.own;
	if (job.own || job.count)
		pool_run(job.cpu->pool, backward_part, &job);
	for (int64_t i = job.whole; i < heads && shares; i++)
		share_head(&job, i);
}
