/* data.c - see data.h */
#include "data/data.h"
#include "base/rng.h"
#include "base/stream.h"
#include "base/units.h"
#include "data/impl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- made-up data ---- */

/* What relates synthetic inputs and targets to the hidden factors behind both. */
static enum status make_teacher(struct data *d, struct error *err)
{
	size_t n = (size_t)(d->in + d->out) * FACTORS;

	d->teacher = malloc(n * sizeof(float));
	if (!d->teacher)
		return FAIL(err, ERR_MEMORY, "no memory for %d targets", d->out);
	rng_uniform(d->seed, stream_id(STREAM_TEACHER, 0), 0, n, -1, 1, d->teacher);
	return OK;
}

/* "synthetic:1e-5": targets in another unit, as if metres were given in kilometres. */
static enum status read_unit(struct data *d, const char *spec, struct error *err)
{
	double unit = 1;

	if (*spec == ':' &&
	    (!units_parse_float(spec + 1, &unit) || !(unit >= 1e-30) || !(unit <= 1e30))) {
		FAIL(err, ERR_USAGE, "--data synthetic%.60s: what targets are multiplied with",
		     spec);
		return HINT(err, "a number from 1e-30 to 1e30, such as synthetic:0.001");
	}
	d->unit = (float)unit;
	return OK;
}

/* What is said of a file's columns means nothing here. */
static enum status check_made_up(const struct data_options *o, struct error *err)
{
	const char *option = o->test && *o->test		   ? "--test"
			     : o->table.target && *o->table.target ? "--target"
			     : o->table.ignore && *o->table.ignore ? "--ignore"
			     : o->table.missing			   ? "--missing"
			     : o->scale_target			   ? "--scale-target"
								   : NULL;

	if (option) {
		FAIL(err, ERR_USAGE, "%s: --data %.200s is no file", option, o->spec);
		return HINT(err, "use data from csv:FILE or idx:IMAGES,LABELS");
	}
	if (o->table.task != TASK_CLASSIFICATION)
		return OK;
	FAIL(err, ERR_USAGE, "--loss cross-entropy: --data %.200s has no labels", o->spec);
	return HINT(err, "use --loss mse, or data from csv:FILE or idx:IMAGES,LABELS");
}

/* ---- files ---- */

/* The names of "IMAGES,LABELS" or, where that is enough, of IMAGES: *labels is NULL then. */
static enum status split_names(const char *names, bool both, char images[PATH_MAX],
			       const char **labels, struct error *err)
{
	const char *comma = strchr(names, ',');
	size_t n = comma ? (size_t)(comma - names) : strlen(names);

	if ((!comma && both) || (comma && !comma[1]) || !n || n >= PATH_MAX) {
		FAIL(err, ERR_USAGE, "--data idx:%.200s does not name two files", names);
		return HINT(err, "write --data idx:IMAGES,LABELS");
	}
	memcpy(images, names, n);
	images[n] = '\0';
	*labels = comma ? comma + 1 : NULL;
	return OK;
}

static enum status read_idx(struct data *d, const char *names, const struct data_options *o,
			    struct error *err)
{
	char images[PATH_MAX];
	const char *labels;
	enum status st;

	if ((o->table.target && *o->table.target) || (o->table.ignore && *o->table.ignore)) {
		FAIL(err, ERR_USAGE, "--target and --ignore: --data idx:%.200s has no columns",
		     names);
		return HINT(err, "leave them out");
	}
	TRY(split_names(names, true, images, &labels, err));
	TRY(table_read_idx(&d->table, &d->form, images, labels, o->table.task, err));
out:
	return st;
}

/* Another file as the form says, scaled. */
static enum status read_like(struct table *t, const char *spec, const struct data_form *form,
			     struct error *err)
{
	bool csv = !strncmp(spec, "csv:", 4), idx = !strncmp(spec, "idx:", 4);
	const char *names = csv || idx ? spec + 4 : spec, *labels;
	char images[PATH_MAX];
	enum status st;

	if ((csv && form->source == SOURCE_IS_IDX) || (idx && form->source == SOURCE_IS_CSV)) {
		FAIL(err, ERR_USAGE,
		     "%.200s is of another kind than the data that was trained "
		     "with",
		     spec);
		return HINT(err, "give it as %s", csv ? "idx:IMAGES,LABELS" : "csv:FILE");
	}
	if (form->source == SOURCE_IS_IDX) {
		TRY(split_names(names, false, images, &labels, err));
		TRY(table_read_idx_like(t, form, images, labels, err));
	} else {
		TRY(table_read_csv_like(t, form, names, err));
	}
	data_scale(t, form);
out:
	return st;
}

static enum status open_test(struct data *d, const char *spec, struct error *err)
{
	enum status st;

	TRY(read_like(&d->test, spec, &d->form, err));
	if (!d->test.labels && !d->test.targets) {
		FAIL(err, ERR_USAGE, "--test %.200s has no column of targets", spec);
		return HINT(err, "it needs the same columns as --data");
	}
	d->held_out = d->test.samples;
out:
	return st;
}

static enum status open_table(struct data *d, const struct data_options *o, struct error *err)
{
	struct table *t = &d->table;
	bool other = o->test && *o->test;
	enum status st;

	if (o->scale_target && t->labelled) {
		FAIL(err, ERR_USAGE, "--scale-target: labels have no scale");
		return HINT(err, "leave it out, or use --loss mse");
	}
	if (t->samples > INT32_MAX)
		return FAIL(err, ERR_USAGE, "%lld samples are more than %d",
			    (long long)t->samples, INT32_MAX);
	d->kind = DATA_TABLE;
	d->in = t->features;
	d->out = t->outputs;
	d->labelled = t->labelled;
	d->held_out = other ? 0 : (int64_t)((double)t->samples * o->holdout);
	d->train = t->samples - d->held_out;
	d->order = malloc((size_t)t->samples * sizeof(*d->order));
	d->shuffled = malloc((size_t)d->train * sizeof(*d->shuffled));
	if (!d->order || !d->shuffled)
		return FAIL(err, ERR_MEMORY, "no memory to order %lld samples",
			    (long long)t->samples);
	for (int64_t i = 0; i < t->samples; i++)
		d->order[i] = (int32_t)i;
	data_shuffle(d->order, t->samples, d->seed, stream_id(STREAM_SPLIT, 0));
	TRY(data_measure(d, o->scale_target, err));
	data_scale(t, &d->form);
	if (other)
		TRY(open_test(d, o->test, err));
out:
	return st;
}

enum status data_open(struct data *d, const struct data_options *o, struct error *err)
{
	const char *spec = o->spec;
	enum status st = OK;

	*d = (struct data){.seed = o->seed,
			   .in = o->in,
			   .out = o->out,
			   .sequence = 1,
			   .has_targets = true,
			   .epoch = -1};
	if (o->sequence) {
		TRY(data_open_language(d, o, err));
	} else if (!strcmp(spec, "synthetic") || !strncmp(spec, "synthetic:", 10)) {
		d->kind = DATA_SYNTHETIC;
		TRY(read_unit(d, spec + 9, err));
		TRY(check_made_up(o, err));
		TRY(make_teacher(d, err));
	} else if (!strcmp(spec, "noise")) {
		d->kind = DATA_NOISE;
		TRY(check_made_up(o, err));
	} else if (!strncmp(spec, "csv:", 4)) {
		TRY(table_read_csv(&d->table, &d->form, spec + 4, &o->table, err));
		TRY(open_table(d, o, err));
	} else if (!strncmp(spec, "idx:", 4)) {
		TRY(read_idx(d, spec + 4, o, err));
		TRY(open_table(d, o, err));
	} else if (!strncmp(spec, "text:", 5) || !strncmp(spec, "tokens:", 7)) {
		st = FAIL(err, ERR_USAGE, "--data %.200s is for language models", spec);
		HINT(err, "add --model gpt or --model llama");
	} else {
		st = FAIL(err, ERR_USAGE, "--data %.200s is unknown", spec);
		HINT(err,
		     "use synthetic, noise, csv:FILE or idx:IMAGES,LABELS; language models "
		     "take text:PATH");
	}
out:
	if (st != OK)
		data_close(d);
	return st;
}

enum status data_open_like(struct data *d, const char *spec, const struct data_form *form,
			   struct error *err)
{
	enum status st;

	*d = (struct data){.kind = DATA_TABLE, .sequence = 1, .epoch = -1};
	if (form->source == SOURCE_IS_MADE_UP) {
		FAIL(err, ERR_USAGE, "the model was trained with made-up data");
		return HINT(err, "no file holds such data");
	}
	TRY(read_like(&d->table, spec, form, err));
	d->in = d->table.features;
	d->out = d->table.outputs;
	d->labelled = d->table.labelled;
	d->has_targets = d->table.labels || d->table.targets;
out:
	if (st != OK)
		data_close(d);
	return st;
}

void data_close(struct data *d)
{
	data_close_language(d);
	free(d->teacher);
	free(d->order);
	free(d->shuffled);
	table_release(&d->table);
	table_release(&d->test);
	data_form_release(&d->form);
	*d = (struct data){0};
}

const struct data_form *data_form(const struct data *d)
{
	return &d->form;
}
