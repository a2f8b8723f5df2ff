/* layout_text.c - lines of text; see layout_impl.h */
#include "report/layout_impl.h"

#include <stdlib.h>
#include <string.h>

static double width_of(struct layout *l, const struct font *font, const char *text, size_t n)
{
	char small[256], *copy = n < sizeof(small) ? small : strndup(text, n);
	double width;

	if (!copy)
		return 0;
	if (copy == small) {
		memcpy(small, text, n);
		small[n] = '\0';
	}
	width = canvas_text_width(l->canvas, *font, copy);
	if (copy != small)
		free(copy);
	return width;
}

static size_t next_letter(const char *text, size_t at)
{
	do
		at++;
	while (((unsigned char)text[at] & 0xc0) == 0x80);
	return at;
}

/* As many letters of a word as fit, one at least. */
static size_t letters_that_fit(struct layout *l, const struct font *font, double width,
			       const char *text, size_t n)
{
	size_t at = next_letter(text, 0);

	while (at < n) {
		size_t next = next_letter(text, at);

		if (width_of(l, font, text, next) > width)
			break;
		at = next;
	}
	return at;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Up to where text stays together: a space, a line end, and in prose a hyphen between
   letters. Commands are copied: they have spaces only. */
static size_t word_length(const struct font *font, const char *text)
{
	size_t n = strcspn(text, " \n");

	for (size_t i = 3; !font->mono && i + 3 < n; i++)
		if (text[i] == '-' && is_letter(text[i - 1]) && is_letter(text[i + 1]) &&
		    text[0] != '-')
			return i + 1;
	return n;
}

size_t layout_line(struct layout *l, const struct font *font, double width, const char *text,
		   const char **next)
{
	double space = canvas_text_width(l->canvas, *font, " "), used = 0;
	size_t at = 0;

	while (text[at] && text[at] != '\n') {
		size_t gap = strspn(text + at, " "), word = word_length(font, text + at + gap);
		double wide = (double)gap * space + width_of(l, font, text + at + gap, word);

		if (used + wide > width + 0.01) {
			if (at == 0)
				at = letters_that_fit(l, font, width, text, gap + word);
			break;
		}
		used += wide;
		at += gap + word;
	}
	*next = text + at;
	*next += **next == '\n' ? 1 : strspn(*next, " ");
	return at;
}

int layout_count_lines(struct layout *l, const struct setting *s, double width,
		       const char *text)
{
	int n = 0;

	do {
		layout_line(l, &s->font, width - (n ? s->hanging : 0), text, &text);
		n++;
	} while (*text);
	return n;
}

double layout_longest_word(struct layout *l, const struct font *font, const char *text)
{
	double most = 0;

	while (*text) {
		size_t word = word_length(font, text);
		double width = width_of(l, font, text, word);

		if (width > most)
			most = width;
		text += word;
		text += strspn(text, " \n");
	}
	return most;
}

/* One line, cut out of a longer text. */
static void put_line(struct layout *l, const struct setting *s, double x, double y,
		     enum anchor anchor, const char *text, size_t n)
{
	char *line = strndup(text, n);

	if (line)
		canvas_text(l->canvas, x, y,
			    (struct label){.font = s->font, .anchor = anchor, .ink = s->ink},
			    line);
	free(line);
}

void layout_flow(struct layout *l, const struct setting *s, double x, double width,
		 const char *text)
{
	int lines = layout_count_lines(l, s, width, text);
	double moved = 0;

	/* A line never stays alone at the end of a page, nor goes alone to the next. */
	layout_need(l, s->leading * (lines <= 3 ? lines : 2));
	do {
		const char *next;
		size_t n = layout_line(l, &s->font, width - moved, text, &next);

		layout_need(l, s->leading * (lines == 2 ? 2 : 1));
		if (s->panel)
			canvas_rectangle(l->canvas, MARGIN, l->y - 0.2, CONTENT_WIDTH,
					 s->leading + 0.4, 0,
					 (struct paint){.fill = INK_PANEL});
		put_line(l, s, x + moved, l->y + s->font.size, ANCHOR_START, text, n);
		l->y += s->leading;
		moved = s->hanging;
		text = next;
		lines--;
	} while (*text);
}

void layout_put(struct layout *l, const struct setting *s, double x, double y, double width,
		enum anchor anchor, const char *text)
{
	double at = anchor == ANCHOR_START ? x
		    : anchor == ANCHOR_END ? x + width
					   : x + width / 2;

	/* What is longer than a page is cut there. */
	for (; *text && y < CONTENT_BOTTOM + s->leading; y += s->leading) {
		const char *next;
		size_t n = layout_line(l, &s->font, width, text, &next);

		put_line(l, s, at, y, anchor, text, n);
		text = next;
	}
}

void layout_put_line(struct layout *l, const struct setting *s, double x, double y,
		     const char *text, size_t n)
{
	put_line(l, s, x, y, ANCHOR_START, text, n);
}
