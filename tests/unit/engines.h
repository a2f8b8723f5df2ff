/* engines.h - small engines on a device and batches for them, for the tests of both. */
#ifndef KOLM_TESTS_ENGINES_H
#define KOLM_TESTS_ENGINES_H

#include "testing.h"

#include "device/cpu/kernels.h"
#include "engine/engine.h"

static struct error err;

static inline struct device *open_device(int threads, uint64_t memory)
{
	struct device_options o = {.threads = threads, .memory = memory};
	struct device *dev;

	assert_int_equal(device_open(&dev, "cpu", &o, &err), OK);
	return dev;
}

static inline double step_loss(struct engine *e)
{
	struct step_result result;

	assert_int_equal(engine_step(e, 0, &result, &err), OK);
	return result.loss;
}

static inline struct engine_options options_of(int in, int dim, int out, int depth, int rows)
{
	return (struct engine_options){
		.shape = {.depth = depth,
			  .in = in,
			  .dim = dim,
			  .out = out,
			  .rows = rows,
			  .act = ACT_GELU},
		.micro_batches = 1,
		.optimizer = {.kind = OPT_SGD, .lr = 0.1f},
		.seed = 3,
	};
}

static inline void fill_batch(struct engine *e, uint64_t seed)
{
	const struct model_shape *s = &e->options.shape;
	int rows = s->rows * e->options.micro_batches;

	for (int r = 0; r < rows; r++) {
		rng_normal(seed, 1, (uint64_t)(r * s->in), (size_t)s->in,
			   e->batch.x.data + (size_t)r * e->batch.x.stride);
		if (e->options.labelled)
			e->batch.labels[r] =
				(int32_t)rng_below(seed, 2, (uint64_t)r, (uint32_t)s->out);
		else
			rng_normal(seed, 3, (uint64_t)(r * s->out), (size_t)s->out,
				   e->batch.target.data + (size_t)r * e->batch.target.stride);
	}
}

#endif
