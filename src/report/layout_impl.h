/* layout_impl.h - between the files of the layout. Only for report/layout*. */
#ifndef KOLM_REPORT_LAYOUT_IMPL_H
#define KOLM_REPORT_LAYOUT_IMPL_H

#include "report/layout.h"

#define MARGIN	       48.0
#define CONTENT_TOP    58.0
#define CONTENT_BOTTOM (PAGE_HEIGHT - 46.0)
#define CONTENT_WIDTH  (PAGE_WIDTH - 2 * MARGIN)

enum { WAITING_MAX = 16 };

struct layout {
	const struct document *document;
	struct sheet *sheet;   /* NULL while pages are counted */
	struct canvas *canvas; /* where text goes: the sheet's, or one that draws nothing */
	double y;	       /* the next block begins here */
	int page, pages;
	int *heading_pages;		    /* by block, of headings and questions */
	const char *section, *page_section; /* now, and for the head of this page */
	/* Figures and small tables that had no room: the next page begins with them, and text
	   goes on before. */
	size_t waiting[WAITING_MAX];
	int waiting_count;
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

/* Of a page that is full: what it is about, and its number. */
void layout_draw_header(struct layout *l);
/* The headings and their pages. */
void layout_contents(struct layout *l);

/* The figure that is block i: a drawing, a chart, a chart and the next side by side, or a
   table. */
void layout_figure(struct layout *l, size_t i);
double layout_figure_height(struct layout *l, size_t i);
/* The block after it. */
size_t layout_figure_end(const struct layout *l, size_t i);

void layout_table(struct layout *l, const struct table *t);
/* All of it; 0: it is divided into several. */
double layout_table_height(struct layout *l, const struct table *t);
/* Title, heading and first rows, which stay together. */
double layout_table_start(struct layout *l, const struct table *t);

#endif
