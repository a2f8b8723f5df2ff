/* draw.h - the grid as text and as SVG: where each rank is, and the groups. */
#ifndef KOLM_GRID_DRAW_H
#define KOLM_GRID_DRAW_H

#include "base/text.h"
#include "grid/grid.h"

/* How many groups of a kind there are. */
int grid_group_count(const struct grid *g, enum grid_axis axis);

/* A table of the ranks, stages side by side, and the list of groups. */
void grid_draw_text(const struct grid *g, struct text *out);

/* A whole SVG document: a panel per stage, replicas as rows, shards as columns. */
void grid_draw_svg(const struct grid *g, struct text *out);

#endif
