/*
 * form.h - how a file of samples was read: all that another file needs so that a model that was
 * trained on the first can read it. Means and deviations are those of the training samples.
 */
#ifndef KOLM_DATA_FORM_H
#define KOLM_DATA_FORM_H

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "base/sha256.h"

#include <stdbool.h>
#include <stdint.h>

#define DATA_SOURCES(X)       \
	X(MADE_UP, "made-up") \
	X(CSV, "csv")         \
	X(IDX, "idx")         \
	X(TEXT, "text")
#define DATA_SOURCE(name, ...) SOURCE_IS_##name,
enum data_source { DATA_SOURCES(DATA_SOURCE) };

/* What becomes of a sample with a value that is missing. */
#define DATA_MISSINGS(X)	X(ERROR, "error") X(MEAN, "mean") X(DROP, "drop")
#define DATA_MISSING(name, ...) MISSING_IS_##name,
enum data_missing { DATA_MISSINGS(DATA_MISSING) };
extern const char *const data_missing_names[]; /* NULL-terminated */

struct form_column {
	char *name; /* "" where the file has no heading */
	int number; /* in the file, from 1, an index not counted */
	double mean;
	double deviation; /* 0: it hardly varies, and is 0 in every sample */
};

struct data_form {
	enum data_source source;
	enum data_missing missing;
	bool named;    /* columns have names, each its own */
	bool labelled; /* classification: one target, which is a class */
	int columns;   /* of the file, an index not counted */
	int n_features, n_targets, n_classes;
	struct form_column *features; /* (n_features) */
	struct form_column *targets;  /* (n_targets); mean 0, deviation 1 unless scaled */
	char **classes;		      /* (n_classes) */
	/* text: all there is */
	int vocabulary;			    /* of the tokenizer */
	char tokenizer_sha256[SHA256_TEXT]; /* "": it is not known */
};

/* Rooms for so many, with names that are empty; what was there must be released before. */
enum status data_form_init(struct data_form *f, int features, int targets, int classes,
			   struct error *err);
enum status data_form_add_classes(struct data_form *f, int classes, struct error *err);
void data_form_release(struct data_form *f);

/* As members of an object that is open. */
void data_form_write(const struct data_form *f, struct json *j);
/* From such an object, of jansson's json_t; f is empty if it is refused. */
struct json_t;
enum status data_form_read(struct data_form *f, const struct json_t *from, struct error *err);

#endif
