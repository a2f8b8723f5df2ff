/* draw.c - the grid as text; see draw.h */
#include "grid/draw.h"
#include "base/util.h"

enum { COLUMNS = 100, CELL = 5, GAP = 3, NAME = 13 };

int grid_group_count(const struct grid *g, enum grid_axis axis)
{
	int per_group[GRID_AXIS_COUNT] = {[GRID_MP] = g->mp,
					  [GRID_DP] = g->dp,
					  [GRID_PP] = g->pp,
					  [GRID_MODEL] = g->mp * g->pp};

	return grid_size(g) / per_group[axis];
}

/* Stages first .. last-1 side by side. */
static void draw_band(const struct grid *g, int first, int last, struct text *out)
{
	text_addf(out, "%-*s", NAME, "");
	for (int pp = first; pp < last; pp++)
		text_addf(out, "%*sstage %-*d", GAP, "", imax(g->mp * CELL - 6, 4), pp);
	text_addf(out, "\n%-*s", NAME, "");
	for (int pp = first; pp < last; pp++) {
		text_addf(out, "%*s", GAP, "");
		for (int mp = 0; mp < g->mp; mp++)
			text_addf(out, "mp%-*d", CELL - 2, mp);
		text_addf(out, "%*s", imax(10 - g->mp * CELL, 0), "");
	}
	for (int dp = 0; dp < g->dp; dp++) {
		text_addf(out, "\nreplica %-*d", NAME - 8, dp);
		for (int pp = first; pp < last; pp++) {
			text_addf(out, "%*s", GAP, "");
			for (int mp = 0; mp < g->mp; mp++)
				text_addf(out, "%-*d", CELL,
					  grid_rank(g, (struct coords){dp, pp, mp}));
			text_addf(out, "%*s", imax(10 - g->mp * CELL, 0), "");
		}
	}
	text_add(out, "\n\n");
}

static void draw_groups(const struct grid *g, enum grid_axis axis, struct text *out)
{
	int ranks[GRID_RANKS_MAX], count = grid_group_count(g, axis), seen = 0;

	text_addf(out, "%-6s %d group%s of %d:", grid_axis_name(axis), count,
		  count == 1 ? "" : "s", grid_size(g) / count);
	for (int rank = 0; rank < grid_size(g); rank++) {
		int n = grid_group(g, rank, axis, ranks);

		if (ranks[0] != rank)
			continue; /* a group is listed at its first rank */
		text_add(out, seen++ ? "  |" : "");
		for (int i = 0; i < n; i++)
			text_addf(out, " %d", ranks[i]);
	}
	text_add(out, "\n");
}

void grid_draw_text(const struct grid *g, struct text *out)
{
	int width = GAP + imax(g->mp * CELL, 10), side_by_side = (COLUMNS - NAME) / width;

	side_by_side = imax(side_by_side, 1);
	text_addf(out, "dp %d x pp %d x mp %d: %d rank%s; rank = mp + %d * (dp + %d * pp)\n\n",
		  g->dp, g->pp, g->mp, grid_size(g), grid_size(g) == 1 ? "" : "s", g->mp,
		  g->dp);
	for (int pp = 0; pp < g->pp; pp += side_by_side)
		draw_band(g, pp, imin(pp + side_by_side, g->pp), out);
	for (int axis = 0; axis < GRID_AXIS_COUNT; axis++)
		draw_groups(g, (enum grid_axis)axis, out);
}
