/*
 * study_result.h - what kolm study has left in a folder, and its part of a report.
 *
 * result.json holds tables; charts name columns of them and have no numbers of their own.
 */
#ifndef KOLM_REPORT_STUDY_RESULT_H
#define KOLM_REPORT_STUDY_RESULT_H

#include "base/error.h"
#include "grid/grid.h"
#include "report/document.h"
#include "report/figures.h"
#include "schedule/timeline.h"

#include <limits.h>

struct study {
	char folder[PATH_MAX];
	char where[PATH_MAX]; /* its result.json */
	struct json_t *root;
	char *commands;		  /* the text of commands.txt, or NULL */
	const char *name, *title; /* in root */
	struct section section;	  /* when it is in a document */
};

/* result.json and commands.txt of a folder. */
enum status study_read(struct study *s, const char *folder, struct error *err);
/* The text of a result.json; where names it in messages. */
enum status study_parse(struct study *s, const char *bytes, size_t size, const char *where,
			struct error *err);
void study_release(struct study *s);

/* The i-th requirement that it answers, or NULL. */
const char *study_requirement(const struct study *s, int i);

/* The i-th timeline that it names, as its run has measured it; false: there are no more.
   Where the run has none, or nobody can read it, t has no stages. */
struct gantt {
	const char *title, *run;
	int step;
	bool simulated;		  /* on virtual devices, which compute nothing */
	struct timeline timeline; /* the caller's */
};
bool study_gantt(const struct study *s, size_t i, timeline_reader reader, struct gantt *g);

/* Its heading and everything below it. */
enum status study_add(struct study *s, struct document *d, timeline_reader reader,
		      struct error *err);

/* A row about the machine. NULL: nothing is known. */
struct table *study_machine(const struct study *s, struct document *d);

/* Rows that it has measured, and those that failed. */
void study_count(const struct study *s, int *rows, int *failed);
bool study_is_quick(const struct study *s);
bool study_is_complete(const struct study *s);
/* Its i-th answer; false: there are no more. */
struct answer {
	const char *id, *question, *verdict;
	const char *anchor; /* NULL until it is in a document */
	bool supported;
};
bool study_answer(const struct study *s, size_t i, struct answer *a);

struct bottleneck {
	const char *what, *where, *cause, *remedy;
	bool simulated;
	const struct study *study;
	double ms, share; /* NAN: not known */
};
/* Its i-th bottleneck; false: there are no more. */
bool study_bottleneck(const struct study *s, size_t i, struct bottleneck *b);

/* Does g, of at most limit ranks, show more than best: directions first, then ranks? */
bool grid_says_more(const struct grid *g, int limit, const struct grid *best);
/* The largest grid of its runs with at most limit ranks; false: none larger than *best. */
bool study_largest_grid(const struct study *s, int limit, struct grid *best);

/* study_table.c, study_chart.c: parts of a result in a document; fail by f->status. */
struct fields;
struct table *study_table(struct fields *f, const struct json_t *spec, struct document *d);
struct chart *study_chart(struct fields *f, const struct json_t *root,
			  const struct json_t *spec, struct document *d);
struct chart *study_curve(struct fields *f, const struct json_t *spec, struct document *d);

#endif
