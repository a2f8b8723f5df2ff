/*
 * grid.h - ranks and their coordinates: data, pipeline and model parallel. Pure arithmetic.
 *
 * mp runs fastest, then dp, then pp: rank = mp + MP * (dp + DP * pp).
 */
#ifndef KOLM_GRID_GRID_H
#define KOLM_GRID_GRID_H

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

enum { GRID_AUTO = 0 };

struct grid {
	int dp, pp, mp; /* how many of each */
};

struct coords {
	int dp, pp, mp; /* which one */
};

/* The kinds of groups that a rank is in: ranks that differ in that coordinate only; the
   model group is one replica, all stages and shards of it. */
enum grid_axis { GRID_MP, GRID_DP, GRID_PP, GRID_MODEL };
enum { GRID_AXIS_COUNT = GRID_MODEL + 1 };
const char *grid_axis_name(enum grid_axis axis);

int grid_size(const struct grid *g);
int grid_rank(const struct grid *g, struct coords c);
struct coords grid_coords(const struct grid *g, int rank);

/* The ranks of a rank's group, in order; out has room for grid_size. */
int grid_group(const struct grid *g, int rank, enum grid_axis axis, int *out);

/*
 * Replace at most one GRID_AUTO by what the others leave of the ranks there are, and check
 * the result: it must have exactly that many ranks if exact, otherwise any number.
 */
enum status grid_resolve(struct grid *g, int ranks, bool exact, struct error *err);

/* "--dp 4, --dp 2 --pp 2, ...": grids of that many ranks, as many as fit into limit bytes. */
void grid_list(int ranks, char *buf, size_t limit);

/* "dp1 pp0 mp1" */
void grid_describe(const struct grid *g, int rank, char *buf, size_t size);

#endif
