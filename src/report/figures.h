/* figures.h - the grid and timelines as drawings of a document. */
#ifndef KOLM_REPORT_FIGURES_H
#define KOLM_REPORT_FIGURES_H

#include "grid/grid.h"
#include "report/document.h"
#include "schedule/timeline.h"

/*
 * Fill a timeline with what a run has measured in one of its steps, -1: the last one kept. OK
 * with no stages: the run has recorded nothing.
 */
typedef enum status (*timeline_reader)(const char *run_folder, int step, struct timeline *out,
				       struct error *err);

/* Can it be read on paper? */
bool figure_grid_fits(const struct grid *g);
void figure_grid(struct document *d, const struct grid *g, const char *caption);
/* The document has copies of what it needs; what has more rows than a page is left out. */
void figure_timeline(struct document *d, const struct timeline *t, const char *title,
		     const char *caption);
/* A timeline predicted from costs. */
enum status figure_schedule(struct document *d, enum schedule_kind kind, int stages,
			    int micro_batches, const struct costs *costs, const char *caption,
			    struct error *err);

#endif
