/*
 * layout.h - a document on pages of paper.
 *
 * Headings never stay alone at the end of a page, charts and drawings are never split,
 * tables break between rows and repeat their heading. What the pages are is the sheet's
 * business: pdf.c has cairo, a test has one that watches.
 */
#ifndef KOLM_REPORT_LAYOUT_H
#define KOLM_REPORT_LAYOUT_H

#include "report/document.h"

/* A4 in points. */
#define PAGE_WIDTH  595.28
#define PAGE_HEIGHT 841.89

struct sheet {
	struct canvas *canvas;
	void (*begin_page)(struct sheet *s);
	void (*end_page)(struct sheet *s);
	/* What is drawn until restore is moved to x, y and scaled. */
	void (*place)(struct sheet *s, double x, double y, double scale);
	void (*restore)(struct sheet *s);
	/* A heading begins at y of this page. */
	void (*heading)(struct sheet *s, const struct block *heading, double y);
	/* What is drawn until end_link leads to the heading of that anchor. */
	void (*begin_link)(struct sheet *s, const char *anchor);
	void (*end_link)(struct sheet *s);
};

enum status layout_document(const struct document *d, struct sheet *sheet, struct error *err);

#endif
