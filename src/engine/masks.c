/* masks.c - see masks.h */
#include "engine/masks.h"
#include "base/safetensors.h"
#include "device/kernel.h"
#include "model/dropout.h"

#include <stdio.h>
#include <stdlib.h>

static void count_layer(void *arg, const struct layer *l)
{
	(void)l;
	++*(int *)arg;
}

static void add_layer(void *arg, const struct layer *l)
{
	struct masks *k = arg;

	k->layers[k->count++] = l;
}

static enum status find_layers(struct masks *k, const struct model *m, struct error *err)
{
	int n = 0;

	model_visit(m, &layer_dropout, count_layer, &n);
	k->layers = calloc((size_t)n + 1, sizeof(struct layer *));
	k->row = malloc((size_t)model_widest(m));
	if (!k->layers || !k->row)
		return FAIL(err, ERR_MEMORY, "no memory for the masks of %d layers", n);
	model_visit(m, &layer_dropout, add_layer, k);
	return OK;
}

static enum status begin_file(struct masks *k, const char *folder, int steps, struct error *err)
{
	size_t n = (size_t)steps * (size_t)k->count;
	struct safetensors_entry *entries = calloc(n, sizeof(*entries)), *e = entries;
	char path[PATH_MAX];
	enum status st;

	if (!entries)
		return FAIL(err, ERR_MEMORY, "no memory to describe %zu masks", n);
	for (int step = 0; step < steps; step++)
		for (int i = 0; i < k->count; i++, e++) {
			*e = (struct safetensors_entry){.dtype = DTYPE_BYTE,
							.dims = 2,
							.shape = {k->batch, k->layers[i]->out}};
			snprintf(e->name, sizeof(e->name), "masks.%d.%s", step,
				 k->layers[i]->name);
		}
	TRY(file_path(path, folder, "masks.safetensors", err));
	TRY(safetensors_begin(&k->file, path, entries, n, err));
out:
	free(entries);
	return st;
}

enum status masks_begin(struct masks *k, const char *folder, const struct model *m,
			uint64_t seed, int batch, int steps, struct error *err)
{
	enum status st;

	*k = (struct masks){.file = {.fd = -1}, .seed = seed, .batch = batch};
	TRY(find_layers(k, m, err));
	if (k->count)
		TRY(begin_file(k, folder, steps, err));
out:
	if (st != OK)
		masks_abort(k);
	return st;
}

static enum status add_layer_mask(struct masks *k, const struct layer *l, int step,
				  struct error *err)
{
	struct dropout d = dropout_of(l, k->seed, step, 0, 0);
	enum status st = OK;

	for (int row = 0; row < k->batch; row++) {
		for (int column = 0; column < l->out; column++)
			k->row[column] = dropout_keeps(&d, row, column);
		TRY(file_write(&k->file, k->row, (size_t)l->out, err));
	}
out:
	return st;
}

enum status masks_add(struct masks *k, int step, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < k->count; i++)
		TRY(add_layer_mask(k, k->layers[i], step, err));
out:
	return st;
}

enum status masks_end(struct masks *k, struct error *err)
{
	enum status st = OK;

	if (k->count)
		TRY(file_commit(&k->file, err));
out:
	masks_abort(k);
	return st;
}

void masks_abort(struct masks *k)
{
	file_abort(&k->file);
	free(k->layers);
	free(k->row);
	*k = (struct masks){.file = {.fd = -1}};
}
