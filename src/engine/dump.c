/* dump.c - see dump.h */
#include "engine/dump.h"
#include "engine/collect.h"
#include "engine/impl.h"
#include "base/json.h"
#include "base/safetensors.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum status write_values(void *arg, int tensor, const float *values, size_t count,
				struct error *err)
{
	(void)tensor;
	return file_write(arg, values, count * sizeof(float), err);
}

/* In the place of a file that could not be begun: who sends to us must not wait. */
static enum status drop_values(void *arg, int tensor, const float *values, size_t count,
			       struct error *err)
{
	(void)arg, (void)tensor, (void)values, (void)count, (void)err;
	return OK;
}

static void describe_tensors(const struct model *m, struct safetensors_entry *entries)
{
	for (int i = 0; i < m->n_tensors; i++) {
		const struct tensor *t = &m->tensors[i];

		entries[i] = (struct safetensors_entry){.dtype = DTYPE_F32,
							.dims = tensor_dims(t),
							.shape = {t->rows, t->columns}};
		snprintf(entries[i].name, sizeof(entries[i].name), "%s", t->name);
	}
}

/* What gather brings to rank 0, as one file. */
static enum status dump(struct engine *e, collect_tensors *collect, int copy,
			const char *folder, const char *name, struct error *err)
{
	enum status st, begun = OK;
	const struct model *m = e->options.model;
	size_t n = (size_t)m->n_tensors;
	struct safetensors_entry *entries = calloc(n, sizeof(*entries));
	struct file f = {.fd = -1};
	bool writes = e->number == 0;
	char path[PATH_MAX];

	if (!entries)
		return FAIL(err, ERR_MEMORY, "no memory to describe %zu tensors", n);
	describe_tensors(m, entries);
	TRY(file_path(path, folder, name, err));
	if (writes)
		begun = safetensors_begin(&f, path, entries, n, err);
	TRY(collect(e, copy, begun == OK ? write_values : drop_values, &f, err));
	TRY(begun);
	if (writes)
		TRY(file_commit(&f, err));
out:
	file_abort(&f);
	free(entries);
	return st;
}

enum status dump_weights(struct engine *e, const char *folder, const char *name,
			 struct error *err)
{
	return dump(e, collect_weights, 0, folder, name, err);
}

enum status dump_masters(struct engine *e, int copy, const char *folder, const char *name,
			 struct error *err)
{
	return dump(e, collect_masters, copy, folder, name, err);
}

enum status dump_gradients(struct engine *e, int copy, const char *folder, struct error *err)
{
	return dump(e, collect_gradients, copy, folder, "gradients.safetensors", err);
}

static enum status begin_batches(struct dump *d, const struct engine *e, int steps,
				 struct error *err)
{
	enum status st;
	struct safetensors_entry entries[2 * CHECK_STEPS_MAX];
	char path[PATH_MAX];

	for (int i = 0; i < steps; i++) {
		struct safetensors_entry *x = &entries[2 * i], *y = x + 1;
		const struct model *m = e->options.model;

		*x = (struct safetensors_entry){.dtype = DTYPE_F32,
						.dims = 2,
						.shape = {d->batch, e->options.model->in}};
		*y = (struct safetensors_entry){.dtype = DTYPE_F32,
						.dims = 2,
						.shape = {d->batch, e->options.model->out}};
		if (e->options.loss->labelled) {
			y->dtype = DTYPE_I32;
			y->dims = 1;
		}
		if (m->tokens) {
			x->dtype = y->dtype = DTYPE_I32;
			x->dims = y->dims = 2;
			x->shape[0] = y->shape[0] = d->batch / m->sequence;
			x->shape[1] = y->shape[1] = m->sequence;
		}
		snprintf(x->name, sizeof(x->name), "x.%d", i);
		snprintf(y->name, sizeof(y->name), "y.%d", i);
	}
	TRY(file_path(path, d->folder, "batches.safetensors", err));
	TRY(safetensors_begin(&d->batches, path, entries, 2 * (size_t)steps, err));
out:
	return st;
}

/* Files of an earlier run must not be taken for this one's. */
static enum status remove_old(const char *folder, struct error *err)
{
	static const char *const names[] = {"initial.safetensors", "batches.safetensors",
					    "masks.safetensors", "final.safetensors",
					    "check.json"};
	char path[PATH_MAX];
	enum status st = OK;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		TRY(file_path(path, folder, names[i], err));
		unlink(path);
	}
out:
	return st;
}

static enum status allocate(struct dump *d, const struct engine *e, struct error *err)
{
	const struct model *m = e->options.model;
	size_t rows = (size_t)d->rows;

	d->chunk.x = (struct view){.data = malloc(rows * (size_t)m->in * sizeof(float)),
				   .stride = (size_t)m->in};
	d->chunk.target = (struct view){.data = malloc(rows * (size_t)m->out * sizeof(float)),
					.stride = (size_t)m->out};
	d->chunk.labels = malloc(rows * sizeof(*d->chunk.labels));
	if (m->tokens)
		d->chunk.tokens = d->chunk.x.data;
	if (!d->chunk.x.data || !d->chunk.target.data || !d->chunk.labels)
		return FAIL(err, ERR_MEMORY, "no memory for %d samples", d->rows);
	return OK;
}

enum status dump_begin(struct dump *d, const char *folder, struct engine *e, int batch,
		       int steps, struct error *err)
{
	enum status st;

	*d = (struct dump){.folder = folder,
			   .writes = e->number == 0,
			   .batches = {.fd = -1},
			   .masks = {.file = {.fd = -1}},
			   .batch = batch * e->options.model->sequence,
			   .rows = e->options.rows};
	TRY(allocate(d, e, err));
	if (d->writes)
		TRY(remove_old(folder, err));
	TRY(dump_weights(e, folder, "initial.safetensors", err));
	if (d->writes) {
		TRY(begin_batches(d, e, steps, err));
		TRY(masks_begin(&d->masks, folder, e->options.model, e->options.seed, d->batch,
				steps, err));
	}
out:
	if (st != OK)
		dump_abort(d);
	return st;
}

static enum status write_chunk(struct dump *d, const struct engine *e, int rows, bool inputs,
			       struct error *err)
{
	const struct model *m = e->options.model;

	if (inputs)
		return file_write(&d->batches, d->chunk.x.data,
				  (size_t)rows * (size_t)m->in * sizeof(float), err);
	if (e->options.loss->labelled)
		return file_write(&d->batches, d->chunk.labels,
				  (size_t)rows * sizeof(*d->chunk.labels), err);
	return file_write(&d->batches, d->chunk.target.data,
			  (size_t)rows * (size_t)m->out * sizeof(float), err);
}

/* Made again here: a rank has only its own part of a batch. Inputs first, then the rest. */
enum status dump_batch(struct dump *d, const struct engine *e, struct data *data, int step,
		       int64_t sample, struct error *err)
{
	enum status st = OK;

	for (int pass = 0; pass < 2 && d->writes; pass++)
		for (int first = 0; first < d->batch; first += d->rows) {
			int rows = imin(d->rows, d->batch - first);

			data_batch(data, e->dev, sample * e->options.model->sequence + first,
				   rows, &d->chunk);
			TRY(write_chunk(d, e, rows, pass == 0, err));
		}
	TRY(masks_add(&d->masks, step, err));
out:
	return st;
}

static enum status write_check(const struct dump *d, const struct engine *e,
			       dump_options_fn *put_options, const void *options,
			       const double *losses, int steps, struct error *err)
{
	enum status st;
	struct json j;
	char path[PATH_MAX];

	json_init(&j, true);
	json_begin_object(&j, NULL);
	json_put_string(&j, "loss", e->options.loss->name);
	json_begin_object(&j, "options");
	put_options(options, &j);
	json_end_object(&j);
	json_begin_array(&j, "losses");
	for (int i = 0; i < steps; i++)
		json_put_double(&j, NULL, losses[i]);
	json_end_array(&j);
	json_end_object(&j);
	TRY(file_path(path, d->folder, "check.json", err));
	TRY(json_write_file(&j, path, err));
out:
	json_release(&j);
	return st;
}

enum status dump_end(struct dump *d, struct engine *e, dump_options_fn *put_options,
		     const void *options, const double *losses, int steps, struct error *err)
{
	enum status st;

	if (d->writes) {
		TRY(file_commit(&d->batches, err));
		TRY(masks_end(&d->masks, err));
	}
	TRY(dump_weights(e, d->folder, "final.safetensors", err));
	if (d->writes)
		TRY(write_check(d, e, put_options, options, losses, steps, err));
out:
	dump_abort(d);
	return st;
}

void dump_abort(struct dump *d)
{
	if (!d->folder)
		return;
	file_abort(&d->batches);
	masks_abort(&d->masks);
	free(d->chunk.x.data);
	free(d->chunk.target.data);
	free(d->chunk.labels);
	*d = (struct dump){.batches = {.fd = -1}, .masks = {.file = {.fd = -1}}};
}
