/*
 * report.h - the report: everything that studies and runs have measured, in one document.
 *
 * Sections appear only where there is something to show. Who knows how to read the
 * measured timeline of a run passes a reader; without one only predicted ones are drawn.
 */
#ifndef KOLM_REPORT_REPORT_H
#define KOLM_REPORT_REPORT_H

#include "report/document.h"
#include "report/sources.h"

struct report_options {
	const char *title;
	timeline_reader read_timeline; /* may be NULL */
};

/* d is initialised; anchors of the sources are filled in. */
enum status report_build(struct document *d, struct sources *s, const struct report_options *o,
			 struct error *err);

/* report_end.c: the last sections. */
void report_add_bottlenecks(struct document *d, struct sources *s);
void report_add_stand_ins(struct document *d);
void report_add_index(struct document *d, const struct sources *s);

#endif
