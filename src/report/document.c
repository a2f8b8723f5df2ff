/* document.c - see document.h */
#include "report/document.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void document_init(struct document *d)
{
	*d = (struct document){.title = "", .subtitle = "", .date = ""};
}

void document_release(struct document *d)
{
	arena_release(&d->arena);
	free(d->blocks);
	document_init(d);
}

enum status document_check(const struct document *d, struct error *err)
{
	return d->arena.failed ? FAIL(err, ERR_MEMORY, "no memory for the report") : OK;
}

/* XML has no U+FFFE and U+FFFF. */
static bool is_noncharacter(const char *s, int n)
{
	return n == 3 && !memcmp(s, "\xef\xbf", 2) && (unsigned char)s[2] >= 0xbe;
}

static const char *add_clean(struct arena *a, const char *s)
{
	/* A byte that is no letter becomes a question mark: never longer than before. */
	char *copy = arena_get(a, strlen(s) + 1, 1), *out = copy;

	if (!copy)
		return "";
	while (*s) {
		int n = text_letter(s);
		unsigned char c = (unsigned char)*s;

		if (n == 0 || is_noncharacter(s, n)) {
			*out++ = '?';
			s += n ? n : 1;
		} else if (n == 1 && c != '\n' && (c < ' ' || c == 0x7f)) {
			*out++ = ' ';
			s++;
		} else {
			memcpy(out, s, (size_t)n);
			out += n;
			s += n;
		}
	}
	return copy;
}

const char *document_string(struct document *d, const char *s)
{
	return add_clean(&d->arena, s);
}

static const char *format_string(struct document *d, const char *fmt, va_list ap)
{
	char *raw = NULL;
	const char *clean = "";

	if (vasprintf(&raw, fmt, ap) < 0) {
		d->arena.failed = true;
		return "";
	}
	clean = add_clean(&d->arena, raw);
	free(raw);
	return clean;
}

const char *document_stringf(struct document *d, const char *fmt, ...)
{
	const char *s;
	va_list ap;

	va_start(ap, fmt);
	s = format_string(d, fmt, ap);
	va_end(ap);
	return s;
}

static struct block *add(struct document *d, enum block_kind kind, const char *text)
{
	static struct block spare; /* written to where there is no memory, never read */
	struct block *b;

	if (d->count == d->capacity) {
		size_t capacity = d->capacity ? 2 * d->capacity : 64;
		struct block *blocks = realloc(d->blocks, capacity * sizeof(*blocks));

		if (!blocks) {
			d->arena.failed = true;
			return &spare;
		}
		d->blocks = blocks;
		d->capacity = capacity;
	}
	b = &d->blocks[d->count++];
	*b = (struct block){.kind = kind,
			    .number = "",
			    .anchor = "",
			    .text = document_string(d, text),
			    .answer = "",
			    .caption = ""};
	return b;
}

/* Letters, digits and dashes only: it goes into links. */
static const char *make_anchor(struct document *d, const char *number, const char *id)
{
	char *anchor = arena_get(&d->arena, strlen(number) + strlen(id) + 3, 1), *out = anchor;

	if (!anchor)
		return "";
	out += sprintf(out, "s%s-", number);
	for (; *id; id++) {
		char c = *id;

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		*out++ = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
	}
	return anchor;
}

struct section document_heading(struct document *d, int level, const char *id, const char *text)
{
	struct block *b = add(d, BLOCK_HEADING, text);
	const int *n = d->numbers;

	d->numbers[level - 1]++;
	for (int i = level; i < 3; i++)
		d->numbers[i] = 0;
	b->level = level;
	if (level == 1)
		b->number = document_stringf(d, "%d", n[0]);
	if (level == 2)
		b->number = document_stringf(d, "%d.%d", n[0], n[1]);
	b->anchor = make_anchor(d, document_stringf(d, "%d-%d-%d", n[0], n[1], n[2]), id);
	return (struct section){b->anchor, document_stringf(d, "%s%s%s", b->number,
							    *b->number ? " " : "", b->text)};
}

void document_paragraph(struct document *d, const char *text)
{
	if (*text)
		add(d, BLOCK_PARAGRAPH, text);
}

void document_paragraphf(struct document *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	document_paragraph(d, format_string(d, fmt, ap));
	va_end(ap);
}

void document_led(struct document *d, const char *lead, const char *text)
{
	if (*text)
		add(d, BLOCK_LED, lead)->answer = document_string(d, text);
}

void document_note(struct document *d, const char *text)
{
	if (*text)
		add(d, BLOCK_NOTE, text);
}

void document_item(struct document *d, const char *lead, const char *text, const char *link)
{
	struct block *b = add(d, BLOCK_ITEM, lead);

	b->answer = document_string(d, text);
	b->link = link;
}

void document_code(struct document *d, const char *text)
{
	if (*text)
		add(d, BLOCK_CODE, text);
}

void document_fold(struct document *d, const char *lead, const char *text)
{
	if (*text)
		add(d, BLOCK_FOLD, lead)->answer = document_string(d, text);
}

int document_table(struct document *d, struct table *table)
{
	if (!table || !table->column_count)
		return 0;
	add(d, BLOCK_TABLE, "")->table = table;
	if (!*table->title)
		return 0;
	table->title = document_stringf(d, "Table %d. %s", ++d->tables, table->title);
	return d->tables;
}

int document_chart(struct document *d, struct chart *chart)
{
	if (!chart || !chart_has_points(chart))
		return 0;
	add(d, BLOCK_CHART, "")->chart = chart;
	chart->title = document_stringf(d, "Figure %d. %s", ++d->figures, chart->title);
	return d->figures;
}

int document_drawing(struct document *d, const struct drawing *drawing, const char *caption)
{
	struct block *b = add(d, BLOCK_DRAWING, "");

	b->drawing = *drawing;
	b->caption = document_stringf(d, "Figure %d. %s", ++d->figures, caption);
	return d->figures;
}

struct section document_answer(struct document *d, const char *id, const char *question,
			       const char *verdict, bool supported)
{
	struct block *b = add(d, BLOCK_ANSWER, question);

	b->number = document_string(d, id);
	b->anchor = make_anchor(d, "q", id);
	b->answer = document_string(d, verdict);
	b->supported = supported;
	return (struct section){b->anchor, b->number};
}

void document_move(struct document *d, size_t from, size_t to)
{
	size_t n = d->count - from;
	struct block *moved = malloc((n + 1) * sizeof(*moved));

	if (!moved) {
		d->arena.failed = true;
		return;
	}
	memcpy(moved, d->blocks + from, n * sizeof(*moved));
	memmove(d->blocks + to + n, d->blocks + to, (from - to) * sizeof(*moved));
	memcpy(d->blocks + to, moved, n * sizeof(*moved));
	free(moved);
}

void document_contents(struct document *d)
{
	add(d, BLOCK_CONTENTS, "");
}

void document_new_page(struct document *d)
{
	add(d, BLOCK_NEW_PAGE, "");
}
