/* layout_impl.h - between the files layout*.c. */
#ifndef KOLM_REPORT_LAYOUT_IMPL_H
#define KOLM_REPORT_LAYOUT_IMPL_H

#include "report/layout.h"

#define MARGIN	       56.0
#define CONTENT_TOP    66.0
#define CONTENT_BOTTOM (PAGE_HEIGHT - 60.0)
#define CONTENT_WIDTH  (PAGE_WIDTH - 2 * MARGIN)

struct layout {
	const struct document *document;
	struct sheet *sheet;   /* NULL while pages are counted */
	struct canvas *canvas; /* where text goes: the sheet's, or one that draws nothing */
	double y;	       /* the next block begins here */
	int page, pages;
	int *heading_pages;		    /* by block, of headings and questions */
	const char *section, *page_section; /* now, and for the head of this page */
};

/* A canvas that draws nothing; the real one tells how wide text is. */
struct blank_canvas {
	struct canvas canvas;
	struct canvas *real;
};
struct canvas *blank_canvas_init(struct blank_canvas *b, struct canvas *real);

/* Go to a new page unless so much fits on this one. */
void layout_need(struct layout *l, double height);
void layout_new_page(struct layout *l);

/* The page of the heading or question of that anchor; 0: there is none. */
int layout_page_of(const struct layout *l, const char *anchor);

/* How text is set. */
struct setting {
	struct font font;
	double leading; /* from base line to base line */
	enum ink ink;
	double hanging; /* lines after the first are moved in */
	bool panel;	/* a darker ground, as wide as the page's text */
};

/* How many bytes of text go into a line of that width: up to a space, a line end, or, if
   a word is too long, any letter. *next is where the following line begins. */
size_t layout_line(struct layout *l, const struct font *font, double width, const char *text,
		   const char **next);
int layout_count_lines(struct layout *l, const struct setting *s, double width,
		       const char *text);
double layout_longest_word(struct layout *l, const struct font *font, const char *text);
/* Lines one below the other, over pages if need be; l->y moves on. */
void layout_flow(struct layout *l, const struct setting *s, double x, double width,
		 const char *text);
/* The same in a place of its own, first base line at y. */
void layout_put(struct layout *l, const struct setting *s, double x, double y, double width,
		enum anchor anchor, const char *text);

/* So many bytes of text in one line. */
void layout_put_line(struct layout *l, const struct setting *s, double x, double y,
		     const char *text, size_t n);

/* The chart that is block i, or it and the next side by side; returns the block after. */
size_t layout_charts(struct layout *l, size_t i);
double layout_charts_height(struct layout *l, size_t i);
void layout_drawing(struct layout *l, const struct block *b);
double layout_drawing_height(struct layout *l, const struct block *b);

void layout_table(struct layout *l, const struct table *t);
/* Title, heading and first rows, which stay together. */
double layout_table_start(struct layout *l, const struct table *t);

#endif
