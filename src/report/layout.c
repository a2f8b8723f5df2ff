/* layout.c - the blocks of a document, page by page; see layout.h */
#include "report/layout_impl.h"
#include "base/util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct setting body = {{.size = 8.8}, 11.7, INK_TEXT, 0, false};
static const struct setting small_print = {{.size = 7.6}, 10.4, INK_MUTED, 0, false};
static const struct setting code = {{.size = 7.2, .mono = true}, 10.2, INK_TEXT, 16, true};
enum {
	CODE_KEPT = 8,	 /* lines of a command that are not divided */
	ANSWER_MAX = 12, /* lines of a question and its verdict that are not divided */
};
static const struct setting bold = {{.size = 8.8, .bold = true}, 11.7, INK_TEXT, 0, false};
static const struct setting headings[] = {
	{{.size = 15, .bold = true}, 19, INK_TEXT, 0, false},
	{{.size = 12, .bold = true}, 15.5, INK_TEXT, 0, false},
	{{.size = 10, .bold = true}, 13.5, INK_TEXT, 0, false},
};
static const double above_heading[] = {14, 11, 8}, below_heading[] = {6, 4, 3};

/* When it is full, a page knows what it is about. */
static void end_page(struct layout *l)
{
	if (!l->page)
		return;
	layout_draw_header(l);
	if (l->sheet)
		l->sheet->end_page(l->sheet);
}

static bool figure_fits(struct layout *l, size_t i)
{
	return l->y == CONTENT_TOP || l->y + layout_figure_height(l, i) <= CONTENT_BOTTOM;
}

/* Figures that wait, as far as there is room. */
static void put_waiting(struct layout *l)
{
	while (l->waiting_count && figure_fits(l, l->waiting[0])) {
		size_t i = l->waiting[0];

		memmove(l->waiting, l->waiting + 1,
			(size_t)--l->waiting_count * sizeof(*l->waiting));
		layout_figure(l, i);
	}
}

void layout_new_page(struct layout *l)
{
	end_page(l);
	l->page++;
	l->y = CONTENT_TOP;
	l->page_section = l->section;
	if (l->sheet)
		l->sheet->begin_page(l->sheet);
	put_waiting(l);
}

void layout_need(struct layout *l, double height)
{
	while (l->y + height > CONTENT_BOTTOM && l->y > CONTENT_TOP)
		layout_new_page(l);
}

/* No figure goes beyond the section that it belongs to. */
static void end_waiting(struct layout *l)
{
	for (put_waiting(l); l->waiting_count;)
		layout_new_page(l);
}

/* A table that would better not be divided, and can be found by its number. */
static bool can_wait(struct layout *l, const struct table *t)
{
	double height = *t->title ? layout_table_height(l, t) : 0;

	return height > 0 && height < (CONTENT_BOTTOM - CONTENT_TOP) * 0.6;
}

/* A figure without room waits for the next page; what follows it goes on here. */
static size_t put_figure(struct layout *l, size_t i)
{
	if (l->waiting_count == WAITING_MAX)
		end_waiting(l);
	if (l->waiting_count || !figure_fits(l, i))
		l->waiting[l->waiting_count++] = i;
	else
		layout_figure(l, i);
	return layout_figure_end(l, i);
}

/* ---- text ---- */

static double item_height(struct layout *l, const struct block *b)
{
	char *whole = NULL;
	int lines = 0;

	if (asprintf(&whole, "%s: %s", b->text, b->answer) >= 0)
		lines = layout_count_lines(l, &body, CONTENT_WIDTH - 16, whole);
	free(whole);
	return lines * body.leading + 3;
}

static bool is_item(const struct layout *l, size_t i)
{
	return i < l->document->count && l->document->blocks[i].kind == BLOCK_ITEM;
}

/* A question and the verdict stay together, with some lines of what follows. */
static double answer_height(struct layout *l, const struct block *b)
{
	double number = canvas_text_width(l->canvas, bold.font, b->number) + 6;
	int lines = layout_count_lines(l, &bold, CONTENT_WIDTH - number, b->text) +
		    layout_count_lines(l, &bold, CONTENT_WIDTH - 14, b->answer);

	return 6 + (imin(lines, ANSWER_MAX) + 3) * body.leading;
}

/* What of block i has to stay together with a heading before it. */
static double start_height(struct layout *l, size_t i)
{
	const struct block *b = &l->document->blocks[i];

	if (i >= l->document->count)
		return 0;
	switch (b->kind) {
	case BLOCK_HEADING:
		return above_heading[b->level - 1] + below_heading[b->level - 1] +
		       layout_count_lines(l, &headings[b->level - 1], CONTENT_WIDTH, b->text) *
			       headings[b->level - 1].leading +
		       start_height(l, i + 1);
	case BLOCK_TABLE:
		return can_wait(l, b->table) ? layout_figure_height(l, i)
					     : layout_table_start(l, b->table);
	case BLOCK_CHART:
	case BLOCK_DRAWING:
		return layout_figure_height(l, i);
	case BLOCK_NEW_PAGE:
		return 0;
	case BLOCK_FOLD:
		return start_height(l, i + 1);
	case BLOCK_CODE:
		return CODE_KEPT * code.leading;
	case BLOCK_ITEM: /* a list is not divided */
		return item_height(l, b) + (is_item(l, i + 1) ? start_height(l, i + 1) : 0);
	case BLOCK_ANSWER:
		return answer_height(l, b);
	case BLOCK_PARAGRAPH:
	case BLOCK_LED:
	case BLOCK_NOTE:
	case BLOCK_CONTENTS:
		break;
	}
	return 3 * body.leading;
}

/* What can be linked to begins here. */
static void put_target(struct layout *l, size_t i)
{
	l->heading_pages[i] = l->page;
	if (l->sheet)
		l->sheet->heading(l->sheet, &l->document->blocks[i], l->y);
}

static void put_heading(struct layout *l, size_t i)
{
	const struct block *b = &l->document->blocks[i];
	const struct setting *s = &headings[b->level - 1];
	double number = 0;

	layout_need(l, fmin(start_height(l, i), CONTENT_BOTTOM - CONTENT_TOP));
	if (b->level == 1)
		l->section = b->text;
	if (l->y == CONTENT_TOP)
		l->page_section = l->section;
	if (l->y > CONTENT_TOP)
		l->y += above_heading[b->level - 1];
	put_target(l, i);
	if (*b->number) {
		number = canvas_text_width(l->canvas, s->font, b->number) + s->font.size * 0.7;
		canvas_text(l->canvas, MARGIN, l->y + s->font.size,
			    (struct label){.font = s->font, .ink = INK_STRONG + HUE_SKY},
			    b->number);
	}
	layout_flow(l, s, MARGIN + number, CONTENT_WIDTH - number, b->text);
	l->y += below_heading[b->level - 1];
}

static void put_code(struct layout *l, const char *text)
{
	double width = CONTENT_WIDTH - 16;

	layout_need(l, 3 * code.leading);
	while (*text) {
		const char *end = strchrnul(text, '\n');
		char *line = strndup(text, (size_t)(end - text));
		int n = line ? layout_count_lines(l, &code, width, line) : 0;

		/* A command stays together, unless it is a page by itself. */
		if (n <= CODE_KEPT)
			layout_need(l, n * code.leading);
		if (n)
			layout_flow(l, &code, MARGIN + 8, width, line);
		free(line);
		text = *end ? end + 1 : end;
	}
	l->y += 9;
}

int layout_page_of(const struct layout *l, const char *anchor)
{
	for (size_t i = 0; i < l->document->count; i++)
		if (!strcmp(l->document->blocks[i].anchor, anchor))
			return l->heading_pages[i];
	return 0;
}

/* A lead in bold, and the text behind it. */
static void put_led(struct layout *l, const char *lead, const char *text, double indent)
{
	double width = *lead ? canvas_text_width(l->canvas, bold.font, lead) + 6 : 0;
	const char *rest;
	size_t n;
	int lines = 1;

	n = layout_line(l, &body.font, CONTENT_WIDTH - indent - width, text, &rest);
	if (*rest)
		lines += layout_count_lines(l, &body, CONTENT_WIDTH - indent, rest);
	/* No line is alone at the end of a page. */
	layout_need(l, body.leading * (lines <= 4 ? lines : 3));
	canvas_text(l->canvas, MARGIN + indent, l->y + bold.font.size,
		    (struct label){.font = bold.font}, lead);
	layout_put_line(l, &body, MARGIN + indent + width, l->y + body.font.size, text, n);
	l->y += body.leading;
	if (*rest)
		layout_flow(l, &body, MARGIN + indent, CONTENT_WIDTH - indent, rest);
	l->y += 3;
}

static void put_answer(struct layout *l, size_t i)
{
	const struct block *b = &l->document->blocks[i];
	double number = canvas_text_width(l->canvas, bold.font, b->number) + 6;

	layout_need(l, answer_height(l, b));
	l->y += 4;
	put_target(l, i);
	canvas_text(l->canvas, MARGIN, l->y + bold.font.size,
		    (struct label){.font = bold.font, .ink = INK_STRONG + HUE_SKY}, b->number);
	layout_flow(l, &bold, MARGIN + number, CONTENT_WIDTH - number, b->text);
	layout_flow(l, b->supported ? &bold : &body, MARGIN + 14, CONTENT_WIDTH - 14,
		    b->answer);
	l->y += 2;
}

static void put_item(struct layout *l, const struct block *b)
{
	char *whole = NULL;

	if (asprintf(&whole, "%s: %s", b->text, b->answer) < 0)
		return;
	/* Its bullet stands on the page of its first line. */
	layout_need(l, item_height(l, b));
	canvas_text(l->canvas, MARGIN + 4, l->y + body.font.size,
		    (struct label){.font = body.font}, "•");
	layout_flow(l, &body, MARGIN + 16, CONTENT_WIDTH - 16, whole);
	l->y += 3;
	free(whole);
}

static void put_title(struct layout *l)
{
	static const struct setting title = {
		{.size = 24, .bold = true}, 30, INK_TEXT, 0, false};
	static const struct setting subtitle = {{.size = 11}, 15, INK_MUTED, 0, false};

	l->y = CONTENT_TOP + 10;
	canvas_rectangle(l->canvas, MARGIN, l->y - 14, 64, 4, 0,
			 (struct paint){.fill = INK_STRONG + HUE_SKY});
	layout_flow(l, &title, MARGIN, CONTENT_WIDTH, l->document->title);
	l->y += 4;
	if (*l->document->subtitle)
		layout_flow(l, &subtitle, MARGIN, CONTENT_WIDTH, l->document->subtitle);
	if (*l->document->date)
		layout_flow(l, &subtitle, MARGIN, CONTENT_WIDTH, l->document->date);
	l->y += 12;
}

/* Block i; returns the one that follows. */
static size_t put_block(struct layout *l, size_t i)
{
	const struct block *b = &l->document->blocks[i];

	switch (b->kind) {
	case BLOCK_HEADING:
		end_waiting(l);
		put_heading(l, i);
		break;
	case BLOCK_PARAGRAPH:
		layout_flow(l, &body, MARGIN, CONTENT_WIDTH, b->text);
		l->y += 6;
		break;
	case BLOCK_LED:
		put_led(l, b->text, b->answer, 14);
		break;
	case BLOCK_NOTE:
		layout_flow(l, &small_print, MARGIN, CONTENT_WIDTH, b->text);
		l->y += 8;
		break;
	case BLOCK_ITEM:
		put_item(l, b);
		break;
	case BLOCK_CODE:
		put_code(l, b->text);
		break;
	case BLOCK_FOLD:
		break;
	case BLOCK_TABLE:
		if (can_wait(l, b->table))
			return put_figure(l, i);
		end_waiting(l);
		layout_table(l, b->table);
		break;
	case BLOCK_CHART:
	case BLOCK_DRAWING:
		return put_figure(l, i);
	case BLOCK_ANSWER:
		put_answer(l, i);
		break;
	case BLOCK_CONTENTS:
		layout_contents(l);
		break;
	case BLOCK_NEW_PAGE:
		/* Nearly empty pages help nobody. */
		end_waiting(l);
		if (l->y > CONTENT_TOP + (CONTENT_BOTTOM - CONTENT_TOP) * 0.7)
			layout_new_page(l);
		break;
	}
	return i + 1;
}

static void run(struct layout *l)
{
	l->page = 0;
	l->section = "";
	layout_new_page(l);
	put_title(l);
	for (size_t i = 0; i < l->document->count;)
		i = put_block(l, i);
	end_waiting(l);
	end_page(l);
	l->pages = l->page;
}

enum status layout_document(const struct document *d, struct sheet *sheet, struct error *err)
{
	struct blank_canvas blank;
	struct layout l = {.document = d, .canvas = blank_canvas_init(&blank, sheet->canvas)};

	l.heading_pages = calloc(d->count + 1, sizeof(*l.heading_pages));
	if (!l.heading_pages)
		return FAIL(err, ERR_MEMORY, "no memory for the pages of the report");
	/* Once to learn the pages of the headings, once to draw. */
	run(&l);
	l.sheet = sheet;
	l.canvas = sheet->canvas;
	run(&l);
	free(l.heading_pages);
	return OK;
}
