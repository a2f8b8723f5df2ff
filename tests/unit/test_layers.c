/*
 * test_layers.c - every kind of layer, between two linear ones: its gradients are difference
 * quotients of the loss, and it trains on grids as on one rank. A new kind is a line in the
 * list.
 */
#include "layer_runs.h"

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

enum { INPUTS = 6, WIDTH = 12, OUTPUTS = 4, BATCH = 8, SAMPLES = 40 };

static struct layer *linear_new(int out, enum activation act, enum linear_split split)
{
	struct linear_config c = {.out = out, .act = act, .split = split, .bound = 0.5f};

	return layer_new(&layer_linear, &c, sizeof(c));
}

static enum status build(struct model *m, const void *kind, int mp, struct error *e)
{
	const struct kind *k = kind;
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

static const struct run_maker maker = {
	.build = build, .load = load_random, .loss = &loss_mse, .batch = BATCH};

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

			r.maker = &maker;
			r.kind = &kinds[k];
			r.name = kinds[k].name;
			r.lr = 0.2f;
			run_check_grid(r);
		}
}

static void gradients_of_every_kind_are_difference_quotients(void **state)
{
	struct random r = random_start("kinds of layers");
	(void)state;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		run_check_gradients(&(struct run){.maker = &maker,
						  .kind = &kinds[k],
						  .name = kinds[k].name,
						  .grid = {1, 1, 1},
						  .schedule = SCHEDULE_1F1B,
						  .micro_batches = 1},
				    SAMPLES, 0x1p-7f, &r);
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
