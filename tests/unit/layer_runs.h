/*
 * layer_runs.h - models of a few layers, for the tests of kinds of layers: trained on a grid as
 * on one rank, and their gradients against difference quotients of the loss.
 */
#ifndef KOLM_TESTS_LAYER_RUNS_H
#define KOLM_TESTS_LAYER_RUNS_H

#include "engines.h"

#include "comm/fork.h"
#include "engine/impl.h"

enum { RUN_STEPS = 5, RUN_COLUMNS = 64 };

/* What all runs of a test have in common. */
struct run_maker {
	enum status (*build)(struct model *m, const void *kind, int mp, struct error *e);
	void (*load)(struct fixture *f, uint64_t seed);
	const struct loss *loss;
	int batch; /* rows */
};

struct run {
	const struct run_maker *maker;
	const void *kind;
	const char *name; /* of it */
	struct grid grid;
	enum schedule_kind schedule;
	int micro_batches;
	float lr;
	double losses[RUN_STEPS]; /* of one rank, to hold others against */
};

static inline enum status run_take_shared(void *arg, size_t bytes, void **out, struct error *e)
{
	return comm_alloc(arg, bytes, out, e);
}

static inline void run_give_back(void *arg, void *memory)
{
	comm_give_back(arg, memory);
}

static inline enum status run_open(struct fixture *f, const struct run *r, struct comm *world,
				   struct error *e)
{
	struct engine_options o = {.loss = r->maker->loss,
				   .rows = r->maker->batch / r->grid.dp / r->micro_batches,
				   .micro_batches = r->micro_batches,
				   .optimizer = {.kind = OPT_SGD, .lr = r->lr},
				   .seed = 3,
				   .model = &f->model,
				   .world = world,
				   .grid = r->grid,
				   .partition = &f->partition,
				   .schedule = &f->schedule};
	enum status st;

	f->world = world;
	f->dev = open_device(1, 0);
	if (comm_size(world) > 1)
		device_share(f->dev, run_take_shared, run_give_back, world);
	TRY(r->maker->build(&f->model, r->kind, r->grid.mp, e));
	TRY(partition_init(&f->partition, &f->model, r->grid.pp, 1, "", e));
	TRY(schedule_init(&f->schedule, r->schedule, r->grid.pp, r->micro_batches, 1, e));
	TRY(engine_create(&f->engine, f->dev, &o, e));
out:
	return st;
}

static inline void run_close(struct fixture *f)
{
	engine_free(f->engine);
	schedule_release(&f->schedule);
	partition_release(&f->partition);
	model_release(&f->model);
	device_close(f->dev);
}

static inline enum status run_train(struct comm *world, void *arg, struct error *e)
{
	const struct run *r = arg;
	struct fixture f = {0};
	struct step_result result;
	enum status st;

	TRY(run_open(&f, r, world, e));
	for (int i = 0; i < RUN_STEPS; i++) {
		r->maker->load(&f, (uint64_t)i);
		TRY(engine_step(f.engine, i, &result, e));
		if (!(fabs(result.loss - r->losses[i]) <= 1e-5 * r->losses[i])) {
			st = FAIL(e, ERR_FAILED, "loss of step %d is %.9g, on one rank %.9g", i,
				  result.loss, r->losses[i]);
			goto out;
		}
	}
out:
	run_close(&f);
	return st;
}

/* The losses of the same on one rank. */
static inline void run_alone(struct run *r)
{
	struct run one = *r;
	struct comm *world;
	struct fixture f = {0};

	one.grid = (struct grid){1, 1, 1};
	one.schedule = SCHEDULE_1F1B;
	one.micro_batches = 1;
	assert_int_equal(comm_open_self(&world, &err), OK);
	assert_int_equal(run_open(&f, &one, world, &err), OK);
	for (int i = 0; i < RUN_STEPS; i++) {
		struct step_result result;

		r->maker->load(&f, (uint64_t)i);
		assert_int_equal(engine_step(f.engine, i, &result, &err), OK);
		r->losses[i] = result.loss;
	}
	run_close(&f);
	comm_free(world);
}

static inline void run_check_grid(struct run r)
{
	struct error e = {0};

	run_alone(&r);
	if (comm_fork(grid_size(&r.grid), run_train, &r, &e) != OK)
		fail_msg("%s, dp %d pp %d mp %d: %s", r.name, r.grid.dp, r.grid.pp, r.grid.mp,
			 e.msg);
}

/* ---- gradients ---- */

/* The loss with an element of a tensor moved by so much. */
static inline double run_loss_at(struct fixture *f, int tensor, int element, float by)
{
	const struct weights *w = &f->engine->weights;
	const struct tensor *t = &f->model.tensors[tensor];
	int row = element / t->columns;
	float values[2][RUN_COLUMNS];
	double loss;

	assert_true(t->columns <= RUN_COLUMNS);
	weights_read_rows(w, w->param, w->type, tensor, 0, row, 1, values[0]);
	memcpy(values[1], values[0], sizeof(values[0]));
	values[1][element % t->columns] += by;
	weights_write_rows(w, w->param, w->type, tensor, 0, row, 1, values[1]);
	loss = step_loss(f);
	weights_write_rows(w, w->param, w->type, tensor, 0, row, 1, values[0]);
	return loss;
}

/* Of two distances, so that curvature does not show: rms norms of short rows bend a lot. */
static inline double run_slope_at(struct fixture *f, int tensor, int element, float h)
{
	double near = run_loss_at(f, tensor, element, h) - run_loss_at(f, tensor, element, -h);
	double far = run_loss_at(f, tensor, element, 2 * h) -
		     run_loss_at(f, tensor, element, -2 * h);

	return (8 * near - far) / (12 * (double)h);
}

/* On one rank, of so many random elements, with quotients over h and twice that. */
static inline void run_check_gradients(const struct run *r, int samples, float h,
				       struct random *random)
{
	struct comm *world;
	struct fixture f = {0};
	float *gradients;

	assert_int_equal(comm_open_self(&world, &err), OK);
	assert_int_equal(run_open(&f, r, world, &err), OK);
	r->maker->load(&f, random->seed);
	step_loss(&f);
	gradients = read_tensors(&f, collect_gradients);
	for (int n = 0; n < samples; n++) {
		int tensor = n % f.model.n_tensors, before = 0, element;
		double slope, gradient;

		element = random_int(random, 0,
				     (int)tensor_elements(&f.model.tensors[tensor]) - 1);
		for (int i = 0; i < tensor; i++)
			before += (int)tensor_elements(&f.model.tensors[i]);
		slope = run_slope_at(&f, tensor, element, h);
		gradient = (double)gradients[before + element];
		if (!(fabs(slope - gradient) <= 2e-4 + 5e-3 * fabs(slope)))
			fail_msg("%s, %s [%d]: gradient %g, difference quotient %g", r->name,
				 f.model.tensors[tensor].name, element, gradient, slope);
	}
	free(gradients);
	run_close(&f);
	comm_free(world);
}

#endif
