/*
 * ranks.h - run a function on several ranks and wait for all of them, for the tests of
 * everything that needs more than one. A rank that fails a check says so and exits.
 */
#ifndef KOLM_TESTS_RANKS_H
#define KOLM_TESTS_RANKS_H

#include "testing.h"

#include "comm/comm.h"
#include "comm/mpi/mpi.h"
#include "comm/self.h"
#include "comm/shm/shm.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define CHECK(condition, ...)                                                           \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
			fprintf(stderr, __VA_ARGS__);                                   \
			fprintf(stderr, "\n");                                          \
			_exit(1);                                                       \
		}                                                                       \
	} while (0)

typedef void rank_fn(struct comm *world, void *arg);

#if defined(KOLM_TEST_MPI)
/*
 * The test runs under mpirun, every process goes through the whole suite together with
 * the others, and takes part where there are ranks enough for it to be one.
 */
#define RANKS_ARE_THREADS 0

static int mpi_number, mpi_processes;

static inline void ranks_begin(void)
{
	struct error err = {0};

	CHECK(mpi_start(&mpi_number, &mpi_processes, &err) == OK, "%s", err.msg);
}

static inline int ranks_end(int failed)
{
	mpi_end();
	return failed;
}

static inline void run_ranks(int ranks, rank_fn *fn, void *arg)
{
	struct comm *world, *all;
	struct mpi_place place;
	struct error err = {0};

	if (ranks > mpi_processes)
		return;
	alarm(120);
	CHECK(mpi_open(&world, ranks, getenv("KOLM_MPI_HOSTS"), &place, &err) == OK, "%s",
	      err.msg);
	if (world) {
		fn(world, arg);
		comm_free(world);
	}
	/* Those that took no part wait here, asleep. */
	CHECK(mpi_open(&all, mpi_processes, getenv("KOLM_MPI_HOSTS"), &place, &err) == OK, "%s",
	      err.msg);
	CHECK(comm_run(all, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, &err) == OK, "%s", err.msg);
	comm_free(all);
}
#else
/* Ranks as threads of this process: the transport does not know the difference. */
struct rank_thread {
	pthread_t thread;
	struct shm_memory *memory;
	int rank;
	rank_fn *fn;
	void *arg;
};

static inline void *rank_thread(void *arg)
{
	struct rank_thread *t = arg;
	struct comm *world;
	struct error err = {0};

	CHECK(shm_join(&world, t->memory, t->rank, &err) == OK, "%s", err.msg);
	t->fn(world, t->arg);
	comm_free(world);
	return NULL;
}

static inline void run_threads(int ranks, rank_fn *fn, void *arg)
{
	struct shm_memory *memory;
	struct rank_thread threads[RANKS_MAX];
	struct error err = {0};

	alarm(300);
	assert_int_equal(shm_prepare(&memory, ranks, ranks <= 2, 0, -1, &err), OK);
	for (int i = 0; i < ranks; i++) {
		threads[i] =
			(struct rank_thread){.memory = memory, .rank = i, .fn = fn, .arg = arg};
		assert_int_equal(
			pthread_create(&threads[i].thread, NULL, rank_thread, &threads[i]), 0);
	}
	for (int i = 0; i < ranks; i++)
		pthread_join(threads[i].thread, NULL);
	shm_release(memory);
}

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer sees one process only; so every race between ranks shows. */
#define RANKS_ARE_THREADS 1

static inline void run_ranks(int ranks, rank_fn *fn, void *arg)
{
	run_threads(ranks, fn, arg);
}
#else
#define RANKS_ARE_THREADS 0

/* shm: fork the ranks; those that hang are killed after two minutes. */
static inline void run_ranks(int ranks, rank_fn *fn, void *arg)
{
	struct shm_memory *memory;
	struct error err = {0};
	pid_t pids[RANKS_MAX];
	int failed = 0;

	fflush(stdout);
	assert_int_equal(shm_prepare(&memory, ranks, ranks <= 2, 0, -1, &err), OK);
	for (int i = 0; i < ranks; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			struct comm *world;

			alarm(120);
			CHECK(shm_join(&world, memory, i, &err) == OK, "%s", err.msg);
			fn(world, arg);
			comm_free(world);
			shm_release(memory);
			_exit(0);
		}
	}
	for (int i = 0; i < ranks; i++) {
		int status;
		pid_t pid = waitpid(-1, &status, 0); /* whoever ends first */

		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			fprintf(stderr, "a rank of %d failed (process %d)\n", ranks, (int)pid);
			failed++;
			shm_stop(memory); /* let the others go */
		}
	}
	shm_release(memory);
	assert_int_equal(failed, 0);
}
#endif
#endif

#ifndef KOLM_TEST_MPI
static inline void ranks_begin(void)
{
}

static inline int ranks_end(int failed)
{
	return failed;
}
#endif

/* self: a world of one in this process. */
static inline void run_self(rank_fn *fn, void *arg)
{
	struct comm *world;
	struct error err = {0};

	assert_int_equal(comm_open_self(&world, &err), OK);
	fn(world, arg);
	comm_free(world);
}

static inline void *rank_alloc(struct comm *world, size_t bytes)
{
	struct error err = {0};
	void *p;

	CHECK(comm_alloc(world, bytes, &p, &err) == OK, "%s", err.msg);
	return p;
}

static inline void rank_wait(struct comm_request *r)
{
	struct error err = {0};

	CHECK(comm_wait(r, &err) == OK, "%s", err.msg);
}

#endif
