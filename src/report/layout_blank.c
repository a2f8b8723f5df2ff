/* layout_blank.c - a canvas that draws nothing, for counting pages; see layout_impl.h */
#include "report/layout_impl.h"

static void blank_rectangle(struct canvas *c, struct point at, struct point size, double radius,
			    const struct paint *paint)
{
	(void)c, (void)at, (void)size, (void)radius, (void)paint;
}

static void blank_polygon(struct canvas *c, const struct point *points, int n, bool closed,
			  const struct paint *paint)
{
	(void)c, (void)points, (void)n, (void)closed, (void)paint;
}

static void blank_curve(struct canvas *c, const struct point points[4],
			const struct paint *paint)
{
	(void)c, (void)points, (void)paint;
}

static void blank_text(struct canvas *c, double x, double y, const struct label *label,
		       const char *text)
{
	(void)c, (void)x, (void)y, (void)label, (void)text;
}

static double blank_text_width(struct canvas *c, const struct font *font, const char *text)
{
	return canvas_text_width(((struct blank_canvas *)c)->real, *font, text);
}

static const struct canvas_ops blank_ops = {
	.rectangle = blank_rectangle,
	.polygon = blank_polygon,
	.curve = blank_curve,
	.text = blank_text,
	.text_width = blank_text_width,
};

struct canvas *blank_canvas_init(struct blank_canvas *b, struct canvas *real)
{
	*b = (struct blank_canvas){{&blank_ops}, real};
	return &b->canvas;
}
