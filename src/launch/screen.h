/*
 * screen.h - a frame of text that stays in its place on a terminal.
 *
 * Between calls the cursor is at the beginning of the line below the frame, visible, and
 * no mode of the terminal is changed: however the process ends, it leaves a clean
 * terminal. A frame is one write, over the old one, so that nothing flickers.
 */
#ifndef KOLM_LAUNCH_SCREEN_H
#define KOLM_LAUNCH_SCREEN_H

#include "base/text.h"

struct screen {
	int fd;
	bool utf8, colour; /* what the terminal can show */
	bool always_ours;  /* asked for in a background job: there is no telling when */
	struct text shown; /* the frame that stands there, or "" */
	struct text out;
};

/* A terminal that can move its cursor? And are we not in a background job of its? */
bool screen_possible(int fd);
bool screen_in_front(int fd);

void screen_init(struct screen *s, int fd);
void screen_release(struct screen *s);

void screen_size(const struct screen *s, int *columns, int *lines);
/* Is it ours to draw on? Not when the job has been put into the background. */
bool screen_is_ours(const struct screen *s);
/* Would writing block? After Ctrl-S, or where the reader is slow. */
bool screen_is_blocked(const struct screen *s);

/* Whole lines to stand above the frame for good, or "", and the frame. */
void screen_show(struct screen *s, const char *above, const char *frame);
/* What stands there stays; the next frame begins below. */
void screen_leave(struct screen *s);

#endif
