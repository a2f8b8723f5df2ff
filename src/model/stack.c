/* stack.c - see stack.h */
#include "model/stack.h"
#include "base/rng.h"
#include "base/stream.h"
#include "base/util.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { INIT_ROWS = 16 }; /* rows initialised at once */

static int layer_in(const struct stack_shape *shape, int i)
{
	return i == 0 ? shape->in : shape->dim;
}

static int layer_out(const struct stack_shape *shape, int i)
{
	return i == shape->depth - 1 ? shape->out : shape->dim;
}

int64_t stack_parameters(const struct stack_shape *shape)
{
	int64_t n = 0;

	for (int i = 0; i < shape->depth; i++)
		n += ((int64_t)layer_in(shape, i) + 1) * layer_out(shape, i);
	return n;
}

/* Forward, weight gradient, and input gradient of all layers but the first. */
double stack_flops(const struct stack_shape *shape)
{
	double n = 0;

	for (int i = 0; i < shape->depth; i++)
		n += (i ? 6.0 : 4.0) * layer_in(shape, i) * layer_out(shape, i);
	return n;
}

static void place_layers(struct stack *s)
{
	for (int i = 0; i < s->shape.depth; i++) {
		struct layer *l = &s->layers[i];

		l->in = layer_in(&s->shape, i);
		l->out = layer_out(&s->shape, i);
		l->weight = s->size;
		s->size += (size_t)round_up((int64_t)device_matrix_size(s->dev, l->out, l->in),
					    LINE_FLOATS);
		l->bias = s->size;
		s->size += (size_t)round_up(l->out, LINE_FLOATS);
	}
}

/* The next (rows, columns) of a piece of memory; base is NULL while sizes are added up. */
static struct view take(float *base, size_t *at, int rows, int columns)
{
	struct view v = {base ? base + *at : NULL, (size_t)round_up(columns, LINE_FLOATS)};

	*at += (size_t)rows * v.stride;
	return v;
}

/* Activations: outputs of every layer, values before gelu, and two gradients. Returns
   how many elements they take. */
static size_t place_activations(struct stack *s, float *base)
{
	const struct stack_shape *shape = &s->shape;
	int widest = imax(shape->dim, shape->out);
	size_t at = 0;

	for (int i = 0; i < shape->depth; i++) {
		s->input[i + 1] = take(base, &at, shape->rows, layer_out(shape, i));
		s->before[i] = (struct view){0};
		if (shape->act == ACT_GELU && i < shape->depth - 1)
			s->before[i] = take(base, &at, shape->rows, layer_out(shape, i));
	}
	for (int i = 0; i < 2; i++)
		s->flow[i] = take(base, &at, shape->rows, widest);
	return at;
}

struct init_job {
	struct stack *s;
	uint64_t seed;
	float *rows; /* INIT_ROWS * widest per thread */
	int widest;
};

/* He's bound before a rectifier, LeCun's otherwise: the signal keeps its size. */
static float weight_bound(const struct stack *s, int i)
{
	bool rectified = i < s->shape.depth - 1 && s->shape.act != ACT_NONE;

	return sqrtf((rectified ? 6.0f : 3.0f) / (float)s->layers[i].in);
}

static void init_weights(void *arg, int part, int parts)
{
	struct init_job *job = arg;
	struct stack *s = job->s;
	float *rows = job->rows + (size_t)part * INIT_ROWS * (size_t)job->widest;

	for (int i = 0; i < s->shape.depth; i++) {
		const struct layer *l = &s->layers[i];
		float bound = weight_bound(s, i);
		int groups = (int)ceil_div(l->out, INIT_ROWS);

		for (int g = part; g < groups; g += parts) {
			int row = g * INIT_ROWS, n = imin(INIT_ROWS, l->out - row);

			rng_uniform(job->seed, stream_id(STREAM_WEIGHT, (uint64_t)i),
				    (uint64_t)row * (uint64_t)l->in, (size_t)n * (size_t)l->in,
				    -bound, bound, rows);
			device_matrix_write(s->dev, s->param + l->weight, l->out, l->in, row, n,
					    rows);
		}
	}
}

static enum status init_parameters(struct stack *s, uint64_t seed, struct error *err)
{
	int widest = imax(s->shape.in, s->shape.dim);
	struct init_job job = {s, seed, NULL, widest};

	job.rows = malloc((size_t)device_threads(s->dev) * INIT_ROWS * (size_t)widest *
			  sizeof(float));
	if (!job.rows)
		return FAIL(err, ERR_MEMORY, "no memory to initialise layers of width %d",
			    widest);
	device_parallel(s->dev, init_weights, &job);
	for (int i = 0; i < s->shape.depth; i++) {
		const struct layer *l = &s->layers[i];
		float bound = 1 / sqrtf((float)l->in);

		rng_uniform(seed, stream_id(STREAM_BIAS, (uint64_t)i), 0, (size_t)l->out,
			    -bound, bound, s->param + l->bias);
	}
	free(job.rows);
	return OK;
}

enum status stack_init(struct stack *s, struct device *dev, const struct stack_shape *shape,
		       uint64_t seed, struct error *err)
{
	enum status st;
	size_t n = (size_t)shape->depth;

	*s = (struct stack){.dev = dev, .shape = *shape};
	s->layers = calloc(n, sizeof(*s->layers));
	s->input = calloc(n + 1, sizeof(*s->input));
	s->before = calloc(n, sizeof(*s->before));
	if (!s->layers || !s->input || !s->before) {
		st = FAIL(err, ERR_MEMORY, "no memory for %d layers", shape->depth);
		goto out;
	}
	place_layers(s);
	TRY(device_alloc(dev, MEMORY_PARAMS, s->size * sizeof(float), "the parameters",
			 (void **)&s->param, err));
	TRY(device_alloc_shared(dev, MEMORY_GRADS, s->size * sizeof(float), "the gradients",
				(void **)&s->grad, err));
	TRY(device_alloc(dev, MEMORY_ACTIVATIONS, place_activations(s, NULL) * sizeof(float),
			 "the activations", (void **)&s->activations, err));
	place_activations(s, s->activations);
	TRY(device_reserve(dev, shape->rows, imax(shape->dim, shape->out), err));
	TRY(init_parameters(s, seed, err));
out:
	if (st != OK)
		stack_release(s);
	return st;
}

void stack_release(struct stack *s)
{
	if (s->dev) {
		device_free(s->dev, s->activations);
		device_free(s->dev, s->grad);
		device_free(s->dev, s->param);
	}
	free(s->before);
	free(s->input);
	free(s->layers);
	*s = (struct stack){0};
}

/* Layer i with what all three products of it share. */
static struct linear linear_of(const struct stack *s, int i, int rows)
{
	return (struct linear){
		.rows = rows,
		.out = s->layers[i].out,
		.in = s->layers[i].in,
		.weight = s->param + s->layers[i].weight,
		.bias = s->param + s->layers[i].bias,
	};
}

struct view stack_forward(struct stack *s, struct view x, int rows)
{
	int depth = s->shape.depth;

	assert(rows <= s->shape.rows);
	s->input[0] = x;
	for (int i = 0; i < depth; i++) {
		struct linear l = linear_of(s, i, rows);

		l.x = s->input[i];
		l.y = s->input[i + 1];
		l.saved = s->before[i];
		l.act = i < depth - 1 ? s->shape.act : ACT_NONE;
		device_forward(s->dev, &l);
	}
	return s->input[depth];
}

struct view stack_output_gradient(struct stack *s)
{
	return s->flow[(s->shape.depth - 1) % 2];
}

void stack_backward(struct stack *s, int rows, bool accumulate)
{
	for (int i = s->shape.depth - 1; i >= 0; i--) {
		struct linear l = linear_of(s, i, rows);

		l.y = s->flow[i % 2];
		if (i > 0) {
			l.x = s->flow[(i - 1) % 2];
			l.act = s->shape.act;
			l.saved = l.act == ACT_GELU ? s->before[i - 1] : s->input[i];
			device_backward_input(s->dev, &l);
		}
		l.weight = s->grad + s->layers[i].weight;
		l.bias = s->grad + s->layers[i].bias;
		l.x = s->input[i];
		l.accumulate = accumulate;
		device_backward_weight(s->dev, &l);
	}
}
