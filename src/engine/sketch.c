/* sketch.c - see sketch.h */
#include "engine/sketch.h"
#include "base/rng.h"
#include "base/safetensors.h"
#include "engine/collect.h"
#include "engine/impl.h"

#include <math.h>
#include <stdlib.h>

/* On the way through the tensors; done is called at the end of each. */
struct reading {
	const struct model *model;
	int tensor;
	uint64_t at; /* the next element of it */
	double squares, bins[SKETCH_BINS];
	void (*done)(const struct reading *p);
	const struct sketch *sketch;
	struct sketch_tensor *out; /* (tensors) of this step */
	double scale;
};

static enum status take(void *arg, int tensor, const float *values, size_t count,
			struct error *err)
{
	struct reading *p = arg;
	uint32_t words[4];

	(void)err;
	p->tensor = tensor;
	for (size_t i = 0; i < count; i++, p->at++) {
		uint32_t counter[4] = {(uint32_t)(p->at / 4), (uint32_t)(p->at >> 34),
				       (uint32_t)p->tensor};
		uint32_t key[2] = {0}, word;
		double v = (double)values[i];

		if (i == 0 || p->at % 4 == 0)
			rng_philox(counter, key, words);
		word = words[p->at % 4];
		p->squares += v * v;
		p->bins[word % SKETCH_BINS] += word >> 31 ? -v : v;
	}
	if (p->at < (uint64_t)tensor_elements(&p->model->tensors[tensor]))
		return OK;
	p->done(p);
	p->at = 0;
	p->squares = 0;
	for (int i = 0; i < SKETCH_BINS; i++)
		p->bins[i] = 0;
	return OK;
}

static void keep_start(const struct reading *p)
{
	for (int i = 0; i < SKETCH_BINS; i++)
		p->sketch->start[p->tensor * SKETCH_BINS + i] = p->bins[i];
}

static void keep_gradient(const struct reading *p)
{
	struct sketch_tensor *t = &p->out[p->tensor];

	t->norm = (float)(sqrt(p->squares) / p->scale);
	for (int i = 0; i < SKETCH_BINS; i++)
		t->gradient[i] = (float)(p->bins[i] / p->scale);
}

static void keep_moved(const struct reading *p)
{
	for (int i = 0; i < SKETCH_BINS; i++)
		p->out[p->tensor].moved[i] =
			(float)(p->bins[i] - p->sketch->start[p->tensor * SKETCH_BINS + i]);
}

enum status sketch_init(struct sketch *s, struct engine *e, int steps, struct error *err)
{
	struct reading p = {.model = e->options.model, .sketch = s, .done = keep_start};
	size_t tensors = (size_t)e->options.model->n_tensors;

	*s = (struct sketch){.steps = steps, .tensors = (int)tensors};
	s->start = calloc(tensors * SKETCH_BINS, sizeof(*s->start));
	s->values = calloc((size_t)steps * tensors, sizeof(*s->values));
	if (!s->start || !s->values)
		return FAIL(err, ERR_MEMORY, "no memory for a record of %d steps", steps);
	return collect_masters(e, 0, take, &p, err);
}

void sketch_release(struct sketch *s)
{
	free(s->start);
	free(s->values);
	*s = (struct sketch){0};
}

int sketch_copy(const struct engine *e, int step)
{
	return e->options.grad_sync == SYNC_MASTER ? 0 : step;
}

enum status sketch_add(struct sketch *s, struct engine *e, int step, double scale,
		       struct error *err)
{
	struct reading p = {.model = e->options.model,
			    .sketch = s,
			    .done = keep_gradient,
			    .out = s->values + (size_t)step * (size_t)s->tensors,
			    .scale = scale};
	struct reading q = p;
	int copy = sketch_copy(e, step);
	enum status st;

	q.done = keep_moved;
	TRY(collect_gradients(e, copy, take, &p, err));
	TRY(collect_masters(e, copy, take, &q, err));
out:
	return st;
}

enum status sketch_write(const struct sketch *s, const char *folder, struct error *err)
{
	struct safetensors_entry entry = {
		.name = "sketch",
		.dtype = DTYPE_F32,
		.dims = 3,
		.shape = {s->steps, s->tensors, sizeof(*s->values) / sizeof(float)}};
	size_t bytes = (size_t)s->steps * (size_t)s->tensors * sizeof(*s->values);
	struct file f = {.fd = -1};
	char path[PATH_MAX];
	enum status st;

	TRY(file_path(path, folder, "sketch.safetensors", err));
	TRY(safetensors_begin(&f, path, &entry, 1, err));
	TRY(file_write(&f, s->values, bytes, err));
	TRY(file_commit(&f, err));
out:
	file_abort(&f);
	return st;
}
