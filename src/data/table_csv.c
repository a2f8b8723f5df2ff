/* table_csv.c - the samples of a CSV file; see table.h and reading.h */
#include "base/util.h"
#include "data/load.h"
#include "data/reading.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const data_task_names[] = {NAMES_OF(DATA_TASKS)};

static enum status count_records(const struct reading *r, int64_t *records, struct error *err)
{
	struct csv c = r->csv;
	enum status st;
	int count;

	for (*records = 0;; ++*records) {
		TRY(csv_next(&c, NULL, 0, &count, err));
		if (!count)
			break;
	}
	if (!*records) {
		FAIL(err, ERR_USAGE, "%s has a heading but no samples", c.where);
		st = HINT(err, "add a line of numbers");
	}
out:
	return st;
}

static enum status allocate(struct table *t, struct reading *r, int64_t samples,
			    struct error *err)
{
	size_t n = (size_t)samples;

	t->values = calloc(n * (size_t)t->features, sizeof(float));
	r->targets = calloc(n * (size_t)imax(r->n_targets, 1), sizeof(*r->targets));
	r->lines = calloc(n, sizeof(*r->lines));
	if (!t->values || !r->targets || !r->lines)
		return FAIL(err, ERR_MEMORY, "no memory for %lld samples of %s",
			    (long long)samples, r->csv.where);
	return OK;
}

static enum status refuse_cell(const struct reading *r, int column, const char *what,
			       struct error *err)
{
	const struct cell *c = &r->record[column];
	char label[COLUMN_LABEL];

	return FAIL(err, ERR_USAGE, "%.200s line %lld, %s: '%.*s' is %s", r->csv.where,
		    (long long)r->csv.line, reading_label(r, column, label),
		    imin((int)min64((int64_t)c->size, 40), 40), c->at, what);
}

static enum status read_feature(const struct reading *r, int column, float *value,
				struct error *err)
{
	if (!cell_number(&r->record[column], value)) {
		refuse_cell(r, column, "not a number", err);
		return HINT(err,
			    "features are numbers: --target %d if it is the label, or "
			    "--ignore %d",
			    column + 1, column + 1);
	}
	if (isfinite(*value))
		return OK;
	refuse_cell(r, column, "not finite", err);
	return HINT(err, "fill in or remove it");
}

static enum status missing_value(const struct reading *r, int column, struct error *err)
{
	refuse_cell(r, column, "a value that is missing", err);
	if (r->roles[column].kind == ROLE_TARGET)
		return HINT(err, "--missing drop leaves such samples out");
	return HINT(err, "--missing mean puts the mean of the column there, --missing drop "
			 "leaves the sample out");
}

/* One record. *kept is false if it was dropped. */
static enum status read_sample(struct reading *r, struct table *t, enum data_missing rule,
			       bool *kept, struct error *err)
{
	float *values = t->values + t->samples * t->features;
	struct cell *targets = r->targets + t->samples * r->n_targets;
	int64_t missing = 0;
	enum status st = OK;

	*kept = true;
	for (int i = 0; i < r->columns; i++) {
		const struct role *role = &r->roles[i];

		if (role->kind == ROLE_NOTHING)
			continue;
		if (cell_is_missing(&r->record[i])) {
			if (rule == MISSING_IS_ERROR ||
			    (rule == MISSING_IS_MEAN && role->kind == ROLE_TARGET))
				return missing_value(r, i, err);
			missing++;
			if (role->kind == ROLE_FEATURE)
				values[role->k] = NAN;
			*kept = rule != MISSING_IS_DROP;
		} else if (role->kind == ROLE_FEATURE) {
			TRY(read_feature(r, i, &values[role->k], err));
		} else {
			targets[role->k] = r->record[i];
		}
	}
	r->missing += missing;
	r->dropped += !*kept;
out:
	return st;
}

static enum status read_samples(struct reading *r, struct table *t, enum data_missing rule,
				struct error *err)
{
	enum status st;
	int count;
	bool kept;

	for (;;) {
		TRY(csv_next(&r->csv, r->record, r->columns, &count, err));
		if (!count)
			break;
		if (count != r->columns) {
			FAIL(err, ERR_USAGE, "%s line %lld has %d columns, the first has %d",
			     r->csv.where, (long long)r->csv.line, count, r->columns);
			return HINT(err, "every line needs the same number of columns");
		}
		TRY(read_sample(r, t, rule, &kept, err));
		if (kept)
			r->lines[t->samples++] = r->csv.line;
	}
	if (!t->samples) {
		FAIL(err, ERR_USAGE, "%s: no sample is left, %lld had missing values",
		     r->csv.where, (long long)r->dropped);
		st = HINT(err, "--missing mean keeps them");
	}
out:
	return st;
}

/* Everything but what is made of the targets, when the roles are known. */
static enum status read_table(struct reading *r, struct table *t, int features,
			      enum data_missing rule, struct error *err)
{
	int64_t records;
	enum status st;

	t->features = features;
	TRY(count_records(r, &records, err));
	TRY(allocate(t, r, records, err));
	TRY(read_samples(r, t, rule, err));
	t->counted = r->counted;
	t->indexed = r->indexed;
	t->missing = r->missing;
	t->dropped = r->dropped;
out:
	return st;
}

enum status table_parse_csv(struct table *t, struct data_form *f, const char *bytes,
			    size_t size, const char *where, const struct table_options *o,
			    struct error *err)
{
	struct reading r;
	enum status st;

	*t = (struct table){0};
	*f = (struct data_form){0};
	TRY(reading_open(&r, bytes, size, where, err));
	TRY(columns_choose(&r, f, o, err));
	TRY(read_table(&r, t, f->n_features, o->missing, err));
	TRY(labels_choose(&r, t, f, o->task, err));
out:
	reading_close(&r);
	if (st != OK) {
		table_release(t);
		data_form_release(f);
	}
	return st;
}

enum status table_parse_csv_like(struct table *t, const struct data_form *f, const char *bytes,
				 size_t size, const char *where, struct error *err)
{
	struct reading r;
	enum status st;

	*t = (struct table){0};
	TRY(reading_open(&r, bytes, size, where, err));
	TRY(columns_match(&r, f, err));
	TRY(read_table(&r, t, f->n_features, f->missing, err));
	TRY(labels_match(&r, t, f, err));
out:
	reading_close(&r);
	if (st != OK)
		table_release(t);
	return st;
}

enum status table_read_csv(struct table *t, struct data_form *f, const char *path,
			   const struct table_options *o, struct error *err)
{
	char *bytes = NULL;
	size_t size;
	enum status st;

	*t = (struct table){0};
	*f = (struct data_form){0};
	TRY(data_load(path, &bytes, &size, err));
	TRY(table_parse_csv(t, f, bytes, size, path, o, err));
out:
	free(bytes);
	return st;
}

enum status table_read_csv_like(struct table *t, const struct data_form *f, const char *path,
				struct error *err)
{
	char *bytes = NULL;
	size_t size;
	enum status st;

	*t = (struct table){0};
	TRY(data_load(path, &bytes, &size, err));
	TRY(table_parse_csv_like(t, f, bytes, size, path, err));
out:
	free(bytes);
	return st;
}

void table_release(struct table *t)
{
	free(t->values);
	free(t->labels);
	free(t->targets);
	*t = (struct table){0};
}
