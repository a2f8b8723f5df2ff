/* frame_table.h - the part of a frame with a line for each rank. */
#ifndef KOLM_LAUNCH_FRAME_TABLE_H
#define KOLM_LAUNCH_FRAME_TABLE_H

#include "launch/pen.h"
#include "launch/survey.h"

/* In so many lines, the heading with them; what does not fit is counted. */
void frame_draw_table(struct pen *p, const struct survey *s, bool pids, int lines);

#endif
