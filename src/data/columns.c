/* columns.c - which columns of a CSV file are features and which targets; see reading.h */
#include "base/units.h"
#include "data/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- as the options say ---- */

/* By name, else by number: from 1, or from -1 backwards. */
static enum status find_column(const struct reading *r, const char *option, const char *word,
			       int *column, struct error *err)
{
	int64_t number;
	int found = 0;

	for (int i = 0; r->names && i < r->columns; i++)
		if (!strcmp(r->names[i], word)) {
			*column = i;
			found++;
		}
	if (found > 1) {
		FAIL(err, ERR_USAGE, "--%s %.80s: %d columns of %.200s have that name", option,
		     word, found, r->csv.where);
		return HINT(err, "give its number, from 1 to %d", r->columns);
	}
	if (found)
		return OK;
	if (units_parse_int(word, &number) && number && llabs(number) <= r->columns) {
		*column = (int)(number > 0 ? number - 1 : r->columns + number);
		return OK;
	}
	FAIL(err, ERR_USAGE, "--%s %.80s: %.200s has no such column", option, word,
	     r->csv.where);
	if (r->names)
		return HINT(err, "give a name of its heading, or a number from 1 to %d",
			    r->columns);
	return HINT(err, "it has no heading: give a number from 1 to %d", r->columns);
}

static enum status mark_columns(struct reading *r, const char *option, const char *list,
				struct role *marks, int *count, struct error *err)
{
	char *copy = strdup(list), *rest = copy, *word;
	enum status st = OK;
	int column;

	if (!copy)
		return FAIL(err, ERR_MEMORY, "no memory for --%s", option);
	while ((word = strsep(&rest, ","))) {
		TRY(find_column(r, option, word, &column, err));
		if (marks[column].kind != ROLE_FEATURE) {
			st = FAIL(err, ERR_USAGE,
				  "--%s %.80s: that column has another use already", option,
				  word);
			HINT(err, "an index is left out by itself; name each column once");
			goto out;
		}
		marks[column] = (struct role){
			strcmp(option, "target") ? ROLE_NOTHING : ROLE_TARGET, (*count)++};
	}
out:
	free(copy);
	return st;
}

static enum status describe_column(const struct reading *r, int i, struct form_column *c,
				   struct error *err)
{
	c->number = i + 1 - r->indexed;
	if (!r->unique)
		return OK;
	free(c->name);
	c->name = strdup(r->names[i]);
	if (!c->name)
		return FAIL(err, ERR_MEMORY, "no memory for the name of a column");
	return OK;
}

static enum status describe(struct reading *r, struct data_form *f, int features,
			    enum data_missing missing, struct error *err)
{
	enum status st;
	int k = 0;

	TRY(data_form_init(f, features, r->n_targets, 0, err));
	f->source = SOURCE_IS_CSV;
	f->missing = missing;
	f->named = r->unique;
	f->columns = r->columns - r->indexed;
	for (int i = 0; i < r->columns; i++) {
		struct role *role = &r->roles[i];

		if (role->kind == ROLE_FEATURE) {
			role->k = k++;
			TRY(describe_column(r, i, &f->features[role->k], err));
		} else if (role->kind == ROLE_TARGET) {
			TRY(describe_column(r, i, &f->targets[role->k], err));
		}
	}
out:
	return st;
}

enum status columns_choose(struct reading *r, struct data_form *f,
			   const struct table_options *o, struct error *err)
{
	int ignored = 0, features = 0;
	enum status st = OK;

	if (r->columns < 2) {
		FAIL(err, ERR_USAGE, "%s line 1 has one column", r->csv.where);
		return HINT(err, "a sample is its features and then its label or target");
	}
	for (int i = r->indexed; i < r->columns; i++)
		r->roles[i].kind = ROLE_FEATURE;
	if (o->ignore && *o->ignore)
		TRY(mark_columns(r, "ignore", o->ignore, r->roles, &ignored, err));
	if (o->target && *o->target) {
		TRY(mark_columns(r, "target", o->target, r->roles, &r->n_targets, err));
	} else {
		int last = r->columns - 1;

		while (last >= 0 && r->roles[last].kind != ROLE_FEATURE)
			last--;
		if (last >= 0)
			r->roles[last] = (struct role){ROLE_TARGET, r->n_targets++};
	}
	for (int i = 0; i < r->columns; i++)
		features += r->roles[i].kind == ROLE_FEATURE;
	if (!features || !r->n_targets) {
		FAIL(err, ERR_USAGE, "%s: no column is left for the features", r->csv.where);
		return HINT(err, "see --target and --ignore");
	}
	TRY(describe(r, f, features, o->missing, err));
out:
	return st;
}

/* ---- as another file was read ---- */

/* Most often it is where it was. */
static int find_like(const struct reading *r, const struct form_column *c)
{
	int same = c->number - 1 + r->indexed;

	if (same < r->columns && !strcmp(r->names[same], c->name))
		return same;
	for (int i = 0; i < r->columns; i++)
		if (!strcmp(r->names[i], c->name))
			return i;
	return -1;
}

static enum status match_names(struct reading *r, const struct data_form *f, struct error *err)
{
	for (int k = 0; k < f->n_features; k++) {
		int i = find_like(r, &f->features[k]);

		if (i < 0) {
			FAIL(err, ERR_USAGE, "%s has no column '%.80s'", r->csv.where,
			     f->features[k].name);
			return HINT(err, "it needs the %d features that were trained with",
				    f->n_features);
		}
		r->roles[i] = (struct role){ROLE_FEATURE, k};
	}
	for (int k = 0; k < f->n_targets; k++) {
		int i = find_like(r, &f->targets[k]);

		if (i >= 0)
			r->roles[i] = (struct role){ROLE_TARGET, r->n_targets++};
	}
	return OK;
}

static enum status match_numbers(struct reading *r, const struct data_form *f,
				 struct error *err)
{
	int columns = r->columns - r->indexed;
	bool bare = columns == f->n_features; /* the features and nothing else */

	if (columns != f->columns && !bare) {
		FAIL(err, ERR_USAGE, "%s has %d columns, the data that was trained with %d",
		     r->csv.where, columns, f->columns);
		return HINT(err, "give it the same columns%s, or only the %d features",
			    f->named ? ", by the names of the heading" : "", f->n_features);
	}
	for (int k = 0; k < f->n_features; k++) {
		int i = (bare ? k : f->features[k].number - 1) + r->indexed;

		r->roles[i] = (struct role){ROLE_FEATURE, k};
	}
	for (int k = 0; k < f->n_targets && !bare; k++)
		r->roles[f->targets[k].number - 1 + r->indexed] =
			(struct role){ROLE_TARGET, r->n_targets++};
	return OK;
}

enum status columns_match(struct reading *r, const struct data_form *f, struct error *err)
{
	enum status st;

	TRY(f->named && r->unique && !r->counted ? match_names(r, f, err)
						 : match_numbers(r, f, err));
	if (r->n_targets && r->n_targets < f->n_targets) {
		FAIL(err, ERR_USAGE, "%s has %d of the %d targets", r->csv.where, r->n_targets,
		     f->n_targets);
		st = HINT(err, "give it all of them or none");
	}
out:
	return st;
}
