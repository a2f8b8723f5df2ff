/*
 * table.h - samples from a file: features, and a label or targets for each.
 *
 * CSV: see docs/data.md for what is read and what is guessed.
 * IDX: MNIST's format, a file of unsigned-byte images and one of labels.
 * Either may be compressed by gzip.
 */
#ifndef KOLM_DATA_TABLE_H
#define KOLM_DATA_TABLE_H

#include "base/error.h"
#include "base/names.h"
#include "data/form.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TABLE_CLASSES_MAX = 1000, TABLE_FEATURES_MAX = 1 << 20 };

/* Each by its loss. */
#define DATA_TASKS(X)        \
	X(AUTO, "auto")      \
	X(REGRESSION, "mse") \
	X(CLASSIFICATION, "cross-entropy")
#define DATA_TASK(name, ...) TASK_##name,
enum data_task { DATA_TASKS(DATA_TASK) };
extern const char *const data_task_names[]; /* NULL-terminated */

/* What the reader is told by its caller; all zero: the last column is what is to be learned. */
struct table_options {
	enum data_task task;
	enum data_missing missing;
	const char *target; /* columns, by name or number, with commas; NULL or "": the last */
	const char *ignore; /* columns that are left out */
};

struct table {
	int64_t samples;
	int features;
	int outputs;	 /* targets of a sample, or classes */
	bool labelled;	 /* classification */
	float *values;	 /* (samples, features); NAN: missing */
	int32_t *labels; /* (samples), classification; else NULL */
	float *targets;	 /* (samples, outputs), regression; both NULL: the file has none */
	bool counted;	 /* CSV: the heading counts the columns */
	bool indexed;	 /* CSV: the first column was an index */
	int64_t missing; /* values that are */
	int64_t dropped; /* samples for that reason */
	char note[320];	 /* what was guessed, and the option that overrules it; or "" */
};

/*
 * Read a file, and describe in *f how: all but means and deviations of the features. The
 * _like functions read another file in the same way; it may lack targets.
 */
enum status table_read_csv(struct table *t, struct data_form *f, const char *path,
			   const struct table_options *o, struct error *err);
enum status table_read_csv_like(struct table *t, const struct data_form *f, const char *path,
				struct error *err);
enum status table_read_idx(struct table *t, struct data_form *f, const char *images,
			   const char *labels, enum data_task task, struct error *err);
enum status table_read_idx_like(struct table *t, const struct data_form *f, const char *images,
				const char *labels, struct error *err);
void table_release(struct table *t);

/* The same from bytes in memory; where names them in messages. */
enum status table_parse_csv(struct table *t, struct data_form *f, const char *bytes,
			    size_t size, const char *where, const struct table_options *o,
			    struct error *err);
enum status table_parse_csv_like(struct table *t, const struct data_form *f, const char *bytes,
				 size_t size, const char *where, struct error *err);
/* labels may be NULL: there are none. */
enum status table_parse_idx(struct table *t, const void *images, size_t images_size,
			    const void *labels, size_t labels_size, const char *where,
			    struct error *err);

#endif
