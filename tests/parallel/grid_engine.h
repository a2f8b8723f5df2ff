/*
 * grid_engine.h - what a rank of a setting has: its engine with all that it borrows, and
 * samples for it. For ranks that launch_run has started: what fails is handed up.
 */
#ifndef KOLM_TESTS_GRID_ENGINE_H
#define KOLM_TESTS_GRID_ENGINE_H

#include "grid_setting.h"

#include "data/data.h"
#include "engine/engine.h"

static inline enum status grid_source(void *arg, size_t bytes, void **out, struct error *err)
{
	return comm_alloc(arg, bytes, out, err);
}

static inline void grid_sink(void *arg, void *memory)
{
	comm_give_back(arg, memory);
}

static inline enum status grid_model(struct model *m, const struct setting *s,
				     struct error *err)
{
	struct mlp mlp = s->mlp;

	if (setting_is_language(s)) {
		model_init(m, 1, s->grid.mp);
		return gpt_build(m, &s->gpt, err);
	}
	mlp.widths = s->widths;
	model_init(m, s->widths[0], s->grid.mp);
	return mlp_build(m, &mlp, err);
}

/* batch: rows of all ranks. */
static inline struct engine_options grid_options(const struct setting *s, int batch,
						 size_t bucket_bytes, struct comm *world)
{
	/* Rounding is amplified by depth. */
	float lr = 0.003f * 8 / (float)imax(8, setting_depth(s));

	return (struct engine_options){.loss = s->labelled ? &loss_cross_entropy : &loss_mse,
				       .rows = batch / s->grid.dp / s->micro_batches,
				       .micro_batches = s->micro_batches,
				       .optimizer = {.kind = s->optimizer,
						     .lr = lr,
						     .momentum = 0.9f,
						     .beta1 = 0.9f,
						     .beta2 = 0.99f,
						     .eps = 1e-3f,
						     .weight_decay = 0.01f},
				       .clip = 0.5,
				       .seed = 3,
				       .grad_sync = s->sync,
				       .bucket_bytes = bucket_bytes,
				       .zero = s->zero,
				       .type = s->type,
				       .grad_type = s->grad_type,
				       .scaler = {.scale = s->type == DTYPE_F16 ? 1024 : 1},
				       .base = s->base,
				       .world = world,
				       .grid = s->grid};
}

/* Not to be moved while it is open. */
struct grid_engine {
	struct model model;
	struct partition partition;
	struct schedule schedule;
	struct engine_options options;
	struct device *dev;
	struct engine *engine;
};

static inline enum status grid_engine_open(struct grid_engine *g, const struct setting *s,
					   int batch, size_t bucket_bytes, struct comm *world,
					   struct error *err)
{
	struct device_options options = {.threads = 1, .crowded = true};
	enum status st;

	*g = (struct grid_engine){.options = grid_options(s, batch, bucket_bytes, world)};
	TRY(grid_model(&g->model, s, err));
	TRY(partition_init(&g->partition, &g->model, s->grid.pp, s->chunks, "", err));
	TRY(schedule_init(&g->schedule, s->schedule, s->grid.pp, s->micro_batches, s->chunks,
			  err));
	g->options.model = &g->model;
	g->options.partition = &g->partition;
	g->options.schedule = &g->schedule;
	TRY(device_open(&g->dev, "cpu", &options, err));
	if (comm_size(world) > 1)
		device_share(g->dev, grid_source, grid_sink, world);
	TRY(engine_create(&g->engine, g->dev, &g->options, err));
out:
	return st;
}

static inline void grid_engine_close(struct grid_engine *g)
{
	engine_free(g->engine);
	device_close(g->dev);
	schedule_release(&g->schedule);
	partition_release(&g->partition);
	model_release(&g->model);
}

/* The samples of a step. */
struct supply {
	struct data data;
	struct device *dev;
	float *spare;	 /* (batch, out) for targets of which classes are made */
	int step, batch; /* rows of all ranks */
};

/* Classes from the synthetic inputs: cheap, and the same on every rank. */
static inline void supply_label(const struct batch *b, int64_t first, int rows)
{
	for (int r = 0; r < rows; r++) {
		const float *x = view_from(b->x, (size_t)r).data;

		b->labels[r] = *x > 0 ? 1 : (int32_t)((first + r) % 2);
	}
}

static inline void supply_fill(void *arg, int64_t first, int rows, const struct batch *b)
{
	struct supply *s = arg;
	struct batch whole = *b;

	if (b->labels && !b->tokens)
		whole.target = (struct view){.data = s->spare, .stride = (size_t)s->data.out};
	data_batch(&s->data, s->dev, (int64_t)s->step * s->batch + first, rows, &whole);
	if (b->labels && !b->tokens)
		supply_label(b, first, rows);
}

static inline enum status supply_open(struct supply *s, const struct grid_engine *g, int batch,
				      struct error *err)
{
	*s = (struct supply){.dev = g->dev, .batch = batch};
	s->spare = calloc((size_t)batch * (size_t)g->model.out, sizeof(float));
	if (!s->spare)
		return FAIL(err, ERR_MEMORY, "no memory for %d targets", batch);
	return data_open(
		&s->data,
		&(struct data_options){.spec = "synthetic",
				       .in = g->model.in,
				       .out = g->model.out,
				       .sequence = g->model.tokens ? g->model.sequence : 0,
				       .vocabulary = g->model.out,
				       .seed = 3},
		err);
}

static inline void supply_close(struct supply *s)
{
	data_close(&s->data);
	free(s->spare);
}

#endif
