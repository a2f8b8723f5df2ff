/* plan_files.c - kolm plan --out: pictures, a page and plan.json in a folder. */
#include "cmd/plan.h"
#include "base/file.h"
#include "plan/draw.h"
#include "plan/simulate.h"
#include "report/html.h"
#include "report/pdf.h"
#include "report/plan_sections.h"

#include <stdio.h>

static enum status write_text(const char *folder, const char *name, const struct text *text,
			      struct error *err)
{
	char path[PATH_MAX];
	enum status st;

	if (text->failed)
		return FAIL(err, ERR_MEMORY, "no memory for %s", name);
	TRY(file_path(path, folder, name, err));
	TRY(file_write_whole(path, text->data, text->len, err));
out:
	return st;
}

static void empty(struct text *t)
{
	text_release(t);
	text_init(t);
}

static enum status write_pictures(const struct plan *p, const char *folder, struct error *err)
{
	struct text svg;
	char title[160];
	enum status st;

	text_init(&svg);
	draw_grids_svg(&p->search, plan_grids_title(p, title, sizeof(title)), &svg);
	TRY(write_text(folder, "grids.svg", &svg, err));
	empty(&svg);
	TRY(plan_pareto_svg(p, false, &svg, err));
	TRY(write_text(folder, "memory.svg", &svg, err));
	if (p->device_count > 1) {
		empty(&svg);
		TRY(plan_pareto_svg(p, true, &svg, err));
		TRY(write_text(folder, "devices.svg", &svg, err));
	}
	if (p->first.stages) {
		empty(&svg);
		timeline_draw_svg(
			&p->first.timeline,
			simulate_title(&p->search.best[0].setup, title, sizeof(title)), &svg);
		TRY(write_text(folder, "timeline.svg", &svg, err));
	}
out:
	text_release(&svg);
	return st;
}

static enum status write_documents(const struct plan *p, const char *folder, struct error *err)
{
	struct document d;
	struct text out;
	enum status st;

	text_init(&out);
	document_init(&d);
	plan_document(&d, p);
	TRY(document_check(&d, err));
	html_format(&d, &out);
	TRY(write_text(folder, "plan.html", &out, err));
	if (pdf_library()) {
		empty(&out);
		TRY(pdf_format(&d, &out, err));
		TRY(write_text(folder, "plan.pdf", &out, err));
	}
out:
	text_release(&out);
	document_release(&d);
	return st;
}

enum status plan_files_write(const struct plan *p, const char *folder, struct error *err)
{
	struct json json;
	enum status st;

	json_init(&json, true);
	TRY(file_make_folder(folder, err));
	TRY(write_pictures(p, folder, err));
	TRY(write_documents(p, folder, err));
	plan_put(&json, p, true);
	TRY(write_text(folder, "plan.json", &json.text, err));
out:
	json_release(&json);
	return st;
}
