/*
 * canvas.h - lines of text that never get wider than a terminal. Columns are counted, not
 * bytes; what does not fit is left out.
 */
#ifndef KOLM_LAUNCH_CANVAS_H
#define KOLM_LAUNCH_CANVAS_H

#include "base/text.h"

#include <stdint.h>

struct canvas {
	struct text *out;
	int columns;	   /* of a line, at most */
	int column, lines; /* where the next text goes */
	bool utf8, colour; /* what the terminal can show */
};

enum style { STYLE_PLAIN, STYLE_DIM, STYLE_BOLD, STYLE_GREEN, STYLE_YELLOW };

void canvas_put(struct canvas *c, enum style style, const char *text);
void canvas_putf(struct canvas *c, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Blanks up to that column. */
void canvas_move(struct canvas *c, int column);
void canvas_end_line(struct canvas *c);

/* A bar of so many columns, of which the first part is full and a second one half full. */
void canvas_bar(struct canvas *c, int columns, double full, double half);

/* A number in at most 8 columns: exactly if that fits; or as something measured, with the
   same few digits always, so that it does not twitch. */
void canvas_number(char *buf, size_t size, double value);
void canvas_figure(char *buf, size_t size, double value);
/* A number of bytes in at most 8: 96.0 KiB, 1.5 GiB. */
void canvas_size(char *buf, size_t size, uint64_t bytes);

#endif
