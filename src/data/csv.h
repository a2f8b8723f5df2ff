/*
 * csv.h - a text of records and cells: RFC 4180, with comma, semicolon or tab between cells.
 * A cell in quotes may hold separators, line breaks and doubled quotes.
 */
#ifndef KOLM_DATA_CSV_H
#define KOLM_DATA_CSV_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is between the spaces, or between the quotes, where quotes are still doubled. */
struct cell {
	const char *at;
	size_t size;
	bool quoted;
};

struct csv {
	const char *at, *end; /* what is left of the text */
	const char *where;    /* its name in messages */
	int64_t line;	      /* where the last record began, from 1 */
	int64_t lines;	      /* behind it */
	char separator;
};

/* Begin with a text that is borrowed: finds its separator. */
enum status csv_open(struct csv *c, const char *bytes, size_t size, const char *where,
		     struct error *err);
/* The next record that is not blank: how many cells it has, 0 at the end, and the first room of
   them. */
enum status csv_next(struct csv *c, struct cell *cells, int room, int *count,
		     struct error *err);

/* Empty, NA, NaN, null or a question mark. */
bool cell_is_missing(const struct cell *c);
/* As a number, which may be infinite or NaN; false if it is anything else. */
bool cell_number(const struct cell *c, float *value);
/* As a whole number; written says whether also 1.0 and 1e3 are. */
bool cell_whole(const struct cell *c, bool written, int64_t *value);
/* As a text that can be printed and is UTF-8, the caller's; NULL: no memory. */
char *cell_text(const struct cell *c);

#endif
