/*
 * layer.c - a layer of the caller's own kind among ours; see include/kolm.h
 *
 * The host computes it, on its own view of what the device has. In 16 bit that is a copy in
 * fp32, in memory that the engine has set aside, so that a step allocates nothing.
 */
#include "lib/impl.h"
#include "model/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the callbacks get: a layer of ours with what it is in. */
struct kolm_layer {
	struct layer *layer;
	struct model *model;  /* while it is described */
	struct error failure; /* of a call that has no error of its own */
};

/* A matrix or vector that is open: where it is, and the host's view of it. */
struct opened {
	struct view view;
	int rows, columns, access;
	float *copy; /* NULL: it is the memory itself */
};

struct kolm_pass {
	const struct layer *layer;
	struct pass *pass;
	struct opened opened[KOLM_OPEN_MAX];
	struct error failure; /* of what was asked for wrongly */
};

static const struct own_config *config_of(const struct layer *l)
{
	return l->config;
}

static const void *callers_config(const struct layer *l)
{
	return config_of(l)->callers;
}

struct layer *layer_own_new(const struct wanted_layer *w)
{
	struct own_config own = {.kind = w->kind};
	char *all = malloc(sizeof(own) + w->size);
	struct layer *l;

	if (!all)
		return NULL;
	memcpy(all, &own, sizeof(own));
	memcpy(all + sizeof(own), w->config, w->size);
	l = layer_new(&layer_own, all, sizeof(own) + w->size);
	free(all);
	return l;
}

/* ---- describing ---- */

int kolm_layer_columns(const struct kolm_layer *layer)
{
	return layer->layer->in;
}

int kolm_layer_own_columns(const struct kolm_layer *layer)
{
	return layer_in(layer->layer);
}

enum kolm_status kolm_layer_set_outputs(struct kolm_layer *layer, int columns,
					struct kolm_error *err)
{
	struct error own = {0};

	if (columns < 1 || (layer->layer->in_sliced && columns != layer->layer->in)) {
		FAIL(&own, ERR_USAGE, "%s: %d outputs", layer->layer->name, columns);
		HINT(&own, "a kind that works on slices has as many as inputs");
		return lib_error_out(&own, err);
	}
	layer->layer->out = columns;
	return KOLM_OK;
}

/* It becomes a part of the tensor's name, which is one of its own. */
static enum status check_name(const struct kolm_layer *layer, const char *name,
			      struct error *err)
{
	const struct layer *l = layer->layer;
	char whole[TENSOR_NAME];

	if (!name || !*name ||
	    snprintf(whole, sizeof(whole), "%s.%s", l->name, name) >= TENSOR_NAME)
		return FAIL(err, ERR_USAGE, "%s: '%.64s' is no name of a parameter", l->name,
			    name ? name : "");
	for (int i = 0; i < l->n_tensors; i++)
		if (!strcmp(layer->model->tensors[l->tensor + i].name, whole))
			return FAIL(err, ERR_USAGE, "%s has two parameters '%s'", l->name,
				    name);
	return OK;
}

enum kolm_status kolm_layer_add_vector(struct kolm_layer *layer, const char *name, float value,
				       float bound, struct kolm_error *err)
{
	struct layer *l = layer->layer;
	struct tensor t = {.rows = l->in,
			   .columns = 1,
			   .split = l->in_sliced ? SPLIT_ROWS : SPLIT_NONE,
			   .value = value,
			   .bound = bound};
	struct error own = {0};

	if (check_name(layer, name, &own) == OK &&
	    layer_add_tensor(l, layer->model, name, t, &own) == OK)
		return KOLM_OK;
	return lib_error_out(&own, err);
}

int kolm_layer_save(struct kolm_layer *layer, int columns)
{
	struct layer *l = layer->layer;

	if (columns >= 1 && l->n_saved < ROOMS_MAX)
		return layer_save(l, columns, true);
	FAIL(&layer->failure, ERR_USAGE, "%s wants to save %d numbers per row, after %d others",
	     l->name, columns, l->n_saved);
	return -1;
}

void kolm_layer_set_flops(struct kolm_layer *layer, double flops)
{
	((struct own_config *)layer->layer->config)->flops = flops;
}

static enum status describe(struct layer *l, struct model *m, struct error *err)
{
	struct kolm_layer layer = {.layer = l, .model = m};
	struct kolm_error own = {0};

	l->needs_y = l->spoils_dy = true; /* who knows */
	if (config_of(l)->kind->describe(&layer, callers_config(l), &own) != KOLM_OK)
		return lib_error_in(&own, err);
	if (layer.failure.code != OK)
		return error_copy(err, &layer.failure);
	if (l->n_tensors && !config_of(l)->kind->backward_weight)
		return FAIL(err, ERR_USAGE, "%s (%s) has parameters, but no backward_weight",
			    l->name, config_of(l)->kind->name);
	return OK;
}

static double flops(const struct layer *l)
{
	return config_of(l)->flops;
}

/* ---- computing ---- */

int kolm_pass_rows(const struct kolm_pass *pass)
{
	return pass->pass->rows;
}

int kolm_pass_accumulates(const struct kolm_pass *pass)
{
	return pass->pass->accumulate;
}

static void *refuse(struct kolm_pass *pass, const char *why)
{
	FAIL(&pass->failure, ERR_USAGE, "%s (%s) %s", pass->layer->name,
	     config_of(pass->layer)->kind->name, why);
	return NULL;
}

/* A copy that is not in use, or NULL. */
static float *take_copy(struct kolm_pass *pass)
{
	struct own_scratch *scratch = config_of(pass->layer)->scratch;

	for (int i = 0; i < KOLM_OPEN_MAX; i++) {
		float *copy = scratch->memory + (size_t)i * scratch->elements;
		bool used = false;

		for (int k = 0; k < KOLM_OPEN_MAX; k++)
			used |= pass->opened[k].copy == copy;
		if (!used)
			return copy;
	}
	return NULL;
}

/* What is open of that memory, or a free place for NULL. */
static struct opened *find(struct kolm_pass *pass, const void *data)
{
	for (int i = 0; i < KOLM_OPEN_MAX; i++)
		if (pass->opened[i].view.data == data)
			return &pass->opened[i];
	return NULL;
}

static float *open_view(struct kolm_pass *pass, struct view v, int rows, int columns,
			int access, size_t *stride)
{
	struct device *dev = pass->pass->dev;
	struct opened *o = find(pass, NULL);

	*stride = 0;
	if (!v.data)
		return NULL;
	if (!o || find(pass, v.data))
		return refuse(pass, o ? "opens something twice" : "has too much open");
	*o = (struct opened){.view = v, .rows = rows, .columns = columns, .access = access};
	*stride = v.stride;
	if (v.type == DTYPE_F32)
		return device_host_begin(dev, QUEUE_COMPUTE, v.data, view_bytes(v, rows),
					 (enum host_access)access);
	o->copy = take_copy(pass);
	*stride = (size_t)columns;
	for (int r = 0; r < rows && access & KOLM_READS; r++)
		device_read(dev, view_from(v, (size_t)r).data, v.type, (size_t)columns,
			    o->copy + (size_t)r * (size_t)columns);
	return o->copy;
}

static void close_view(struct kolm_pass *pass, struct view v)
{
	struct device *dev = pass->pass->dev;
	struct opened *o = v.data ? find(pass, v.data) : NULL;

	if (!o) {
		if (v.data)
			refuse(pass, "closes what is not open");
		return;
	}
	if (!o->copy)
		device_host_end(dev, QUEUE_COMPUTE, v.data, view_bytes(v, o->rows),
				(enum host_access)o->access);
	for (int r = 0; o->copy && r < o->rows && o->access & KOLM_WRITES; r++)
		device_write(dev, view_from(v, (size_t)r).data, v.type, (size_t)o->columns,
			     o->copy + (size_t)r * (size_t)o->columns);
	*o = (struct opened){0};
}

static struct view part_of(const struct kolm_pass *pass, enum kolm_part part)
{
	switch (part) {
	case KOLM_X:
		return pass->pass->x;
	case KOLM_Y:
		return pass->pass->y;
	case KOLM_DX:
		return pass->pass->dx;
	case KOLM_DY:
		break;
	}
	return pass->pass->dy;
}

float *kolm_pass_open(struct kolm_pass *pass, enum kolm_part part, int access, size_t *stride)
{
	const struct layer *l = pass->layer;
	bool in = part == KOLM_X || part == KOLM_DX;

	return open_view(pass, part_of(pass, part), pass->pass->rows,
			 in ? layer_in(l) : layer_out(l), access, stride);
}

void kolm_pass_close(struct kolm_pass *pass, enum kolm_part part)
{
	close_view(pass, part_of(pass, part));
}

/* A tensor of the layer as one row, or its gradient. */
static struct view tensor_of(const struct kolm_pass *pass, int k, bool gradient)
{
	const struct weights *w = pass->pass->weights;

	if (k < 0 || k >= pass->layer->n_tensors)
		return (struct view){0};
	if (gradient)
		return (struct view){pass_grad(pass->pass, pass->layer, k, 0),
				     (size_t)layer_in(pass->layer), w->grad_type};
	return (struct view){pass_param(pass->pass, pass->layer, k, 0),
			     (size_t)layer_in(pass->layer), w->type};
}

const float *kolm_pass_open_vector(struct kolm_pass *pass, int k)
{
	size_t stride;

	if (k < 0 || k >= pass->layer->n_tensors)
		return refuse(pass, "opens a parameter that it does not have");
	return open_view(pass, tensor_of(pass, k, false), 1, layer_in(pass->layer), KOLM_READS,
			 &stride);
}

void kolm_pass_close_vector(struct kolm_pass *pass, int k)
{
	close_view(pass, tensor_of(pass, k, false));
}

float *kolm_pass_open_gradient(struct kolm_pass *pass, int k)
{
	size_t stride;

	if (k < 0 || k >= pass->layer->n_tensors)
		return refuse(pass, "opens a gradient that it does not have");
	return open_view(pass, tensor_of(pass, k, true), 1, layer_in(pass->layer),
			 KOLM_READS | KOLM_WRITES, &stride);
}

void kolm_pass_close_gradient(struct kolm_pass *pass, int k)
{
	close_view(pass, tensor_of(pass, k, true));
}

float *kolm_pass_open_saved(struct kolm_pass *pass, int k, int access, size_t *stride)
{
	if (k < 0 || k >= pass->layer->n_saved)
		return refuse(pass, "opens what it has not saved");
	return open_view(pass, pass->pass->saved[k], pass->pass->rows,
			 pass->layer->saved[k].columns, access, stride);
}

void kolm_pass_close_saved(struct kolm_pass *pass, int k)
{
	if (k >= 0 && k < pass->layer->n_saved)
		close_view(pass, pass->pass->saved[k]);
}

/* ---- as a kind of ours ---- */

typedef enum kolm_status callback(const struct kolm_layer *layer, const void *config,
				  struct kolm_pass *pass, struct kolm_error *err);

static enum status call(const struct layer *l, struct pass *p, callback *fn, struct error *err)
{
	struct kolm_layer layer = {.layer = (struct layer *)(uintptr_t)l};
	struct kolm_pass pass = {.layer = l, .pass = p};
	struct kolm_error own = {0};

	if (fn(&layer, callers_config(l), &pass, &own) != KOLM_OK)
		return lib_error_in(&own, err);
	if (pass.failure.code != OK)
		return error_copy(err, &pass.failure);
	for (int i = 0; i < KOLM_OPEN_MAX; i++)
		if (pass.opened[i].view.data)
			return FAIL(err, ERR_USAGE, "%s (%s) leaves something open", l->name,
				    config_of(l)->kind->name);
	return OK;
}

static enum status forward(const struct layer *l, struct pass *p, struct error *err)
{
	return call(l, p, config_of(l)->kind->forward, err);
}

static enum status backward_input(const struct layer *l, struct pass *p, struct error *err)
{
	return call(l, p, config_of(l)->kind->backward_input, err);
}

static enum status backward_weight(const struct layer *l, struct pass *p, struct error *err)
{
	if (!config_of(l)->kind->backward_weight)
		return OK;
	return call(l, p, config_of(l)->kind->backward_weight, err);
}

const struct layer_ops layer_own = {
	.name = "own",
	.describe = describe,
	.flops = flops,
	.forward = forward,
	.backward_input = backward_input,
	.backward_weight = backward_weight,
};
