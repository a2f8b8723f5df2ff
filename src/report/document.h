/*
 * document.h - a report as a list of blocks, built once and written twice: as an HTML page
 * (html.h) and as a PDF file (pdf.h).
 *
 * Everything that a document holds lives in its arena. Strings are copied and cleaned:
 * valid UTF-8, no control characters but line ends, so that no writer can stumble. When
 * memory runs out, building goes on with holes and document_check tells at the end.
 */
#ifndef KOLM_REPORT_DOCUMENT_H
#define KOLM_REPORT_DOCUMENT_H

#include "base/arena.h"
#include "base/canvas.h"
#include "base/error.h"
#include "report/chart.h"
#include "report/table.h"

enum block_kind {
	BLOCK_HEADING,
	BLOCK_PARAGRAPH,
	BLOCK_LED,  /* a paragraph behind a lead */
	BLOCK_NOTE, /* small print */
	BLOCK_ITEM, /* of a list */
	BLOCK_CODE, /* lines */
	BLOCK_FOLD, /* lines that a page shows on demand, and paper does not */
	BLOCK_TABLE,
	BLOCK_CHART,
	BLOCK_DRAWING,
	BLOCK_ANSWER,
	BLOCK_CONTENTS, /* the list of headings, on paper */
	BLOCK_NEW_PAGE, /* on paper, unless this one is nearly empty */
};

/* Something that draws itself at its own size. */
struct drawing {
	void (*draw)(const void *arg, struct canvas *canvas);
	const void *arg; /* lives as long as the document */
	double width, height;
	const char *what; /* said to those who can't see it */
	bool zoom;	  /* worth looking at closely */
};

struct block {
	enum block_kind kind;
	int level;	    /* of a heading: 1, 2, 3 */
	const char *number; /* of a heading: "3.1", of a question: "1.2.3", or "" */
	const char *anchor; /* of a heading or question: names it in links */
	const char *text;   /* of a heading, paragraph, note, code; the question; the lead */
	const char *answer; /* the verdict; what follows a lead */
	const char *link;   /* an item that leads to a heading of that anchor, or NULL */
	bool supported;	    /* the data say so */
	struct table *table;
	struct chart *chart;
	struct drawing drawing;
	const char *caption; /* of a drawing */
};

struct document {
	struct arena arena;
	const char *title, *subtitle, *date;
	struct block *blocks;
	size_t count, capacity;
	int numbers[3]; /* of the last heading of each level */
	int tables, figures;
};

void document_init(struct document *d);
void document_release(struct document *d);
enum status document_check(const struct document *d, struct error *err);

/* A cleaned copy of s. */
const char *document_string(struct document *d, const char *s);
const char *document_stringf(struct document *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* What leads to a heading: its anchor, and "3.1 Strong scaling". */
struct section {
	const char *anchor, *label; /* NULL: there is no such section */
};
/* A numbered heading; its anchor is made from id. */
struct section document_heading(struct document *d, int level, const char *id,
				const char *text);
void document_paragraph(struct document *d, const char *text);
/* The same behind a lead that is set apart. */
void document_led(struct document *d, const char *lead, const char *text);
void document_paragraphf(struct document *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void document_note(struct document *d, const char *text);
/* lead is set apart, and leads to the heading of that anchor (or NULL). */
void document_item(struct document *d, const char *lead, const char *text, const char *link);
void document_code(struct document *d, const char *text);
void document_fold(struct document *d, const char *lead, const char *text);
/* Tables with a title, charts and drawings are numbered; these return the number, 0 where
   there is none. */
int document_table(struct document *d, struct table *table);
int document_chart(struct document *d, struct chart *chart);
int document_drawing(struct document *d, const struct drawing *drawing, const char *caption);
/* A question with its id, and the verdict; what else is said follows as paragraphs. */
struct section document_answer(struct document *d, const char *id, const char *question,
			       const char *verdict, bool supported);
/* Put the blocks from that one on before block to: what leads to something can be built
   after it. */
void document_move(struct document *d, size_t from, size_t to);
void document_contents(struct document *d);
void document_new_page(struct document *d);

#endif
