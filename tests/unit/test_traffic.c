/* test_traffic.c - what a collective moves in and out of each member, against a list of who
   needs what from whom. */
#include "testing.h"

#include "comm/comm.h"

enum { SIZE_MAX_TRIED = 9 };

/* The member that has element i in its slice. */
static int owner_of(int64_t n, int64_t i, int size)
{
	int k = 0;

	while (part_begin(n, k + 1, size) <= i)
		k++;
	return k;
}

/* Does this element go from one member to another? For a sum: how often. */
static int goes(enum comm_op op, int from, int to, int owner, int root)
{
	switch (op) {
	case COMM_ALLREDUCE: /* to who sums it, and from there to everybody */
		return (to == owner) + (from == owner);
	case COMM_REDUCE_SCATTER:
		return to == owner;
	case COMM_ALLGATHER:
		return from == owner;
	case COMM_BROADCAST:
		return from == root;
	case COMM_SCATTER:
		return from == root && to == owner;
	case COMM_GATHER:
		return from == owner && to == root;
	case COMM_BARRIER:
		break;
	}
	return 0;
}

static void check_member(enum comm_op op, int64_t n, int size, int member, int root)
{
	struct comm_traffic t = comm_op_traffic(op, (size_t)n, size, member, root);
	int64_t in = 0, out = 0;

	for (int64_t i = 0; i < n; i++)
		for (int k = 0; k < size; k++) {
			int owner = owner_of(n, i, size);

			in += k != member ? goes(op, k, member, owner, root) : 0;
			out += k != member ? goes(op, member, k, owner, root) : 0;
		}
	assert_int_equal(t.in, in);
	assert_int_equal(t.out, out);
}

static void every_element_is_counted_where_it_goes(void **state)
{
	static const int64_t counts[] = {0, 1, 2, 5, 8, 24, 37};
	(void)state;

	for (int op = 0; op < COMM_OP_COUNT; op++)
		for (int size = 1; size <= SIZE_MAX_TRIED; size++)
			for (size_t k = 0; k < ARRAY_SIZE(counts); k++)
				for (int root = 0; root < size; root++)
					for (int member = 0; member < size; member++)
						check_member((enum comm_op)op, counts[k], size,
							     member, root);
}

/* The formulas that the studies state, of buffers that can be cut evenly. */
static void sums_stay_below_twice_the_buffer_and_a_broadcast_grows(void **state)
{
	enum { N = 2520 };
	(void)state;

	for (int n = 1; n <= SIZE_MAX_TRIED; n++) {
		struct comm_traffic sum = comm_op_traffic(COMM_ALLREDUCE, N, n, n - 1, 0);

		assert_int_equal(sum.in, 2 * N * (n - 1) / n);
		assert_int_equal(sum.out, sum.in);
		assert_int_equal(comm_op_traffic(COMM_BROADCAST, N, n, 0, 0).out, N * (n - 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_element_is_counted_where_it_goes),
		cmocka_unit_test(sums_stay_below_twice_the_buffer_and_a_broadcast_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
