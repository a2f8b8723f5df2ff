/*
 * test_kinds.c - what a collective is fits in one word: two are equal exactly if operation,
 * size, type, root and the order of sums are; and the error that names two of them says all
 * that differs.
 */
#include "testing.h"

#include "comm/impl.h"

static struct comm groups[] = {{.order = COMM_IN_RANK_ORDER}, {.order = COMM_IN_TREE}};

static struct comm_request any(struct random *r)
{
	static const size_t sizes[] = {
		0, 1, 2, 4096, 1 << 20, (size_t)1 << 31, (size_t)1 << 42};

	return (struct comm_request){.kind = REQUEST_COLLECTIVE,
				     .comm = &groups[random_int(r, 0, 1)],
				     .op = (enum comm_op)random_int(r, 0, COMM_OP_COUNT - 1),
				     .n = sizes[random_int(r, 0, ARRAY_SIZE(sizes) - 1)] +
					  (size_t)random_int(r, 0, 1),
				     .dtype = (enum dtype)random_int(r, 0, DTYPE_COUNT - 1),
				     .root = random_int(r, 0, 1) *
					     random_int(r, 0, RANKS_MAX - 1)};
}

static void kinds_are_equal_if_the_collectives_are(void **state)
{
	struct random r = random_start("kinds");
	(void)state;

	for (int i = 0; i < 100000; i++) {
		struct comm_request a = any(&r), b = any(&r);

		b.comm = random_int(&r, 0, 3) ? a.comm : b.comm;
		switch (random_int(&r, 0, 4)) { /* differ in one thing, or in none */
		case 0:
			b.n = a.n, b.dtype = a.dtype, b.root = a.root;
			break;
		case 1:
			b.op = a.op, b.dtype = a.dtype, b.root = a.root;
			break;
		case 2:
			b.op = a.op, b.n = a.n, b.root = a.root;
			break;
		case 3:
			b.op = a.op, b.n = a.n, b.dtype = a.dtype;
			break;
		default:
			b = a;
		}
		assert_int_equal(comm_kind(&a) == comm_kind(&b),
				 a.op == b.op && a.n == b.n && a.dtype == b.dtype &&
					 a.root == b.root &&
					 comm_in_tree(&a) == comm_in_tree(&b));
	}
}

/* Members of a group of ranks 4, 9, 2: roots are named by their number in the world. */
static void the_error_says_all_that_differs(void **state)
{
	static const struct comm_request gather = {
		.comm = &groups[0], .op = COMM_GATHER, .n = 77, .dtype = DTYPE_BF16, .root = 2};
	static const struct comm_request scatter = {
		.comm = &groups[0], .op = COMM_SCATTER, .n = 78, .dtype = DTYPE_I32, .root = 1};
	int members[] = {4, 9, 2};
	struct comm world = {0}, group = {.world = &world, .size = 3, .members = members};
	struct offer a = {.rank = 9, .kind = comm_kind(&gather), .place = "step 3 backward 1"};
	struct offer b = {.rank = 4, .kind = comm_kind(&scatter), .place = ""};
	struct error first = {0};
	(void)state;

	comm_collectives_differ(&group, a, b);
	assert_int_equal(world.broken.code, ERR_FAILED);
	assert_string_equal(world.broken.msg,
			    "collectives do not match: rank 4 is in scatter of 78 I32 from "
			    "rank 9, at the start; rank 9 in gather of 77 BF16 to rank 2, at "
			    "step 3 backward 1");
	/* Whoever finds out says the same, and only the first counts. */
	first = world.broken;
	world.broken = (struct error){0};
	comm_collectives_differ(&group, b, a);
	assert_string_equal(world.broken.msg, first.msg);
	b.kind = 0;
	comm_collectives_differ(&group, b, a);
	assert_string_equal(world.broken.msg, first.msg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_equal_if_the_collectives_are),
		cmocka_unit_test(the_error_says_all_that_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
