/* frame.h - the screen of a run as text, from what its ranks show: pure drawing. */
#ifndef KOLM_LAUNCH_FRAME_H
#define KOLM_LAUNCH_FRAME_H

#include "base/text.h"
#include "launch/survey.h"

struct frame {
	int columns, lines; /* of the terminal */
	bool utf8, colour;  /* what it can show */
	const char *title;  /* a line above all, or NULL */
	bool table;	    /* a line for each rank */
	bool pids;	    /* with its process */
};

/* Lines that end in '\n', none wider than the terminal, fewer than it has. */
void frame_draw(const struct frame *f, const struct survey *s, struct text *out);

#endif
