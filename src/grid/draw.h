/* draw.h - the grid as text and as a picture: where each rank is, and the groups. */
#ifndef KOLM_GRID_DRAW_H
#define KOLM_GRID_DRAW_H

#include "base/canvas.h"
#include "base/text.h"
#include "grid/grid.h"

/* How many groups of a kind there are. */
int grid_group_count(const struct grid *g, enum grid_axis axis);

/* A table of the ranks, stages side by side, and the list of groups. */
void grid_draw_text(const struct grid *g, struct text *out);

/* A panel per stage, replicas as rows, shards as columns; the size that it takes. */
struct point grid_draw_size(const struct grid *g);
void grid_draw(const struct grid *g, struct canvas *canvas);
/* The same as a whole SVG document. */
void grid_draw_svg(const struct grid *g, struct text *out);

#endif
