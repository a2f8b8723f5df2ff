/* heading.c - the first line of a CSV file: see reading.h */
#include "data/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is the cell this number, written as pandas writes the number of a column? */
static bool is_count(const struct cell *c, int number)
{
	char want[16];
	int n = snprintf(want, sizeof(want), "%d", number);

	return c->size == (size_t)n && !memcmp(c->at, want, (size_t)n);
}

/* The cells of a first line: 0,1,2 and so on, so many, and then names, so many. False: a
   number that is neither. */
static bool count_names(const struct cell *cells, int n, int *counts, int *names, bool *blank)
{
	float value;

	*counts = *names = 0;
	*blank = false;
	for (int i = 0; i < n; i++) {
		*blank = *blank || !cells[i].size;
		if (!*names && is_count(&cells[i], *counts))
			++*counts;
		else if (!cell_number(&cells[i], &value))
			++*names;
		else
			return false;
	}
	return true;
}

/*
 * A heading has no numbers, or it counts the columns, as pandas does where they have no
 * names. Two numbers alone, 0,1, may well be a sample. An empty first cell is pandas' way to
 * say that the column below is an index.
 */
static bool is_heading(struct reading *r)
{
	int counts, names;
	bool blank;

	if (!r->record[0].size &&
	    count_names(r->record + 1, r->columns - 1, &counts, &names, &blank) && !blank &&
	    counts + names > 1)
		r->indexed = true;
	else if (!count_names(r->record, r->columns, &counts, &names, &blank))
		return false;
	if (!r->indexed && (counts == 1 || (counts == 2 && !names)))
		return false;
	r->counted = counts > 0;
	return true;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum status read_names(struct reading *r, struct error *err)
{
	char **sorted = calloc((size_t)r->columns, sizeof(*sorted));
	enum status st = OK;

	r->names = calloc((size_t)r->columns, sizeof(*r->names));
	for (int i = 0; i < r->columns && r->names; i++) {
		r->names[i] = cell_text(&r->record[i]);
		if (!r->names[i])
			break;
		if (sorted)
			sorted[i] = r->names[i];
	}
	if (!sorted || !r->names || !r->names[r->columns - 1]) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d names", r->columns);
		goto out;
	}
	qsort(sorted, (size_t)r->columns, sizeof(*sorted), by_text);
	r->unique = true;
	for (int i = 1; i < r->columns; i++)
		r->unique = r->unique && strcmp(sorted[i - 1], sorted[i]) != 0;
out:
	free(sorted);
	return st;
}

static enum status check_size(const struct csv *c, int columns, struct error *err)
{
	if (!columns) {
		FAIL(err, ERR_USAGE, "%s is empty", c->where);
		return HINT(err, "it needs at least one sample");
	}
	return OK;
}

enum status reading_open(struct reading *r, const char *bytes, size_t size, const char *where,
			 struct error *err)
{
	enum status st;
	struct csv first;
	int count;

	*r = (struct reading){0};
	TRY(csv_open(&r->csv, bytes, size, where, err));
	first = r->csv;
	TRY(csv_next(&first, NULL, 0, &r->columns, err));
	TRY(check_size(&first, r->columns, err));
	r->record = calloc((size_t)r->columns, sizeof(*r->record));
	r->roles = calloc((size_t)r->columns, sizeof(*r->roles));
	if (!r->record || !r->roles) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d columns", r->columns);
		goto out;
	}
	first = r->csv;
	TRY(csv_next(&first, r->record, r->columns, &count, err));
	if (is_heading(r)) {
		r->csv = first;
		TRY(read_names(r, err));
	}
out:
	return st;
}

void reading_close(struct reading *r)
{
	for (int i = 0; r->names && i < r->columns; i++)
		free(r->names[i]);
	free(r->names);
	free(r->roles);
	free(r->record);
	free(r->targets);
	free(r->lines);
	*r = (struct reading){0};
}

const char *reading_label(const struct reading *r, int column, char buf[COLUMN_LABEL])
{
	int n = snprintf(buf, COLUMN_LABEL, "column %d", column + 1);

	if (r->names && *r->names[column])
		snprintf(buf + n, (size_t)(COLUMN_LABEL - n), " '%.60s'", r->names[column]);
	return buf;
}
