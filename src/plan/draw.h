/* draw.h - what a search has found, as pictures. */
#ifndef KOLM_PLAN_DRAW_H
#define KOLM_PLAN_DRAW_H

#include "base/canvas.h"
#include "plan/search.h"

/* A map of the grids, layers split more ways downward, more stages to the right: the fastest
   step on each that fits, or what memory the smallest needs. */
struct point draw_grids_size(const struct search *r);
void draw_grids(const struct search *r, const char *title, struct canvas *canvas);
/* As a whole SVG document. */
void draw_grids_svg(const struct search *r, const char *title, struct text *out);

#endif
