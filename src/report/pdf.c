/* pdf.c - a document as a PDF file: pages and a canvas by cairo; see pdf.h */
#include "report/pdf.h"
#include "base/version.h"
#include "report/layout.h"

#include <cairo-pdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct pdf {
	struct canvas canvas;
	struct sheet sheet;
	cairo_surface_t *surface;
	cairo_t *cr;
	int outline[2]; /* the last entry of each level */
};

const char *pdf_library(void)
{
	static char name[32];

	snprintf(name, sizeof(name), "cairo %s", cairo_version_string());
	return name;
}

static struct pdf *pdf_of(struct canvas *c)
{
	return (struct pdf *)c;
}

static struct pdf *pdf_of_sheet(struct sheet *s)
{
	return (struct pdf *)((char *)s - offsetof(struct pdf, sheet));
}

/* ---- the canvas ---- */

static void set_ink(struct pdf *p, enum ink ink)
{
	unsigned rgb = ink_rgb(ink, false);

	cairo_set_source_rgb(p->cr, (rgb >> 16) / 255.0, (rgb >> 8 & 0xff) / 255.0,
			     (rgb & 0xff) / 255.0);
}

/* Fill and stroke the path that was made. */
static void paint_path(struct pdf *p, const struct paint *paint)
{
	static const double dashes[] = {5, 4};

	if (paint->fill) {
		set_ink(p, paint->fill);
		cairo_fill_preserve(p->cr);
	}
	if (paint->stroke) {
		set_ink(p, paint->stroke);
		cairo_set_line_width(p->cr, paint->width > 0 ? paint->width : 1);
		cairo_set_dash(p->cr, dashes, paint->dashed ? 2 : 0, 0);
		cairo_stroke_preserve(p->cr);
	}
	cairo_new_path(p->cr);
}

static void pdf_rectangle(struct canvas *c, struct point at, struct point size, double radius,
			  const struct paint *paint)
{
	cairo_t *cr = pdf_of(c)->cr;
	double r = fmin(radius, fmin(size.x, size.y) / 2);

	if (r > 0) {
		cairo_new_sub_path(cr);
		cairo_arc(cr, at.x + size.x - r, at.y + r, r, -M_PI / 2, 0);
		cairo_arc(cr, at.x + size.x - r, at.y + size.y - r, r, 0, M_PI / 2);
		cairo_arc(cr, at.x + r, at.y + size.y - r, r, M_PI / 2, M_PI);
		cairo_arc(cr, at.x + r, at.y + r, r, M_PI, 3 * M_PI / 2);
		cairo_close_path(cr);
	} else {
		cairo_rectangle(cr, at.x, at.y, size.x, size.y);
	}
	paint_path(pdf_of(c), paint);
}

static void pdf_polygon(struct canvas *c, const struct point *points, int n, bool closed,
			const struct paint *paint)
{
	cairo_t *cr = pdf_of(c)->cr;

	for (int i = 0; i < n; i++)
		cairo_line_to(cr, points[i].x, points[i].y);
	if (closed)
		cairo_close_path(cr);
	paint_path(pdf_of(c), paint);
}

static void pdf_curve(struct canvas *c, const struct point q[4], const struct paint *paint)
{
	cairo_t *cr = pdf_of(c)->cr;

	cairo_move_to(cr, q[0].x, q[0].y);
	cairo_curve_to(cr, q[1].x, q[1].y, q[2].x, q[2].y, q[3].x, q[3].y);
	paint_path(pdf_of(c), paint);
}

static void set_font(struct pdf *p, const struct font *font)
{
	cairo_select_font_face(p->cr, font->mono ? "DejaVu Sans Mono" : "DejaVu Sans",
			       CAIRO_FONT_SLANT_NORMAL,
			       font->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
	cairo_set_font_size(p->cr, font->size);
}

static double pdf_text_width(struct canvas *c, const struct font *font, const char *text)
{
	cairo_text_extents_t extents;

	set_font(pdf_of(c), font);
	cairo_text_extents(pdf_of(c)->cr, text, &extents);
	return extents.x_advance;
}

static void pdf_text(struct canvas *c, double x, double y, const struct label *label,
		     const char *text)
{
	struct pdf *p = pdf_of(c);
	double width = pdf_text_width(c, &label->font, text);
	double back = label->anchor == ANCHOR_START ? 0
		      : label->anchor == ANCHOR_END ? width
						    : width / 2;

	set_ink(p, label->ink);
	cairo_save(p->cr);
	cairo_translate(p->cr, x, y);
	if (label->upward)
		cairo_rotate(p->cr, -M_PI / 2);
	cairo_move_to(p->cr, -back, 0);
	cairo_show_text(p->cr, text);
	cairo_restore(p->cr);
	cairo_new_path(p->cr);
}

static const struct canvas_ops pdf_ops = {
	.rectangle = pdf_rectangle,
	.polygon = pdf_polygon,
	.curve = pdf_curve,
	.text = pdf_text,
	.text_width = pdf_text_width,
};

/* ---- the pages ---- */

static void pdf_begin_page(struct sheet *s)
{
	/* Links are parts of a structure, which needs something around them. */
	cairo_tag_begin(pdf_of_sheet(s)->cr, "Sect", NULL);
}

static void pdf_end_page(struct sheet *s)
{
	cairo_tag_end(pdf_of_sheet(s)->cr, "Sect");
	cairo_show_page(pdf_of_sheet(s)->cr);
}

static void pdf_place(struct sheet *s, double x, double y, double scale)
{
	cairo_save(pdf_of_sheet(s)->cr);
	cairo_translate(pdf_of_sheet(s)->cr, x, y);
	cairo_scale(pdf_of_sheet(s)->cr, scale, scale);
}

static void pdf_restore(struct sheet *s)
{
	cairo_restore(pdf_of_sheet(s)->cr);
}

/* An entry of the outline, and the place that links lead to. */
static void pdf_heading(struct sheet *s, const struct block *b, double y)
{
	struct pdf *p = pdf_of_sheet(s);
	char where[512], *name = NULL;
	int parent = b->level == 1 ? CAIRO_PDF_OUTLINE_ROOT : p->outline[0];

	snprintf(where, sizeof(where), "name='%.400s' x=0 y=%.2f", b->anchor, fmax(y - 12, 0));
	cairo_tag_begin(p->cr, CAIRO_TAG_DEST, where);
	cairo_tag_end(p->cr, CAIRO_TAG_DEST);
	if (b->kind != BLOCK_HEADING || b->level > 2 ||
	    asprintf(&name, "%s %s", b->number, b->text) < 0)
		return;
	snprintf(where, sizeof(where), "dest='%.400s'", b->anchor);
	p->outline[b->level - 1] =
		cairo_pdf_surface_add_outline(p->surface, parent, name, where, 0);
	free(name);
}

static void pdf_begin_link(struct sheet *s, const char *anchor)
{
	char where[512];

	snprintf(where, sizeof(where), "dest='%.400s'", anchor);
	cairo_tag_begin(pdf_of_sheet(s)->cr, CAIRO_TAG_LINK, where);
}

static void pdf_end_link(struct sheet *s)
{
	cairo_tag_end(pdf_of_sheet(s)->cr, CAIRO_TAG_LINK);
}

static cairo_status_t keep_bytes(void *arg, const unsigned char *data, unsigned length)
{
	struct text *bytes = arg;

	text_add_n(bytes, (const char *)data, length);
	return bytes->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static void describe(struct pdf *p, const struct document *d)
{
	cairo_pdf_surface_set_metadata(p->surface, CAIRO_PDF_METADATA_TITLE, d->title);
	cairo_pdf_surface_set_metadata(p->surface, CAIRO_PDF_METADATA_SUBJECT, d->subtitle);
	cairo_pdf_surface_set_metadata(p->surface, CAIRO_PDF_METADATA_CREATOR,
				       "kolm " KOLM_VERSION);
}

static void open_pdf(struct pdf *p, const struct document *d, struct text *out)
{
	cairo_font_options_t *options = cairo_font_options_create();

	*p = (struct pdf){.canvas.ops = &pdf_ops,
			  .sheet = {.canvas = &p->canvas,
				    .begin_page = pdf_begin_page,
				    .end_page = pdf_end_page,
				    .place = pdf_place,
				    .restore = pdf_restore,
				    .heading = pdf_heading,
				    .begin_link = pdf_begin_link,
				    .end_link = pdf_end_link}};
	p->surface =
		cairo_pdf_surface_create_for_stream(keep_bytes, out, PAGE_WIDTH, PAGE_HEIGHT);
	p->cr = cairo_create(p->surface);
	/* Text is as wide as its glyphs say, at every size. */
	cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
	cairo_set_font_options(p->cr, options);
	cairo_font_options_destroy(options);
	describe(p, d);
}

enum status pdf_format(const struct document *d, struct text *out, struct error *err)
{
	enum status st;
	cairo_status_t problem;
	struct pdf p;

	open_pdf(&p, d, out);
	TRY(layout_document(d, &p.sheet, err));
	cairo_surface_finish(p.surface);
	problem = cairo_status(p.cr);
	if (!problem)
		problem = cairo_surface_status(p.surface);
	if (problem)
		st = FAIL(err, problem == CAIRO_STATUS_NO_MEMORY ? ERR_MEMORY : ERR_FAILED,
			  "no PDF can be made: cairo says: %s",
			  cairo_status_to_string(problem));
out:
	cairo_destroy(p.cr);
	cairo_surface_destroy(p.surface);
	return st;
}
