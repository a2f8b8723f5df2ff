/*
 * canvas.h - drawing: rectangles, lines and text on a sheet, whatever the sheet is.
 *
 * The grid, the timelines and the charts are drawn once, through this interface; an SVG
 * file, an HTML page and a PDF page are canvases. Colours have roles, so that each canvas
 * can choose what they look like. Lengths are in units of the sheet, y points down.
 */
#ifndef KOLM_BASE_CANVAS_H
#define KOLM_BASE_CANVAS_H

#include "base/text.h"

/* Told apart with any kind of colour vision, after Okabe and Ito. */
enum hue {
	HUE_SKY,
	HUE_ORANGE,
	HUE_GREEN,
	HUE_PINK,
	HUE_YELLOW,
	HUE_VERMILLION,
	HUE_VIOLET,
	HUE_GREY,
	HUE_COUNT,
};

enum ink {
	INK_NONE,
	INK_TEXT,
	INK_MUTED, /* text of lesser weight: axes, captions */
	INK_RULE,  /* lines that help to read */
	INK_FRAME, /* lines around something */
	INK_PAPER,
	INK_PANEL,    /* a little darker than paper */
	INK_ON_COLOR, /* text on a fill or a tint */
	INK_LINK,
	INK_ALARM,
	/* A hue in three strengths: lines on paper; areas that carry labels; light areas. */
	INK_STRONG,
	INK_FILL = INK_STRONG + HUE_COUNT,
	INK_TINT = INK_FILL + HUE_COUNT,
	INK_COUNT = INK_TINT + HUE_COUNT,
};

static inline enum ink ink_of(enum ink strength, enum hue hue)
{
	return (enum ink)((int)strength + (int)hue % HUE_COUNT);
}

/* 0xrrggbb, on light and on dark paper. */
unsigned ink_rgb(enum ink ink, bool dark);

struct point {
	double x, y;
};

/* How an area or a line looks. Without fill and stroke it is invisible. */
struct paint {
	enum ink fill, stroke;
	double width; /* of the stroke; 0: 1 */
	bool dashed;
	const char *tip; /* what it tells when pointed at, or NULL */
};

enum anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };

struct font {
	double size;
	bool bold, mono;
};

/* How a piece of text looks; x, y of the call is the anchor on the base line. */
struct label {
	struct font font; /* size 0: 12 */
	enum anchor anchor;
	enum ink ink; /* INK_NONE: INK_TEXT */
	bool upward;  /* turned by 90 degrees, read from below */
};

struct canvas;

struct canvas_ops {
	void (*rectangle)(struct canvas *c, struct point at, struct point size, double radius,
			  const struct paint *paint);
	/* n points, closed if they make an area */
	void (*polygon)(struct canvas *c, const struct point *points, int n, bool closed,
			const struct paint *paint);
	/* a Bezier curve: begin, two control points, end */
	void (*curve)(struct canvas *c, const struct point points[4],
		      const struct paint *paint);
	void (*text)(struct canvas *c, double x, double y, const struct label *label,
		     const char *text);
	double (*text_width)(struct canvas *c, const struct font *font, const char *text);
};

struct canvas {
	const struct canvas_ops *ops;
};

void canvas_rectangle(struct canvas *c, double x, double y, double width, double height,
		      double radius, struct paint paint);
void canvas_line(struct canvas *c, double x1, double y1, double x2, double y2,
		 struct paint paint);
void canvas_polygon(struct canvas *c, const struct point *points, int n, bool closed,
		    struct paint paint);
void canvas_curve(struct canvas *c, const struct point points[4], struct paint paint);
void canvas_text(struct canvas *c, double x, double y, struct label label, const char *text);
void canvas_textf(struct canvas *c, double x, double y, struct label label, const char *fmt,
		  ...) __attribute__((format(printf, 5, 6)));
/* As wide as the text will be drawn; where fonts can't be asked, rather too wide. */
double canvas_text_width(struct canvas *c, struct font font, const char *text);

/* The width of text in DejaVu Sans, from a table: wider than most fonts that may replace it. */
double font_width(const struct font *font, const char *text);

/* A canvas that writes SVG: a file of its own, or a part of an HTML page, which then has
   the colours as classes: f5 fills with ink 5, s5 draws lines with it. */
struct canvas_svg {
	struct canvas canvas;
	struct text *out;
	bool in_page;
};

/* what: said to those who can't see it; kind: the class in a page. */
void canvas_svg_begin(struct canvas_svg *c, struct text *out, double width, double height);
void canvas_svg_begin_in_page(struct canvas_svg *c, struct text *out, double width,
			      double height, const char *kind, const char *what);
void canvas_svg_end(struct canvas_svg *c);

/* Text as XML and HTML want it, in content and in quoted attributes. */
void text_add_escaped(struct text *out, const char *s);

#endif
