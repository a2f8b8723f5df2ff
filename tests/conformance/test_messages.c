/*
 * test_messages.c - messages between ranks, for all transports: order, size, waiting
 * asleep, being woken, and what happens when nobody sends.
 */
#include "ranks.h"

#include "base/clock.h"

enum { MESSAGES = 300 };

/* Everybody to everybody, all channels, more than fit under way, received backwards. */
static void flood(struct comm *world, void *arg)
{
	int n = comm_size(world), me = comm_rank(world), at = 0;
	int per_pair = imax(1, MESSAGES / (n * COMM_CHANNELS)) * 8;
	int total = n * COMM_CHANNELS * per_pair;
	struct comm_request *sends = calloc((size_t)total, sizeof(*sends));
	struct comm_request *receives = calloc((size_t)total, sizeof(*receives));
	int *out = rank_alloc(world, (size_t)total * sizeof(int));
	int *in = rank_alloc(world, (size_t)total * sizeof(int));

	(void)arg;
	for (int k = 0; k < per_pair; k++)
		for (int peer = 0; peer < n; peer++)
			for (int ch = 0; ch < COMM_CHANNELS; ch++, at++) {
				out[at] = me * 1000000 + peer * 10000 + ch * 1000 + k;
				comm_isend(world, peer, ch, &out[at], sizeof(int), &sends[at]);
			}
	at = 0;
	for (int k = 0; k < per_pair; k++)
		for (int peer = 0; peer < n; peer++)
			for (int ch = 0; ch < COMM_CHANNELS; ch++, at++)
				comm_irecv(world, peer, ch, &in[at], sizeof(int),
					   &receives[at]);
	for (int i = total - 1; i >= 0; i--) {
		rank_wait(&receives[i]);
		rank_wait(&sends[i]);
	}
	at = 0;
	for (int k = 0; k < per_pair; k++)
		for (int peer = 0; peer < n; peer++)
			for (int ch = 0; ch < COMM_CHANNELS; ch++, at++)
				CHECK(in[at] == peer * 1000000 + me * 10000 + ch * 1000 + k,
				      "message %d from %d on channel %d is %d", k, peer, ch,
				      in[at]);
	free(sends);
	free(receives);
}

static void messages_keep_their_order(void **state)
{
	(void)state;
	run_self(flood, NULL);
	for (int ranks = 1; ranks <= 16; ranks *= 2)
		run_ranks(ranks, flood, NULL);
	run_ranks(3, flood, NULL);
}

/* Sizes up to 64 MiB, there and back, and a sum over as much. */
static void large(struct comm *world, void *arg)
{
	size_t most = 64u << 20;
	char *a = rank_alloc(world, most), *b = rank_alloc(world, most);
	int peer = 1 - comm_rank(world);

	(void)arg;
	for (size_t bytes = 0; bytes <= most; bytes = bytes ? bytes * 16 : 1) {
		struct comm_request send, receive;

		memset(a, comm_rank(world) + 1, bytes);
		memset(b, 0, bytes);
		comm_irecv(world, peer, 0, b, bytes, &receive);
		comm_isend(world, peer, 0, a, bytes, &send);
		rank_wait(&send);
		rank_wait(&receive);
		CHECK(!bytes || (b[0] == peer + 1 && b[bytes - 1] == peer + 1), "%zu bytes",
		      bytes);
	}
	{
		size_t n = most / sizeof(float);
		float *x = (float *)a;
		struct error err = {0};

		for (size_t i = 0; i < n; i++)
			x[i] = (float)comm_rank(world) + 1;
		CHECK(comm_run(world, COMM_ALLREDUCE, x, n, DTYPE_F32, 0, &err) == OK, "%s",
		      err.msg);
		for (size_t i = 0; i < n; i++)
			CHECK(x[i] == 3, "element %zu is %g", i, (double)x[i]);
	}
}

static void large_transfers_arrive_whole(void **state)
{
	(void)state;
	run_ranks(2, large, NULL);
}

/* A message that comes late: testing never blocks, and waiting for it costs no CPU. */
static void late(struct comm *world, void *arg)
{
	int *x = rank_alloc(world, sizeof(int));
	struct comm_request r;
	clock_t before;

	(void)arg;
	if (comm_rank(world) == 0) {
		*x = 7;
		usleep(500 * 1000);
		for (int peer = 1; peer < comm_size(world); peer++) {
			comm_isend(world, peer, 0, x, sizeof(int), &r);
			rank_wait(&r);
		}
		return;
	}
	comm_irecv(world, 0, 0, x, sizeof(int), &r);
	CHECK(!comm_test(&r), "nothing was sent yet");
	before = clock();
	rank_wait(&r);
	CHECK(*x == 7, "got %d", *x);
	CHECK(RANKS_ARE_THREADS || (double)(clock() - before) / CLOCKS_PER_SEC < 0.1,
	      "waiting took %g s of CPU time", (double)(clock() - before) / CLOCKS_PER_SEC);
}

static void waiting_is_asleep(void **state)
{
	(void)state;
	run_ranks(16, late, NULL);
}

#ifndef KOLM_TEST_MPI
static void left_alone(struct comm *world, void *arg)
{
	struct comm_request r;
	struct error err = {0};
	int *x = rank_alloc(world, sizeof(int));

	(void)arg;
	if (comm_rank(world) == 0)
		return; /* ends without a word */
	comm_irecv(world, 0, 0, x, sizeof(int), &r);
	CHECK(comm_wait(&r, &err) == ERR_FAILED, "the wait must fail when the run is stopped");
	_exit(0);
}

/* When the launcher says stop, whoever waits gets an error, at once. */
static void a_stop_ends_every_wait(void **state)
{
	struct shm_memory *memory;
	struct error err = {0};
	pid_t pids[3];
	double start;
	(void)state;

	assert_int_equal(shm_prepare(&memory, 3, false, 0, -1, &err), OK);
	for (int i = 0; i < 3; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct comm *world;

			alarm(20);
			CHECK(shm_join(&world, memory, i, &err) == OK, "%s", err.msg);
			left_alone(world, NULL);
			_exit(0);
		}
	}
	usleep(300 * 1000);
	start = clock_ms();
	shm_stop(memory);
	for (int i = 0; i < 3; i++) {
		int status;

		waitpid(pids[i], &status, 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	/* Well below the time after which a sleeper looks by itself. */
	assert_true(clock_ms() - start < 150);
	shm_release(memory);
}
#endif

#ifdef KOLM_TEST_MPI
/* A message and a sum that are under way while the ranks do nothing but compute. */
static void compute(struct comm *world, void *arg)
{
	size_t bytes = 64u << 20, n = 4u << 20;
	char *out = rank_alloc(world, bytes), *in = rank_alloc(world, bytes);
	float *x = rank_alloc(world, n * sizeof(float));
	struct comm_request requests[3];
	int left = 3, peer = 1 - comm_rank(world);
	double start = clock_ms();

	(void)arg;
	if (!getenv("KOLM_MPI_HOSTS") || atoi(getenv("KOLM_MPI_HOSTS")) < 2)
		return; /* within a machine, ranks move things on when they look */
	comm_irecv(world, peer, 0, in, bytes, &requests[0]);
	comm_isend(world, peer, 0, out, bytes, &requests[1]);
	comm_start(world, COMM_ALLREDUCE, x, n, DTYPE_F32, 0, &requests[2]);
	while (left && clock_ms() - start < 20 * 1000) {
		left = 0;
		for (int i = 0; i < 3; i++)
			left += !*(volatile bool *)&requests[i].done;
	}
	CHECK(!left, "%d of 3 transfers got nowhere while computing", left);
	for (int i = 0; i < 3; i++)
		rank_wait(&requests[i]);
}

static void transfers_go_on_while_computing(void **state)
{
	(void)state;
	run_ranks(2, compute, NULL);
}

/* More than an int can count; takes much memory, so only where it is asked for. */
static void huge(struct comm *world, void *arg)
{
	size_t bytes = (1ull << 31) + 12345;
	char *x = rank_alloc(world, bytes);
	struct comm_request r;

	(void)arg;
	if (comm_rank(world) == 0) {
		memset(x, 3, bytes);
		x[1u << 30] = 4;
		x[bytes - 1] = 5;
		comm_isend(world, 1, 0, x, bytes, &r);
	} else {
		comm_irecv(world, 0, 0, x, bytes, &r);
	}
	rank_wait(&r);
	CHECK(x[0] == 3 && x[1u << 30] == 4 && x[bytes - 1] == 5, "%d %d %d", x[0], x[1u << 30],
	      x[bytes - 1]);
}

static void messages_beyond_an_int_arrive(void **state)
{
	(void)state;
	if (!getenv("KOLM_TEST_HUGE"))
		skip();
	run_ranks(2, huge, NULL);
}
#endif

/* A thousand messages there and back: each waits to be woken, none for a time limit. */
static void ping_pong(struct comm *world, void *arg)
{
	int *x = rank_alloc(world, sizeof(int)), peer = 1 - comm_rank(world);
	double start = clock_ms();

	(void)arg;
	for (int i = 0; i < 1000; i++) {
		struct comm_request r;

		if ((comm_rank(world) + i) % 2)
			comm_isend(world, peer, 0, x, sizeof(int), &r);
		else
			comm_irecv(world, peer, 0, x, sizeof(int), &r);
		rank_wait(&r);
	}
	CHECK(clock_ms() - start < 20 * 1000, "1000 messages took %g ms", clock_ms() - start);
}

static void sleepers_are_woken(void **state)
{
	(void)state;
	run_ranks(2, ping_pong, NULL);
}

/* After a failed wait the request is forgotten: another one can be started and fails too. */
static void fail_twice(struct comm *world, void *arg)
{
	struct error err = {0};
	int *x = rank_alloc(world, sizeof(int));

	(void)arg;
	for (int i = 0; i < 3; i++) {
		struct comm_request r;

		comm_irecv(world, 0, 0, x, sizeof(int), &r);
		CHECK(comm_wait(&r, fresh(&err)) == ERR_FAILED, "nobody sends");
	}
}

static void a_failed_wait_leaves_no_trace(void **state)
{
	(void)state;
	run_self(fail_twice, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_keep_their_order),
		cmocka_unit_test(large_transfers_arrive_whole),
		cmocka_unit_test(waiting_is_asleep),
#ifdef KOLM_TEST_MPI
		cmocka_unit_test(transfers_go_on_while_computing),
		cmocka_unit_test(messages_beyond_an_int_arrive),
#else
		cmocka_unit_test(a_stop_ends_every_wait),
#endif
		cmocka_unit_test(sleepers_are_woken),
		cmocka_unit_test(a_failed_wait_leaves_no_trace),
	};

	ranks_begin();
	return ranks_end(cmocka_run_group_tests(tests, NULL, NULL));
}
