/* reading.h - a CSV file while it becomes a table. Only for data/. */
#ifndef KOLM_DATA_READING_H
#define KOLM_DATA_READING_H

#include "data/csv.h"
#include "data/table.h"

enum { COLUMN_LABEL = 96 };

/* What a column is for: number k of the features or of the targets, or nothing. */
struct role {
	enum { ROLE_NOTHING, ROLE_FEATURE, ROLE_TARGET } kind;
	int k;
};

struct reading {
	struct csv csv;
	int columns;	    /* of a record */
	char **names;	    /* (columns), or NULL without a heading */
	bool unique;	    /* names are there, and no two are the same */
	bool counted;	    /* the heading counts the columns */
	bool indexed;	    /* the first column is an index */
	struct role *roles; /* (columns) */
	int n_targets;
	struct cell *record;  /* (columns): the last one */
	struct cell *targets; /* (samples, n_targets): as they are written */
	int64_t *lines;	      /* (samples): where each begins */
	int64_t missing, dropped;
};

/* heading.c: separator, columns, their names. The text is borrowed. */
enum status reading_open(struct reading *r, const char *bytes, size_t size, const char *where,
			 struct error *err);
void reading_close(struct reading *r);
/* "column 3 'price'", of the column with that index. */
const char *reading_label(const struct reading *r, int column, char buf[COLUMN_LABEL]);

/* columns.c: the roles, as options or a form say; *f is made of the first. */
enum status columns_choose(struct reading *r, struct data_form *f,
			   const struct table_options *o, struct error *err);
enum status columns_match(struct reading *r, const struct data_form *f, struct error *err);

/* labels.c: labels or targets of the table from the cells of r. */
enum status labels_choose(struct reading *r, struct table *t, struct data_form *f,
			  enum data_task task, struct error *err);
enum status labels_match(struct reading *r, struct table *t, const struct data_form *f,
			 struct error *err);

#endif
