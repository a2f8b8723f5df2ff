/* form.c - see form.h */
#include "data/form.h"

#include <stdlib.h>
#include <string.h>

const char *const data_missing_names[] = {NAMES_OF(DATA_MISSINGS)};

static const char *const source_names[] = {NAMES_OF(DATA_SOURCES)};

static struct form_column *new_columns(int n)
{
	struct form_column *columns = calloc((size_t)n + 1, sizeof(*columns));

	for (int i = 0; columns && i < n; i++) {
		columns[i] = (struct form_column){.name = strdup(""), .deviation = 1};
		if (!columns[i].name) {
			while (i--)
				free(columns[i].name);
			free(columns);
			return NULL;
		}
	}
	return columns;
}

static void free_columns(struct form_column *columns, int n)
{
	for (int i = 0; columns && i < n; i++)
		free(columns[i].name);
	free(columns);
}

enum status data_form_init(struct data_form *f, int features, int targets, int classes,
			   struct error *err)
{
	*f = (struct data_form){.n_features = features, .n_targets = targets};
	f->features = new_columns(features);
	f->targets = new_columns(targets);
	if (f->features && f->targets && data_form_add_classes(f, classes, err) == OK)
		return OK;
	data_form_release(f);
	return FAIL(err, ERR_MEMORY, "no memory for %d columns", features + targets);
}

enum status data_form_add_classes(struct data_form *f, int classes, struct error *err)
{
	free(f->classes); /* of none */
	f->classes = calloc((size_t)classes + 1, sizeof(*f->classes));
	if (!f->classes)
		return FAIL(err, ERR_MEMORY, "no memory for %d classes", classes);
	f->n_classes = classes;
	f->labelled = classes > 0;
	return OK;
}

void data_form_release(struct data_form *f)
{
	free_columns(f->features, f->n_features);
	free_columns(f->targets, f->n_targets);
	for (int i = 0; i < f->n_classes; i++)
		free(f->classes[i]);
	free(f->classes);
	*f = (struct data_form){0};
}

static void write_columns(const struct data_form *f, const struct form_column *columns, int n,
			  const char *name, struct json *j)
{
	json_begin_object(j, name);
	json_begin_array(j, "numbers");
	for (int i = 0; i < n; i++)
		json_put_int(j, NULL, columns[i].number);
	json_end_array(j);
	if (f->named) {
		json_begin_array(j, "names");
		for (int i = 0; i < n; i++)
			json_put_string(j, NULL, columns[i].name);
		json_end_array(j);
	}
	json_begin_array(j, "means");
	for (int i = 0; i < n; i++)
		json_put_double(j, NULL, columns[i].mean);
	json_end_array(j);
	json_begin_array(j, "deviations");
	for (int i = 0; i < n; i++)
		json_put_double(j, NULL, columns[i].deviation);
	json_end_array(j);
	json_end_object(j);
}

void data_form_write(const struct data_form *f, struct json *j)
{
	json_put_string(j, "source", source_names[f->source]);
	if (f->source == SOURCE_IS_MADE_UP)
		return;
	if (f->source == SOURCE_IS_TEXT) {
		json_put_int(j, "vocabulary", f->vocabulary);
		json_put_string(j, "tokenizer_sha256", f->tokenizer_sha256);
		return;
	}
	json_put_string(j, "missing", data_missing_names[f->missing]);
	json_put_int(j, "columns", f->columns);
	json_put_bool(j, "named", f->named);
	write_columns(f, f->features, f->n_features, "features", j);
	write_columns(f, f->targets, f->n_targets, "targets", j);
	json_begin_array(j, "classes");
	for (int i = 0; i < f->n_classes; i++)
		json_put_string(j, NULL, f->classes[i]);
	json_end_array(j);
}
