/*
 * table.h - a table of a report: typed columns, rows of values, and how they are written.
 *
 * Strings are borrowed; those of a report's tables live in its document.
 */
#ifndef KOLM_REPORT_TABLE_H
#define KOLM_REPORT_TABLE_H

#include "base/arena.h"
#include "base/names.h"
#include "base/text.h"

/* Of a share, 0.31 is written as 31 %; a flag is yes or nothing. */
#define COLUMN_KINDS(X)       \
	X(INTEGER, "integer") \
	X(NUMBER, "number")   \
	X(PERCENT, "percent") \
	X(BYTES, "bytes")     \
	X(TEXT, "text")       \
	X(FLAG, "flag")
#define COLUMN_KIND(name, ...) COLUMN_##name,
enum column_kind {
	COLUMN_KINDS(COLUMN_KIND) COLUMN_KIND_COUNT,
	COLUMN_PAGE, /* of a report itself: where its link leads to, on paper a page's number */
};
/* COLUMN_KIND_COUNT: there is none of that name. */
enum column_kind column_kind_of(const char *name);

struct column {
	const char *label, *unit;
	enum column_kind kind;
	int digits; /* behind the point, of a number; -1: as many as it needs */
};

struct value {
	bool present;
	const char *text;      /* of a text column */
	double number, spread; /* flag: 0 or 1; spread 0: unknown */
	double last;	       /* of several integers; 0: there is one only */
	const char *link;      /* the anchor of a heading that this leads to, or NULL */
};

struct row {
	struct value *values; /* (columns) */
	const char *failed;   /* why there are no values, or NULL */
	const char *group;    /* named above the first of its rows, or NULL */
};

struct table {
	const char *title, *note;
	const char *caption; /* behind the title: model and batch */
	struct column *columns;
	struct row *rows;
	int column_count, row_count;
};

/* With room for so many; all values absent. NULL: no memory. */
struct table *table_new(struct arena *a, int columns, int rows);

/* Leave out columns in which no row has a value. */
void table_drop_empty(struct table *t);
/* Leave out columns, but the first, that have the same in all rows, and say so in out. */
void table_drop_constant(struct table *t, struct text *out);

/* Rows that follow each other, count on in that column and are written alike in all others
   become one: "1-3". */
void table_join(struct table *t, int column);
/* The column of that label and kind; -1: there is none. */
int table_find(const struct table *t, const char *label, enum column_kind kind);

/* Does a group begin with that row? */
bool table_begins_group(const struct table *t, int row);

bool column_is_numeric(const struct column *c);
/* The heading: its label and unit. */
void column_format(const struct column *c, struct text *out);
/* "3.21 ± 0.11", "31 %", "1.5 GiB", "yes", or nothing. */
void value_format(const struct column *c, const struct value *v, struct text *out);
/* A bare number as people write it: 0.0123, 12.3, 12,345. Digits behind the point: so many,
   or, if negative, three that count, or as few as it takes. */
enum { NUMBER_SHORT = -2 };
void number_format(double number, int digits, struct text *out);

/* As CSV: a percentage as its share, bytes as their number. */
void table_csv(const struct table *t, struct text *out);

/* In a failed row: how many leading cells are still shown; the reason takes the others. */
int row_shown_cells(const struct table *t, const struct row *r);

#endif
