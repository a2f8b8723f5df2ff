/*
 * pool.h - the threads of a CPU device. A run hands the same function to every thread
 * and returns when all are done. Threads sleep on a futex between runs, after a short
 * spin where each of them has a core of its own.
 */
#ifndef KOLM_DEVICE_CPU_POOL_H
#define KOLM_DEVICE_CPU_POOL_H

#include "base/error.h"

#include <stdbool.h>

struct pool; /* opaque */

/* cpus: where to keep each thread (the caller's own is the first), or NULL. */
enum status pool_create(struct pool **out, int threads, const int *cpus, bool spin,
			struct error *err);
/* By the thread that created it, which may then run where it could before. */
void pool_free(struct pool *pool);

/* Call fn(arg, part, threads) for every part; part 0 runs on the calling thread. */
void pool_run(struct pool *pool, void (*fn)(void *arg, int part, int parts), void *arg);

#endif
