/* canvas_svg.c - a canvas that writes SVG; see canvas.h */
#include "base/canvas.h"

#include <math.h>

void text_add_escaped(struct text *out, const char *s)
{
	for (; *s; s++)
		switch (*s) {
		case '&':
			text_add(out, "&amp;");
			break;
		case '<':
			text_add(out, "&lt;");
			break;
		case '>':
			text_add(out, "&gt;");
			break;
		case '"':
			text_add(out, "&quot;");
			break;
		case '\'':
			text_add(out, "&#39;");
			break;
		default:
			text_add_n(out, s, 1);
		}
}

static struct canvas_svg *svg_of(struct canvas *c)
{
	return (struct canvas_svg *)c;
}

/* name="12.25": two digits behind the point are finer than any screen. */
static void add_number(struct text *out, const char *name, double value)
{
	text_addf(out, " %s=\"%.7g\"", name, round(value * 100) / 100 + 0.0);
}

static void add_color(struct canvas_svg *c, const char *name, enum ink ink)
{
	text_addf(c->out, " %s=\"#%06x\"", name, ink_rgb(ink, false));
}

static void add_paint(struct canvas_svg *c, const struct paint *p)
{
	if (c->in_page) {
		text_addf(c->out, " class=\"f%d s%d\"", p->fill, p->stroke);
	} else {
		if (p->fill)
			add_color(c, "fill", p->fill);
		else
			text_add(c->out, " fill=\"none\"");
		if (p->stroke)
			add_color(c, "stroke", p->stroke);
	}
	if (p->stroke && p->width > 0 && p->width != 1)
		add_number(c->out, "stroke-width", p->width);
	if (p->dashed)
		text_add(c->out, " stroke-dasharray=\"5 4\"");
}

static void end_shape(struct canvas_svg *c, const char *name, const struct paint *p)
{
	if (!p->tip) {
		text_add(c->out, "/>\n");
		return;
	}
	text_add(c->out, "><title>");
	text_add_escaped(c->out, p->tip);
	text_addf(c->out, "</title></%s>\n", name);
}

static void svg_rectangle(struct canvas *canvas, struct point at, struct point size,
			  double radius, const struct paint *paint)
{
	struct canvas_svg *c = svg_of(canvas);

	text_add(c->out, "<rect");
	add_number(c->out, "x", at.x);
	add_number(c->out, "y", at.y);
	add_number(c->out, "width", fmax(size.x, 0));
	add_number(c->out, "height", fmax(size.y, 0));
	if (radius > 0)
		add_number(c->out, "rx", radius);
	add_paint(c, paint);
	end_shape(c, "rect", paint);
}

static void svg_polygon(struct canvas *canvas, const struct point *points, int n, bool closed,
			const struct paint *paint)
{
	struct canvas_svg *c = svg_of(canvas);
	const char *name = closed ? "polygon" : "polyline";

	text_addf(c->out, "<%s points=\"", name);
	for (int i = 0; i < n; i++)
		text_addf(c->out, "%s%.7g,%.7g", i ? " " : "",
			  round(points[i].x * 100) / 100 + 0.0,
			  round(points[i].y * 100) / 100 + 0.0);
	text_add(c->out, "\"");
	add_paint(c, paint);
	end_shape(c, name, paint);
}

static void svg_curve(struct canvas *canvas, const struct point p[4], const struct paint *paint)
{
	struct canvas_svg *c = svg_of(canvas);

	text_addf(c->out, "<path d=\"M%.7g,%.7g C%.7g,%.7g %.7g,%.7g %.7g,%.7g\"", p[0].x,
		  p[0].y, p[1].x, p[1].y, p[2].x, p[2].y, p[3].x, p[3].y);
	add_paint(c, paint);
	end_shape(c, "path", paint);
}

static void svg_text(struct canvas *canvas, double x, double y, const struct label *label,
		     const char *text)
{
	static const char *const anchors[] = {"start", "middle", "end"};
	struct canvas_svg *c = svg_of(canvas);

	text_add(c->out, "<text");
	add_number(c->out, "x", x);
	add_number(c->out, "y", y);
	if (label->upward)
		text_addf(c->out, " transform=\"rotate(-90 %.7g %.7g)\"", x, y);
	if (label->anchor != ANCHOR_START)
		text_addf(c->out, " text-anchor=\"%s\"", anchors[label->anchor]);
	if (label->font.bold)
		text_add(c->out, " font-weight=\"bold\"");
	if (label->font.mono)
		text_add(c->out, " font-family=\"monospace\"");
	if (c->in_page)
		text_addf(c->out, " class=\"f%d\"", label->ink);
	else if (label->ink != INK_TEXT)
		add_color(c, "fill", label->ink);
	if (label->font.size != 12)
		add_number(c->out, "font-size", label->font.size);
	text_add(c->out, ">");
	text_add_escaped(c->out, text);
	text_add(c->out, "</text>\n");
}

static double svg_text_width(struct canvas *canvas, const struct font *font, const char *text)
{
	(void)canvas;
	return font_width(font, text);
}

static const struct canvas_ops svg_ops = {
	.rectangle = svg_rectangle,
	.polygon = svg_polygon,
	.curve = svg_curve,
	.text = svg_text,
	.text_width = svg_text_width,
};

void canvas_svg_begin(struct canvas_svg *c, struct text *out, double width, double height)
{
	*c = (struct canvas_svg){.canvas.ops = &svg_ops, .out = out};
	text_addf(out,
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
		  "viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\" "
		  "fill=\"#%06x\">\n",
		  width, height, width, height, ink_rgb(INK_TEXT, false));
	canvas_rectangle(&c->canvas, 0, 0, width, height, 0, (struct paint){.fill = INK_PAPER});
}

void canvas_svg_begin_in_page(struct canvas_svg *c, struct text *out, double width,
			      double height, const char *kind, const char *what)
{
	*c = (struct canvas_svg){.canvas.ops = &svg_ops, .out = out, .in_page = true};
	text_addf(out,
		  "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"%s\" width=\"%g\" "
		  "height=\"%g\" viewBox=\"0 0 %g %g\" role=\"img\" "
		  "aria-label=\"",
		  kind, ceil(width), ceil(height), ceil(width), ceil(height));
	text_add_escaped(out, what);
	text_add(out, "\">\n");
}

void canvas_svg_end(struct canvas_svg *c)
{
	text_add(c->out, "</svg>\n");
}
