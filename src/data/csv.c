/* csv.c - see csv.h */
#include "data/csv.h"
#include "base/text.h"
#include "base/util.h"
#include "data/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_MAX = 64 };

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The first separator that is not in quotes. */
static char find_separator(const char *p, const char *end)
{
	bool quoted = false;

	for (; p < end && (quoted || *p != '\n'); p++) {
		quoted ^= *p == '"';
		if (!quoted && (*p == ',' || *p == ';' || *p == '\t'))
			return *p;
	}
	return ',';
}

/* Only spaces; a line of separators is a sample with its cells missing. */
static void skip_blank_lines(struct csv *c)
{
	for (const char *p = c->at; p < c->end; p++) {
		if (*p == '\n') {
			c->at = p + 1;
			c->lines++;
		} else if (*p != ' ' && *p != '\r') {
			return;
		}
		if (p + 1 == c->end)
			c->at = c->end;
	}
}

enum status csv_open(struct csv *c, const char *bytes, size_t size, const char *where,
		     struct error *err)
{
	*c = (struct csv){.at = bytes, .end = bytes + size, .where = where};
	if (memchr(bytes, '\0', size)) {
		FAIL(err, ERR_USAGE, "%s is not text: it contains a zero byte", where);
		return HINT(err, "give a file of numbers separated by commas");
	}
	if (size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3))
		c->at += 3; /* the mark that some editors put in front of UTF-8 */
	skip_blank_lines(c);
	c->separator = find_separator(c->at, c->end);
	return OK;
}

static void skip_spaces(struct csv *c)
{
	while (c->at < c->end && is_space(*c->at) && *c->at != c->separator)
		c->at++;
}

static enum status read_quoted(struct csv *c, struct cell *cell, struct error *err)
{
	int64_t begun = c->lines + 1;

	*cell = (struct cell){.at = ++c->at, .quoted = true};
	for (;; c->at++) {
		if (c->at == c->end) {
			FAIL(err, ERR_USAGE, "%s line %lld: a quote that does not end",
			     c->where, (long long)begun);
			return HINT(err, "a quote inside of quotes is doubled");
		}
		c->lines += *c->at == '\n';
		if (*c->at != '"')
			continue;
		if (c->at + 1 == c->end || c->at[1] != '"')
			break;
		c->at++;
	}
	cell->size = (size_t)(c->at++ - cell->at);
	skip_spaces(c);
	if (c->at == c->end || *c->at == '\n' || *c->at == c->separator)
		return OK;
	FAIL(err, ERR_USAGE, "%s line %lld: '%c' behind a quote that ends", c->where,
	     (long long)c->lines + 1, *c->at);
	return HINT(err, "a quote inside of quotes is doubled");
}

static void read_plain(struct csv *c, struct cell *cell)
{
	const char *begin = c->at, *end;

	while (c->at < c->end && *c->at != c->separator && *c->at != '\n')
		c->at++;
	for (end = c->at; end > begin && is_space(end[-1]);)
		end--;
	*cell = (struct cell){.at = begin, .size = (size_t)(end - begin)};
}

enum status csv_next(struct csv *c, struct cell *cells, int room, int *count, struct error *err)
{
	struct cell cell;
	enum status st = OK;

	*count = 0;
	skip_blank_lines(c);
	c->line = c->lines + 1;
	while (c->at < c->end) {
		skip_spaces(c);
		if (c->at < c->end && *c->at == '"')
			TRY(read_quoted(c, &cell, err));
		else
			read_plain(c, &cell);
		if (*count < room)
			cells[*count] = cell;
		++*count;
		if (*count > TABLE_FEATURES_MAX)
			return FAIL(err, ERR_USAGE, "%s line %lld has more than %d columns",
				    c->where, (long long)c->line, TABLE_FEATURES_MAX);
		if (c->at == c->end)
			break;
		if (*c->at++ == '\n') {
			c->lines++;
			break;
		}
		if (c->at == c->end) { /* the text ends with a separator */
			if (*count < room)
				cells[*count] = (struct cell){.at = c->at};
			++*count;
		}
	}
out:
	return st;
}

bool cell_is_missing(const struct cell *c)
{
	static const char *const words[] = {"", "NA", "NaN", "null", "?"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == c->size && !strncasecmp(words[i], c->at, c->size))
			return true;
	return false;
}

/* A copy that ends; false if it is too long for a number, or written in another base. */
static bool copy_number(const struct cell *c, char buf[NUMBER_MAX])
{
	const char *at = c->at, *end = c->at + c->size;

	while (at < end && is_space(*at))
		at++;
	while (end > at && is_space(end[-1]))
		end--;
	if (at == end || end - at >= NUMBER_MAX)
		return false;
	memcpy(buf, at, (size_t)(end - at));
	buf[end - at] = '\0';
	return buf[strspn(buf, "+-")] != '\0' && !strpbrk(buf, "xX");
}

bool cell_number(const struct cell *c, float *value)
{
	char buf[NUMBER_MAX], *rest;

	if (!copy_number(c, buf))
		return false;
	*value = strtof(buf, &rest);
	return *rest == '\0';
}

bool cell_whole(const struct cell *c, bool written, int64_t *value)
{
	char buf[NUMBER_MAX], *rest;
	double number;

	if (!copy_number(c, buf))
		return false;
	number = strtod(buf, &rest);
	if (*rest || !(fabs(number) < 1e15) || number != floor(number))
		return false;
	*value = (int64_t)number;
	return !written || strspn(buf, "+-0123456789") == strlen(buf);
}

char *cell_text(const struct cell *c)
{
	struct text plain, shown;
	char *copy;

	text_init(&plain);
	text_init(&shown);
	for (size_t i = 0; i < c->size; i++) {
		text_add_n(&plain, c->at + i, 1);
		i += c->quoted && c->at[i] == '"'; /* the second one */
	}
	text_add_printable(&shown, plain.data);
	copy = plain.failed || shown.failed ? NULL : strdup(shown.data);
	text_release(&plain);
	text_release(&shown);
	return copy;
}
