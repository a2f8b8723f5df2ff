/*
 * test_language_layers.c - the kinds of layers that language models are made of, between an
 * embedding and a head: their gradients are difference quotients of the loss, and they train on
 * grids as on one rank. What they are made of is a line in the list.
 */
#include "engines.h"
#include "language_layers.h"

#include "comm/fork.h"
#include "engine/impl.h"

enum { BATCH = 4 * SEQUENCE, STEPS = 5, SAMPLES = 60 };

static const struct kind kinds[] = {
	{"embedding", NOTHING, .kv_heads = HEADS},
	{"embedding with positions", NOTHING, .positions = true},
	{"embedding with dropout", NOTHING, .positions = true, .dropout = 0.3},
	{"embedding that spreads", NOTHING, .positions = true, .spreads = true},
	{"tied head", NOTHING, .tied = true},
	{"tied head on spread rows", NOTHING, .tied = true, .spreads = true, .positions = true},
	{"layer norm on spread rows", NOTHING, .norm = NORM_LAYER, .spreads = true},
	{"rms norm on spread rows", NOTHING, .norm = NORM_RMS, .spreads = true, .tied = true},
	{"products", PRODUCT, .biased = true, .bridged = true},
	{"products of spread rows", PRODUCT, .biased = true, .spreads = true},
	{"spread rows and a bridge", PRODUCT, .biased = true, .spreads = true, .bridged = true},
	{"attention", ATTENTION, .kv_heads = HEADS},
	{"attention with biases", ATTENTION, .kv_heads = HEADS, .biased = true,
	 .positions = true},
	{"attention with dropout", ATTENTION, .kv_heads = HEADS, .dropout = 0.3},
	{"rotary attention", ATTENTION, .kv_heads = HEADS, .theta = 100},
	{"grouped queries", ATTENTION, .kv_heads = 2},
	{"rotary grouped queries of spread rows", ATTENTION, .kv_heads = 2, .theta = 100,
	 .spreads = true, .norm = NORM_RMS, .bridged = true},
	{"attention that computes again", ATTENTION, .kv_heads = HEADS, .norm = NORM_LAYER,
	 .bridged = true, .again = INSIDE, .dropout = 0.3, .biased = true},
	{"rotary attention that computes again", ATTENTION, .kv_heads = 2, .theta = 100,
	 .norm = NORM_RMS, .bridged = true, .again = AROUND},
	{"attention of spread rows that computes again", ATTENTION, .kv_heads = 2, .theta = 100,
	 .norm = NORM_RMS, .bridged = true, .again = AROUND, .spreads = true, .dropout = 0.3},
	{"gate", GATE, .biased = true},
	{"gate of spread rows", GATE, .spreads = true, .norm = NORM_RMS, .bridged = true},
	{"gate that computes again", GATE, .again = INSIDE},
	{"gate that computes again twice", GATE, .again = BOTH, .bridged = true,
	 .norm = NORM_LAYER, .tied = true, .dropout = 0.3},
};

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

static void fill_tokens(void *arg, int64_t first, int rows, const struct batch *b)
{
	uint64_t seed = *(const uint64_t *)arg;

	for (int r = 0; r < rows; r++) {
		b->tokens[r] = (int32_t)rng_below(seed, 1, (uint64_t)(first + r), VOCABULARY);
		b->labels[r] = (int32_t)rng_below(seed, 2, (uint64_t)(first + r), VOCABULARY);
	}
}

static void load_tokens(struct fixture *f, uint64_t seed)
{
	engine_load(f->engine, fill_tokens, &seed);
}

static enum status open_run(struct fixture *f, const struct run *r, struct comm *world,
			    struct error *e)
{
	struct engine_options o = {.loss = &loss_cross_entropy,
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
		load_tokens(&f, (uint64_t)i);
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

		load_tokens(&f, (uint64_t)i);
		assert_int_equal(engine_step(f.engine, i, &result, &err), OK);
		r->losses[i] = result.loss;
	}
	close_run(&f);
	comm_free(world);
}

static void every_kind_trains_on_grids_as_on_one_rank(void **state)
{
	static const struct run runs[] = {
		{.grid = {1, 1, 1}, .schedule = SCHEDULE_1F1B, .micro_batches = 4},
		{.grid = {2, 1, 1}, .schedule = SCHEDULE_1F1B, .micro_batches = 2},
		{.grid = {1, 1, 2}, .schedule = SCHEDULE_1F1B, .micro_batches = 1},
		{.grid = {1, 2, 1}, .schedule = SCHEDULE_1F1B, .micro_batches = 2},
		{.grid = {1, 3, 1}, .schedule = SCHEDULE_ZB_H1, .micro_batches = 4},
		{.grid = {1, 3, 2}, .schedule = SCHEDULE_GPIPE, .micro_batches = 4},
		{.grid = {2, 2, 2}, .schedule = SCHEDULE_ZB_H1, .micro_batches = 2},
	};
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
			struct run r = runs[i];
			struct error e = {0};

			r.kind = &kinds[k];
			r.lr = 0.1f;
			if (r.kind->middle == NOTHING)
				r.grid.pp = imin(r.grid.pp, 2);
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
	float values[2][3 * HEADS * HEAD];
	double loss;

	assert_true(t->columns <= 3 * HEADS * HEAD);
	weights_read_rows(w, w->param, w->type, tensor, 0, row, 1, values[0]);
	memcpy(values[1], values[0], sizeof(values[0]));
	values[1][element % t->columns] += by;
	weights_write_rows(w, w->param, w->type, tensor, 0, row, 1, values[1]);
	loss = step_loss(f);
	weights_write_rows(w, w->param, w->type, tensor, 0, row, 1, values[0]);
	return loss;
}

/* Of two distances, so that curvature does not show: rms norms of short rows bend a lot. */
static double slope_at(struct fixture *f, int tensor, int element, float h)
{
	double near = loss_at(f, tensor, element, h) - loss_at(f, tensor, element, -h);
	double far = loss_at(f, tensor, element, 2 * h) - loss_at(f, tensor, element, -2 * h);

	return (8 * near - far) / (12 * (double)h);
}

static void check_gradients(const struct kind *k, int micro_batches, struct random *r)
{
	struct run one = {k, {1, 1, 1}, SCHEDULE_1F1B, micro_batches, 0, {0}};
	const float h = 0x1p-10f;
	struct comm *world;
	struct fixture f = {0};
	float *gradients;

	assert_int_equal(comm_open_self(&world, &err), OK);
	assert_int_equal(open_run(&f, &one, world, &err), OK);
	load_tokens(&f, r->seed);
	step_loss(&f);
	gradients = read_tensors(&f, collect_gradients);
	for (int n = 0; n < SAMPLES; n++) {
		int tensor = n % f.model.n_tensors, before = 0, element;
		double slope, gradient;

		element = random_int(r, 0, (int)tensor_elements(&f.model.tensors[tensor]) - 1);
		for (int i = 0; i < tensor; i++)
			before += (int)tensor_elements(&f.model.tensors[i]);
		slope = slope_at(&f, tensor, element, h);
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
	struct random r = random_start("kinds of layers of language models");
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (int micro_batches = 1; micro_batches <= 2; micro_batches++)
			check_gradients(&kinds[k], micro_batches, &r);
}

/* What is computed again is what was computed: the same bits as without. */
static void computing_again_changes_nothing(void **state)
{
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (int again = INSIDE; again <= BOTH; again++) {
			struct kind kind = kinds[k];
			struct run a = {&kind, {1, 1, 1}, SCHEDULE_1F1B, 1, 0.1f, {0}}, b = a;

			kind.again = NEVER;
			train_alone(&a);
			kind.again = (enum again)again;
			train_alone(&b);
			assert_memory_equal(a.losses, b.losses, sizeof(a.losses));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gradients_of_every_kind_are_difference_quotients),
		cmocka_unit_test(computing_again_changes_nothing),
		cmocka_unit_test(every_kind_trains_on_grids_as_on_one_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
