/* perform.h - a study from its file to its folder of results. */
#ifndef KOLM_STUDY_PERFORM_H
#define KOLM_STUDY_PERFORM_H

#include "study/results.h"
#include "study/study.h"

/* How its cases went. */
struct study_outcome {
	int cases, failed; /* failed: not one run of the case went well */
	char first[512];   /* the first that failed, and why */
};

struct study_options {
	struct plan_options plan;
	const char *out; /* the study's folder is made in here */
	bool fresh;	 /* finished runs are made again */
};

/*
 * Run what is not yet there, then write result.json, commands.txt and the tables, and
 * print tables and answers. After a signal what there is gets written too.
 */
enum status study_perform(const struct study *s, const struct study_options *o,
			  struct study_outcome *outcome, struct error *err);

#endif
