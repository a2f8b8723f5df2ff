/*
 * test_growth.c - memory that peers can reach, for all transports: any rank may take more at
 * any time, and what it takes is zero, its own, and within reach of the others at once.
 */
#include "ranks.h"

#include <sys/resource.h>

enum { ROUNDS = 16, LARGE = 1 << 20 }; /* floats: two huge pages */

struct piece {
	float *data;
	size_t n;
};

static float mark_of(int rank, int round)
{
	return (float)(rank * ROUNDS + round + 1);
}

static void check_piece(const struct piece *p, float want, const char *what)
{
	for (size_t i = 0; i < p->n; i += 1 + p->n / 1000)
		CHECK(p->data[i] == want, "%s: %g instead of %g", what, p->data[i], want);
	CHECK(p->data[p->n - 1] == want, "%s at its end", what);
}

static void fill(const struct piece *p, float value)
{
	for (size_t i = 0; i < p->n; i++)
		p->data[i] = value;
}

static struct piece take(struct comm *world, size_t n)
{
	struct piece p = {rank_alloc(world, n * sizeof(float)), n};

	CHECK((uintptr_t)p.data % 64 == 0, "not aligned: %p", (void *)p.data);
	check_piece(&p, 0, "new memory");
	return p;
}

/* In every round something that only this rank takes and keeps, then a sum and messages over
   what was taken just before. */
static void grow(struct comm *world, void *arg)
{
	struct random common = *(struct random *)arg, own = common;
	int n = comm_size(world), me = comm_rank(world), next = (me + 1) % n;
	struct piece kept[ROUNDS];

	own.next += 1000 + 100 * (uint64_t)me;
	for (int round = 0; round < ROUNDS; round++) {
		bool large = random_int(&common, 0, 5) == 0;
		size_t size = (size_t)random_int(&common, 1, large ? LARGE : 5000);
		struct comm_request send, receive;
		struct piece sum, out, in;

		kept[round] = take(world, (size_t)random_int(&own, 1, large ? LARGE : 3000));
		fill(&kept[round], mark_of(me, round));
		sum = take(world, size);
		fill(&sum, mark_of(me, round));
		CHECK(comm_run(world, COMM_ALLREDUCE, sum.data, size, DTYPE_F32, 0, NULL) == OK,
		      "a sum");
		check_piece(&sum, (float)(n * (round + 1) + ROUNDS * n * (n - 1) / 2), "sum");
		out = take(world, size);
		in = take(world, size);
		fill(&out, mark_of(me, round));
		comm_irecv(world, (me + n - 1) % n, 0, in.data, size * sizeof(float), &receive);
		comm_isend(world, next, 0, out.data, size * sizeof(float), &send);
		rank_wait(&receive);
		rank_wait(&send);
		check_piece(&in, mark_of((me + n - 1) % n, round), "message");
	}
	for (int round = 0; round < ROUNDS; round++)
		check_piece(&kept[round], mark_of(me, round), "what was kept");
}

static void memory_grows_while_ranks_talk(void **state)
{
	struct random r = random_start("growth");
	(void)state;

	for (int ranks = 2; ranks <= 5; ranks += 3)
		run_ranks(ranks, grow, &r);
	run_self(grow, &r);
}

#if !defined(KOLM_TEST_MPI) && !RANKS_ARE_THREADS && !defined(__SANITIZE_ADDRESS__)
/* A rank that may not map what another one has taken: both wait in a sum over it. */
static int meet_beyond_limit(struct shm_memory *memory, int rank)
{
	enum { MOST = 64 << 20 };
	struct rlimit limit;
	struct comm *world;
	struct error err = {0};
	enum status st;
	float *x;

	alarm(60);
	CHECK(shm_join(&world, memory, rank, &err) == OK, "%s", err.msg);
	x = rank_alloc(world, 1024);
	limit.rlim_cur = limit.rlim_max = MOST;
	CHECK(rank == 0 || !setrlimit(RLIMIT_AS, &limit), "setrlimit");
	CHECK(comm_run(world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, &err) == OK, "%s", err.msg);
	if (rank == 0) {
		rank_alloc(world, 2 * MOST);
		x = rank_alloc(world, 1024); /* behind it */
	}
	st = comm_run(world, COMM_ALLREDUCE, x, 256, DTYPE_F32, 0, &err);
	if (rank == 0)
		return st == ERR_FAILED ? 0 : 1; /* when it is stopped */
	CHECK(st == ERR_MEMORY, "it ends with %d: %s", st, err.msg);
	CHECK(strstr(err.msg, "takes 128.0 MiB, but 'ulimit -v 65536' allows 64.0 MiB") ||
		      strstr(err.msg, "takes 130.0 MiB, but 'ulimit -v 65536' allows 64.0 MiB"),
	      "it says: %s", err.msg);
	return 3;
}

/* As launch_run would: who fails stops the others. */
static void what_can_not_be_mapped_is_an_error_with_its_limit(void **state)
{
	struct shm_memory *memory;
	struct error err = {0};
	pid_t pids[2];
	int status;
	(void)state;

	assert_int_equal(shm_prepare(&memory, 2, false, 0, -1, &err), OK);
	for (int rank = 0; rank < 2; rank++) {
		pids[rank] = fork();
		if (!pids[rank])
			_exit(meet_beyond_limit(memory, rank));
	}
	waitpid(pids[1], &status, 0);
	assert_int_equal(WEXITSTATUS(status), 3);
	shm_stop(memory);
	waitpid(pids[0], &status, 0);
	assert_int_equal(WEXITSTATUS(status), 0);
	shm_release(memory);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_grows_while_ranks_talk),
#if !defined(KOLM_TEST_MPI) && !RANKS_ARE_THREADS && !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(what_can_not_be_mapped_is_an_error_with_its_limit),
#endif
	};

	ranks_begin();
	return ranks_end(cmocka_run_group_tests(tests, NULL, NULL));
}
