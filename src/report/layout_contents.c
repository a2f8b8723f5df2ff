/* layout_contents.c - the list of headings on paper; see layout_impl.h */
#include "report/layout_impl.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MAX = 50 }; /* on a page, one below the other */
#define ENTRY_GAP   16.0
#define ENTRY_WIDTH ((CONTENT_WIDTH - ENTRY_GAP) / 2)

static const struct setting contents = {{.size = 8.2}, 12, INK_TEXT, 0, false};
static const struct setting heading = {{.size = 10, .bold = true}, 13.5, INK_TEXT, 0, false};

/* Block i in a column that begins at left. */
static void put_entry(struct layout *l, size_t i, double left, double y)
{
	const struct block *b = &l->document->blocks[i];
	struct setting s = contents;
	double indent = b->level == 1 ? 0 : 10, x = left + indent + (b->level == 1 ? 16 : 20);
	double right = left + ENTRY_WIDTH, dots;
	const char *rest;
	char page[16], *cut;

	s.font.bold = b->level == 1;
	cut = strndup(b->text, layout_line(l, &s.font, right - 18 - x, b->text, &rest));
	snprintf(page, sizeof(page), "%d", l->heading_pages[i]);
	if (l->sheet)
		l->sheet->begin_link(l->sheet, b->anchor);
	canvas_text(l->canvas, left + indent, y,
		    (struct label){.font = s.font, .ink = INK_STRONG + HUE_SKY}, b->number);
	canvas_text(l->canvas, x, y, (struct label){.font = s.font}, cut ? cut : "");
	canvas_text(l->canvas, right, y, (struct label){.font = s.font, .anchor = ANCHOR_END},
		    page);
	if (l->sheet)
		l->sheet->end_link(l->sheet);
	dots = x + canvas_text_width(l->canvas, s.font, cut ? cut : "") + 6;
	if (dots < right - 22)
		canvas_line(l->canvas, dots, y - 1, right - 18, y - 1,
			    (struct paint){.stroke = INK_RULE, .width = 0.75});
	free(cut);
}

static bool is_entry(const struct block *b)
{
	return b->kind == BLOCK_HEADING && b->level <= 2;
}

/* Two columns, on several pages if there are very many. */
void layout_contents(struct layout *l)
{
	const struct document *d = l->document;
	int left = 0, at = 0, rows = 0;

	for (size_t i = 0; i < d->count; i++)
		left += is_entry(&d->blocks[i]);
	layout_need(l, imin((left + 1) / 2 + 2, ENTRIES_MAX) * contents.leading);
	l->y += 8;
	layout_flow(l, &heading, MARGIN, CONTENT_WIDTH, "Contents");
	l->y += 4;
	for (size_t i = 0; i < d->count; i++) {
		if (!is_entry(&d->blocks[i]))
			continue;
		if (at == 2 * rows) {
			l->y += rows * contents.leading;
			rows = imin((left + 1) / 2, ENTRIES_MAX - 2);
			layout_need(l, rows * contents.leading);
			at = 0;
		}
		put_entry(l, i, MARGIN + (at >= rows ? ENTRY_WIDTH + ENTRY_GAP : 0),
			  l->y + at % rows * contents.leading + contents.font.size);
		at++;
		left--;
	}
	l->y += rows * contents.leading + 8;
}
