/* canvas.c - colours, widths and what is the same on every canvas; see canvas.h */
#include "base/canvas.h"
#include "base/util.h"

#include <stdarg.h>
#include <stdio.h>

struct colors {
	unsigned light, dark;
};

static const struct colors inks[INK_COUNT] = {
	[INK_TEXT] = {0x222222, 0xe8e8e6},
	[INK_MUTED] = {0x555555, 0xa9adb1},
	[INK_RULE] = {0xdddddd, 0x3a4046},
	[INK_FRAME] = {0xb5b5b5, 0x6a7178},
	[INK_PAPER] = {0xffffff, 0x16191d},
	[INK_PANEL] = {0xf4f4f4, 0x23282d},
	[INK_ON_COLOR] = {0x1c1c1c, 0x1c1c1c},
	[INK_LINK] = {0x00568a, 0x7cc4f2},
	[INK_ALARM] = {0xb3261e, 0xff9a8f},

	[INK_STRONG + HUE_SKY] = {0x0072b2, 0x6cc0f5},
	[INK_STRONG + HUE_ORANGE] = {0xb87400, 0xf0b232},
	[INK_STRONG + HUE_GREEN] = {0x00805d, 0x35c79a},
	[INK_STRONG + HUE_PINK] = {0xb0508a, 0xe795c3},
	[INK_STRONG + HUE_YELLOW] = {0x8a7d00, 0xe3d84a},
	[INK_STRONG + HUE_VERMILLION] = {0xd55e00, 0xff8a4a},
	[INK_STRONG + HUE_VIOLET] = {0x6a5acd, 0xaba3f0},
	[INK_STRONG + HUE_GREY] = {0x666666, 0xb0b0b0},

	[INK_FILL + HUE_SKY] = {0x56b4e9, 0x56b4e9},
	[INK_FILL + HUE_ORANGE] = {0xe69f00, 0xe69f00},
	[INK_FILL + HUE_GREEN] = {0x3cb890, 0x3cb890},
	[INK_FILL + HUE_PINK] = {0xd98cb3, 0xd98cb3},
	[INK_FILL + HUE_YELLOW] = {0xe3d34b, 0xe3d34b},
	[INK_FILL + HUE_VERMILLION] = {0xe8834a, 0xe8834a},
	[INK_FILL + HUE_VIOLET] = {0x9c92dd, 0x9c92dd},
	[INK_FILL + HUE_GREY] = {0xa8a8a8, 0xa8a8a8},

	[INK_TINT + HUE_SKY] = {0xa9d8f3, 0xa9d8f3},
	[INK_TINT + HUE_ORANGE] = {0xf3cf80, 0xf3cf80},
	[INK_TINT + HUE_GREEN] = {0xa5dfcc, 0xa5dfcc},
	[INK_TINT + HUE_PINK] = {0xeec2d8, 0xeec2d8},
	[INK_TINT + HUE_YELLOW] = {0xf6ee9f, 0xf6ee9f},
	[INK_TINT + HUE_VERMILLION] = {0xf0b39a, 0xf0b39a},
	[INK_TINT + HUE_VIOLET] = {0xc9c3ea, 0xc9c3ea},
	[INK_TINT + HUE_GREY] = {0xd5d5d5, 0xd5d5d5},
};

unsigned ink_rgb(enum ink ink, bool dark)
{
	return dark ? inks[ink].dark : inks[ink].light;
}

/* Advances of DejaVu Sans from ' ' to '~', in hundredths of the size. */
static const unsigned char regular[] = {
	32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36,	 32, 34, 64, 64, 64,
	64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63,
	58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63,	 61, 73, 68, 99, 69,
	61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35,	 63, 63, 28, 28, 58,
	28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59,	 52, 64, 34, 64, 84,
};

enum { MONO = 60, BOLD_PERCENT = 112, OTHER = 84 };

double font_width(const struct font *font, const char *text)
{
	double sum = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c & 0xc0) == 0x80)
			continue; /* a letter was counted at its first byte */
		if (font->mono)
			sum += MONO;
		else if (c >= ' ' && c <= '~')
			sum += regular[c - ' '] * (font->bold ? BOLD_PERCENT / 100.0 : 1);
		else
			sum += OTHER;
	}
	return sum * (font->size > 0 ? font->size : 12) / 100;
}

void canvas_rectangle(struct canvas *c, double x, double y, double width, double height,
		      double radius, struct paint paint)
{
	c->ops->rectangle(c, (struct point){x, y}, (struct point){width, height}, radius,
			  &paint);
}

void canvas_line(struct canvas *c, double x1, double y1, double x2, double y2,
		 struct paint paint)
{
	struct point ends[] = {{x1, y1}, {x2, y2}};

	c->ops->polygon(c, ends, 2, false, &paint);
}

void canvas_polygon(struct canvas *c, const struct point *points, int n, bool closed,
		    struct paint paint)
{
	if (n > 0)
		c->ops->polygon(c, points, n, closed, &paint);
}

void canvas_curve(struct canvas *c, const struct point points[4], struct paint paint)
{
	c->ops->curve(c, points, &paint);
}

void canvas_text(struct canvas *c, double x, double y, struct label label, const char *text)
{
	if (label.font.size <= 0)
		label.font.size = 12;
	if (label.ink == INK_NONE)
		label.ink = INK_TEXT;
	if (*text)
		c->ops->text(c, x, y, &label, text);
}

void canvas_textf(struct canvas *c, double x, double y, struct label label, const char *fmt,
		  ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	canvas_text(c, x, y, label, text);
}

double canvas_text_width(struct canvas *c, struct font font, const char *text)
{
	if (font.size <= 0)
		font.size = 12;
	return c->ops->text_width(c, &font, text);
}
