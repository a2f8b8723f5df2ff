/*
 * results.h - what the runs of a plan have measured: a row per case (or per case and rank),
 * a cell per column, with the median and the spread of the repetitions.
 */
#ifndef KOLM_STUDY_RESULTS_H
#define KOLM_STUDY_RESULTS_H

#include "study/column.h"
#include "study/study.h"

/* What the runs have written; documents[case * reps + rep] is NULL where there is none. */
struct evidence {
	json_t **documents;
	char **failed; /* per case: why its last run failed, or NULL */
	int cases, reps;
};

enum status evidence_init(struct evidence *e, const struct plan *p, struct error *err);
void evidence_release(struct evidence *e);
/* What a run of a case has left, the evidence's now. Where a case is run once, it holds for
   every repetition. */
void evidence_put(struct evidence *e, const struct plan *p, int index, int rep,
		  json_t *document);
/* How many runs have left something. */
int evidence_runs(const struct evidence *e, const struct plan *p);

/*
 * The document of a finished run: summary.json (or output.json of another command) with
 * last_step and nonfinite_losses from metrics.jsonl. NULL: it is not there or not finished.
 */
json_t *evidence_read(const char *folder, const char *command);

struct cell {
	double value, spread; /* NAN: nothing is known */
	char *text;	      /* instead of a number, or NULL */
	double *reps;	      /* (reps) */
	bool shared;	      /* it is made of times of ranks that shared cores */
};

struct row {
	const struct run_case *run_case;
	int rank;	    /* -1: the row is about all ranks */
	int good;	    /* repetitions that went well */
	const char *failed; /* the reason, if none went well */
	struct cell *cells; /* (columns) */
};

struct results {
	const struct columns *columns;
	struct row *rows;
	int count, reps;
	double link_gb_per_s; /* that virtual devices have, NAN without them */
	struct cell *cells;   /* all of them */
	double *values;	      /* and all repetitions */
};

enum status results_init(struct results *r, const struct columns *c, const struct plan *p,
			 const struct evidence *e, bool per_rank, struct error *err);
void results_release(struct results *r);

/* A cell by its column's key; the column exists. */
const struct cell *row_cell(const struct results *r, const struct row *row, const char *key);
double row_value(const struct results *r, const struct row *row, const char *key);
/* As tables show it; "" where nothing is known. */
void row_text(const struct results *r, const struct row *row, const char *key, char *buf,
	      size_t size);

/*
 * A number that a formula makes of the columns, seen from one row: of their medians, and in
 * every repetition by itself, so that what ran in turn is compared in pairs.
 */
struct quantity {
	double value;		     /* NAN: not known */
	double reps[STUDY_REPS_MAX]; /* NAN: not known in that one */
	int total, count;	     /* repetitions, and those that know it */
	bool shared;		     /* ranks shared cores where its times were taken */
};
/* more: names of the caller's, or NULL. */
enum status results_eval(const struct results *r, const struct row *row, const char *formula,
			 const struct constant *more, struct quantity *q, struct error *err);

/* Is other the same case as row but for that axis? */
bool row_differs_only_in(const struct results *r, const struct row *row,
			 const struct row *other, const char *axis);

/* The row that "ranks=1,delay=none" means, seen from this one, or NULL. */
const struct row *row_elsewhere(const struct results *r, const struct row *row,
				const char *elsewhere);

/* Does the row have these values ({"ranks": [2, 4], "device": "real"})? NULL: all do. */
bool row_matches(const struct results *r, const struct row *row, const json_t *where);

/* Half the distance of the quartiles; of fewer than 4 numbers half of their range. The
   numbers are left sorted. */
double spread_of(double *values, int n);

#endif
