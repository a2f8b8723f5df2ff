/* model.c - the list of layers and the list of tensors; see model.h */
#include "model/model.h"
#include "base/stream.h"
#include "base/tree.h"
#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct layer *layer_new(const struct layer_ops *ops, const void *config, size_t size)
{
	struct layer *l = calloc(1, sizeof(*l));
	void *copy = malloc(size ? size : 1);

	assert(ops->describe && ops->flops && ops->forward && ops->backward_input);
	if (!l || !copy) {
		free(l);
		free(copy);
		return NULL;
	}
	if (size)
		memcpy(copy, config, size);
	l->ops = ops;
	l->config = copy;
	return l;
}

void layer_free(struct layer *l)
{
	if (!l)
		return;
	if (l->ops->release)
		l->ops->release(l);
	free(l->config);
	free(l);
}

void model_init(struct model *m, int in, int mp)
{
	model_init_as_if(m, in, mp, 1);
}

void model_init_as_if(struct model *m, int in, int shards, int held)
{
	*m = (struct model){.in = in,
			    .out = in,
			    .mp = shards,
			    .held = held,
			    .sequence = 1,
			    .vectors_decay = true};
}

void model_release(struct model *m)
{
	for (int i = 0; i < m->count; i++)
		layer_free(m->layers[i]);
	free(m->layers);
	free(m->tensors);
	*m = (struct model){0};
}

/* Room for one more; it doubles, so a count that is a power of two is full. */
static bool grow(void **array, int count, size_t size)
{
	void *larger;

	if (count & (count - 1))
		return true;
	larger = realloc(*array, (size_t)(count ? 2 * count : 1) * size);
	if (larger)
		*array = larger;
	return larger;
}

/* Random numbers that are named after a tensor. */
static uint64_t stream_of_name(const char *name)
{
	uint64_t h = 0xcbf29ce484222325;

	for (const char *p = name; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3;
	return stream_id(STREAM_NAME, h >> 16);
}

/* By a tensor of the same layer of the list: those of others are named after other numbers. */
static bool is_stream_taken(const struct model *m, int layer, uint64_t stream)
{
	for (int i = m->n_tensors - 1; i >= 0 && m->tensors[i].layer == layer; i--)
		if (tensor_is_random(&m->tensors[i]) && m->tensors[i].stream == stream)
			return true;
	return false;
}

enum status layer_add_tensor(struct layer *l, struct model *m, const char *name,
			     struct tensor t, struct error *err)
{
	if (!grow((void **)&m->tensors, m->n_tensors, sizeof(*m->tensors)))
		return FAIL(err, ERR_MEMORY, "no memory for %d tensors", m->n_tensors);
	snprintf(t.name, sizeof(t.name), "%s%s%s", l->name, *l->name ? "." : "", name);
	if (!t.stream || is_stream_taken(m, l->number, t.stream))
		t.stream = stream_of_name(t.name);
	assert(!tensor_is_random(&t) ||
	       !is_stream_taken(m, l->number, t.stream)); /* or two would be equal */
	t.layer = l->number;
	m->tensors[m->n_tensors++] = t;
	l->n_tensors++;
	return OK;
}

static int add_room(struct layer_room *rooms, int *n, struct layer_room room)
{
	assert(*n < ROOMS_MAX);
	rooms[*n] = room;
	return (*n)++;
}

int layer_save(struct layer *l, int columns, bool wide)
{
	return add_room(l->saved, &l->n_saved, (struct layer_room){columns, .wide = wide});
}

int layer_keep(struct layer *l, int columns, bool wide)
{
	return add_room(l->kept, &l->n_kept,
			(struct layer_room){columns, .wide = wide, .backward = 3});
}

int layer_save_spread(struct layer *l, int columns, bool wide)
{
	return add_room(l->saved, &l->n_saved,
			(struct layer_room){columns, .wide = wide, .spread = true});
}

int layer_borrow(struct layer *l, int columns, int calls)
{
	return add_room(l->kept, &l->n_kept,
			(struct layer_room){columns, .lent = true,
					    .forward = calls & IN_FORWARD,
					    .backward = (unsigned)calls / IN_INPUT});
}

int layer_borrow_tree(struct layer *l, int columns, int calls)
{
	int first = l->n_kept;

	for (int i = 1; i < tree_buffers(l->held); i++)
		layer_borrow(l, columns, calls);
	return first;
}

void model_tie(struct model *m, struct layer *l, int tensor)
{
	assert(m->n_ties < TIES_MAX);
	l->tied = tensor;
	m->ties[m->n_ties++] = (struct tie){tensor, l->number};
}

int model_find_tensor(const struct model *m, const char *name)
{
	for (int i = 0; i < m->n_tensors; i++)
		if (!strcmp(m->tensors[i].name, name))
			return i;
	return -1;
}

enum status model_describe(struct model *m, struct layer *l, int number, const char *name,
			   struct layer_input in, struct error *err)
{
	enum status st;

	l->number = number;
	l->place = m->places++;
	l->mp = m->mp;
	l->held = m->held;
	l->sequence = m->sequence;
	l->in = l->out = in.columns;
	l->in_sliced = l->out_sliced = in.sliced;
	l->in_spread = l->out_spread = in.spread;
	l->tensor = m->n_tensors;
	l->moments = 1;
	l->back_moments = 2;
	snprintf(l->name, sizeof(l->name), "%s", name);
	TRY(l->ops->describe(l, m, err));
	assert(l->out > 0);
	assert(!l->n_tensors || l->ops->backward_weight);
out:
	return st;
}

enum status model_add(struct model *m, struct layer *l, struct error *err)
{
	char name[LAYER_NAME];

	snprintf(name, sizeof(name), "layers.%d", m->count);
	return model_add_named(m, l, name, err);
}

enum status model_add_named(struct model *m, struct layer *l, const char *name,
			    struct error *err)
{
	const struct layer *last = m->count ? m->layers[m->count - 1] : NULL;
	struct layer_input in = {.columns = last ? last->out : m->in,
				 .sliced = last && last->out_sliced,
				 .spread = last && last->out_spread};
	enum status st;

	if (!l || !grow((void **)&m->layers, m->count, sizeof(struct layer *))) {
		layer_free(l);
		return FAIL(err, ERR_MEMORY, "no memory for %d layers", m->count + 1);
	}
	m->layers[m->count] = l;
	l->saved_before = last ? last->saved_before + last->n_saved : 0;
	l->kept_before = last ? last->kept_before + last->n_kept : 0;
	TRY(model_describe(m, l, m->count++, name, in, err));
	m->lean |= l->lean;
out:
	return st;
}

enum status model_end(struct model *m, struct error *err)
{
	const struct layer *last;

	if (!m->count)
		return FAIL(err, ERR_USAGE, "a model without layers");
	last = m->layers[m->count - 1];
	if (last->out_sliced && m->mp > 1 && !m->out_sliced)
		return FAIL(err, ERR_USAGE, "the last layer, %s, leaves its output in slices",
			    last->name);
	assert(!last->out_spread);
	m->out = last->out;
	m->out_sliced = last->out_sliced && m->mp > 1;
	return OK;
}

int64_t model_parameters(const struct model *m)
{
	int64_t n = 0;

	for (int i = 0; i < m->n_tensors; i++)
		n += tensor_elements(&m->tensors[i]);
	return n;
}

double model_layer_flops(const struct model *m, int layer)
{
	const struct layer *l = m->layers[layer];

	return l->ops->flops(l) * (layer ? 3 : 2);
}

double model_flops(const struct model *m)
{
	double n = 0;

	for (int i = 0; i < m->count; i++)
		n += model_layer_flops(m, i);
	return n;
}

static int widest_room(const struct layer_room *rooms, int n)
{
	int widest = 0;

	for (int i = 0; i < n; i++)
		widest = imax(widest, rooms[i].columns);
	return widest;
}

int model_widest(const struct model *m)
{
	int widest = m->in;

	for (int i = 0; i < m->count; i++) {
		const struct layer *l = m->layers[i];

		widest = imax(widest, imax(l->in, l->out));
		widest = imax(widest, widest_room(l->saved, l->n_saved));
		widest = imax(widest, widest_room(l->kept, l->n_kept));
	}
	return widest;
}

static enum status reserve_layer(const struct layer *l, struct device *dev, struct error *err)
{
	const struct layer *inner;
	enum status st = OK;

	if (l->ops->reserve)
		TRY(l->ops->reserve(l, dev, err));
	for (int i = 0; l->ops->inner && (inner = l->ops->inner(l, i)); i++)
		TRY(reserve_layer(inner, dev, err));
out:
	return st;
}

enum status model_reserve(const struct model *m, struct device *dev, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < m->count; i++)
		TRY(reserve_layer(m->layers[i], dev, err));
out:
	return st;
}

static void visit_layer(const struct layer *l, const struct layer_ops *kind, layer_visit *visit,
			void *arg)
{
	const struct layer *inner;

	if (l->ops == kind)
		visit(arg, l);
	for (int i = 0; l->ops->inner && (inner = l->ops->inner(l, i)); i++)
		visit_layer(inner, kind, visit, arg);
}

void model_visit(const struct model *m, const struct layer_ops *kind, layer_visit *visit,
		 void *arg)
{
	for (int i = 0; i < m->count; i++)
		visit_layer(m->layers[i], kind, visit, arg);
}
