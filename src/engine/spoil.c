/* spoil.c - wrong results on purpose, so that a test can see that they are found; see inject.h
 */
#include "base/half.h"
#include "base/rng.h"
#include "engine/engine.h"

#include <math.h>
#include <stdlib.h>

static int number_of(const struct engine *e)
{
	return e->rank ? e->rank->number : 0;
}

static bool planned(const struct engine *e, enum inject_action action)
{
	return e->options.inject && !device_is_virtual(e->dev) &&
	       inject_find(e->options.inject, action, number_of(e), e->step);
}

void spoil_flow(struct engine *e, const struct chunk *c, struct flow *f, int micro_batch)
{
	struct view v = c->ends ? f->full : f->flow[c->count - 1];
	size_t columns = (size_t)(c->ends ? e->options.shape.out : c->out);
	double scale;

	if (!planned(e, INJECT_SCALE))
		return;
	scale = inject_scale(e->options.inject, number_of(e), e->step, micro_batch);
	for (size_t r = 0; r < (size_t)e->options.shape.rows; r++)
		for (size_t i = r * v.stride; i < r * v.stride + columns; i++)
			float_to(v.data, i, v.type,
				 (float)(scale * (double)float_from(v.data, i, v.type)));
}

/* Every row but the first is the one before it. */
static void shift_rows(struct engine *e, const struct layer *l)
{
	struct model *m = &e->model;
	float *matrix = flat_at(m->grad, m->grad_type, l->weight);
	float *row = malloc((size_t)l->in * sizeof(*row));

	for (int r = l->out - 1; row && r > 0; r--) {
		device_matrix_read(e->dev, matrix, m->grad_type, l->out, l->in, r - 1, 1, row);
		device_matrix_write(e->dev, matrix, m->grad_type, l->out, l->in, r, 1, row);
	}
	free(row);
}

void spoil_gradient(struct engine *e, int layer)
{
	struct model *m = &e->model;

	if (layer == m->n_layers - 1 && planned(e, INJECT_NAN))
		float_to(m->grad, m->layers[layer].weight, m->grad_type, NAN);
	if (layer == 0 && planned(e, INJECT_SHIFT))
		shift_rows(e, &m->layers[0]);
}

bool spoil_update(const struct engine *e)
{
	return planned(e, INJECT_STALE);
}

/* Shares of an element that noise adds to it, over and over: too many for a pattern in rows. */
enum { SHARES = 4093 };

static void add_noise(void *array, enum dtype type, size_t begin, size_t count,
		      const float *shares, size_t from)
{
	for (size_t i = 0; i < count; i++)
		float_to(array, begin + i, type,
			 float_from(array, begin + i, type) *
				 (1 + shares[(from + i) % SHARES]));
}

void spoil_result(struct engine *e, const struct computing *c, int layer)
{
	const struct model *m = &e->model;
	const struct layer *l = &m->layers[layer];
	int i = layer - c->chunk->first;
	size_t columns = (size_t)(c->flow ? l->in : l->out);
	const struct injection *noise;
	float shares[SHARES];
	struct view v;

	if (!planned(e, INJECT_NOISE))
		return;
	noise = inject_find(e->options.inject, INJECT_NOISE, number_of(e), e->step);
	rng_uniform((uint64_t)noise->draw,
		    ((uint64_t)e->step << 40) + ((uint64_t)c->micro_batch << 16) +
			    (uint64_t)(2 * l->number + !c->flow),
		    0, SHARES, -(float)noise->scale, (float)noise->scale, shares);
	/* Where gradients are kept in fp32 beside 16 bit, their rounding is nothing. */
	if (c->flow && m->grad_type == m->type)
		add_noise(m->grad, m->grad_type, l->weight,
			  l->bias + (size_t)l->out - l->weight, shares, 1);
	if (c->flow && i == 0)
		return;
	v = c->flow ? c->flow->flow[i - 1] : c->slot->input[i + 1];
	for (size_t r = 0; r < (size_t)e->options.shape.rows; r++)
		add_noise(v.data, v.type, r * v.stride, columns, shares, r * columns);
}
