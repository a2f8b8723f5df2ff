/* model.c - a rank's layers: where they lie, and what is in them at first; see model.h */
#include "model/model.h"
#include "base/half.h"
#include "base/rng.h"
#include "base/stream.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>

enum { INIT_ROWS = 16 }; /* rows initialised at once */

static struct layer layer_at(const struct model *m, int number)
{
	int in = shape_in(&m->shape, number), out = shape_out(&m->shape, number);
	struct layer l = {.number = number,
			  .split = split_of(number, m->mp),
			  .in = in,
			  .out = out,
			  .full_in = in,
			  .full_out = out};

	if (l.split == SPLIT_COLUMNS) {
		l.out = out / m->mp;
		l.row = m->shard * l.out;
	} else if (l.split == SPLIT_ROWS) {
		l.in = in / m->mp;
		l.column = m->shard * l.in;
	}
	return l;
}

static void place_layers(struct model *m, const struct partition *p, int stage)
{
	for (int c = 0; c < m->n_chunks; c++) {
		int part = stage + c * p->stages;
		struct chunk *chunk = &m->chunks[c];

		*chunk = (struct chunk){.part = part,
					.first = m->n_layers,
					.count = p->first[part + 1] - p->first[part],
					.begins = part == 0,
					.ends = part == p->stages * p->chunks - 1};
		for (int i = p->first[part]; i < p->first[part + 1]; i++) {
			struct layer *l = &m->layers[m->n_layers++];

			*l = layer_at(m, i);
			l->weight = m->size;
			m->size += (size_t)round_up(
				(int64_t)device_matrix_size(m->dev, l->out, l->in),
				LINE_FLOATS);
			l->bias = m->size;
			m->size += (size_t)round_up(l->out, LINE_FLOATS);
		}
		chunk->in = m->layers[chunk->first].in;
		chunk->out = m->layers[m->n_layers - 1].out;
	}
}

struct init_job {
	struct model *m;
	uint64_t seed;
	float *rows; /* INIT_ROWS * widest per thread */
	int widest;
};

/* He's bound before a rectifier, LeCun's otherwise: the signal keeps its size. */
static float weight_bound(const struct model *m, const struct layer *l)
{
	bool rectified = l->number < m->shape.depth - 1 && m->shape.act != ACT_NONE;

	return sqrtf((rectified ? 6.0f : 3.0f) / (float)l->full_in);
}

static void init_weights(void *arg, int part, int parts)
{
	struct init_job *job = arg;
	struct model *m = job->m;
	float *rows = job->rows + (size_t)part * INIT_ROWS * (size_t)job->widest;

	for (int i = 0; i < m->n_layers; i++) {
		const struct layer *l = &m->layers[i];
		float bound = weight_bound(m, l);
		int groups = (int)ceil_div(l->out, INIT_ROWS);

		for (int g = part; g < groups; g += parts) {
			int row = g * INIT_ROWS, n = imin(INIT_ROWS, l->out - row);

			for (int r = 0; r < n; r++)
				rng_uniform(job->seed,
					    stream_id(STREAM_WEIGHT, (uint64_t)l->number),
					    (uint64_t)(l->row + row + r) *
							    (uint64_t)l->full_in +
						    (uint64_t)l->column,
					    (size_t)l->in, -bound, bound,
					    rows + (size_t)r * (size_t)l->in);
			device_matrix_write(m->dev, flat_at(m->param, m->type, l->weight),
					    m->type, l->out, l->in, row, n, rows);
		}
	}
}

static enum status init_parameters(struct model *m, uint64_t seed, struct error *err)
{
	int widest = imax(m->shape.in, imax(m->shape.dim, m->shape.out));
	struct init_job job = {m, seed, NULL, widest};

	job.rows = malloc((size_t)device_threads(m->dev) * INIT_ROWS * (size_t)widest *
			  sizeof(float));
	if (!job.rows)
		return FAIL(err, ERR_MEMORY, "no memory to initialise layers of width %d",
			    widest);
	device_parallel(m->dev, init_weights, &job);
	for (int i = 0; i < m->n_layers; i++) {
		const struct layer *l = &m->layers[i];
		float bound = 1 / sqrtf((float)l->full_in);

		rng_uniform(seed, stream_id(STREAM_BIAS, (uint64_t)l->number), (uint64_t)l->row,
			    (size_t)l->out, -bound, bound, job.rows);
		for (int o = 0; o < l->out; o++)
			float_to(m->param, l->bias + (size_t)o, m->type, job.rows[o]);
	}
	free(job.rows);
	return OK;
}

enum status model_init(struct model *m, struct device *dev, const struct model_shape *shape,
		       const struct partition *partition, const struct model_place *place,
		       uint64_t seed, struct error *err)
{
	enum status st;

	*m = (struct model){.dev = dev,
			    .shape = *shape,
			    .mp = place->mp,
			    .shard = place->shard,
			    .sums = place->sums,
			    .type = place->type,
			    .grad_type = place->grad_type,
			    .n_chunks = partition->chunks};
	m->layers = calloc((size_t)shape->depth, sizeof(*m->layers));
	m->chunks = calloc((size_t)m->n_chunks, sizeof(*m->chunks));
	if (!m->layers || !m->chunks) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d layers", shape->depth);
		goto out;
	}
	place_layers(m, partition, place->stage);
	if (place->share_params)
		TRY(device_alloc_shared(dev, MEMORY_PARAMS, m->size * dtype_size(m->type),
					"the parameters", (void **)&m->param, err));
	else
		TRY(device_alloc(dev, MEMORY_PARAMS, m->size * dtype_size(m->type),
				 "the parameters", (void **)&m->param, err));
	TRY(device_alloc_shared(dev, MEMORY_GRADS, m->size * dtype_size(m->grad_type),
				"the gradients", (void **)&m->grad, err));
	TRY(device_reserve(dev, shape->rows, imax(shape->dim, shape->out), err));
	if (!place->plan)
		TRY(init_parameters(m, seed, err));
out:
	if (st != OK)
		model_release(m);
	return st;
}

void model_release(struct model *m)
{
	if (m->dev) {
		device_free(m->dev, m->grad);
		device_free(m->dev, m->param);
	}
	free(m->layers);
	free(m->chunks);
	*m = (struct model){0};
}

bool model_is_replicated(const struct model *m, const struct layer *l)
{
	return m->mp > 1 && l->split == SPLIT_ROWS;
}

int model_widest(const struct model *m)
{
	int widest = 0;

	for (int i = 0; i < m->n_layers; i++)
		widest = imax(widest, imax(m->layers[i].in, m->layers[i].out));
	return widest;
}
