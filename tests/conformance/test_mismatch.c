/*
 * test_mismatch.c - ranks that bring different collectives to a group are told so: both
 * ranks, both operations, where each of them was; nothing hangs and no data moves. Only who
 * needs nobody but a root that brings the same may have gone on before.
 *
 * With two arguments, NAME and FIRST, it is a job for mpirun (see e2e/mismatch.sh): ranks
 * from FIRST on bring the other side of that pair.
 */
#include "ranks.h"

#include "base/clock.h"

#define rank_fn launch_rank_fn /* ranks.h has another one */
#include "launch/launch.h"
#undef rank_fn

enum { MOST = 64 };

struct brings {
	enum comm_op op;
	size_t n;
	enum dtype dtype;
	int root;
	const char *text;
};

/* Two that differ in one thing. */
static const struct pair {
	const char *name;
	struct brings usual, other;
} pairs[] = {
	{"op",
	 {COMM_BARRIER, 0, DTYPE_F32, 0, "barrier"},
	 {COMM_ALLREDUCE, 12, DTYPE_F32, 0, "all-reduce of 12 F32"}},
	{"way",
	 {COMM_ALLREDUCE, 12, DTYPE_F32, 0, "all-reduce of 12 F32"},
	 {COMM_REDUCE_SCATTER, 12, DTYPE_F32, 0, "reduce-scatter of 12 F32"}},
	{"size",
	 {COMM_ALLREDUCE, 64, DTYPE_F32, 0, "all-reduce of 64 F32"},
	 {COMM_ALLREDUCE, 63, DTYPE_F32, 0, "all-reduce of 63 F32"}},
	{"type",
	 {COMM_ALLGATHER, 16, DTYPE_F16, 0, "all-gather of 16 F16"},
	 {COMM_ALLGATHER, 16, DTYPE_BF16, 0, "all-gather of 16 BF16"}},
	{"root",
	 {COMM_BROADCAST, 8, DTYPE_F32, 0, "broadcast of 8 F32 from rank 0"},
	 {COMM_BROADCAST, 8, DTYPE_F32, 1, "broadcast of 8 F32 from rank 1"}},
	/* Between machines nobody waits for anybody here: it shows in what comes next. */
	{"one-way",
	 {COMM_BROADCAST, 8, DTYPE_F32, 0, "broadcast of 8 F32 from rank 0"},
	 {COMM_GATHER, 8, DTYPE_F32, 0, "gather of 8 F32 to rank 0"}},
};

static const char usual_place[COMM_PLACE] = "step 3 backward 1";
static const char other_place[COMM_PLACE] = "predicting the step";

struct scene {
	const struct pair *pair;
	int first_other, rounds; /* that match, before */
};

/* What all ranks say: the lower rank of two that differ comes first. */
static void check_message(const struct scene *s, int ranks, const struct error *err)
{
	char want[256];
	int usual, other;

	for (usual = 0; usual < ranks; usual++)
		for (other = 0; other < ranks; other++) {
			const struct brings *u = &s->pair->usual, *o = &s->pair->other;

			snprintf(want, sizeof(want),
				 "collectives do not match: rank %d is in %s, at %s; rank %d "
				 "in %s, at %s",
				 usual, u->text, usual_place, other, o->text, other_place);
			if (usual < s->first_other && other >= s->first_other &&
			    !strcmp(err->msg, want))
				return;
		}
	CHECK(false, "it says: %s", err->msg);
}

static void bring(struct comm *world, const struct brings *b, const char *place, void *buf,
		  struct comm_request *r)
{
	comm_set_place(world, place);
	comm_start(world, b->op, buf, b->n, b->dtype, b->root, r);
	comm_set_place(world, "somewhere else by now, and it does not matter where");
}

/* Is it with a root, another one, and on the same side? */
static bool has_its_root(const struct scene *s, int rank)
{
	bool other = rank >= s->first_other;
	const struct brings *b = other ? &s->pair->other : &s->pair->usual;

	return (b->op == COMM_BROADCAST || b->op == COMM_GATHER) && rank != b->root &&
	       (b->root >= s->first_other) == other;
}

static void do_not_match(struct comm *world, void *arg)
{
	const struct scene *s = arg;
	unsigned char *buf = rank_alloc(world, MOST * 4);
	int me = comm_rank(world);
	bool other = me >= s->first_other;
	struct comm_request r;
	struct error err = {0};
	double begin = clock_ms();

	for (int i = 0; i < s->rounds; i++)
		CHECK(comm_run(world, COMM_ALLREDUCE, buf, MOST, DTYPE_F32, 0, &err) == OK,
		      "round %d: %s", i, err.msg);
	memset(buf, 0x10 + me, MOST * 4);
	bring(world, other ? &s->pair->other : &s->pair->usual,
	      other ? other_place : usual_place, buf, &r);
	if (comm_wait(&r, &err) == OK) {
		CHECK(has_its_root(s, me), "%s: it goes on", s->pair->name);
		return;
	}
	check_message(s, comm_size(world), &err);
	CHECK(strstr(err.hint, "report it"), "%s", err.hint);
	CHECK(clock_ms() - begin < 60000, "it waited for something else");
	for (int i = 0; i < MOST * 4; i++)
		CHECK(buf[i] == 0x10 + me, "%s: byte %d was changed", s->pair->name, i);
}

/* For all pairs, numbers of ranks and ways to divide them. */
static void both_sides_are_named(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_SIZE(pairs); p++)
		for (int ranks = 2; ranks <= 5; ranks++)
			for (int first = 1; first < ranks; first++) {
				struct scene s = {&pairs[p], first, (int)p * first};

				run_ranks(ranks, do_not_match, &s);
			}
}

/* One that waits for something else meanwhile is told too. */
static void wait_elsewhere(struct comm *world, void *arg)
{
	const struct scene *s = arg;
	void *buf = rank_alloc(world, MOST * 4);
	int me = comm_rank(world), next = (me + 1) % comm_size(world);
	bool other = me >= s->first_other;
	struct comm_request r, message;
	struct error err = {0};

	bring(world, other ? &s->pair->other : &s->pair->usual,
	      other ? other_place : usual_place, buf, &r);
	comm_irecv(world, next, 0, buf, 4, &message); /* never sent */
	CHECK(comm_wait(&message, &err) == ERR_FAILED, "a message from nowhere");
	check_message(s, comm_size(world), &err);
	CHECK(comm_wait(&r, &err) == ERR_FAILED, "%s: it goes on", s->pair->name);
}

static void whoever_waits_for_something_else_is_told(void **state)
{
	struct scene s = {&pairs[0], 2, 0};
	(void)state;

	run_ranks(3, wait_elsewhere, &s);
}

/* What the ranks of other groups do is no concern of a group's. */
static void differ_by_group(struct comm *world, void *arg)
{
	int me = comm_rank(world), ranks[2] = {me / 2 * 2, me / 2 * 2 + 1};
	void *buf = rank_alloc(world, MOST * 4);
	const struct brings *b = me < 2 ? &pairs[0].usual : &pairs[0].other;
	struct comm *group;
	struct error err = {0};
	(void)arg;

	CHECK(comm_create(&group, world, COMM_FOR_REPLICAS, ranks, 2, &err) == OK, "%s",
	      err.msg);
	for (int i = 0; i < (me < 2 ? 30 : 20); i++)
		CHECK(comm_run(group, b->op, buf, b->n, b->dtype, 0, &err) == OK, "%s",
		      err.msg);
	comm_free(group);
}

static void groups_do_not_mind_each_other(void **state)
{
	(void)state;
	run_ranks(4, differ_by_group, NULL);
}

static void exchange_messages(struct comm *world, void *arg)
{
	const size_t *sizes = arg;
	void *buf = rank_alloc(world, MOST);
	struct comm_request r;
	struct error err = {0};
	char want[160];

	comm_set_place(world, comm_rank(world) ? usual_place : other_place);
	if (comm_rank(world) == 0) {
		comm_isend(world, 1, 2, buf, sizes[0], &r);
		comm_wait(&r, &err); /* until the other has seen it, and we are stopped */
		return;
	}
	comm_irecv(world, 0, 2, buf, sizes[1], &r);
	CHECK(comm_wait(&r, &err) == ERR_FAILED, "a message of another size");
	snprintf(want, sizeof(want),
		 "messages do not match: rank 0 sends %zu bytes; rank 1 receives %zu, at %s",
		 sizes[0], sizes[1], usual_place);
	CHECK(!strcmp(err.msg, want), "it says: %s", err.msg);
	_exit(3);
}

/* As launch_run would: who fails stops the others. */
static void a_message_of_another_size_is_refused(void **state)
{
	size_t sizes[][2] = {{8, 12}, {12, 8}, {0, 4}};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes) && !RANKS_ARE_THREADS; i++) {
		struct shm_memory *memory;
		struct error err = {0};
		pid_t pids[2];
		int status;

		assert_int_equal(shm_prepare(&memory, 2, false, 0, -1, &err), OK);
		for (int rank = 0; rank < 2; rank++) {
			struct comm *world;

			pids[rank] = fork();
			if (pids[rank])
				continue;
			alarm(120);
			CHECK(shm_join(&world, memory, rank, &err) == OK, "%s", err.msg);
			exchange_messages(world, sizes[i]);
			_exit(0);
		}
		waitpid(pids[1], &status, 0);
		assert_int_equal(WEXITSTATUS(status), 3);
		shm_stop(memory);
		waitpid(pids[0], &status, 0);
		assert_int_equal(WEXITSTATUS(status), 0);
		shm_release(memory);
	}
}

/* ---- a job ---- */

static enum status bring_own(struct rank *rank, void *arg, struct error *err)
{
	const struct scene *s = arg;
	bool other = rank->number >= s->first_other;
	const struct brings *b = other ? &s->pair->other : &s->pair->usual;
	void *buf;
	enum status st;

	TRY(comm_alloc(rank->world, MOST * 4, &buf, err));
	TRY(comm_run(rank->world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
	rank_at(rank, "%s", other ? other_place : usual_place);
	TRY(comm_run(rank->world, b->op, buf, b->n, b->dtype, b->root, err));
	rank_at(rank, "the end");
	TRY(comm_run(rank->world, COMM_BARRIER, NULL, 0, DTYPE_F32, 0, err));
out:
	return st;
}

static int run_job(const char *name, const char *first)
{
	struct scene s = {.first_other = atoi(first)};
	struct launch l = {.ranks = 4, .timeout_ms = 60000};
	struct error err = {0};

	for (size_t p = 0; p < ARRAY_SIZE(pairs); p++)
		if (!strcmp(pairs[p].name, name))
			s.pair = &pairs[p];
	if (!s.pair || launch_run(&l, bring_own, &s, &err) == OK)
		return 0; /* which is wrong */
	error_print(&err);
	return err.exit_code ? err.exit_code : error_exit_code(err.code);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_are_named),
		cmocka_unit_test(whoever_waits_for_something_else_is_told),
		cmocka_unit_test(groups_do_not_mind_each_other),
		cmocka_unit_test(a_message_of_another_size_is_refused),
	};

	if (argc == 3)
		return run_job(argv[1], argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
