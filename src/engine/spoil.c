/* spoil.c - wrong results on purpose, so that a test can see that they are found; see inject.h
 */
#include "base/half.h"
#include "base/rng.h"
#include "base/util.h"
#include "engine/impl.h"

#include <math.h>
#include <stdlib.h>

static bool planned(const struct engine *e, enum inject_action action)
{
	return e->options.inject && !device_is_virtual(e->dev) && e->run.training &&
	       !e->run.layer_done && inject_find(e->options.inject, action, e->number, e->step);
}

/* Elements of device memory, in the host's hands for a while. */
static void *open_memory(struct engine *e, void *memory, size_t bytes)
{
	return device_host_begin(e->dev, QUEUE_COMPUTE, memory, bytes, HOST_READS_WRITES);
}

static void close_memory(struct engine *e, void *memory, size_t bytes)
{
	device_host_end(e->dev, QUEUE_COMPUTE, memory, bytes, HOST_READS_WRITES);
}

void spoil_flow(struct engine *e, const struct chunk *c, struct view dy, int micro_batch)
{
	const struct layer *top = e->options.model->layers[c->first + c->count - 1];
	size_t columns = (size_t)layer_out(top);
	int rows = top->out_spread ? e->run.rows / e->options.grid.mp : e->run.rows;
	size_t bytes = view_bytes(dy, rows);
	double scale;
	void *data;

	if (!planned(e, INJECT_SCALE))
		return;
	scale = inject_scale(e->options.inject, e->number, e->step, micro_batch);
	data = open_memory(e, dy.data, bytes);
	for (size_t r = 0; r < (size_t)rows; r++)
		for (size_t i = r * dy.stride; i < r * dy.stride + columns; i++)
			float_to(data, i, dy.type,
				 (float)(scale * (double)float_from(data, i, dy.type)));
	close_memory(e, dy.data, bytes);
}

/* Every row of a tensor's gradient but the first is the one before it. */
static void shift_rows(struct engine *e, int tensor)
{
	const struct weights *w = &e->weights;
	const struct tensor *t = &w->model->tensors[tensor];
	float *row = malloc((size_t)t->columns * sizeof(*row));

	for (int r = tensor_own_rows(t, w->model->mp, w->shard * w->model->held) - 1;
	     row && r > 0; r--) {
		weights_read_rows(w, w->grad, w->grad_type, tensor, 0, r - 1, 1, row);
		weights_write_rows(w, w->grad, w->grad_type, tensor, 0, r, 1, row);
	}
	free(row);
}

void spoil_gradient(struct engine *e, int layer)
{
	const struct weights *w = &e->weights;
	const struct chunk *last = &e->chunks[e->n_chunks - 1];
	const struct layer *l = w->model->layers[layer];
	const float nan = NAN;

	if (!l->n_tensors)
		return;
	if (layer == last->first + last->count - 1 && planned(e, INJECT_NAN))
		device_write(e->dev, flat_at(w->grad, w->grad_type, w->at[l->tensor]),
			     w->grad_type, 1, &nan);
	if (layer == e->chunks[0].first && planned(e, INJECT_SHIFT))
		shift_rows(e, l->tensor);
}

static bool has_rank_order(const struct engine *e, bool slices)
{
	const struct inject_plan *p = e->options.inject;

	for (int k = 0; p && k < p->count; k++)
		if (p->list[k].action == INJECT_RANK_ORDER && p->list[k].slices == slices &&
		    (p->list[k].step < 0 || p->list[k].step == e->step))
			return true;
	return false;
}

void spoil_order(struct engine *e)
{
	if (!e->options.as_if_dp)
		return;
	if (e->replicas)
		comm_set_order(e->replicas,
			       has_rank_order(e, false) ? COMM_IN_RANK_ORDER : COMM_IN_TREE);
	if (e->slices)
		comm_set_order(e->slices,
			       has_rank_order(e, true) ? COMM_IN_RANK_ORDER : COMM_IN_TREE);
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

static void add_noise_to_rows(struct engine *e, struct view v, bool spread, size_t columns,
			      const float *shares)
{
	int rows = spread ? e->run.rows / e->options.grid.mp : e->run.rows;
	size_t bytes = view_bytes(v, rows);
	void *data = open_memory(e, v.data, bytes);

	for (size_t r = 0; r < (size_t)rows; r++)
		add_noise(data, v.type, r * v.stride, columns, shares, r * columns);
	close_memory(e, v.data, bytes);
}

/* Of a layer. Where gradients are kept in fp32 beside 16 bit, their rounding is nothing. */
static void add_noise_to_gradients(struct engine *e, const struct layer *l, const float *shares)
{
	const struct weights *w = &e->weights;
	size_t before = 1;

	for (int t = l->tensor; t < l->tensor + l->n_tensors && w->grad_type == w->type; t++) {
		size_t n = weights_tensor_size(w, t), bytes = n * dtype_size(w->grad_type);
		void *flat = flat_at(w->grad, w->grad_type, w->at[t]);

		add_noise(open_memory(e, flat, bytes), w->grad_type, 0, n, shares, before);
		close_memory(e, flat, bytes);
		before += n;
	}
}

void spoil_result(struct engine *e, const struct computing *c, int layer,
		  enum chunk_event event)
{
	const struct layer *l = e->options.model->layers[layer];
	const struct injection *noise;
	float shares[SHARES];
	int i = layer - c->chunk->first;

	if (!planned(e, INJECT_NOISE))
		return;
	noise = inject_find(e->options.inject, INJECT_NOISE, e->number, e->step);
	rng_uniform((uint64_t)noise->draw,
		    ((uint64_t)e->step << 40) + ((uint64_t)c->micro_batch << 16) +
			    (uint64_t)(2 * layer + (event == CHUNK_FORWARD)),
		    0, SHARES, -(float)noise->scale, (float)noise->scale, shares);
	switch (event) {
	case CHUNK_FORWARD:
		add_noise_to_rows(e, c->slot->input[i + 1], l->out_spread, (size_t)layer_out(l),
				  shares);
		break;
	case CHUNK_INPUT:
		if (i > 0)
			add_noise_to_rows(e, c->flow->flow[i - 1], l->in_spread,
					  (size_t)layer_in(l), shares);
		break;
	case CHUNK_WEIGHT:
		add_noise_to_gradients(e, l, shares);
		break;
	}
}
