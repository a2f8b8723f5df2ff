/*
 * pen.h - lines of text that never get wider than a terminal. Columns are counted, not
 * bytes; what does not fit is left out.
 */
#ifndef KOLM_LAUNCH_PEN_H
#define KOLM_LAUNCH_PEN_H

#include "base/text.h"

#include <stdint.h>

struct pen {
	struct text *out;
	int columns;	   /* of a line, at most */
	int column, lines; /* where the next text goes */
	bool utf8, colour; /* what the terminal can show */
};

enum style { STYLE_PLAIN, STYLE_DIM, STYLE_BOLD, STYLE_GREEN, STYLE_YELLOW };

void pen_put(struct pen *p, enum style style, const char *text);
void pen_putf(struct pen *p, enum style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Blanks up to that column. */
void pen_move(struct pen *p, int column);
void pen_end_line(struct pen *p);

/* A bar of so many columns, of which the first part is full and a second one half full. */
void pen_bar(struct pen *p, int columns, double full, double half);

/* A number in at most 8 columns: exactly if that fits; or as something measured, with the
   same few digits always, so that it does not twitch. */
void pen_number(char *buf, size_t size, double value);
void pen_figure(char *buf, size_t size, double value);
/* A number of bytes in at most 8: 96.0 KiB, 1.5 GiB. */
void pen_size(char *buf, size_t size, uint64_t bytes);

#endif
