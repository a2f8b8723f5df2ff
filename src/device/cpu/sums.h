/*
 * sums.h - reductions. The number of partial sums depends on what is summed alone, and they are
 * added in order: so the result does not depend on the number of threads.
 */
#ifndef KOLM_DEVICE_CPU_SUMS_H
#define KOLM_DEVICE_CPU_SUMS_H

#include "base/util.h"
#include "device/cpu/pieces.h"

#include <assert.h>

struct sum_job {
	struct cpu *cpu;
	int64_t items, chunk; /* partial i covers items [i * chunk, (i + 1) * chunk) */
	double (*sum)(const struct sum_job *job, int64_t begin, int64_t end, float *scratch);
	const void *args;
};

static void sum_part(void *arg, int part, int parts)
{
	struct sum_job *job = arg;
	int64_t n = ceil_div(job->items, job->chunk);

	for (int64_t i = part_begin(n, part, parts); i < part_begin(n, part + 1, parts); i++)
		job->cpu->partials[i] =
			job->sum(job, i * job->chunk, min64((i + 1) * job->chunk, job->items),
				 scratch_of(job->cpu, part));
}

static inline double sum_run(struct sum_job *job)
{
	double total = 0;

	assert(ceil_div(job->items, job->chunk) <= job->cpu->partials_size);
	pool_run(job->cpu->pool, sum_part, job);
	for (int64_t i = 0; i < ceil_div(job->items, job->chunk); i++)
		total += job->cpu->partials[i];
	return total;
}

#endif
