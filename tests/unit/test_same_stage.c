/*
 * test_same_stage.c - parts of the model that follow each other on one stage, as where a V
 * turns: nothing is sent between them, and they train as one part does.
 */
#include "engines.h"

#include "engine/impl.h"

enum { DEPTH = 4, MICRO_BATCHES = 3, STEPS = 3, CHUNKS = 2, ACTIONS = 32 };

/* What one stage does with two chunks: "F0 F0.1 B0.1 B0" and so on, then what ends a step. */
struct two_chunks {
	struct schedule schedule;
	struct place places[CHUNKS];
	int parts[CHUNKS];
	struct order order;
	struct action actions[ACTIONS];
};

static void add(struct two_chunks *t, enum action_kind kind, int chunk, int micro_batch)
{
	assert_true(t->order.count < ACTIONS);
	t->actions[t->order.count++] = (struct action){kind, chunk, micro_batch};
}

/* Forwards first. Backwards: whole, chunk by chunk or micro-batch by micro-batch; or in two,
   with the weights of one chunk or of the other first. */
static void add_backwards(struct two_chunks *t, int variant)
{
	const enum action_kind kind = variant < 2 ? ACTION_B : ACTION_I;
	bool by_chunk = variant % 2;

	for (int i = 0; i < CHUNKS * MICRO_BATCHES; i++)
		add(t, kind, by_chunk ? 1 - i / MICRO_BATCHES : 1 - i % CHUNKS,
		    by_chunk ? i % MICRO_BATCHES : i / CHUNKS);
	for (int i = 0; i < CHUNKS * MICRO_BATCHES && kind == ACTION_I; i++)
		add(t, ACTION_W, by_chunk ? i / MICRO_BATCHES : 1 - i / MICRO_BATCHES,
		    i % MICRO_BATCHES);
}

static void make_two_chunks(struct two_chunks *t, int variant)
{
	*t = (struct two_chunks){.places = {{0, 0}, {0, 1}}, .parts = {0, 1}};
	t->order.actions = t->actions;
	t->schedule = (struct schedule){.kind = SCHEDULE_INTERLEAVED,
					.stages = 1,
					.micro_batches = MICRO_BATCHES,
					.chunks = CHUNKS,
					.places = t->places,
					.part_at = t->parts,
					.orders = &t->order};
	for (int i = 0; i < MICRO_BATCHES; i++)
		for (int chunk = 0; chunk < CHUNKS; chunk++)
			add(t, ACTION_F, chunk, i);
	add_backwards(t, variant);
	for (int chunk = 0; chunk < CHUNKS; chunk++)
		add(t, ACTION_REDUCE, chunk, 0);
	add(t, ACTION_STEP, 0, 0);
}

/* Losses of some steps and of an evaluation behind them; the parameters. */
static float *train(struct fixture *f, double losses[STEPS + 1])
{
	struct random_samples samples = {99, &f->model};
	struct evaluation evaluation;

	for (int i = 0; i < STEPS; i++) {
		load_random(f, (uint64_t)i);
		losses[i] = step_loss(f);
	}
	assert_int_equal(
		engine_evaluate(f->engine, 7, fill_random, &samples, &evaluation, &err), OK);
	losses[STEPS] = evaluation.loss;
	return read_tensors(f, collect_weights);
}

/* The engine of a fixture again, with the same layers in two chunks. */
static void split_in_two(struct fixture *f, struct two_chunks *t)
{
	struct engine_options o = *engine_options(f->engine);

	engine_free(f->engine);
	partition_release(&f->partition);
	assert_int_equal(partition_init(&f->partition, &f->model, 1, CHUNKS, "1,3", &err), OK);
	o.schedule = &t->schedule;
	if (engine_create(&f->engine, f->dev, &o, &err) != OK)
		fail_msg("%s", err.msg);
}

static void check(int variant, bool base)
{
	struct recipe r = recipe_of(12, 20, 9, DEPTH, 5);
	double one[STEPS + 1], two[STEPS + 1];
	struct two_chunks t;
	struct fixture f;
	float *whole, *parts;

	r.options.micro_batches = MICRO_BATCHES;
	r.options.base = base;
	make_two_chunks(&t, variant);
	fixture_open(&f, &r);
	whole = train(&f, one);
	split_in_two(&f, &t);
	parts = train(&f, two);
	for (int i = 0; i <= STEPS; i++)
		if (one[i] != two[i])
			fail_msg("variant %d: loss %d is %.9g, in one part %.9g", variant, i,
				 two[i], one[i]);
	assert_memory_equal(whole, parts, (size_t)model_parameters(&f.model) * sizeof(float));
	free(whole);
	free(parts);
	fixture_close(&f);
}

static void two_parts_of_a_stage_train_as_one(void **state)
{
	(void)state;
	for (int variant = 0; variant < 4; variant++)
		for (int base = 0; base < 2; base++)
			check(variant, base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_parts_of_a_stage_train_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
