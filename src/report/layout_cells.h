/* layout_cells.h - the cells of a table on paper: what is in them, and how wide they are. */
#ifndef KOLM_REPORT_LAYOUT_CELLS_H
#define KOLM_REPORT_LAYOUT_CELLS_H

#include "report/layout_impl.h"

struct grid_of_cells {
	struct layout *l;
	const struct table *t;
	double *widths; /* (columns) of the text */
	struct setting cell, head;
	double left, gap;
	bool brief, broken;
	int below; /* a column of long texts, set below its rows; -1: none */
};

/* Widths of the columns in the most comfortable type that has room for them, or, unless it
   may be loose, in the narrowest. False: there is no room, and words are broken. */
bool cells_init(struct grid_of_cells *g, struct layout *l, const struct table *t, bool loose);
void cells_release(struct grid_of_cells *g);

/* Row -1 is the heading. */
void cells_text(const struct grid_of_cells *g, int row, int column, struct text *out);
/* Cells of a failed row beyond those that are shown do not count, nor what stands below. */
bool cells_shows(const struct grid_of_cells *g, int row, int column);

#endif
