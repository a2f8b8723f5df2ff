/*
 * test_tree.c - sums in a tree, for all transports: bit for bit what a plain recursion says,
 * in groups of every power of two, in any order of their ranks, in every type; and that the
 * order of the ranks says something else of the same numbers.
 */
#include "ranks.h"

#include "base/half.h"
#include "base/tree.h"
#include "comm/reduce.h"

enum { MOST = 16, LARGEST = 140 * 1000, ROUNDS = 4 };

/* Numbers whose sums depend on their order in every type. */
static float value_of(uint64_t seed, int leaf, size_t i)
{
	uint64_t x =
		(seed + (uint64_t)leaf * 0x9e3779b97f4a7c15u) ^ (i + 1) * 0xbf58476d1ce4e5b9u;

	x ^= x >> 29;
	x *= 0x94d049bb133111ebu;
	x ^= x >> 32;
	return ((float)(x & 0xffffff) * 0x1p-23f - 1) * (float)(1 << (x >> 24 & 7));
}

static float kept(float value, enum dtype type)
{
	uint32_t room;

	float_to(&room, 0, type, value);
	return float_from(&room, 0, type);
}

/* The definition. */
static float tree_sum(uint64_t seed, int first, int size, size_t i, enum dtype type)
{
	if (size == 1)
		return kept(value_of(seed, first, i), type);
	return kept(tree_sum(seed, first, size / 2, i, type) +
			    tree_sum(seed, first + size / 2, size / 2, i, type),
		    type);
}

static float ordered_sum(uint64_t seed, int size, size_t i, enum dtype type)
{
	float sum = kept(value_of(seed, 0, i), type);

	for (int leaf = 1; leaf < size; leaf++)
		sum += kept(value_of(seed, leaf, i), type);
	return kept(sum, type);
}

struct sum {
	struct comm *group;
	enum comm_op op;
	enum dtype type;
	size_t n;
	uint64_t seed;
	void *buf;
};

static void fill(const struct sum *s)
{
	for (size_t i = 0; i < s->n; i++)
		float_to(s->buf, i, s->type, value_of(s->seed, comm_rank(s->group), i));
	float_to(s->buf, s->n, s->type, 99); /* nobody's */
}

/* How many elements the order of the ranks has differently. */
static int check(const struct sum *s, enum comm_order order)
{
	int size = comm_size(s->group), others = 0;
	size_t begin = 0, end = s->n;

	if (s->op == COMM_REDUCE_SCATTER)
		comm_slice(s->group, s->n, comm_rank(s->group), &begin, &end);
	for (size_t i = begin; i < end; i++) {
		float tree = tree_sum(s->seed, 0, size, i, s->type);
		float ranks = ordered_sum(s->seed, size, i, s->type);
		float got = float_from(s->buf, i, s->type);
		float want = order == COMM_IN_TREE ? tree : ranks;

		CHECK(float_bits(got) == float_bits(want),
		      "%s of %zu %s over %d: element %zu is %a, should be %a",
		      comm_op_name(s->op), s->n, dtype_name(s->type), size, i, (double)got,
		      (double)want);
		others += float_bits(tree) != float_bits(ranks);
	}
	CHECK(float_from(s->buf, s->n, s->type) == 99, "wrote beyond its elements");
	return others;
}

/* Both sums of a size, in every type; several under way at once. */
static void sum_up(struct comm *group, enum comm_order order, size_t n, uint64_t seed,
		   void *bufs[6])
{
	struct comm_request requests[6];
	struct sum sums[6];

	for (int k = 0; k < 6; k++) {
		sums[k] = (struct sum){.group = group,
				       .op = k % 2 ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE,
				       .type = (enum dtype)(k / 2),
				       .n = n,
				       .seed = seed + (uint64_t)k,
				       .buf = bufs[k]};
		fill(&sums[k]);
		comm_start(group, sums[k].op, sums[k].buf, n, sums[k].type, 0, &requests[k]);
	}
	for (int k = 0; k < 6; k++) {
		int others;

		rank_wait(&requests[k]);
		others = check(&sums[k], order);
		CHECK(others > 0 || comm_size(group) <= 2 || n < 5000,
		      "%zu %s over %d: the order makes no difference here", n,
		      dtype_name(sums[k].type), comm_size(group));
	}
}

static void shuffle(struct random *r, int *list, int n)
{
	for (int i = n - 1; i > 0; i--) {
		int k = random_int(r, 0, i), keep = list[i];

		list[i] = list[k];
		list[k] = keep;
	}
}

/* Groups of some ranks of the world in any order, so that machines have any part of a tree. */
static void in_groups(struct comm *world, void *arg)
{
	struct random r = *(struct random *)arg;
	int ranks[RANKS_MAX], n = comm_size(world);
	struct error err = {0};
	void *bufs[6];

	for (int k = 0; k < 6; k++)
		bufs[k] = rank_alloc(world, (LARGEST + 1) * sizeof(float));
	for (int i = 0; i < n; i++)
		ranks[i] = i;
	for (int round = 0; round < ROUNDS; round++) {
		enum comm_order order = round == 1 ? COMM_IN_RANK_ORDER : COMM_IN_TREE;

		for (int size = 1; size <= n; size *= 2) {
			struct comm *group;
			bool member = false;
			size_t most = size == n && round == 0 ? LARGEST : 12 * 1000;
			size_t sizes[] = {0, 1, (size_t)random_int(&r, 2, 100), 8000,
					  (size_t)random_int(&r, 100, (int)most)};
			uint64_t seed = (uint64_t)random_int(&r, 0, 1 << 30);

			for (int i = 0; i < size; i++)
				member = member || ranks[i] == comm_rank(world);
			CHECK(comm_create(&group, world, COMM_FOR_REPLICAS, ranks,
					  member ? size : 0, &err) == OK,
			      "%s", err.msg);
			if (group)
				comm_set_order(group, order);
			for (size_t i = 0; group && i < ARRAY_SIZE(sizes); i++)
				sum_up(group, order, sizes[i], seed + 16 * i, bufs);
			comm_free(group);
		}
		shuffle(&r, ranks, n);
	}
}

static void every_group_adds_up_in_the_tree(void **state)
{
	struct random r = random_start("sums in a tree");
	(void)state;

	run_self(in_groups, &r);
	for (int ranks = 1; ranks <= MOST; ranks *= 2)
		run_ranks(ranks, in_groups, &r);
	run_ranks(7, in_groups, &r);
}

/* Any leaves may have been added up before, if they are a node. */
static int cut(struct random *r, struct reduce_part *parts, unsigned first, unsigned size)
{
	int n;

	if (size == 1 || random_int(r, 0, 2) == 0) {
		parts[0] = (struct reduce_part){.first = first, .size = size};
		return 1;
	}
	n = cut(r, parts, first, size / 2);
	return n + cut(r, parts + n, first + size / 2, size / 2);
}

static void nodes_stand_in_for_their_leaves(void **state)
{
	struct random r = random_start("nodes");
	(void)state;

	for (int round = 0; round < 300; round++) {
		struct reduce_part parts[MOST];
		enum dtype type = (enum dtype)(round % 3);
		int leaves = 1 << random_int(&r, 0, 4),
		    n_parts = cut(&r, parts, 0, (unsigned)leaves);
		size_t n = (size_t)random_int(&r, 1, 3000);
		float *rooms = calloc(MOST + 1, n * sizeof(float)), *to = rooms + MOST * n;
		void *target = to;

		for (int p = 0; p < n_parts; p++) {
			parts[p].data = rooms + (size_t)p * n;
			for (size_t i = 0; i < n; i++)
				float_to(rooms + (size_t)p * n, i, type,
					 tree_sum((uint64_t)round, (int)parts[p].first,
						  (int)parts[p].size, i, type));
		}
		reduce_tree(parts, n_parts, &target, 1, n, type);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(
				float_bits(float_from(to, i, type)),
				float_bits(tree_sum((uint64_t)round, 0, leaves, i, type)));
		free(rooms);
	}
}

/* As whoever adds up on one rank does it. */
static void leaves_in_their_order_take_few_buffers(void **state)
{
	(void)state;
	for (int leaves = 1; leaves <= 1024; leaves *= 2) {
		float buffers[16];
		int used = 0;

		assert_true(tree_has(leaves));
		for (unsigned i = 0; i < (unsigned)leaves; i++) {
			int depth = tree_depth(i);

			assert_in_range(depth, 0, tree_buffers(leaves) - 1);
			used = depth > used ? depth : used;
			buffers[depth] = value_of(1, (int)i, 0);
			for (int k = tree_merges(i); k > 0; k--, depth--)
				buffers[depth - 1] += buffers[depth];
		}
		assert_int_equal(used + 1, tree_buffers(leaves));
		assert_int_equal(float_bits(buffers[0]),
				 float_bits(tree_sum(1, 0, leaves, 0, DTYPE_F32)));
	}
	assert_false(tree_has(0));
	assert_false(tree_has(12));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_in_their_order_take_few_buffers),
		cmocka_unit_test(nodes_stand_in_for_their_leaves),
		cmocka_unit_test(every_group_adds_up_in_the_tree),
	};

	ranks_begin();
	return ranks_end(cmocka_run_group_tests(tests, NULL, NULL));
}
