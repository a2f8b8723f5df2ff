/* csv.c - see table.h */
#include "data/table.h"
#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
	const char *at, *end; /* of the text; *end is readable and '\0' */
	const char *where;
	int64_t line;
	char separator;
	bool indexed; /* the first column is no number of the sample's */
};

/* Only spaces; a line of separators is a sample with its cells missing. */
static bool is_blank(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\r'))
		p++;
	return p == end;
}

/* The next line that is not blank, without its line break; false at the end. */
static bool next_line(struct cursor *c, const char **begin, const char **end)
{
	while (c->at < c->end) {
		const char *stop = memchr(c->at, '\n', (size_t)(c->end - c->at));

		*begin = c->at;
		*end = stop ? stop : c->end;
		c->at = stop ? stop + 1 : c->end;
		c->line++;
		if (!is_blank(*begin, *end))
			return true;
	}
	return false;
}

/* Stops counting when there are more than anybody may have. */
static int count_columns(const char *p, const char *end, char separator)
{
	int n = 1;

	for (; p < end && n <= TABLE_FEATURES_MAX; p++)
		n += *p == separator;
	return n;
}

/* One cell as a number. Returns false if it is anything else. */
static bool parse_cell(const char *p, const char *end, float *value)
{
	char buf[64], *rest;
	size_t n;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	n = (size_t)(end - p);
	if (!n || n >= sizeof(buf))
		return false;
	memcpy(buf, p, n);
	buf[n] = '\0';
	if (buf[strspn(buf, "+-")] == '\0' || strpbrk(buf, "xX"))
		return false;
	*value = strtof(buf, &rest);
	return *rest == '\0';
}

static const char *cell_end(const char *p, const char *end, char separator)
{
	const char *stop = memchr(p, separator, (size_t)(end - p));

	return stop ? stop : end;
}

/* Is the cell this number, written as pandas writes the number of a column? */
static bool is_count(const char *p, const char *end, int number)
{
	char want[16];
	int n = snprintf(want, sizeof(want), "%d", number);

	while (p < end && *p == ' ')
		p++;
	while (end > p && (end[-1] == ' ' || end[-1] == '\r'))
		end--;
	return end - p == n && !memcmp(p, want, (size_t)n);
}

/* The cells of a first line: 0,1,2 and so on, so many, and then names, so many. False: a
   number that is neither. */
static bool read_names(const char *p, const char *end, char separator, int *counts, int *names,
		       bool *blank)
{
	float value;

	for (*counts = *names = 0, *blank = false;; p++) {
		const char *stop = cell_end(p, end, separator);

		*blank = *blank || is_blank(p, stop);
		if (!*names && is_count(p, stop, *counts))
			++*counts;
		else if (!parse_cell(p, stop, &value))
			++*names;
		else
			return false;
		if (stop == end)
			return true;
		p = stop;
	}
}

/*
 * A heading has no numbers, or it counts the columns, as pandas does where they have no
 * names. Two numbers alone, 0,1, may well be a sample. An empty first cell is pandas' way to
 * say that the column below is an index.
 */
static bool is_heading(struct table *t, const char *p, const char *end, char separator)
{
	const char *stop = cell_end(p, end, separator);
	int counts, names;
	bool blank;

	if (stop < end && is_blank(p, stop) &&
	    read_names(stop + 1, end, separator, &counts, &names, &blank) && !blank &&
	    counts + names > 1)
		t->indexed = true;
	else if (!read_names(p, end, separator, &counts, &names, &blank))
		return false;
	if (!t->indexed && (counts == 1 || (counts == 2 && !names)))
		return false;
	t->counted = counts > 0;
	return true;
}

static enum status parse_line(const struct cursor *c, const char *p, const char *end,
			      int columns, float *row, struct error *err)
{
	int found = count_columns(p, end, c->separator);

	if (found != columns) {
		FAIL(err, ERR_USAGE, "%s line %lld has %d columns, the first has %d", c->where,
		     (long long)c->line, found, columns);
		return HINT(err, "every line needs the same number of columns");
	}
	for (int i = 0; i < columns; i++, p++) {
		const char *stop = cell_end(p, end, c->separator);

		if (i == 0 && c->indexed) {
			p = stop;
			continue; /* it may be anything */
		}
		if (!parse_cell(p, stop, &row[i])) {
			FAIL(err, ERR_USAGE, "%s line %lld, column %d: '%.*s' is not a number",
			     c->where, (long long)c->line, i + 1,
			     (int)(stop - p > 40 ? 40 : stop - p), p);
			return HINT(
				err,
				"cells are plain numbers without quotes; labels are whole numbers from 0");
		}
		if (!isfinite(row[i])) {
			FAIL(err, ERR_USAGE, "%s line %lld, column %d: '%.*s' is not finite",
			     c->where, (long long)c->line, i + 1,
			     (int)(stop - p > 40 ? 40 : stop - p), p);
			return HINT(err, "fill in or remove missing values");
		}
		p = stop;
	}
	return OK;
}

static char guess_separator(const char *p, const char *end)
{
	for (; p < end; p++)
		if (*p == ',' || *p == ';' || *p == '\t')
			return *p;
	return ',';
}

/* Whole numbers 0..999 in the last column are labels; anything else is a target. */
static void find_labels(struct table *t)
{
	int highest = 0;

	for (int64_t i = 0; i < t->samples; i++) {
		float v = t->targets[i];

		if (v < 0 || v >= TABLE_CLASSES_MAX || v != floorf(v))
			return;
		t->labels[i] = (int32_t)v;
		highest = (int)v > highest ? (int)v : highest;
	}
	/* One class alone would leave nothing to learn. */
	t->classes = highest ? highest + 1 : 0;
}

static enum status allocate(struct table *t, int64_t samples, const char *where,
			    struct error *err)
{
	t->values = calloc((size_t)samples * (size_t)t->features, sizeof(float));
	t->labels = calloc((size_t)samples, sizeof(*t->labels));
	t->targets = calloc((size_t)samples, sizeof(*t->targets));
	if (!t->values || !t->labels || !t->targets)
		return FAIL(err, ERR_MEMORY, "no memory for %lld samples of %s",
			    (long long)samples, where);
	return OK;
}

static enum status read_samples(struct table *t, struct cursor *c, float *row,
				struct error *err)
{
	enum status st = OK;
	const char *begin, *end;
	int skip = c->indexed;

	while (next_line(c, &begin, &end)) {
		TRY(parse_line(c, begin, end, skip + t->features + 1, row, err));
		memcpy(t->values + t->samples * t->features, row + skip,
		       (size_t)t->features * sizeof(float));
		t->targets[t->samples++] = row[skip + t->features];
	}
out:
	return st;
}

enum status table_parse_csv(struct table *t, const char *bytes, size_t size, const char *where,
			    struct error *err)
{
	enum status st;
	struct cursor c = {.at = bytes, .end = bytes + size, .where = where};
	struct cursor count;
	const char *begin, *end;
	float *row = NULL;
	int64_t lines = 0;
	int columns;

	*t = (struct table){0};
	if (memchr(bytes, '\0', size)) {
		FAIL(err, ERR_USAGE, "%s is not text: it contains a zero byte", where);
		return HINT(err, "give a file of numbers separated by commas");
	}
	if (size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3))
		c.at += 3; /* the mark that some editors put in front of UTF-8 */
	if (!next_line(&c, &begin, &end)) {
		FAIL(err, ERR_USAGE, "%s is empty", where);
		return HINT(err, "it needs at least one sample");
	}
	c.separator = guess_separator(begin, end);
	columns = count_columns(begin, end, c.separator);
	if (columns > TABLE_FEATURES_MAX)
		return FAIL(err, ERR_USAGE, "%s has more than %d columns", where,
			    TABLE_FEATURES_MAX);
	if (columns < 2) {
		FAIL(err, ERR_USAGE, "%s line %lld has one column", where, (long long)c.line);
		return HINT(err, "a sample is its features and then its label or target");
	}
	if (!is_heading(t, begin, end, c.separator)) {
		c.at = begin;
		c.line--;
	}
	c.indexed = t->indexed;
	for (count = c; next_line(&count, &begin, &end);)
		lines++;
	if (!lines) {
		FAIL(err, ERR_USAGE, "%s has a heading but no samples", where);
		return HINT(err, "add a line of numbers");
	}
	t->features = columns - 1 - c.indexed;
	row = calloc((size_t)columns, sizeof(*row));
	if (!row) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d columns", columns);
		goto out;
	}
	TRY(allocate(t, lines, where, err));
	TRY(read_samples(t, &c, row, err));
	find_labels(t);
out:
	free(row);
	if (st != OK)
		table_release(t);
	return st;
}

enum status table_read_csv(struct table *t, const char *path, struct error *err)
{
	enum status st;
	char *bytes = NULL;
	size_t size;

	*t = (struct table){0};
	TRY(file_read(path, SIZE_MAX / 8, &bytes, &size, err));
	TRY(table_parse_csv(t, bytes, size, path, err));
out:
	free(bytes);
	return st;
}

void table_release(struct table *t)
{
	free(t->values);
	free(t->labels);
	free(t->targets);
	*t = (struct table){0};
}

enum status table_as_regression(struct table *t, struct error *err)
{
	if (!t->classes)
		return OK;
	if (!t->targets)
		t->targets = malloc((size_t)t->samples * sizeof(*t->targets));
	if (!t->targets)
		return FAIL(err, ERR_MEMORY, "no memory for %lld targets",
			    (long long)t->samples);
	for (int64_t i = 0; i < t->samples; i++)
		t->targets[i] = (float)t->labels[i];
	t->classes = 0;
	return OK;
}
