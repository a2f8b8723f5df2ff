/* pages.h - watching what a report becomes: pages of paper, and the tags of an HTML page. */
#ifndef KOLM_TESTS_PAGES_H
#define KOLM_TESTS_PAGES_H

#include "testing.h"

#include "report/layout.h"

/* A sheet that looks at every piece of text: is it on the page, and what is it? */
struct watcher {
	struct canvas canvas;
	struct sheet sheet;
	int pages, texts, outside;
	double x, y, scale;  /* what place has set */
	double lowest;	     /* of the text on this page */
	double heading_y;    /* of the last heading on this page, or -1 */
	int lonely_headings; /* with no text below it on its page */
	const char *counted; /* a text to be counted, and how often it was there */
	int count;
	double smallest;	   /* type */
	double bullet_y;	   /* of the bullet that waits for its text, or -1 */
	int lonely_bullets;	   /* whose text is not beside them */
	const char *kept;	   /* texts that begin so ... */
	int kept_first, kept_last; /* ... are on these pages */
};

static inline struct watcher *watcher_of_canvas(struct canvas *c)
{
	return (struct watcher *)c;
}

static inline struct watcher *watcher_of(struct sheet *s)
{
	return (struct watcher *)((char *)s - offsetof(struct watcher, sheet));
}

static inline void watch_rectangle(struct canvas *c, struct point at, struct point size,
				   double radius, const struct paint *paint)
{
	struct watcher *w = watcher_of_canvas(c);

	(void)radius, (void)paint;
	if (w->x + at.x * w->scale < -0.5 ||
	    w->x + (at.x + size.x) * w->scale > PAGE_WIDTH + 0.5 ||
	    w->y + (at.y + size.y) * w->scale > PAGE_HEIGHT + 0.5)
		w->outside++;
}

static inline void watch_polygon(struct canvas *c, const struct point *points, int n,
				 bool closed, const struct paint *paint)
{
	(void)closed, (void)paint;
	for (int i = 0; i < n; i++)
		watch_rectangle(c, points[i], (struct point){0, 0}, 0, NULL);
}

static inline void watch_curve(struct canvas *c, const struct point points[4],
			       const struct paint *paint)
{
	watch_polygon(c, points, 4, false, paint);
}

static inline double watch_text_width(struct canvas *c, const struct font *font,
				      const char *text)
{
	(void)c;
	return font_width(font, text);
}

static inline void watch_text(struct canvas *c, double x, double y, const struct label *label,
			      const char *text)
{
	struct watcher *w = watcher_of_canvas(c);
	double width = font_width(&label->font, text) * w->scale, left;

	w->texts++;
	w->count += w->counted && !strcmp(text, w->counted);
	w->smallest = fmin(w->smallest, label->font.size * w->scale);
	if (w->kept && !strncmp(text, w->kept, strlen(w->kept))) {
		w->kept_first = w->kept_first ? w->kept_first : w->pages;
		w->kept_last = w->pages;
	}
	x = w->x + x * w->scale;
	y = w->y + y * w->scale;
	w->lonely_bullets += w->bullet_y >= 0 && y != w->bullet_y;
	w->bullet_y = strcmp(text, "•") ? -1 : y;
	left = label->anchor == ANCHOR_START ? x
	       : label->anchor == ANCHOR_END ? x - width
					     : x - width / 2;
	if (label->upward)
		left = x;
	else if (left < 0 || left + width > PAGE_WIDTH)
		w->outside++;
	if (y < 0 || y > PAGE_HEIGHT - 20 || !text_is_utf8(text))
		w->outside++;
	/* The number of the page stands lower than all else. */
	if (y < PAGE_HEIGHT - 40)
		w->lowest = fmax(w->lowest, y);
}

static inline void watch_begin_page(struct sheet *s)
{
	struct watcher *w = watcher_of(s);

	w->pages++;
	w->lonely_bullets += w->bullet_y >= 0;
	w->bullet_y = -1;
	w->lowest = 0;
	w->heading_y = -1;
}

static inline void watch_end_page(struct sheet *s)
{
	struct watcher *w = watcher_of(s);

	/* A heading takes two lines or so; below it there must be something. */
	if (w->heading_y >= 0 && w->lowest < w->heading_y + 18)
		w->lonely_headings++;
}

static inline void watch_place(struct sheet *s, double x, double y, double scale)
{
	struct watcher *w = watcher_of(s);

	w->x = x;
	w->y = y;
	w->scale = scale;
}

static inline void watch_restore(struct sheet *s)
{
	watch_place(s, 0, 0, 1);
}

static inline void watch_heading(struct sheet *s, const struct block *b, double y)
{
	(void)b;
	watcher_of(s)->heading_y = y;
}

static inline void watch_begin_link(struct sheet *s, const char *anchor)
{
	(void)s, (void)anchor;
}

static inline void watch_end_link(struct sheet *s)
{
	(void)s;
}

static inline void watch_pages(struct watcher *w, const struct document *d)
{
	static const struct canvas_ops ops = {watch_rectangle, watch_polygon, watch_curve,
					      watch_text, watch_text_width};
	struct error err = {0};

	w->canvas.ops = &ops;
	w->scale = 1;
	w->smallest = 1000;
	w->bullet_y = -1;
	w->sheet = (struct sheet){.canvas = &w->canvas,
				  .begin_page = watch_begin_page,
				  .end_page = watch_end_page,
				  .place = watch_place,
				  .restore = watch_restore,
				  .heading = watch_heading,
				  .begin_link = watch_begin_link,
				  .end_link = watch_end_link};
	assert_int_equal(layout_document(d, &w->sheet, &err), OK);
}

/* Does every tag have its end, and every & its name? Returns what is wrong, or NULL. */
static inline const char *html_problem(const char *text)
{
	static const char *const entities[] = {"amp;", "lt;", "gt;", "quot;", "#39;"};
	char open[64][16];
	int depth = 0;

	for (const char *p = text; *p; p++) {
		char name[16] = "";
		bool known = false;

		for (size_t i = 0; *p == '&' && i < ARRAY_SIZE(entities); i++)
			known |= !strncmp(p + 1, entities[i], strlen(entities[i]));
		if (*p == '&' && !known)
			return p;
		if (*p != '<' || !strncmp(p, "<!DOCTYPE", 9))
			continue;
		if (sscanf(p + 1 + (p[1] == '/'), "%15[a-z0-9]", name) != 1)
			return p;
		if (p[1] == '/' && (depth == 0 || strcmp(open[--depth], name)))
			return p;
		if (p[1] != '/' && !strcmp(name, "style"))
			p = strstr(p, "</style>") - 1;
		else if (p[1] != '/' && !strcmp(name, "script"))
			p = strstr(p, "</script>") - 1;
		if (*p == '<' ? p[1] != '/' && strchr(p, '>')[-1] != '/' : true)
			snprintf(open[depth++], sizeof(open[0]), "%s", name);
		if (depth == 64)
			return p;
	}
	return depth ? "something is still open" : NULL;
}

#endif
