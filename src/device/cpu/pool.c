/* pool.c - see pool.h */
#include "device/cpu/pool.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* About a millisecond: on a virtual machine it takes 0.1 ms and more to wake a sleeper. */
enum { SPIN_ROUNDS = 50000 };

struct worker {
	struct pool *pool;
	pthread_t thread;
	int part;
};

struct pool {
	int threads, spin;
	/* A new value of round starts a run; what to run is written before it. */
	_Atomic uint32_t round;
	_Atomic uint32_t pending;  /* workers that still compute */
	_Atomic uint32_t sleepers; /* on either; nobody is woken where there are none */
	void (*fn)(void *arg, int part, int parts);
	void *arg;
	bool stop;
	int started;
	bool pinned;
	cpu_set_t before; /* where the creating thread could run before it was pinned */
	struct worker workers[];
};

/* Who sleeps has said so before it looks at the word; who wakes has changed the word before it
   looks for sleepers: one of them sees the other. */
static void sleep_on(struct pool *pool, _Atomic uint32_t *word, uint32_t value)
{
	atomic_fetch_add(&pool->sleepers, 1);
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
	atomic_fetch_sub(&pool->sleepers, 1);
}

static void wake(struct pool *pool, _Atomic uint32_t *word)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load(&pool->sleepers))
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Wait until *word is no longer value; returns what it is then. */
static uint32_t wait_change(struct pool *pool, _Atomic uint32_t *word, uint32_t value)
{
	uint32_t now;

	for (int i = 0; i < pool->spin; i++) {
		now = atomic_load_explicit(word, memory_order_acquire);
		if (now != value)
			return now;
		relax();
	}
	while ((now = atomic_load_explicit(word, memory_order_acquire)) == value)
		sleep_on(pool, word, value);
	return now;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct pool *pool = w->pool;
	uint32_t round = 0;

	for (;;) {
		round = wait_change(pool, &pool->round, round);
		if (pool->stop)
			return NULL;
		pool->fn(pool->arg, w->part, pool->threads);
		if (atomic_fetch_sub_explicit(&pool->pending, 1, memory_order_acq_rel) == 1)
			wake(pool, &pool->pending);
	}
}

static void start_round(struct pool *pool)
{
	atomic_store_explicit(&pool->pending, (uint32_t)(pool->threads - 1),
			      memory_order_relaxed);
	atomic_fetch_add_explicit(&pool->round, 1, memory_order_acq_rel);
	wake(pool, &pool->round);
}

void pool_run(struct pool *pool, void (*fn)(void *arg, int part, int parts), void *arg)
{
	uint32_t left;

	if (pool->threads > 1) {
		pool->fn = fn;
		pool->arg = arg;
		start_round(pool);
	}
	fn(arg, 0, pool->threads);
	if (pool->threads > 1)
		while ((left = atomic_load_explicit(&pool->pending, memory_order_acquire)))
			wait_change(pool, &pool->pending, left);
}

static void keep_on(pthread_t thread, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	/* Not being allowed to pin costs speed, nothing else. */
	(void)pthread_setaffinity_np(thread, sizeof(set), &set);
}

enum status pool_create(struct pool **out, int threads, const int *cpus, bool spin,
			struct error *err)
{
	struct pool *pool = calloc(1, sizeof(*pool) + (size_t)threads * sizeof(*pool->workers));

	if (!pool)
		return FAIL(err, ERR_MEMORY, "no memory for %d threads", threads);
	pool->threads = threads;
	pool->spin = spin ? SPIN_ROUNDS : 0;
	pool->started = 1;
	if (cpus) {
		pool->pinned = !sched_getaffinity(0, sizeof(pool->before), &pool->before);
		keep_on(pthread_self(), cpus[0]);
	}
	for (int i = 1; i < threads; i++) {
		struct worker *w = &pool->workers[i];
		int code;

		w->pool = pool;
		w->part = i;
		code = pthread_create(&w->thread, NULL, work, w);
		if (code) {
			pool_free(pool);
			FAIL(err, ERR_MEMORY, "can't start thread %d of %d: %s", i + 1, threads,
			     strerror(code));
			return HINT(err, "try a smaller --threads");
		}
		pool->started++;
		if (cpus)
			keep_on(w->thread, cpus[i]);
	}
	*out = pool;
	return OK;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	pool->stop = true;
	start_round(pool);
	for (int i = 1; i < pool->started; i++)
		pthread_join(pool->workers[i].thread, NULL);
	if (pool->pinned)
		sched_setaffinity(0, sizeof(pool->before), &pool->before);
	free(pool);
}
