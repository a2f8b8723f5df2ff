/* form_read.c - see form.h; apart from form.c because it needs jansson. */
#include "base/util.h"
#include "data/form.h"
#include "data/table.h"
#include "text/tokenizer.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const source_names[] = {NAMES_OF(DATA_SOURCES)};

static enum status bad(struct error *err, const char *what)
{
	FAIL(err, ERR_USAGE, "the description of the data is not valid: %s", what);
	return HINT(err, "it is the member data of state.json, as kolm train writes it");
}

static bool read_name(const json_t *value, const char *const *names, int *out)
{
	const char *name = json_string_value(value);

	for (*out = 0; name && names[*out]; ++*out)
		if (!strcmp(name, names[*out]))
			return true;
	return false;
}

static bool read_text(const json_t *value, char **out)
{
	const char *text = json_string_value(value);

	free(*out);
	*out = text ? strdup(text) : NULL;
	return *out;
}

static bool read_number(const json_t *value, double least, double *out)
{
	*out = json_number_value(value);
	return json_is_number(value) && isfinite(*out) && *out >= least;
}

/* All members are arrays of the same length. */
static bool read_columns(const struct data_form *f, const json_t *from,
			 struct form_column *columns, int n)
{
	json_t *numbers = json_object_get(from, "numbers"),
	       *names = json_object_get(from, "names"), *means = json_object_get(from, "means"),
	       *deviations = json_object_get(from, "deviations");
	size_t count = (size_t)n;

	if (json_array_size(means) != count || json_array_size(deviations) != count ||
	    (f->named && json_array_size(names) != count))
		return false;
	for (size_t i = 0; i < count; i++) {
		json_int_t number = json_integer_value(json_array_get(numbers, i));

		if (number < 1 || number > f->columns)
			return false;
		columns[i].number = (int)number;
		if (!read_number(json_array_get(means, i), -INFINITY, &columns[i].mean) ||
		    !read_number(json_array_get(deviations, i), 0, &columns[i].deviation) ||
		    (f->named && !read_text(json_array_get(names, i), &columns[i].name)))
			return false;
	}
	return true;
}

/* No column twice; features and targets share none. */
static bool are_apart(const struct data_form *f)
{
	bool *taken = calloc((size_t)f->columns + 1, sizeof(*taken));
	bool apart = taken;

	for (int i = 0; i < f->n_features + f->n_targets && apart; i++) {
		const struct form_column *c =
			i < f->n_features ? &f->features[i] : &f->targets[i - f->n_features];

		apart = !taken[c->number];
		taken[c->number] = true;
	}
	free(taken);
	return apart;
}

static enum status read_text_form(struct data_form *f, const json_t *from, struct error *err)
{
	json_int_t vocabulary = json_integer_value(json_object_get(from, "vocabulary"));
	const char *sum = json_string_value(json_object_get(from, "tokenizer_sha256"));

	if (vocabulary < 1 || vocabulary > VOCABULARY_MAX)
		return bad(err, "a vocabulary that can't be");
	if (!sum || (*sum && strlen(sum) != SHA256_TEXT - 1) ||
	    strspn(sum, "0123456789abcdef") != strlen(sum))
		return bad(err, "the SHA-256 of its tokenizer");
	f->source = SOURCE_IS_TEXT;
	f->vocabulary = (int)vocabulary;
	memcpy(f->tokenizer_sha256, sum, strlen(sum) + 1);
	return OK;
}

static enum status read_members(struct data_form *f, const json_t *from, struct error *err)
{
	json_t *features = json_object_get(from, "features"),
	       *targets = json_object_get(from, "targets"),
	       *classes = json_object_get(from, "classes");
	size_t n = json_array_size(json_object_get(features, "numbers")),
	       outputs = json_array_size(json_object_get(targets, "numbers"));
	json_int_t columns = json_integer_value(json_object_get(from, "columns"));
	int source, missing;
	enum status st;

	if (!read_name(json_object_get(from, "source"), source_names, &source))
		return bad(err, "an unknown source");
	if (source == SOURCE_IS_MADE_UP)
		return OK;
	if (source == SOURCE_IS_TEXT)
		return read_text_form(f, from, err);
	if (!read_name(json_object_get(from, "missing"), data_missing_names, &missing))
		return bad(err, "an unknown rule for missing values");
	if (columns < 2 || columns > TABLE_FEATURES_MAX + 1 || n < 1 || outputs < 1 ||
	    n + outputs > (size_t)columns || !json_is_array(classes) ||
	    json_array_size(classes) > TABLE_CLASSES_MAX || json_array_size(classes) == 1 ||
	    (json_array_size(classes) && outputs != 1))
		return bad(err, "numbers of columns or classes that can't be");
	TRY(data_form_init(f, (int)n, (int)outputs, (int)json_array_size(classes), err));
	f->source = (enum data_source)source;
	f->missing = (enum data_missing)missing;
	f->named = json_is_true(json_object_get(from, "named"));
	f->columns = (int)columns;
	if (!read_columns(f, features, f->features, f->n_features))
		return bad(err, "its features");
	if (!read_columns(f, targets, f->targets, f->n_targets) || !are_apart(f))
		return bad(err, "its targets");
	for (int i = 0; i < f->n_targets; i++)
		if (!(f->targets[i].deviation > 0))
			return bad(err, "a target without a deviation");
	for (int i = 0; i < f->n_classes; i++)
		if (!read_text(json_array_get(classes, (size_t)i), &f->classes[i]))
			return bad(err, "a class without a name");
out:
	return st;
}

enum status data_form_read(struct data_form *f, const struct json_t *from, struct error *err)
{
	enum status st;

	*f = (struct data_form){0};
	st = json_is_object(from) ? read_members(f, from, err) : bad(err, "no object");
	if (st != OK)
		data_form_release(f);
	return st;
}
