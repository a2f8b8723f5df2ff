/* engines.h - small engines of one rank and samples for them, for the tests of both. */
#ifndef KOLM_TESTS_ENGINES_H
#define KOLM_TESTS_ENGINES_H

#include "testing.h"

#include "comm/self.h"
#include "device/cpu/kernels.h"
#include "engine/collect.h"
#include "engine/engine.h"
#include "model/mlp.h"

static struct error err;

static inline struct device *open_device(int threads, uint64_t memory)
{
	struct device_options o = {.threads = threads, .memory = memory};
	struct device *dev;

	assert_int_equal(device_open(&dev, "cpu", &o, &err), OK);
	return dev;
}

/* ---- what is trained, and how ---- */

enum { DEPTH_MAX = 32 };

struct recipe {
	int widths[DEPTH_MAX + 1]; /* from what goes in to what comes out */
	struct mlp mlp;		   /* its widths are these */
	struct engine_options options;
	int threads;
};

static inline struct recipe recipe_of(int in, int dim, int out, int depth, int rows)
{
	struct recipe r = {
		.mlp = {.depth = depth, .act = ACT_GELU},
		.options = {.loss = &loss_mse,
			    .rows = rows,
			    .micro_batches = 1,
			    .optimizer = {.kind = OPT_SGD, .lr = 0.1f},
			    .seed = 3,
			    .grid = {1, 1, 1}},
		.threads = 1,
	};

	for (int i = 1; i < depth; i++)
		r.widths[i] = dim;
	r.widths[0] = in;
	r.widths[depth] = out;
	return r;
}

/* An engine of a world of one, with all that it borrows. Not to be moved while it is open. */
struct fixture {
	struct device *dev;
	struct comm *world;
	struct model model;
	struct partition partition;
	struct schedule schedule;
	struct engine *engine;
};

static inline void fixture_open(struct fixture *f, const struct recipe *r)
{
	struct engine_options o = r->options;
	struct mlp mlp = r->mlp;

	mlp.widths = r->widths;
	f->dev = open_device(r->threads, 0);
	assert_int_equal(comm_open_self(&f->world, &err), OK);
	model_init(&f->model, r->widths[0], 1);
	assert_int_equal(mlp_build(&f->model, &mlp, &err), OK);
	assert_int_equal(partition_init(&f->partition, &f->model, 1, 1, "", &err), OK);
	assert_int_equal(
		schedule_init(&f->schedule, SCHEDULE_1F1B, 1, o.micro_batches, 1, &err), OK);
	o.model = &f->model;
	o.world = f->world;
	o.partition = &f->partition;
	o.schedule = &f->schedule;
	assert_int_equal(engine_create(&f->engine, f->dev, &o, &err), OK);
}

static inline void fixture_close(struct fixture *f)
{
	engine_free(f->engine);
	schedule_release(&f->schedule);
	partition_release(&f->partition);
	model_release(&f->model);
	comm_free(f->world);
	device_close(f->dev);
}

/* ---- samples ---- */

struct random_samples {
	uint64_t seed;
	const struct model *model;
};

static inline float *row_of(struct view v, int row)
{
	return view_from(v, (size_t)row).data;
}

static inline void fill_random(void *arg, int64_t first, int rows, const struct batch *b)
{
	const struct random_samples *s = arg;
	int in = s->model->in, out = s->model->out;

	for (int r = 0; r < rows; r++) {
		uint64_t row = (uint64_t)(first + r);

		rng_normal(s->seed, 1, row * (uint64_t)in, (size_t)in, row_of(b->x, r));
		if (b->labels)
			b->labels[r] = (int32_t)rng_below(s->seed, 2, row, (uint32_t)out);
		else
			rng_normal(s->seed, 3, row * (uint64_t)out, (size_t)out,
				   row_of(b->target, r));
	}
}

static inline void load_random(struct fixture *f, uint64_t seed)
{
	engine_load(f->engine, fill_random, &(struct random_samples){seed, &f->model});
}

static inline double step_loss(struct fixture *f)
{
	struct step_result result;

	assert_int_equal(engine_step(f->engine, 0, &result, &err), OK);
	return result.loss;
}

/* ---- tensors ---- */

/* All of them one behind the other, row by row. */
struct flat {
	float *values;
	size_t count, room;
};

static inline enum status keep_rows(void *arg, int tensor, const float *values, size_t count,
				    struct error *e)
{
	struct flat *flat = arg;

	(void)tensor, (void)e;
	assert_true(flat->count + count <= flat->room);
	memcpy(flat->values + flat->count, values, count * sizeof(float));
	flat->count += count;
	return OK;
}

/* The caller frees it. */
static inline float *read_tensors(struct fixture *f, collect_tensors *collect)
{
	struct flat flat = {.room = (size_t)model_parameters(&f->model)};

	flat.values = calloc(flat.room, sizeof(float));
	assert_int_equal(collect(f->engine, 0, keep_rows, &flat, &err), OK);
	assert_int_equal(flat.count, flat.room);
	return flat.values;
}

#endif
