/* grid.c - see grid.h */
#include "grid/grid.h"
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *grid_axis_name(enum grid_axis axis)
{
	static const char *const names[GRID_AXIS_COUNT] = {"mp", "dp", "pp", "model"};

	return names[axis];
}

int grid_size(const struct grid *g)
{
	return g->dp * g->pp * g->mp;
}

int grid_rank(const struct grid *g, struct coords c)
{
	return c.mp + g->mp * (c.dp + g->dp * c.pp);
}

struct coords grid_coords(const struct grid *g, int rank)
{
	return (struct coords){
		.mp = rank % g->mp,
		.dp = rank / g->mp % g->dp,
		.pp = rank / g->mp / g->dp,
	};
}

static bool same_group(struct coords a, struct coords b, enum grid_axis axis)
{
	switch (axis) {
	case GRID_MP:
		return a.dp == b.dp && a.pp == b.pp;
	case GRID_DP:
		return a.pp == b.pp && a.mp == b.mp;
	case GRID_PP:
		return a.dp == b.dp && a.mp == b.mp;
	case GRID_MODEL:
		return a.dp == b.dp;
	}
	return false;
}

int grid_group(const struct grid *g, int rank, enum grid_axis axis, int *out)
{
	struct coords own = grid_coords(g, rank);
	int n = 0;

	for (int i = 0; i < grid_size(g); i++)
		if (same_group(own, grid_coords(g, i), axis))
			out[n++] = i;
	return n;
}

void grid_list(int ranks, char *buf, size_t limit)
{
	size_t at = 0;

	*buf = '\0';
	for (int pp = 1; pp <= ranks; pp++)
		for (int mp = 1; mp <= ranks / pp; mp++) {
			char one[64] = "";
			int n = 0, sizes[] = {ranks / pp / mp, pp, mp};
			static const char *const names[] = {"--dp", "--pp", "--mp"};

			if (ranks % (pp * mp))
				continue;
			for (int i = 0; i < 3; i++)
				if (sizes[i] > 1 || (ranks == 1 && i == 0))
					n += snprintf(one + n, sizeof(one) - (size_t)n,
						      "%s%s %d", n ? " " : "", names[i],
						      sizes[i]);
			if (at + (size_t)n + 8 >= limit) {
				snprintf(buf + at, limit - at, ", ...");
				return;
			}
			at += (size_t)snprintf(buf + at, limit - at, "%s%s", at ? ", " : "",
					       one);
		}
}

static enum status two_autos(struct error *err)
{
	FAIL(err, ERR_USAGE, "only one of --dp, --pp and --mp can be auto");
	return HINT(err, "give numbers for the others");
}

enum status grid_resolve(struct grid *g, int ranks, bool exact, struct error *err)
{
	int *sizes[] = {&g->dp, &g->pp, &g->mp}, *open = NULL;
	int64_t known = 1;
	char list[200];

	for (int i = 0; i < 3; i++) {
		if (*sizes[i] != GRID_AUTO) {
			known *= *sizes[i];
			continue;
		}
		if (open)
			return two_autos(err);
		open = sizes[i];
	}
	grid_list(ranks, list, sizeof(list));
	if (open && ranks % known) {
		FAIL(err, ERR_USAGE, "%d ranks do not divide by the grid's other %lld", ranks,
		     (long long)known);
		return HINT(err, "grids of %d ranks: %s", ranks, list);
	}
	if (open)
		*open = (int)(ranks / known);
	if (exact && !open && known != ranks) {
		FAIL(err, ERR_USAGE,
		     "--dp %d --pp %d --mp %d needs %lld ranks, but there are %d", g->dp, g->pp,
		     g->mp, (long long)known, ranks);
		return HINT(err, "grids that fit: %s", list);
	}
	if (known > RANKS_MAX) {
		FAIL(err, ERR_USAGE, "--dp %d --pp %d --mp %d is %lld ranks", g->dp, g->pp,
		     g->mp, (long long)known);
		return HINT(err, "at most %d", RANKS_MAX);
	}
	return OK;
}

void grid_describe(const struct grid *g, int rank, char *buf, size_t size)
{
	struct coords c = grid_coords(g, rank);

	snprintf(buf, size, "dp%d pp%d mp%d", c.dp, c.pp, c.mp);
}
