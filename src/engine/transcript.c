/* transcript.c - see transcript.h */
#include "engine/transcript.h"
#include "base/file.h"
#include "base/half.h"
#include "base/text.h"
#include "base/tree.h"
#include "engine/impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum status transcript_begin(struct transcript *t, struct engine *e, int step,
			     struct error *err)
{
	*t = (struct transcript){.step = step,
				 .layers = e->options.model->count,
				 .micro_batches =
					 e->options.micro_batches * e->options.grid.dp};
	t->sums =
		calloc((size_t)TRANSCRIPT_KINDS * (size_t)t->layers * (size_t)t->micro_batches,
		       sizeof(*t->sums));
	if (!t->sums)
		return FAIL(err, ERR_MEMORY, "no memory to write a step down");
	e->transcript = t;
	return OK;
}

void transcript_release(struct transcript *t)
{
	free(t->sums);
	*t = (struct transcript){0};
}

static size_t bytes_of(const struct transcript *t)
{
	return (size_t)TRANSCRIPT_KINDS * (size_t)t->layers * (size_t)t->micro_batches *
	       sizeof(*t->sums);
}

static uint64_t *entry(const struct transcript *t, enum transcript_kind kind, int layer,
		       int micro_batch)
{
	return &t->sums[((size_t)kind * (size_t)t->layers + (size_t)layer) *
				(size_t)t->micro_batches +
			(size_t)micro_batch];
}

static bool is_written_down(const struct engine *e)
{
	return e->transcript && e->transcript->sums && e->transcript->step == e->step &&
	       e->run.training && !e->run.layer_done;
}

/* The number in the global batch. */
static int number_of(const struct engine *e, int micro_batch)
{
	return e->at.dp * e->options.micro_batches + micro_batch;
}

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* One NaN is as good as another. */
static uint64_t number_from(const void *array, size_t i, enum dtype type, size_t row)
{
	float value = float_from(array, i, type);

	return mix((uint64_t)row << 32 | (isnan(value) ? 0x7fc00000 : float_bits(value)));
}

static uint64_t sum_rows(struct engine *e, struct view v, int columns)
{
	size_t bytes = view_bytes(v, e->run.rows);
	const void *data = device_host_begin(e->dev, QUEUE_COMPUTE, v.data, bytes, HOST_READS);
	uint64_t sum = 0;

	for (size_t r = 0; r < (size_t)e->run.rows; r++)
		for (size_t i = 0; i < (size_t)columns; i++)
			sum += number_from(data, r * v.stride + i, v.type, r);
	device_host_end(e->dev, QUEUE_COMPUTE, v.data, bytes, HOST_READS);
	return sum;
}

/* What all slices have whole, the first of them counts. Where the columns can't be shared
   evenly some are nobody's. */
static void take_rows(struct engine *e, enum transcript_kind kind, int layer, struct view v,
		      int micro_batch)
{
	const struct layer *l = e->options.model->layers[layer];

	if (l->out_spread || (l->out_sliced && l->out % l->mp) ||
	    (!l->out_sliced && e->at.mp > 0))
		return;
	*entry(e->transcript, kind, layer, number_of(e, micro_batch)) =
		sum_rows(e, v, layer_out(l));
}

static uint64_t sum_gradient(struct engine *e, size_t at, size_t n, int level)
{
	const struct weights *w = &e->weights;
	void *memory = flat_at(w->grad, w->grad_type, (size_t)level * w->grad_size + at);
	size_t bytes = n * dtype_size(w->grad_type);
	const void *data = device_host_begin(e->dev, QUEUE_COMPUTE, memory, bytes, HOST_READS);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += number_from(data, i, w->grad_type, 0);
	device_host_end(e->dev, QUEUE_COMPUTE, memory, bytes, HOST_READS);
	return sum;
}

/* Of the layer's own tensors, before anybody else's gradients are added to them. */
static void take_weights(struct engine *e, int layer, int micro_batch)
{
	int level = tree_depth((unsigned)engine_leaf(e, micro_batch));
	const struct weights *w = &e->weights;
	const struct layer *l = w->model->layers[layer];
	uint64_t sum = 0;

	for (int i = l->tensor; i < l->tensor + l->n_tensors; i++)
		if (w->model->tensors[i].split != SPLIT_NONE || e->at.mp == 0)
			sum += sum_gradient(e, w->at[i], weights_tensor_size(w, i), level);
	*entry(e->transcript, TRANSCRIPT_WEIGHTS, layer, number_of(e, micro_batch)) = sum;
}

void transcript_result(struct engine *e, const struct computing *c, int layer,
		       enum chunk_event event)
{
	int i = layer - c->chunk->first;

	if (!is_written_down(e))
		return;
	switch (event) {
	case CHUNK_FORWARD:
		take_rows(e, TRANSCRIPT_OUTPUT, layer, c->slot->input[i + 1], c->micro_batch);
		break;
	case CHUNK_INPUT:
		if (i > 0)
			take_rows(e, TRANSCRIPT_GRADIENT, layer - 1, c->flow->flow[i - 1],
				  c->micro_batch);
		break;
	case CHUNK_WEIGHT:
		take_weights(e, layer, c->micro_batch);
		break;
	}
}

void transcript_top(struct engine *e, const struct chunk *c, struct view dy, int micro_batch)
{
	if (is_written_down(e))
		take_rows(e, TRANSCRIPT_GRADIENT, c->first + c->count - 1, dy, micro_batch);
}

void transcript_losses(const struct engine *e, const double *losses)
{
	const struct chunk *last = &e->chunks[e->n_chunks - 1];

	if (!is_written_down(e) || !last->ends || e->at.mp > 0)
		return;
	for (int m = 0; m < e->options.micro_batches; m++) {
		uint64_t bits;

		memcpy(&bits, &losses[m], sizeof(bits));
		*entry(e->transcript, TRANSCRIPT_LOSS, e->transcript->layers - 1,
		       number_of(e, m)) = mix(bits);
	}
}

/* ---- writing it ---- */

static bool is_split(const struct model *m, int layer)
{
	const struct layer *l = m->layers[layer];

	for (int i = l->tensor; i < l->tensor + l->n_tensors; i++)
		if (m->tensors[i].split != SPLIT_NONE)
			return true;
	return false;
}

static void describe(const struct model *m, enum transcript_kind kind, int layer,
		     int micro_batch, struct text *out)
{
	const char *name = m->layers[layer]->name;

	switch (kind) {
	case TRANSCRIPT_OUTPUT:
		text_addf(out, "%sthe output of %s, micro-batch %d",
			  is_split(m, layer) && !m->layers[layer]->out_sliced
				  ? "the sum over slices in "
				  : "",
			  name, micro_batch);
		break;
	case TRANSCRIPT_LOSS:
		text_addf(out, "the loss of micro-batch %d", micro_batch);
		break;
	case TRANSCRIPT_GRADIENT:
		text_addf(out, "%sthe gradient of the output of %s, micro-batch %d",
			  layer + 1 < m->count && is_split(m, layer + 1) &&
					  !m->layers[layer]->out_sliced
				  ? "the sum over slices in "
				  : "",
			  name, micro_batch);
		break;
	case TRANSCRIPT_WEIGHTS:
		text_addf(
			out,
			"the gradient of the weights of %s, up to micro-batch %d of its replica",
			name, micro_batch);
		break;
	case TRANSCRIPT_KINDS:
		break;
	}
}

static void write_lines(const struct transcript *t, const struct model *m, struct text *out)
{
	for (int kind = 0; kind < TRANSCRIPT_KINDS; kind++)
		for (int i = 0; i < t->layers; i++)
			for (int mb = 0; mb < t->micro_batches; mb++) {
				bool down = kind == TRANSCRIPT_GRADIENT ||
					    kind == TRANSCRIPT_WEIGHTS;
				int layer = down ? t->layers - 1 - i : i;
				enum transcript_kind k = (enum transcript_kind)kind;

				text_addf(out, "%016llx ",
					  (unsigned long long)*entry(t, k, layer, mb));
				describe(m, k, layer, mb, out);
				text_addf(out, "\n");
			}
}

enum status transcript_write(const struct transcript *t, struct engine *e, const char *folder,
			     struct error *err)
{
	size_t bytes = bytes_of(t), count = bytes / sizeof(uint64_t);
	uint64_t *all;
	struct text out;
	char path[PATH_MAX];
	enum status st;

	text_init(&out);
	TRY(comm_alloc(e->options.world, bytes * (size_t)e->ranks, (void **)&all, err));
	memcpy(all + count * (size_t)e->number, t->sums, bytes);
	TRY(comm_run(e->options.world, COMM_GATHER, all, bytes * (size_t)e->ranks, DTYPE_BYTE,
		     0, err));
	if (e->number == 0) {
		for (size_t i = 0; i < count; i++)
			for (int rank = 1; rank < e->ranks; rank++)
				all[i] += all[count * (size_t)rank + i];
		write_lines(&(struct transcript){.layers = t->layers,
						 .micro_batches = t->micro_batches,
						 .sums = all},
			    e->options.model, &out);
		TRY(file_path(path, folder, "transcript.txt", err));
		TRY(file_write_whole(path, out.data, out.len, err));
	}
	comm_give_back(e->options.world, all);
out:
	text_release(&out);
	return st;
}
