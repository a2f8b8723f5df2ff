/* html.c - see html.h. Style and script are page.css and page.js, put into the page. */
#include "report/html.h"

#include <string.h>

/* Made from page.css and page.js when kolm is built. */
extern const char report_page_css[], report_page_js[];

enum { SHORT = 22 }; /* letters of a text that stays on a line */

/* <name class="...">escaped text</name> */
static void element(struct text *out, const char *open, const char *text, const char *close)
{
	text_add(out, open);
	text_add_escaped(out, text);
	text_add(out, close);
}

/* The colours of ink, as variables that dark paper changes. */
static void add_variables(struct text *out, bool dark)
{
	for (int i = 1; i < INK_COUNT; i++)
		text_addf(out, "--ink%d:#%06x;", i, ink_rgb((enum ink)i, dark));
}

static void add_style(struct text *out)
{
	text_add(out, "<style>\n:root{color-scheme:light;");
	add_variables(out, false);
	text_add(out, "}\n@media screen and (prefers-color-scheme:dark){"
		      ":root:not([data-theme=light]){color-scheme:dark;");
	add_variables(out, true);
	text_add(out, "}}\n@media screen{:root[data-theme=dark]{color-scheme:dark;");
	add_variables(out, true);
	text_add(out, "}}\n.f0{fill:none}.s0{stroke:none}\n");
	for (int i = 1; i < INK_COUNT; i++)
		text_addf(out, ".f%d{fill:var(--ink%d)}.s%d{stroke:var(--ink%d)}\n", i, i, i,
			  i);
	text_addf(out,
		  ":root{--text:var(--ink%d);--muted:var(--ink%d);--rule:var(--ink%d);"
		  "--paper:var(--ink%d);--panel:var(--ink%d);--link:var(--ink%d);"
		  "--alarm:var(--ink%d);--accent:var(--ink%d)}\n",
		  INK_TEXT, INK_MUTED, INK_RULE, INK_PAPER, INK_PANEL, INK_LINK, INK_ALARM,
		  INK_STRONG + HUE_SKY);
	text_add(out, report_page_css);
	text_add(out, "</style>\n");
}

static void add_entry(const struct block *b, struct text *out)
{
	text_addf(out, "<li><a href=\"#%s\"><span class=\"number\">%s</span> ", b->anchor,
		  b->number);
	element(out, "", b->text, "</a>");
}

static void add_contents(const struct document *d, struct text *out)
{
	bool any = false, inner = false; /* an entry is open; and a list in it */

	text_add(out, "<nav id=\"contents\" aria-label=\"Contents\">\n<details open=\"open\">\n"
		      "<summary>Contents</summary>\n<ol>\n");
	for (size_t i = 0; i < d->count; i++) {
		const struct block *b = &d->blocks[i];

		if (b->kind != BLOCK_HEADING || b->level > 2)
			continue;
		if (b->level == 2 && any && !inner) {
			text_add(out, "\n<ol>\n");
			inner = true;
		} else if (any) {
			text_add(out, "</li>\n");
		}
		if (b->level == 1 && inner) {
			text_add(out, "</ol></li>\n");
			inner = false;
		}
		add_entry(b, out);
		any = true;
	}
	text_add(out, any ? "</li>\n" : "<li>nothing</li>\n");
	text_add(out, inner ? "</ol></li>\n</ol>\n" : "</ol>\n");
	text_add(out, "</details>\n</nav>\n");
}

static void add_cell(const struct column *c, const struct value *v, struct text *out)
{
	struct text t;

	text_init(&t);
	value_format(c, v, &t);
	/* Short texts stay on a line. */
	text_add(out, column_is_numeric(c)		    ? "<td class=\"n\""
		      : t.len && t.len <= SHORT && !v->link ? "<td class=\"k\""
							    : "<td");
	if (column_is_numeric(c) && v->present)
		text_addf(out, " data-v=\"%.9g\"", v->number);
	text_add(out, ">");
	if (v->link)
		text_addf(out, "<a href=\"#%s\">", v->link);
	text_add_escaped(out, t.data);
	text_add(out, v->link ? "</a></td>" : "</td>");
	text_release(&t);
}

static void add_row(const struct table *t, const struct row *r, struct text *out)
{
	int shown = r->failed ? row_shown_cells(t, r) : t->column_count;

	text_add(out, "<tr>");
	for (int i = 0; i < shown; i++)
		add_cell(&t->columns[i], &r->values[i], out);
	if (r->failed) {
		text_addf(out, "<td class=\"failed\" colspan=\"%d\">", t->column_count - shown);
		element(out, "", r->failed, "</td>");
	}
	text_add(out, "</tr>\n");
}

/* The rows of a group are a body of their own, and are sorted by themselves. */
static void add_group(const struct table *t, int row, struct text *out)
{
	if (row)
		text_add(out, "</tbody>\n<tbody>\n");
	text_addf(out, "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"%d\">",
		  t->column_count);
	element(out, "", t->rows[row].group, "</th></tr>\n");
}

/* The title does not move when the table is scrolled. */
static void add_table_title(const struct table *t, struct text *out)
{
	if (!*t->title)
		return;
	element(out, "<p class=\"title\">", t->title, "");
	if (*t->caption)
		element(out, " <span class=\"case\">", t->caption, "</span>");
	text_add(out, "</p>\n");
}

static void add_table(const struct table *t, struct text *out)
{
	text_add(out, "<div class=\"table\">\n");
	add_table_title(t, out);
	element(out, "<div class=\"scroll\">\n<table class=\"sortable\" aria-label=\"",
		t->title, "\">\n<thead><tr>");
	for (int i = 0; i < t->column_count; i++) {
		struct text heading;

		text_init(&heading);
		column_format(&t->columns[i], &heading);
		element(out,
			column_is_numeric(&t->columns[i]) ? "<th scope=\"col\" class=\"n\">"
							  : "<th scope=\"col\">",
			heading.data, "</th>");
		text_release(&heading);
	}
	text_add(out, "</tr></thead>\n<tbody>\n");
	for (int i = 0; i < t->row_count; i++) {
		if (table_begins_group(t, i))
			add_group(t, i, out);
		add_row(t, &t->rows[i], out);
	}
	text_add(out, "</tbody>\n</table>\n</div>\n");
	if (*t->note)
		element(out, "<p class=\"note\">", t->note, "</p>\n");
	text_add(out, "</div>\n");
}

static void add_chart(const struct chart *c, struct text *out)
{
	int width = chart_width(c);
	struct canvas_svg svg;

	text_add(out, width == CHART_NARROW ? "<figure>\n" : "<figure class=\"wide\">\n");
	if (*c->title)
		element(out, "<p class=\"title\">", c->title, "</p>\n");
	text_add(out, "<div class=\"scroll\">\n");
	canvas_svg_begin_in_page(&svg, out, width, chart_height(c, width), "chart", c->title);
	chart_draw(c, width, &svg.canvas);
	canvas_svg_end(&svg);
	text_add(out, "</div>\n");
	if (*c->caption)
		element(out, "<figcaption>", c->caption, "</figcaption>\n");
	text_add(out, "</figure>\n");
}

static void add_drawing(const struct block *b, struct text *out)
{
	const struct drawing *d = &b->drawing;
	struct canvas_svg svg;

	text_add(out, "<figure class=\"drawing\">\n<div class=\"scroll\">\n");
	canvas_svg_begin_in_page(&svg, out, d->width, d->height, d->zoom ? "zoom" : "drawing",
				 d->what);
	d->draw(d->arg, &svg.canvas);
	canvas_svg_end(&svg);
	text_add(out, "</div>\n");
	if (*b->caption)
		element(out, "<figcaption>", b->caption, "</figcaption>\n");
	text_add(out, "</figure>\n");
}

static void add_heading(const struct block *b, struct text *out)
{
	text_addf(out, "<h%d id=\"%s\">", b->level + 1, b->anchor);
	if (*b->number)
		text_addf(out, "<span class=\"number\">%s</span> ", b->number);
	text_add_escaped(out, b->text);
	text_addf(out, "</h%d>\n", b->level + 1);
}

static void add_answer(const struct block *b, struct text *out)
{
	text_addf(out, "<div class=\"answer\" id=\"%s\">\n", b->anchor);
	element(out, "<p class=\"question\"><span class=\"number\">", b->number, "</span> ");
	element(out, "", b->text, "</p>\n");
	element(out, b->supported ? "<p class=\"verdict\">" : "<p class=\"open\">", b->answer,
		"</p>\n</div>\n");
}

static void add_item(const struct block *b, struct text *out)
{
	text_add(out, "<li>");
	if (b->link)
		text_addf(out, "<a href=\"#%s\">", b->link);
	text_add_escaped(out, b->text);
	element(out, b->link ? "</a>: " : ": ", b->answer, "</li>\n");
}

static void add_code(const char *text, struct text *out)
{
	size_t lines = 1;

	for (const char *c = text; *c; c++)
		lines += *c == '\n' && c[1];
	if (lines > 12)
		text_addf(out, "<details><summary>%zu lines</summary>\n", lines);
	element(out, "<pre>", text, "</pre>\n");
	if (lines > 12)
		text_add(out, "</details>\n");
}

static void add_block(const struct block *b, struct text *out)
{
	switch (b->kind) {
	case BLOCK_HEADING:
		add_heading(b, out);
		break;
	case BLOCK_PARAGRAPH:
		element(out, "<p>", b->text, "</p>\n");
		break;
	case BLOCK_LED:
		text_add(out, "<p class=\"led\">");
		if (*b->text)
			element(out, "<strong>", b->text, "</strong> ");
		element(out, "", b->answer, "</p>\n");
		break;
	case BLOCK_NOTE:
		element(out, "<p class=\"note\">", b->text, "</p>\n");
		break;
	case BLOCK_ITEM:
		add_item(b, out);
		break;
	case BLOCK_CODE:
		add_code(b->text, out);
		break;
	case BLOCK_FOLD:
		element(out, "<details><summary>", b->text, "</summary>\n");
		element(out, "<pre>", b->answer, "</pre>\n</details>\n");
		break;
	case BLOCK_TABLE:
		add_table(b->table, out);
		break;
	case BLOCK_CHART:
		add_chart(b->chart, out);
		break;
	case BLOCK_DRAWING:
		add_drawing(b, out);
		break;
	case BLOCK_ANSWER:
		add_answer(b, out);
		break;
	case BLOCK_CONTENTS: /* beside the page */
	case BLOCK_NEW_PAGE:
		break;
	}
}

/* Neighbours that belong together: items make a list, charts stand side by side. */
static void add_blocks(const struct document *d, struct text *out)
{
	for (size_t i = 0; i < d->count; i++) {
		enum block_kind kind = d->blocks[i].kind;
		bool first = i == 0 || d->blocks[i - 1].kind != kind;
		bool last = i + 1 == d->count || d->blocks[i + 1].kind != kind;

		if (first && kind == BLOCK_ITEM)
			text_add(out, "<ul>\n");
		if (first && kind == BLOCK_CHART)
			text_add(out, "<div class=\"charts\">\n");
		add_block(&d->blocks[i], out);
		if (last && kind == BLOCK_ITEM)
			text_add(out, "</ul>\n");
		if (last && kind == BLOCK_CHART)
			text_add(out, "</div>\n");
	}
}

void html_format(const struct document *d, struct text *out)
{
	text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
		      "<meta name=\"viewport\" "
		      "content=\"width=device-width, initial-scale=1\"/>\n");
	element(out, "<title>", d->title, "</title>\n");
	add_style(out);
	text_add(out, "</head>\n<body>\n<div id=\"frame\">\n");
	add_contents(d, out);
	element(out, "<main>\n<header>\n<h1>", d->title, "</h1>\n");
	element(out, "<p class=\"subtitle\">", d->subtitle, "</p>\n");
	element(out, "<p class=\"subtitle\">", d->date, "</p>\n</header>\n");
	add_blocks(d, out);
	text_add(out, "</main>\n</div>\n<script>\n//<![CDATA[\n");
	text_add(out, report_page_js);
	text_add(out, "//]]>\n</script>\n</body>\n</html>\n");
}
