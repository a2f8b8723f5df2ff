/* test_partition.c - every layer in exactly one part, and the slowest part as fast as can be.
 */
#include "testing.h"

#include "model/mlp.h"
#include "model/partition.h"

static struct error err;

enum { DEPTH_MAX = 24 };

struct widths {
	int depth, in, dim, out;
};

/* A stack of layers for mp ranks each. */
static enum status stack_init(struct model *m, const struct widths *w, int mp)
{
	int widths[DEPTH_MAX + 1];
	struct mlp mlp = {.widths = widths, .depth = w->depth};

	for (int i = 1; i < w->depth; i++)
		widths[i] = w->dim;
	widths[0] = w->in;
	widths[w->depth] = w->out;
	model_init(m, w->in, mp);
	return mlp_build(m, &mlp, fresh(&err));
}

static double part_cost(const struct model *m, const struct partition *p, int k)
{
	double cost = 0;

	for (int i = p->first[k]; i < p->first[k + 1]; i++)
		cost += model_layer_flops(m, i);
	return cost;
}

/* The least that the slowest of some parts costs, by trying every cut. */
static double best_cost(const struct model *m, int parts)
{
	static double best[64][64]; /* [parts][layers] */

	for (int n = 0; n <= m->count; n++)
		for (int k = 0; k <= parts; k++) {
			best[k][n] = k == 0 && n == 0 ? 0 : 1e300;
			for (int from = k ? k - 1 : n; k && from < n; from++) {
				double cost = 0;

				for (int i = from; i < n; i++)
					cost += model_layer_flops(m, i);
				best[k][n] = fmin(best[k][n], fmax(best[k - 1][from], cost));
			}
		}
	return best[parts][m->count];
}

static void every_layer_once_and_balanced(void **state)
{
	struct random r = random_start("partitions");
	(void)state;

	for (int depth = 1; depth <= DEPTH_MAX; depth++)
		for (int stages = 1; stages <= depth; stages++)
			for (int chunks = 1; stages * chunks <= depth; chunks++) {
				struct widths w = {.depth = depth,
						   .in = random_int(&r, 1, 300),
						   .dim = random_int(&r, 1, 100),
						   .out = random_int(&r, 1, 300)};
				struct model m;
				struct partition p;
				double slowest = 0;
				int parts = stages * chunks;

				assert_int_equal(stack_init(&m, &w, 1), OK);
				assert_int_equal(
					partition_init(&p, &m, stages, chunks, "", fresh(&err)),
					OK);
				assert_int_equal(p.first[0], 0);
				assert_int_equal(p.first[parts], depth);
				for (int k = 0; k < parts; k++) {
					assert_true(p.first[k] < p.first[k + 1]);
					slowest = fmax(slowest, part_cost(&m, &p, k));
				}
				if (slowest > best_cost(&m, parts) * (1 + 1e-9))
					fail_msg("depth %d in %d parts: %g, could be %g", depth,
						 parts, slowest, best_cost(&m, parts));
				for (int i = 0; i < depth; i++) {
					int k = partition_part_of(&p, i);

					assert_true(p.first[k] <= i && i < p.first[k + 1]);
				}
				partition_release(&p);
				model_release(&m);
			}
}

static void lists_are_taken_or_refused(void **state)
{
	static const struct widths w = {.depth = 8, .in = 4, .dim = 4, .out = 4};
	static const char *const bad[] = {"8",	  "4,4,0", "4,3",  "5,4",  "a,4",
					  "4,,4", "-4,12", "4,4,", "3,5,", "99,1"};
	struct partition p;
	struct model m;
	(void)state;

	assert_int_equal(stack_init(&m, &w, 1), OK);
	assert_int_equal(partition_init(&p, &m, 2, 1, "7,1", fresh(&err)), OK);
	assert_int_equal(p.first[1], 7);
	partition_release(&p);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(partition_init(&p, &m, 2, 1, bad[i], fresh(&err)), ERR_USAGE);
	assert_int_equal(partition_init(&p, &m, 9, 1, "", fresh(&err)), ERR_USAGE);
	assert_int_equal(partition_init(&p, &m, 3, 3, "", fresh(&err)), ERR_USAGE);
	model_release(&m);
}

static bool splits(const struct widths *w, int mp)
{
	struct model m;
	enum status st = stack_init(&m, w, mp);

	assert_true(st == OK || st == ERR_USAGE);
	model_release(&m);
	return st == OK;
}

static void splits_that_do_not_divide_are_refused(void **state)
{
	struct widths w = {.depth = 4, .in = 7, .dim = 12, .out = 10};
	(void)state;

	assert_true(splits(&w, 3)); /* the last is by inputs */
	assert_false(splits(&w, 5));
	assert_non_null(strstr(err.msg, "the 12 outputs of layers.0"));
	assert_non_null(strstr(err.hint, "--mp 2, 3, 4, 6, 12"));
	w.depth = 5;
	assert_false(splits(&w, 3));
	assert_non_null(strstr(err.msg, "the 10 outputs of layers.4"));
	assert_true(splits(&w, 2));
	w.depth = 1; /* only the outputs count */
	w.dim = 7;
	assert_true(splits(&w, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layer_once_and_balanced),
		cmocka_unit_test(lists_are_taken_or_refused),
		cmocka_unit_test(splits_that_do_not_divide_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
