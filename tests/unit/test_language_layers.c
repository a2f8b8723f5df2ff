/*
 * test_language_layers.c - the kinds of layers that language models are made of, between an
 * embedding and a head: their gradients are difference quotients of the loss, and they train on
 * grids as on one rank. What they are made of is a line in the list.
 */
#include "language_layers.h"
#include "layer_runs.h"

enum { BATCH = 4 * SEQUENCE, SAMPLES = 60 };

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

static enum status build_kind(struct model *m, const void *kind, int mp, struct error *e)
{
	return build(m, kind, mp, e);
}

static const struct run_maker maker = {
	.build = build_kind, .load = load_tokens, .loss = &loss_cross_entropy, .batch = BATCH};

static struct run run_of(const struct kind *k, int micro_batches, float lr)
{
	return (struct run){.maker = &maker,
			    .kind = k,
			    .name = k->name,
			    .grid = {1, 1, 1},
			    .schedule = SCHEDULE_1F1B,
			    .micro_batches = micro_batches,
			    .lr = lr};
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
			struct run r = run_of(&kinds[k], runs[i].micro_batches, 0.1f);

			r.grid = runs[i].grid;
			r.schedule = runs[i].schedule;
			if (kinds[k].middle == NOTHING)
				r.grid.pp = imin(r.grid.pp, 2);
			run_check_grid(r);
		}
}

static void gradients_of_every_kind_are_difference_quotients(void **state)
{
	struct random r = random_start("kinds of layers of language models");
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (int micro_batches = 1; micro_batches <= 2; micro_batches++) {
			struct run one = run_of(&kinds[k], micro_batches, 0);

			run_check_gradients(&one, SAMPLES, 0x1p-10f, &r);
		}
}

/* What is computed again is what was computed: the same bits as without. */
static void computing_again_changes_nothing(void **state)
{
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (int again = INSIDE; again <= BOTH; again++) {
			struct kind kind = kinds[k];
			struct run a = run_of(&kind, 1, 0.1f), b = a;

			kind.again = NEVER;
			run_alone(&a);
			kind.again = (enum again)again;
			run_alone(&b);
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
