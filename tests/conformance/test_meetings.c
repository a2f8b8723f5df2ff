/*
 * test_meetings.c - who waits for whom in a collective, for all transports: nobody for more
 * than it needs, nobody woken for nothing, nobody forgotten.
 */
#include "ranks.h"

#include "base/clock.h"

#ifdef KOLM_TEST_MPI
#include <mpi.h>
#endif
#include <limits.h>
#include <sys/resource.h>

enum { TRIES = 4 };

/* Between machines, members meet on each of them, and look at MPI now and then. */
static bool on_one_machine(void)
{
	const char *hosts = getenv("KOLM_MPI_HOSTS");

	return !hosts || atoi(hosts) < 2;
}

static void run(struct comm *world, enum comm_op op, float *x, size_t n, int root)
{
	struct error err = {0};

	CHECK(comm_run(world, op, x, n, DTYPE_F32, root, &err) == OK, "%s", err.msg);
}

/* The last one comes to a collective with a root when all the others are through with it. */
static void without_the_last(struct comm *world, void *arg)
{
	static const enum comm_op ops[] = {COMM_BROADCAST, COMM_SCATTER, COMM_GATHER};
	int n = comm_size(world), me = comm_rank(world);
	float *x = rank_alloc(world, (size_t)n * sizeof(float));
	char *word = rank_alloc(world, 1);

	(void)arg;
	for (int root = 0; root < n && on_one_machine(); root++)
		for (size_t k = 0; k < ARRAY_SIZE(ops); k++) {
			int last = (root + 1) % n;
			struct comm_request r;

			for (int i = 0; i < n; i++)
				x[i] = (float)(me * n + i);
			for (int i = 0; i < n && me == last; i++)
				if (i != root && i != last) {
					comm_irecv(world, i, 0, word, 1, &r);
					rank_wait(&r);
				}
			run(world, ops[k], x, (size_t)n, root);
			if (me != root && me != last) {
				comm_isend(world, last, 0, word, 1, &r);
				rank_wait(&r);
			}
			if (ops[k] != COMM_GATHER)
				CHECK(x[me] == (float)(root * n + me), "%s from %d: %g",
				      comm_op_name(ops[k]), root, (double)x[me]);
			for (int i = 0; i < n && ops[k] == COMM_GATHER && me == root; i++)
				CHECK(x[i] == (float)(i * n + i), "gathered from %d: %g", i,
				      (double)x[i]);
		}
}

static void members_need_the_root_only(void **state)
{
	(void)state;
	for (int ranks = 3; ranks <= 8; ranks++)
		run_ranks(ranks, without_the_last, NULL);
}

/* How often a rank slept in a collective to which one comes after the other. */
static long sleeps_in(struct comm *world, enum comm_op op, float *x)
{
	struct rusage before, after;
	int n = comm_size(world);
	double start;

	usleep((useconds_t)comm_rank(world) * 20000);
	getrusage(RUSAGE_THREAD, &before);
	start = clock_ms();
	run(world, op, x, (size_t)n, n - 1);
	getrusage(RUSAGE_THREAD, &after);
	/* By themselves they look again after a fifth of a second. */
	return after.ru_nvcsw - before.ru_nvcsw - (long)((clock_ms() - start) / 200);
}

/* Those that have come sleep until all have, not until the next. The system has a rank sleep
   for reasons of its own as well, but not in every one of a few tries. */
static void one_by_one(struct comm *world, void *arg)
{
	static const enum comm_op ops[] = {COMM_BARRIER, COMM_ALLREDUCE, COMM_ALLGATHER,
					   COMM_BROADCAST};
	int n = comm_size(world), me = comm_rank(world);
	float *x = rank_alloc(world, (size_t)n * sizeof(float));

	(void)arg;
	for (size_t k = 0; k < ARRAY_SIZE(ops) && on_one_machine(); k++) {
		long sleeps = LONG_MAX;

		for (int try = 0; try < TRIES; try++) {
			long now = sleeps_in(world, ops[k], x);

			sleeps = now < sleeps ? now : sleeps;
		}
		CHECK(sleeps <= 3, "rank %d of %d slept %ld times in one %s", me, n, sleeps,
		      comm_op_name(ops[k]));
	}
}

static void nobody_is_woken_for_nothing(void **state)
{
	(void)state;
	if (RANKS_ARE_THREADS)
		skip(); /* ThreadSanitizer has sleeps of its own */
	run_ranks(5, one_by_one, NULL);
	run_ranks(12, one_by_one, NULL);
}

enum { UNDER_WAY = 400 };

/* Many more collectives under way than a group keeps apart. */
static void crowd(struct comm *world, void *arg)
{
	static const enum comm_op ops[] = {COMM_BARRIER, COMM_ALLREDUCE, COMM_BROADCAST};
	struct random common = *(struct random *)arg;
	struct comm_request *r = calloc(UNDER_WAY, sizeof(*r));
	float *x = rank_alloc(world, UNDER_WAY * sizeof(float));
	int n = comm_size(world), me = comm_rank(world);

	for (int i = 0; i < UNDER_WAY; i++) {
		enum comm_op op = ops[random_int(&common, 0, 2)];

		x[i] = (float)(me + i);
		comm_start(world, op, &x[i], 1, DTYPE_F32, random_int(&common, 0, n - 1),
			   &r[i]);
	}
	for (int i = UNDER_WAY - 1; i >= 0; i--) {
		enum comm_op op = r[i].op;
		float want = (float)(i + (op == COMM_BROADCAST ? r[i].root : me));

		if (op == COMM_ALLREDUCE)
			want = (float)(n * i + n * (n - 1) / 2);
		rank_wait(&r[i]);
		CHECK(x[i] == want, "%s %d: %g instead of %g", comm_op_name(op), i,
		      (double)x[i], (double)want);
	}
	free(r);
}

static void any_number_is_under_way(void **state)
{
	struct random r = random_start("crowd");
	(void)state;

	for (int ranks = 2; ranks <= 16; ranks += 3)
		run_ranks(ranks, crowd, &r);
}

/* Rank 0 has come to all but the last of some barriers, for which there is no room before the
   others have left the first, and sleeps. When they have, they need it: it is woken then,
   not at the end of its patience. */
static void room(struct comm *world, void *arg)
{
	enum { ROUNDS = 100, BARRIERS = 9 };
	struct comm_request r[BARRIERS];
	int me = comm_rank(world);
	double start = clock_ms();

	(void)arg;
	for (int round = 0; round < ROUNDS; round++) {
		usleep(me ? 0 : 1000);
		for (int i = 0; i < BARRIERS; i++)
			comm_start(world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, &r[i]);
		usleep(me ? 2000 : 0);
		for (int i = BARRIERS - 1; i >= 0; i--)
			rank_wait(&r[i]);
	}
	CHECK(clock_ms() - start < 10 * 1000, "%d rounds took %g ms", ROUNDS,
	      clock_ms() - start);
}

static void nobody_is_forgotten(void **state)
{
	(void)state;
	run_ranks(2, room, NULL);
	run_ranks(5, room, NULL);
}

#ifdef KOLM_TEST_MPI
static int splits;

/* Whoever calls MPI's own, in this program, comes here first. */
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *out)
{
	splits++;
	return PMPI_Comm_split(comm, color, key, out);
}

static void open_some(struct comm *world, void *arg)
{
	int before = splits, all[16];

	(void)arg;
	for (int i = 0; i < comm_size(world); i++)
		all[i] = i;
	for (int i = 0; i < 3; i++) {
		struct comm *group;
		struct error err = {0};

		CHECK(comm_create(&group, world, COMM_FOR_REPLICAS, all, comm_size(world),
				  &err) == OK,
		      "%s", err.msg);
		run(group, COMM_BARRIER, NULL, 0, 0);
		comm_free(group);
	}
	CHECK(!on_one_machine() || splits == before, "MPI was asked %d times", splits - before);
}

/* On a busy machine MPI waits long for each. */
static void groups_of_one_machine_need_no_mpi(void **state)
{
	(void)state;
	run_ranks(5, open_some, NULL);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_need_the_root_only),
		cmocka_unit_test(nobody_is_woken_for_nothing),
		cmocka_unit_test(any_number_is_under_way),
		cmocka_unit_test(nobody_is_forgotten),
#ifdef KOLM_TEST_MPI
		cmocka_unit_test(groups_of_one_machine_need_no_mpi),
#endif
	};

	ranks_begin();
	return ranks_end(cmocka_run_group_tests(tests, NULL, NULL));
}
