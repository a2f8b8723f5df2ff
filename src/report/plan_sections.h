/* plan_sections.h - a plan's part of a report: tables, the map of grids, the Pareto fronts, the
   step taken apart and its timeline. */
#ifndef KOLM_REPORT_PLAN_SECTIONS_H
#define KOLM_REPORT_PLAN_SECTIONS_H

#include "plan/plan.h"
#include "report/document.h"

/* The plan lives as long as the document. With headings of that level. */
void plan_add(struct document *d, const struct plan *p, int level);
/* A whole document of one plan. */
void plan_document(struct document *d, const struct plan *p);

/* The step against memory, or against devices, as a whole SVG document. */
enum status plan_pareto_svg(const struct plan *p, bool devices, struct text *out,
			    struct error *err);

/* "22.07 G parameters on 64 devices of a100-80g-selene" */
const char *plan_title(const struct plan *p, char *buf, size_t size);
/* The same, for the map of its grids. */
const char *plan_grids_title(const struct plan *p, char *buf, size_t size);

#endif
