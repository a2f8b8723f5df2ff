/* layout_header.c - what stands at the head and foot of a page. */
#include "report/layout_impl.h"

#include <stdlib.h>
#include <string.h>

void layout_draw_header(struct layout *l)
{
	struct label left = {.font = {.size = 7.5}, .ink = INK_MUTED};
	struct label right = {.font = {.size = 7.5}, .anchor = ANCHOR_END, .ink = INK_MUTED};
	struct setting line = {{.size = 7.5}, 10, INK_MUTED, 0, false};
	const char *rest;
	char *cut;

	canvas_textf(l->canvas, PAGE_WIDTH - MARGIN, PAGE_HEIGHT - 32, right, "%d / %d",
		     l->page, l->pages);
	if (l->page == 1)
		return;
	/* One line each, whatever their length. */
	cut = strndup(l->document->title, layout_line(l, &line.font, CONTENT_WIDTH * 0.48,
						      l->document->title, &rest));
	canvas_text(l->canvas, MARGIN, 40, left, cut ? cut : "");
	free(cut);
	cut = strndup(l->page_section,
		      layout_line(l, &line.font, CONTENT_WIDTH * 0.48, l->page_section, &rest));
	canvas_text(l->canvas, PAGE_WIDTH - MARGIN, 40, right, cut ? cut : "");
	free(cut);
	canvas_line(l->canvas, MARGIN, 47, PAGE_WIDTH - MARGIN, 47,
		    (struct paint){.stroke = INK_RULE, .width = 0.75});
}
