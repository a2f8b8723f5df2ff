/*
 * test_comm.c - one suite for all transports: every operation, type and size, groups of
 * all sizes, groups that overlap, everything in flight together in random order.
 */
#include "ranks.h"

#include "base/clock.h"
#include "base/half.h"
#ifdef KOLM_TEST_MPI
#include "comm/mpi/across.h"
#endif

/* A small whole number: sums over 16 ranks are exact in every type. */
static float value_of(int seed, int rank, size_t i)
{
	return (float)((int)((i * 7 + (size_t)rank * 13 + (size_t)seed * 5) % 17) - 8);
}

static void put(void *buf, size_t i, enum dtype dtype, float v)
{
	if (dtype == DTYPE_F32)
		((float *)buf)[i] = v;
	else
		((uint16_t *)buf)[i] =
			dtype == DTYPE_F16 ? half_from_float(v) : bfloat_from_float(v);
}

static float get(const void *buf, size_t i, enum dtype dtype)
{
	uint16_t half = ((const uint16_t *)buf)[i];

	if (dtype == DTYPE_F32)
		return ((const float *)buf)[i];
	return dtype == DTYPE_F16 ? half_to_float(half) : bfloat_to_float(half);
}

/* One collective with its buffer, and what must come out of it. */
struct operation {
	struct comm_request request;
	struct comm *group;
	enum comm_op op;
	enum dtype dtype;
	size_t n;
	int root, seed;
	void *buf;
};

static void begin(struct operation *o)
{
	for (size_t i = 0; i < o->n; i++)
		put(o->buf, i, o->dtype,
		    value_of(o->seed, comm_world_rank(o->group, comm_rank(o->group)), i));
	/* The element behind the last must stay as it is. */
	put(o->buf, o->n, o->dtype, 99);
	comm_start(o->group, o->op, o->buf, o->n, o->dtype, o->root, &o->request);
}

/* The member whose slice element i is in. */
static int owner_of(const struct comm *c, size_t n, size_t i)
{
	for (int m = 0;; m++) {
		size_t begin_, end;

		comm_slice(c, n, m, &begin_, &end);
		if (i >= begin_ && i < end)
			return m;
	}
}

static void check(const struct operation *o)
{
	const struct comm *c = o->group;
	int me = comm_rank(c), mine = comm_world_rank(c, me);

	CHECK(get(o->buf, o->n, o->dtype) == 99, "%s wrote beyond its %zu elements",
	      comm_op_name(o->op), o->n);
	for (size_t i = 0; i < o->n; i++) {
		int owner = owner_of(c, o->n, i), root = comm_world_rank(c, o->root);
		float sum = 0, want = value_of(o->seed, mine, i),
		      got = get(o->buf, i, o->dtype);

		for (int m = 0; m < comm_size(c); m++)
			sum += value_of(o->seed, comm_world_rank(c, m), i);
		if (o->op == COMM_ALLREDUCE || (o->op == COMM_REDUCE_SCATTER && owner == me))
			want = sum;
		else if (o->op == COMM_REDUCE_SCATTER)
			continue; /* undefined */
		else if (o->op == COMM_ALLGATHER || (o->op == COMM_GATHER && me == o->root))
			want = value_of(o->seed, comm_world_rank(c, owner), i);
		else if (o->op == COMM_BROADCAST || (o->op == COMM_SCATTER && owner == me))
			want = value_of(o->seed, root, i);
		CHECK(got == want, "%s of %zu %s over %d: element %zu is %g, should be %g",
		      comm_op_name(o->op), o->n, dtype_name(o->dtype), comm_size(c), i,
		      (double)got, (double)want);
	}
}

/* Every operation, type, size and root, over the world. */
static void every_operation(struct comm *world, void *arg)
{
	static const size_t sizes[] = {0, 1, 2, 3, 5, 7, 16, 33, 1000, 4099};
	void *buf = rank_alloc(world, 4200 * sizeof(float));
	struct operation o = {.group = world, .buf = buf};

	(void)arg;
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		for (int op = 0; op < COMM_OP_COUNT; op++)
			for (int dtype = DTYPE_F32; dtype <= DTYPE_BF16; dtype++) {
				o.n = sizes[s];
				o.op = (enum comm_op)op;
				o.dtype = (enum dtype)dtype;
				o.root = (int)((s + (size_t)op) % (size_t)comm_size(world));
				o.seed = op + dtype;
				begin(&o);
				rank_wait(&o.request);
				CHECK(comm_test(&o.request),
				      "a request that was waited for is done");
				check(&o);
			}
}

static void collectives_do_what_they_say(void **state)
{
	(void)state;
	run_self(every_operation, NULL);
	for (int ranks = 1; ranks <= 16; ranks++)
		run_ranks(ranks, every_operation, NULL);
}

/* Sums go by rank order: compare with the same sum taken here, to the last bit. */
static void ordered_sum(struct comm *world, void *arg)
{
	enum { N = 5000 };
	struct random r = *(struct random *)arg;
	float *buf = rank_alloc(world, N * sizeof(float)), (*all)[N] = calloc(16, sizeof(*all));
	uint16_t *half = rank_alloc(world, N * sizeof(uint16_t));
	struct error err;

	for (int rank = 0; rank < comm_size(world); rank++)
		random_fill(&r, all[rank], N);
	for (int round = 0; round < 3; round++) {
		memcpy(buf, all[comm_rank(world)], sizeof(all[0]));
		CHECK(comm_run(world, COMM_ALLREDUCE, buf, N, DTYPE_F32, 0, &err) == OK, "%s",
		      err.msg);
		for (int i = 0; i < N; i++) {
			float want = all[0][i];

			for (int rank = 1; rank < comm_size(world); rank++)
				want += all[rank][i];
			CHECK(buf[i] == want, "element %d: %a, in order it is %a", i,
			      (double)buf[i], (double)want);
		}
	}
	/* 16 bit: summed in fp32, rounded once. */
	for (enum dtype dtype = DTYPE_F16; dtype <= DTYPE_BF16; dtype++) {
		uint16_t one, rounded;

		for (size_t i = 0; i < N; i++)
			float_to(half, i, dtype, all[comm_rank(world)][i]);
		CHECK(comm_run(world, COMM_ALLREDUCE, half, N, dtype, 0, &err) == OK, "%s",
		      err.msg);
		for (int i = 0; i < N; i++) {
			float want = 0;

			for (int rank = 0; rank < comm_size(world); rank++) {
				float_to(&one, 0, dtype, all[rank][i]);
				want += float_from(&one, 0, dtype);
			}
			float_to(&rounded, 0, dtype, want);
			CHECK(half[i] == rounded, "%s element %d", dtype_name(dtype), i);
		}
	}
	free(all);
}

static void sums_are_taken_in_rank_order(void **state)
{
	struct random r = random_start("ordered sums");
	(void)state;

	for (int ranks = 1; ranks <= 16; ranks += 3)
		run_ranks(ranks, ordered_sum, &r);
}

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
		struct error err;

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

/* Rows, columns and pairs of a 4-wide arrangement: every rank is in several groups. */
static void open_groups(struct comm *world, struct comm *groups[4])
{
	int n = comm_size(world), me = comm_rank(world), list[SHM_RANKS_MAX], k;
	struct error err;

	groups[0] = world;
	for (int kind = 1; kind < 4; kind++) {
		k = 0;
		for (int i = 0; i < n; i++)
			if ((kind == 1 && i / 4 == me / 4) || (kind == 2 && i % 4 == me % 4) ||
			    (kind == 3 && i != 0 && me != 0))
				list[k++] = i;
		CHECK(comm_create(&groups[kind], world, list, k, &err) == OK, "%s", err.msg);
		CHECK((groups[kind] != NULL) == (k > 0), "a rank in no group gets none");
	}
}

enum { IN_FLIGHT = 12, ROUNDS = 30, LARGEST = 3000 };

/* Several collectives on overlapping groups and messages around a ring, all started
   before any is waited for, and waited for in an order of the rank's own. */
static void storm(struct comm *world, void *arg)
{
	struct random common = *(struct random *)arg;
	struct random own = {common.seed + (uint64_t)comm_rank(world) + 1, 0};
	int n = comm_size(world), me = comm_rank(world);
	struct comm *groups[4];
	struct operation ops[IN_FLIGHT];
	void *bufs[IN_FLIGHT];
	int *token = rank_alloc(world, sizeof(int)), *passed = rank_alloc(world, sizeof(int));

	open_groups(world, groups);
	for (int i = 0; i < IN_FLIGHT; i++)
		bufs[i] = rank_alloc(world, (LARGEST + 1) * sizeof(float));
	for (int round = 0; round < ROUNDS; round++) {
		struct comm_request send, receive;

		*token = round * 100 + me;
		comm_irecv(world, (me + n - 1) % n, round % COMM_CHANNELS, passed, sizeof(int),
			   &receive);
		for (int i = 0; i < IN_FLIGHT; i++) {
			/* The same for every rank: what, where, how much. */
			int kind = random_int(&common, 0, 3),
			    root = random_int(&common, 0, 1000);

			ops[i] = (struct operation){
				.group = groups[kind],
				.buf = bufs[i],
				.op = (enum comm_op)random_int(&common, 0, COMM_OP_COUNT - 1),
				.dtype = (enum dtype)random_int(&common, 0, 2),
				.n = (size_t)random_int(&common, 0, LARGEST),
				.seed = round * IN_FLIGHT + i};
			if (!ops[i].group)
				continue;
			ops[i].root = root % comm_size(ops[i].group);
			begin(&ops[i]);
			if (i == IN_FLIGHT / 2)
				comm_isend(world, (me + 1) % n, round % COMM_CHANNELS, token,
					   sizeof(int), &send);
		}
		if (!ops[IN_FLIGHT / 2].group)
			comm_isend(world, (me + 1) % n, round % COMM_CHANNELS, token,
				   sizeof(int), &send);
		for (int k = random_int(&own, 0, IN_FLIGHT - 1), left = IN_FLIGHT; left > 0;
		     left--) {
			k = (k + 5) %
			    IN_FLIGHT; /* 5 and 12 have no common factor: all get a turn */
			if (ops[k].group) {
				rank_wait(&ops[k].request);
				check(&ops[k]);
			}
		}
		rank_wait(&send);
		rank_wait(&receive);
		CHECK(*passed == round * 100 + (me + n - 1) % n, "round %d: got %d", round,
		      *passed);
	}
	for (int kind = 1; kind < 4; kind++)
		comm_free(groups[kind]);
}

static void everything_at_once(void **state)
{
	struct random r = random_start("storm");
	static const int sizes[] = {1, 2, 3, 4, 7, 8, 13, 16};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		run_ranks(sizes[i], storm, &r);
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
	struct error err;
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
	struct error err;
	pid_t pids[3];
	double start;
	(void)state;

	assert_int_equal(shm_prepare(&memory, 3, false, NULL, &err), OK);
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

static void a_group_has_tags_for_its_hops(void **state)
{
	struct across *a = NULL;
	struct error err;
	(void)state;

	assert_int_equal(across_create(&a, MPI_COMM_NULL, NULL, 4096, 0, &err), ERR_USAGE);
	assert_non_null(strstr(err.msg, "4096 ranks in a group over several machines"));
	assert_null(a);
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
	struct error err;
	int *x = rank_alloc(world, sizeof(int));

	(void)arg;
	for (int i = 0; i < 3; i++) {
		struct comm_request r;

		comm_irecv(world, 0, 0, x, sizeof(int), &r);
		CHECK(comm_wait(&r, &err) == ERR_FAILED, "nobody sends");
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
		cmocka_unit_test(collectives_do_what_they_say),
		cmocka_unit_test(sums_are_taken_in_rank_order),
		cmocka_unit_test(messages_keep_their_order),
		cmocka_unit_test(large_transfers_arrive_whole),
		cmocka_unit_test(everything_at_once),
		cmocka_unit_test(waiting_is_asleep),
#ifdef KOLM_TEST_MPI
		cmocka_unit_test(transfers_go_on_while_computing),
		cmocka_unit_test(messages_beyond_an_int_arrive),
		cmocka_unit_test(a_group_has_tags_for_its_hops),
#else
		cmocka_unit_test(a_stop_ends_every_wait),
#endif
		cmocka_unit_test(sleepers_are_woken),
		cmocka_unit_test(a_failed_wait_leaves_no_trace),
	};

	ranks_begin();
	return ranks_end(cmocka_run_group_tests(tests, NULL, NULL));
}
