/*
 * test_layers.c - every kind of layer, between two linear ones: its gradients are difference
 * quotients of the loss, and it trains on grids as on one rank. A new kind is a line in the
 * list.
 */
#include "engines.h"

#include "comm/fork.h"
#include "engine/impl.h"
#include "model/block.h"
#include "model/dropout.h"
#include "model/linear.h"
#include "model/norm.h"

static const struct linear_config gathered = {
	.out = 12, .act = ACT_SILU, .split = LINEAR_GATHERED, .bound = 0.5f};
static const struct norm_config layer_config = {.kind = NORM_LAYER, .eps = 1e-5f};
static const struct norm_config rms_config = {.kind = NORM_RMS, .eps = 1e-5f};
static const struct dropout_config dropout_config = {.p = 0.3};

static const struct kind {
	const char *name;
	const struct layer_ops *ops;
	const void *config;
	size_t size;
	bool slices; /* it works on a part of the columns, each for itself */
} kinds[] = {
	{"linear", &layer_linear, &gathered, sizeof(gathered), false},
	{"norm layer", &layer_norm, &layer_config, sizeof(layer_config), false},
	{"norm rms", &layer_norm, &rms_config, sizeof(rms_config), false},
	{"dropout", &layer_dropout, &dropout_config, sizeof(dropout_config), true},
	{"dropout of whole rows", &layer_dropout, &dropout_config, sizeof(dropout_config),
	 false},
};

enum { INPUTS = 6, WIDTH = 12, OUTPUTS = 4, BATCH = 8, STEPS = 5, SAMPLES = 40 };

static struct layer *linear_new(int out, enum activation act, enum linear_split split)
{
	struct linear_config c = {.out = out, .act = act, .split = split, .bound = 0.5f};

	return layer_new(&layer_linear, &c, sizeof(c));
}

static enum status build(struct model *m, const struct kind *k, int mp, struct error *e)
{
	bool slices = k->slices && mp > 1;
	enum status st;

	model_init(m, INPUTS, mp);
	TRY(model_add(m, linear_new(WIDTH, ACT_GELU, slices ? LINEAR_COLUMNS : LINEAR_GATHERED),
		      e));
	TRY(model_add(m, layer_new(k->ops, k->config, k->size), e));
	TRY(model_add(m, linear_new(OUTPUTS, ACT_NONE, slices ? LINEAR_ROWS : LINEAR_GATHERED),
		      e));
	TRY(model_end(m, e));
out:
	return st;
}

/* ---- an engine on any grid ---- */

struct run {
	const struct kind *kind;
	struct grid grid;
	enum schedule_kind schedule;
	int micro_batches;
	float lr;
	double losses[STEPS]; /* of one rank, to hold others against */
};

static enum status take_shared(void *arg, size_t bytes, void **out, struct error *e)
{
	return comm_alloc(arg, bytes, out, e);
}

static void give_back(void *arg, void *memory)
{
	comm_give_back(arg, memory);
}

static enum status open_run(struct fixture *f, const struct run *r, struct comm *world,
			    struct error *e)
{
	struct engine_options o = {.loss = &loss_mse,
				   .rows = BATCH / r->grid.dp / r->micro_batches,
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
		device_share(f->dev, take_shared, give_back, world);
	TRY(build(&f->model, r->kind, r->grid.mp, e));
	TRY(partition_init(&f->partition, &f->model, r->grid.pp, 1, "", e));
	TRY(schedule_init(&f->schedule, r->schedule, r->grid.pp, r->micro_batches, 1, e));
	TRY(engine_create(&f->engine, f->dev, &o, e));
out:
	return st;
}

static void close_run(struct fixture *f)
{
	engine_free(f->engine);
	schedule_release(&f->schedule);
	partition_release(&f->partition);
	model_release(&f->model);
	device_close(f->dev);
}

static enum status train(struct comm *world, void *arg, struct error *e)
{
	const struct run *r = arg;
	struct fixture f = {0};
	struct step_result result;
	enum status st;

	TRY(open_run(&f, r, world, e));
	for (int i = 0; i < STEPS; i++) {
		load_random(&f, (uint64_t)i);
		TRY(engine_step(f.engine, i, &result, e));
		if (!(fabs(result.loss - r->losses[i]) <= 1e-5 * r->losses[i])) {
			st = FAIL(e, ERR_FAILED, "loss of step %d is %.9g, on one rank %.9g", i,
				  result.loss, r->losses[i]);
			goto out;
		}
	}
out:
	close_run(&f);
	return st;
}

static void train_alone(struct run *r)
{
	struct run one = {r->kind, {1, 1, 1}, SCHEDULE_1F1B, 1, r->lr, {0}};
	struct comm *world;
	struct fixture f = {0};

	assert_int_equal(comm_open_self(&world, &err), OK);
	assert_int_equal(open_run(&f, &one, world, &err), OK);
	for (int i = 0; i < STEPS; i++) {
		struct step_result result;

		load_random(&f, (uint64_t)i);
		assert_int_equal(engine_step(f.engine, i, &result, &err), OK);
		r->losses[i] = result.loss;
	}
	close_run(&f);
	comm_free(world);
}

static void every_kind_trains_on_grids_as_on_one_rank(void **state)
{
	static const struct run runs[] = {
		{.grid = {2, 1, 1}, .schedule = SCHEDULE_1F1B, .micro_batches = 2},
		{.grid = {1, 1, 2}, .schedule = SCHEDULE_1F1B, .micro_batches = 1},
		{.grid = {1, 3, 1}, .schedule = SCHEDULE_ZB_H1, .micro_batches = 4},
		{.grid = {1, 3, 2}, .schedule = SCHEDULE_GPIPE, .micro_batches = 4},
	};
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
			struct run r = runs[i];
			struct error e = {0};

			r.kind = &kinds[k];
			r.lr = 0.2f;
			train_alone(&r);
			if (comm_fork(grid_size(&r.grid), train, &r, &e) != OK)
				fail_msg("%s, dp %d pp %d mp %d: %s", r.kind->name, r.grid.dp,
					 r.grid.pp, r.grid.mp, e.msg);
		}
}

/* ---- gradients ---- */

/* The loss with an element of a tensor moved by so much. */
static double loss_at(struct fixture *f, int tensor, int element, float by)
{
	const struct weights *w = &f->engine->weights;
	const struct tensor *t = &f->model.tensors[tensor];
	int row = element / t->columns;
	float values[2][WIDTH];
	double loss;

	weights_read_rows(w, w->param, w->type, tensor, 0, row, 1, values[0]);
	memcpy(values[1], values[0], sizeof(values[0]));
	values[1][element % t->columns] += by;
	weights_write_rows(w, w->param, w->type, tensor, 0, row, 1, values[1]);
	loss = step_loss(f);
	weights_write_rows(w, w->param, w->type, tensor, 0, row, 1, values[0]);
	return loss;
}

static void check_gradients(const struct kind *k, struct random *r)
{
	struct run one = {k, {1, 1, 1}, SCHEDULE_1F1B, 1, 0, {0}};
	const float h = 0x1p-7f;
	struct comm *world;
	struct fixture f = {0};
	float *gradients;

	assert_int_equal(comm_open_self(&world, &err), OK);
	assert_int_equal(open_run(&f, &one, world, &err), OK);
	load_random(&f, r->seed);
	step_loss(&f);
	gradients = read_tensors(&f, collect_gradients);
	for (int n = 0; n < SAMPLES; n++) {
		int tensor = n % f.model.n_tensors, before = 0, element;
		double slope, gradient;

		element = random_int(r, 0, (int)tensor_elements(&f.model.tensors[tensor]) - 1);
		for (int i = 0; i < tensor; i++)
			before += (int)tensor_elements(&f.model.tensors[i]);
		slope = (loss_at(&f, tensor, element, h) - loss_at(&f, tensor, element, -h)) /
			(2 * (double)h);
		gradient = (double)gradients[before + element];
		if (!(fabs(slope - gradient) <= 2e-4 + 5e-3 * fabs(slope)))
			fail_msg("%s, %s [%d]: gradient %g, difference quotient %g", k->name,
				 f.model.tensors[tensor].name, element, gradient, slope);
	}
	free(gradients);
	close_run(&f);
	comm_free(world);
}

static void gradients_of_every_kind_are_difference_quotients(void **state)
{
	struct random r = random_start("kinds of layers");
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		check_gradients(&kinds[k], &r);
}

/* Tensors that ask for the same random numbers, or for none in particular, differ. */
static void no_two_tensors_begin_alike(void **state)
{
	struct model m;
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		assert_int_equal(build(&m, &kinds[k], 1, &err), OK);
		for (int i = 0; i < m.n_tensors; i++)
			for (int j = 0; j < i; j++)
				assert_true(m.tensors[i].stream != m.tensors[j].stream);
		model_release(&m);
	}
}

static void nor_do_two_layers_of_a_block(void **state)
{
	struct block_config b = {.inner = {linear_new(WIDTH, ACT_GELU, LINEAR_GATHERED),
					   linear_new(WIDTH, ACT_NONE, LINEAR_GATHERED)},
				 .label = {"", ".second"},
				 .count = 2};
	struct model m;
	(void)state;

	model_init(&m, WIDTH, 1);
	assert_int_equal(model_add(&m, layer_new(&layer_block, &b, sizeof(b)), &err), OK);
	assert_int_equal(m.n_tensors, 4);
	assert_true(m.tensors[0].stream != m.tensors[2].stream);
	assert_true(m.tensors[1].stream != m.tensors[3].stream);
	model_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gradients_of_every_kind_are_difference_quotients),
		cmocka_unit_test(every_kind_trains_on_grids_as_on_one_rank),
		cmocka_unit_test(no_two_tensors_begin_alike),
		cmocka_unit_test(nor_do_two_layers_of_a_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
