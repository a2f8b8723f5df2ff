/*
 * table.h - samples from a file: features and a label or a target for each.
 *
 * CSV: numbers separated by comma, semicolon or tab, one sample a line, an optional
 * heading; the last column is the label (if all are whole numbers 0..999) or target. A
 * heading is a first line without numbers, or one that counts the columns as pandas does:
 * 0,1,2 or 0,1,label. A heading whose first cell alone is empty stands above an index,
 * which is left out.
 * IDX: MNIST's format, a file of unsigned-byte images and one of labels.
 */
#ifndef KOLM_DATA_TABLE_H
#define KOLM_DATA_TABLE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TABLE_CLASSES_MAX = 1000, TABLE_FEATURES_MAX = 1 << 20 };

struct table {
	int64_t samples;
	int features;
	int classes;	 /* 0: regression */
	float *values;	 /* (samples, features) */
	int32_t *labels; /* (samples), classification */
	float *targets;	 /* (samples), regression */
	bool counted;	 /* CSV: the heading counts the columns */
	bool indexed;	 /* CSV: the first column was an index */
};

enum status table_read_csv(struct table *t, const char *path, struct error *err);
enum status table_read_idx(struct table *t, const char *images, const char *labels,
			   struct error *err);
void table_release(struct table *t);

/* The same from bytes in memory; where names them in messages. */
enum status table_parse_csv(struct table *t, const char *bytes, size_t size, const char *where,
			    struct error *err);
enum status table_parse_idx(struct table *t, const void *images, size_t images_size,
			    const void *labels, size_t labels_size, const char *where,
			    struct error *err);

/* Take the class labels as targets: regression on the class number. */
enum status table_as_regression(struct table *t, struct error *err);

#endif
