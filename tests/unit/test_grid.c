/* test_grid.c - for all grids up to 16 ranks: coordinates and groups; and what is refused. */
#include "testing.h"

#include "grid/draw.h"
#include "grid/grid.h"

enum { RANKS = 16 };

static struct error err;

static void for_all_grids(void (*fn)(const struct grid *g))
{
	for (int dp = 1; dp <= RANKS; dp++)
		for (int pp = 1; dp * pp <= RANKS; pp++)
			for (int mp = 1; dp * pp * mp <= RANKS; mp++)
				fn(&(struct grid){dp, pp, mp});
}

static void check_bijection(const struct grid *g)
{
	bool seen[RANKS] = {false};

	for (int rank = 0; rank < grid_size(g); rank++) {
		struct coords c = grid_coords(g, rank);

		assert_in_range(c.dp, 0, g->dp - 1);
		assert_in_range(c.pp, 0, g->pp - 1);
		assert_in_range(c.mp, 0, g->mp - 1);
		assert_int_equal(grid_rank(g, c), rank);
		assert_int_equal(rank, c.mp + g->mp * (c.dp + g->dp * c.pp));
	}
	for (int dp = 0; dp < g->dp; dp++)
		for (int pp = 0; pp < g->pp; pp++)
			for (int mp = 0; mp < g->mp; mp++) {
				int rank = grid_rank(g, (struct coords){dp, pp, mp});

				assert_in_range(rank, 0, grid_size(g) - 1);
				assert_false(seen[rank]);
				seen[rank] = true;
			}
}

static void every_rank_has_coordinates_of_its_own(void **state)
{
	(void)state;
	for_all_grids(check_bijection);
}

/* The definition: which coordinates members of a group share. */
static bool together(struct coords a, struct coords b, enum grid_axis axis)
{
	bool dp = a.dp == b.dp, pp = a.pp == b.pp, mp = a.mp == b.mp;
	bool same[GRID_AXIS_COUNT] = {[GRID_MP] = dp && pp,
				      [GRID_DP] = pp && mp,
				      [GRID_PP] = dp && mp,
				      [GRID_MODEL] = dp};

	return same[axis];
}

static void check_groups(const struct grid *g)
{
	int sizes[GRID_AXIS_COUNT] = {[GRID_MP] = g->mp,
				      [GRID_DP] = g->dp,
				      [GRID_PP] = g->pp,
				      [GRID_MODEL] = g->mp * g->pp};

	for (int a = 0; a < GRID_AXIS_COUNT; a++) {
		enum grid_axis axis = (enum grid_axis)a;
		int ranks[RANKS], leaders = 0;

		for (int rank = 0; rank < grid_size(g); rank++) {
			int n = grid_group(g, rank, axis, ranks);
			bool own = false;

			assert_int_equal(n, sizes[a]);
			for (int i = 0; i < n; i++) {
				assert_true(i == 0 || ranks[i] > ranks[i - 1]);
				assert_true(together(grid_coords(g, rank),
						     grid_coords(g, ranks[i]), axis));
				own |= ranks[i] == rank;
			}
			assert_true(own);
			leaders += ranks[0] == rank;
		}
		/* So many groups of that size, each rank in one of its own: all in exactly one.
		 */
		assert_int_equal(leaders, grid_group_count(g, axis));
		assert_int_equal(leaders * sizes[a], grid_size(g));
	}
}

static void groups_have_the_right_members(void **state)
{
	(void)state;
	for_all_grids(check_groups);
}

static void check_auto(const struct grid *g)
{
	for (int open = 0; open < 3; open++) {
		struct grid r = *g;
		int *sizes[] = {&r.dp, &r.pp, &r.mp};

		*sizes[open] = GRID_AUTO;
		assert_int_equal(grid_resolve(&r, grid_size(g), true, fresh(&err)), OK);
		assert_memory_equal(&r, g, sizeof(r));
	}
}

static void auto_takes_what_the_others_leave(void **state)
{
	(void)state;
	for_all_grids(check_auto);
}

static void grids_that_do_not_fit_are_refused(void **state)
{
	static const struct {
		struct grid grid;
		int ranks;
		bool exact;
		const char *msg, *hint;
	} cases[] = {
		{{0, 0, 1}, 8, false, "only one", "give numbers"},
		{{0, 3, 1}, 8, false, "8 ranks do not divide by the grid's other 3", "--dp 8"},
		{{0, 16, 1}, 8, false, "do not divide by the grid's other 16", "--dp 8"},
		{{2, 2, 1}, 8, true, "needs 4 ranks, but there are 8", "--dp 4 --pp 2"},
		{{4096, 4096, 4096}, 8, false, "ranks", "at most 4096"},
	};
	struct grid any = {2, 3, 1};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct grid g = cases[i].grid;

		assert_int_equal(grid_resolve(&g, cases[i].ranks, cases[i].exact, fresh(&err)),
				 ERR_USAGE);
		assert_non_null(strstr(err.msg, cases[i].msg));
		assert_non_null(strstr(err.hint, cases[i].hint));
	}
	assert_int_equal(grid_resolve(&any, 8, false, fresh(&err)), OK);
}

/* Every rank is in the drawings, once per place that shows it. */
static void check_drawings(const struct grid *g)
{
	struct text text, svg;
	char box[48];

	text_init(&text);
	text_init(&svg);
	grid_draw_text(g, &text);
	grid_draw_svg(g, &svg);
	assert_non_null(strstr(text.data, "\nmodel "));
	assert_null(strstr(text.data, " \n"));
	for (int rank = 0; rank < grid_size(g); rank++) {
		snprintf(box, sizeof(box), "font-size=\"14\">%d</text>", rank);
		assert_non_null(strstr(svg.data, box));
	}
	assert_non_null(strstr(svg.data, "</svg>\n"));
	text_release(&text);
	text_release(&svg);
}

static void drawings_show_every_rank(void **state)
{
	(void)state;
	for_all_grids(check_drawings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rank_has_coordinates_of_its_own),
		cmocka_unit_test(groups_have_the_right_members),
		cmocka_unit_test(auto_takes_what_the_others_leave),
		cmocka_unit_test(grids_that_do_not_fit_are_refused),
		cmocka_unit_test(drawings_show_every_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
