/* masks.c - see masks.h */
#include "engine/masks.h"
#include "base/safetensors.h"
#include "base/util.h"
#include "device/kernel.h"
#include "model/attention.h"
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

/* Elements of a row of a layer's mask: of what it drops, which of attention is every row that
   a head looks at. */
static int heads_of(const struct layer *l)
{
	return l->ops == &layer_attention ? ((const struct attention_config *)l->config)->heads
					  : 1;
}

static int columns_of(const struct layer *l)
{
	return l->ops == &layer_attention ? l->sequence : l->out;
}

static void count_attention(void *arg, const struct layer *l)
{
	if (((const struct attention_config *)l->config)->dropout > 0)
		count_layer(arg, l);
}

static void add_attention(void *arg, const struct layer *l)
{
	if (((const struct attention_config *)l->config)->dropout > 0)
		add_layer(arg, l);
}

static enum status find_layers(struct masks *k, const struct model *m, struct error *err)
{
	int n = 0;

	model_visit(m, &layer_dropout, count_layer, &n);
	model_visit(m, &layer_attention, count_attention, &n);
	k->layers = calloc((size_t)n + 1, sizeof(struct layer *));
	k->row = malloc((size_t)imax(model_widest(m), m->sequence));
	if (!k->layers || !k->row)
		return FAIL(err, ERR_MEMORY, "no memory for the masks of %d layers", n);
	model_visit(m, &layer_dropout, add_layer, k);
	model_visit(m, &layer_attention, add_attention, k);
	return OK;
}

static struct safetensors_entry entry_of(const struct masks *k, const struct layer *l, int step)
{
	struct safetensors_entry e = {
		.dtype = DTYPE_BYTE, .dims = 2, .shape = {k->batch, l->out}};

	if (l->ops == &layer_attention) {
		e.dims = 3;
		e.shape[1] = heads_of(l);
		e.shape[2] = l->sequence;
	}
	snprintf(e.name, sizeof(e.name), "masks.%d.%s%s", step, l->name,
		 l->ops == &layer_attention ? ".probabilities" : "");
	return e;
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
		for (int i = 0; i < k->count; i++)
			*e++ = entry_of(k, k->layers[i], step);
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
	struct dropout d = l->ops == &layer_attention ? attention_dropout(l, k->seed, step)
						      : dropout_of(l, k->seed, step, 0, 0);
	int columns = columns_of(l);
	enum status st = OK;

	for (int64_t row = 0; row < (int64_t)k->batch * heads_of(l); row++) {
		for (int column = 0; column < columns; column++)
			k->row[column] = dropout_keeps(&d, row, column);
		TRY(file_write(&k->file, k->row, (size_t)columns, err));
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
