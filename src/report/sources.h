/* sources.h - what a report is made from: the studies, runs and plans in some folders. */
#ifndef KOLM_REPORT_SOURCES_H
#define KOLM_REPORT_SOURCES_H

#include "plan/plan.h"
#include "report/run_result.h"
#include "report/study_result.h"

struct sources {
	struct study *studies; /* by requirement, then by name */
	int study_count;
	struct run_result *runs; /* in the order in which they were given */
	int run_count;
	struct plan **plans; /* likewise */
	int plan_count;
	struct answer conclusion; /* on the bottlenecks, when it is in a document */
};

/* Add a folder of a study, of a run, of a plan, or one that holds such folders. */
enum status sources_add(struct sources *s, const char *folder, struct error *err);
/* When all are there: bring the studies into the order of the report. */
void sources_sort(struct sources *s);
void sources_release(struct sources *s);

#endif
