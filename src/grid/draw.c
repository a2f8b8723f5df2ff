/* draw.c - the grid as text; see draw.h */
#include "grid/draw.h"
#include "base/util.h"

#include <stdio.h>

enum { COLUMNS = 100, CELL = 6, STAGE = 10, GAP = 3, NAME = 12 };

int grid_group_count(const struct grid *g, enum grid_axis axis)
{
	int per_group[GRID_AXIS_COUNT] = {[GRID_MP] = g->mp,
					  [GRID_DP] = g->dp,
					  [GRID_PP] = g->pp,
					  [GRID_MODEL] = g->mp * g->pp};

	return grid_size(g) / per_group[axis];
}

/* Stages first .. last-1 side by side, each in so many columns, aligned on the right. */
static void draw_band(const struct grid *g, int first, int last, int width, struct text *out)
{
	char label[24];

	text_addf(out, "%-*s", NAME, "");
	for (int pp = first; pp < last; pp++) {
		snprintf(label, sizeof(label), "stage %d", pp);
		text_addf(out, "%*s", width, label);
	}
	text_addf(out, "\n%-*s", NAME, "");
	for (int pp = first; pp < last; pp++)
		for (int mp = 0; mp < g->mp; mp++) {
			snprintf(label, sizeof(label), "mp%d", mp);
			text_addf(out, "%*s", mp ? CELL : width - (g->mp - 1) * CELL, label);
		}
	for (int dp = 0; dp < g->dp; dp++) {
		text_addf(out, "\nreplica %-*d", NAME - 8, dp);
		for (int pp = first; pp < last; pp++)
			for (int mp = 0; mp < g->mp; mp++)
				text_addf(out, "%*d", mp ? CELL : width - (g->mp - 1) * CELL,
					  grid_rank(g, (struct coords){dp, pp, mp}));
	}
	text_add(out, "\n\n");
}

static void draw_groups(const struct grid *g, enum grid_axis axis, struct text *out)
{
	int ranks[RANKS_MAX], count = grid_group_count(g, axis), seen = 0;

	text_addf(out, "%-6s %d group%s of %d:", grid_axis_name(axis), count,
		  count == 1 ? "" : "s", grid_size(g) / count);
	for (int rank = 0; rank < grid_size(g); rank++) {
		int n = grid_group(g, rank, axis, ranks);

		if (ranks[0] != rank)
			continue; /* a group is listed at its first rank */
		text_add(out, seen++ ? " |" : "");
		for (int i = 0; i < n; i++)
			text_addf(out, " %d", ranks[i]);
	}
	text_add(out, "\n");
}

void grid_draw_text(const struct grid *g, struct text *out)
{
	int width = GAP + imax(g->mp * CELL, STAGE);
	int side_by_side = imax((COLUMNS - NAME) / width, 1);

	text_addf(out, "dp %d x pp %d x mp %d: %d rank%s; rank = mp + %d * (dp + %d * pp)\n\n",
		  g->dp, g->pp, g->mp, grid_size(g), grid_size(g) == 1 ? "" : "s", g->mp,
		  g->dp);
	for (int pp = 0; pp < g->pp; pp += side_by_side)
		draw_band(g, pp, imin(pp + side_by_side, g->pp), width, out);
	for (int axis = 0; axis < GRID_AXIS_COUNT; axis++)
		draw_groups(g, (enum grid_axis)axis, out);
}
