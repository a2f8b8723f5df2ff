/*
 * test_comm.c - one suite for all transports: every operation, type and size, groups of
 * all sizes, groups that overlap, everything in flight together in random order. Messages
 * and waiting are in test_messages.c.
 */
#include "ranks.h"

#include "base/half.h"
#ifdef KOLM_TEST_MPI
#include "comm/mpi/across.h"
#endif

/* A small whole number: sums over 16 ranks are exact in every type. */
static float value_of(int seed, int rank, size_t i)
{
	return (float)((int)((i * 7 + (size_t)rank * 13 + (size_t)seed * 5) % 17) - 8);
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
		float_to(o->buf, i, o->dtype,
			 value_of(o->seed, comm_world_rank(o->group, comm_rank(o->group)), i));
	/* The element behind the last must stay as it is. */
	float_to(o->buf, o->n, o->dtype, 99);
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

	CHECK(float_from(o->buf, o->n, o->dtype) == 99, "%s wrote beyond its %zu elements",
	      comm_op_name(o->op), o->n);
	for (size_t i = 0; i < o->n; i++) {
		int owner = owner_of(c, o->n, i), root = comm_world_rank(c, o->root);
		float sum = 0, want = value_of(o->seed, mine, i),
		      got = float_from(o->buf, i, o->dtype);

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

/* What a rank gives to others whole. */
struct parcel {
	int64_t rank;
	double half;
	char text[70001]; /* a size that no other type divides, in several pieces */
} __attribute__((packed));

static struct parcel parcel_of(int rank)
{
	struct parcel p = {.rank = rank, .half = rank * 0.5};

	memset(p.text, 'a' + rank, sizeof(p.text));
	return p;
}

/* Operations that add nothing up take anything: one struct per member, of any size. */
static void any_struct(struct comm *world, void *arg)
{
	int n = comm_size(world), me = comm_rank(world);
	struct parcel *all = rank_alloc(world, (size_t)n * sizeof(*all)), want;
	struct error err = {0};

	(void)arg;
	for (int op = COMM_ALLGATHER; op < COMM_OP_COUNT; op++) {
		int root = op % n;

		for (int i = 0; i < n; i++) /* a root that scatters has all of them */
			all[i] = parcel_of(i == me || (op == COMM_SCATTER && me == root) ? i
											 : 25);
		if (op == COMM_BROADCAST && me == root)
			for (int i = 0; i < n; i++)
				all[i] = parcel_of(root);
		CHECK(comm_run(world, (enum comm_op)op, all, (size_t)n * sizeof(*all),
			       DTYPE_BYTE, root, &err) == OK,
		      "%s", err.msg);
		for (int i = 0; i < n; i++) {
			bool whole = op == COMM_ALLGATHER || (op == COMM_GATHER && me == root);

			want = parcel_of(op == COMM_BROADCAST ? root : i);
			if (whole || i == me || op == COMM_BROADCAST)
				CHECK(!memcmp(&all[i], &want, sizeof(want)),
				      "%s over %d: struct %d is not whole",
				      comm_op_name((enum comm_op)op), n, i);
		}
	}
}

static void structs_travel_whole(void **state)
{
	(void)state;
	run_self(any_struct, NULL);
	for (int ranks = 1; ranks <= 16; ranks++)
		run_ranks(ranks, any_struct, NULL);
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
	struct error err = {0};

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

/* Rows, columns and pairs of a 4-wide arrangement: every rank is in several groups. */
static void open_groups(struct comm *world, struct comm *groups[4])
{
	int n = comm_size(world), me = comm_rank(world), list[RANKS_MAX], k;
	struct error err = {0};

	groups[0] = world;
	for (int kind = 1; kind < 4; kind++) {
		k = 0;
		for (int i = 0; i < n; i++)
			if ((kind == 1 && i / 4 == me / 4) || (kind == 2 && i % 4 == me % 4) ||
			    (kind == 3 && i != 0 && me != 0))
				list[k++] = i;
		CHECK(comm_create(&groups[kind], world, COMM_FOR_SLICES, list, k, &err) == OK,
		      "%s", err.msg);
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

/* A record says what its group is for; all else may be equal. */
static void one_for_each_purpose(struct comm *world, void *arg)
{
	int n = comm_size(world), all[RANKS_MAX];
	float *buf = rank_alloc(world, 64);
	struct comm *groups[COMM_PURPOSE_COUNT] = {world};
	struct records records;
	struct error err = {0};

	(void)arg;
	for (int i = 0; i < n; i++)
		all[i] = i;
	for (int k = 1; k < COMM_PURPOSE_COUNT; k++)
		CHECK(comm_create(&groups[k], world, (enum comm_purpose)k, all, n, &err) == OK,
		      "%s", err.msg);
	CHECK(records_init(&records, 16, &err) == OK, "%s", err.msg);
	comm_observe(world, NULL, &records);
	for (int k = 0; k < COMM_PURPOSE_COUNT; k++) {
		bool found = false;

		CHECK(comm_run(groups[k], COMM_ALLREDUCE, buf, 1, DTYPE_F32, 0, &err) == OK,
		      "%s", err.msg);
		for (int64_t i = 0; i < records_kept(&records); i++)
			found = found || (records_at(&records, i)->kind == RECORD_COLLECTIVE &&
					  records_at(&records, i)->purpose == k);
		CHECK(found, "nothing for %s", comm_purpose_name((enum comm_purpose)k));
	}
	comm_observe(world, NULL, NULL);
	records_release(&records);
	for (int k = 1; k < COMM_PURPOSE_COUNT; k++)
		comm_free(groups[k]);
}

static void records_say_what_for(void **state)
{
	(void)state;
	run_self(one_for_each_purpose, NULL);
	run_ranks(4, one_for_each_purpose, NULL);
}

#ifdef KOLM_TEST_MPI
static void a_group_has_tags_for_its_hops(void **state)
{
	struct across *a = NULL;
	struct error err = {0};
	(void)state;

	assert_int_equal(across_create(&a, MPI_COMM_NULL, NULL, 4096, 0, &err), ERR_USAGE);
	assert_non_null(strstr(err.msg, "4096 ranks in a group over several machines"));
	assert_null(a);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collectives_do_what_they_say),
		cmocka_unit_test(structs_travel_whole),
		cmocka_unit_test(sums_are_taken_in_rank_order),
		cmocka_unit_test(everything_at_once),
		cmocka_unit_test(records_say_what_for),
#ifdef KOLM_TEST_MPI
		cmocka_unit_test(a_group_has_tags_for_its_hops),
#endif
	};

	ranks_begin();
	return ranks_end(cmocka_run_group_tests(tests, NULL, NULL));
}
