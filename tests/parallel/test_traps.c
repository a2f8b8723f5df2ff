/*
 * test_traps.c - what went wrong with language models on grids elsewhere, each as a test: a
 * table of tokens that two stages have, norms that see a part of the rows, vocabularies that
 * nobody divides by.
 */
#include "trap_run.h"

#include <sys/mman.h>

/*
 * Megatron-LM #844: with sharded optimizer state the replicas' sums were scattered first, and
 * what the two stages then added up were slices of different places. Megatron-LM #656: the
 * table and the head drifted apart, with and without sums beside the backward pass.
 */
static void tied_gradients_are_the_sum_of_both_stages(void **state)
{
	static const struct grid grids[] = {
		{1, 2, 1}, {2, 2, 1}, {1, 3, 2}, {2, 2, 2}, {1, 4, 1}};
	(void)state;

	for (size_t g = 0; g < ARRAY_SIZE(grids); g++)
		for (int schedule = 0; schedule < SCHEDULE_KIND_COUNT; schedule++)
			for (int choice = 0; choice < 4; choice++) {
				struct setting s =
					small_gpt(grids[g].dp, grids[g].pp, grids[g].mp);
				struct job job = {.steps = STEPS, .outcome = &shared[1]};

				s.schedule = (enum schedule_kind)schedule;
				s.chunks = imin(2, schedule_chunks(s.schedule, 2));
				s.gpt.layers = s.grid.pp * s.chunks + 1;
				s.gpt.vocabulary = 67; /* so that slices differ, as below */
				s.gpt.spreads = s.grid.mp > 1 && choice % 2;
				s.base = schedule == SCHEDULE_NAIVE;
				s.zero = choice % 2 && s.grid.dp > 1;
				s.sync = choice / 2 ? SYNC_FLAT : SYNC_DDP;
				job.s = s;
				run(&job);
				want_tied(&s);
				if (choice == schedule % 4)
					want_as_alone(&s, false);
			}
}

/* In 16 bit what the layers use is rounded from what the optimizer keeps, on each stage. */
static void tied_tables_stay_equal_in_16_bit(void **state)
{
	(void)state;

	for (int type = DTYPE_F16; type <= DTYPE_BF16; type++)
		for (int choice = 0; choice < 4; choice++) {
			struct setting s = small_gpt(2, 2, 2);
			struct job job = {.steps = STEPS, .outcome = &shared[1]};

			s.type = (enum dtype)type;
			s.grad_type = choice % 2 ? s.type : DTYPE_F32;
			s.zero = choice / 2;
			job.s = s;
			run(&job);
			want_tied(&s);
		}
}

/*
 * Megatron-LM #1548: with both on one stage, the gradient of the head was lost in favour of
 * that of the embedding. On one rank the first gradients are those of all grids; that they are
 * right is in test_language_layers.c, by differences of the loss.
 */
static void tied_gradients_add_up_on_one_stage(void **state)
{
	static const struct grid grids[] = {{2, 1, 1}, {1, 1, 2}, {2, 1, 4}};
	(void)state;

	for (size_t g = 0; g < ARRAY_SIZE(grids); g++)
		for (int zero = 0; zero < 2; zero++) {
			struct setting s = small_gpt(grids[g].dp, grids[g].pp, grids[g].mp);
			struct job job = {.steps = STEPS, .outcome = &shared[1]};

			s.zero = zero && s.grid.dp > 1;
			job.s = s;
			run(&job);
			want_tied(&s);
			want_as_alone(&s, false);
		}
}

/*
 * Megatron-LM #1446: the last norm's gradients differed between the ranks of a group; gpt-neox
 * #1257, and #1259 after it: those of all norms, then they were averaged instead of summed.
 * Where rows are spread, a norm, and a table of positions, sees a part of them on every rank.
 */
static void norms_have_the_gradient_of_all_rows(void **state)
{
	static const struct grid grids[] = {
		{1, 1, 2}, {1, 1, 4}, {2, 1, 2}, {1, 2, 2}, {2, 2, 2}};
	(void)state;

	for (size_t g = 0; g < ARRAY_SIZE(grids); g++)
		for (int choice = 0; choice < 4; choice++) {
			struct setting s = small_gpt(grids[g].dp, grids[g].pp, grids[g].mp);
			struct job job = {.steps = STEPS, .outcome = &shared[1]};
			struct model m;
			int seen = 0;

			/* What replicas own of the table, where state is sharded, differs
			   between the stages. */
			s.gpt.layers = 3;
			s.gpt.vocabulary = 67;
			s.gpt.spreads = true;
			s.gpt.recompute = (enum recompute)(choice % 3);
			s.zero = choice % 2 && s.grid.dp > 1;
			s.sync = choice / 2 ? SYNC_FLAT : SYNC_DDP;
			job.s = s;
			run(&job);
			m = model_of(&s);
			for (int i = 0; i < m.n_tensors; i++)
				for (int rank = 0;
				     rank < grid_size(&s.grid) && m.tensors[i].partial;
				     rank++) {
					struct coords at = grid_coords(&s.grid, rank);

					seen++;
					if (shared[1].copies[rank].here[i])
						want_equal(&s, &m, i, rank_of(&s, 0, at.pp, 0),
							   rank);
				}
			assert_true(seen >= 15 * s.grid.mp); /* seven norms, positions */
			model_release(&m);
			want_tied(&s);
			want_as_alone(&s, false);
		}
}

/*
 * Megatron-LM #1754: with a vocabulary that does not divide by the ranks, losses were wrong;
 * ColossalAI #6167: padding of the vocabulary that shows. Any number of tokens, down to one on
 * every rank, is shared out as it is.
 */
static void any_vocabulary_is_shared_by_any_ranks(void **state)
{
	static const int vocabularies[] = {2, 3, 4, 5, 7, 17, 23, 31, 33, 129};
	(void)state;

	for (size_t v = 0; v < ARRAY_SIZE(vocabularies); v++)
		for (int mp = 2; mp <= 4; mp++) {
			struct setting s = small_gpt(1, 1 + (int)v % 2, mp);
			struct job job = {.steps = STEPS, .outcome = &shared[1]};

			s.gpt.vocabulary = vocabularies[v];
			s.gpt.heads = s.gpt.kv_heads = mp; /* one each */
			s.gpt.dim = 4 * mp;
			s.gpt.ffn = 6 * mp;
			s.gpt.context = 3 * mp;
			s.gpt.spreads = v % 3 == 0;
			s.gpt.tied = mp != 3;
			job.s = s;
			if (s.gpt.vocabulary < mp)
				continue;
			run(&job);
			want_as_alone(&s, false);
		}
}

static void too_small_a_vocabulary_is_refused(void **state)
{
	struct setting s = small_gpt(1, 1, 4);
	struct error err = {0};
	struct model m;
	(void)state;

	s.gpt.vocabulary = 3;
	assert_int_equal(grid_model(&m, &s, &err), ERR_USAGE);
	assert_string_equal(err.msg, "3 tokens are too few for --mp 4");
	model_release(&m);
}

/*
 * torchtitan #2252: table and head were told to be one, then each was given memory of its own,
 * and nobody noticed. A gpt has no other tensor than the table, of which a stage has one copy;
 * weights that are read from elsewhere come to both stages.
 */
static void a_tied_head_is_the_table(void **state)
{
	struct setting s = small_gpt(1, 1, 1);
	struct model tied, untied;
	(void)state;

	tied = model_of(&s);
	s.gpt.tied = false;
	untied = model_of(&s);
	assert_true(model_find_tensor(&tied, "head.weight") < 0);
	assert_true(model_find_tensor(&untied, "head.weight") >= 0);
	assert_int_equal(model_parameters(&untied) - model_parameters(&tied),
			 s.gpt.vocabulary * s.gpt.dim);
	model_release(&tied);
	model_release(&untied);
	for (int mp = 1; mp <= 2; mp++)
		for (int zero = 0; zero < 2; zero++) {
			struct job job = {.steps = 0, .load = true, .outcome = &shared[1]};

			job.s = small_gpt(2, 2, mp);
			job.s.zero = zero;
			job.s.type = job.s.grad_type = zero ? DTYPE_BF16 : DTYPE_F32;
			run(&job);
			want_tied(&job.s);
			if (zero)
				continue;
			job.steps = STEPS;
			run(&job);
			want_tied(&job.s);
			want_as_alone(&job.s, true);
		}
}

static int map_shared(void **state)
{
	(void)state;
	shared = mmap(NULL, 2 * sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return shared == MAP_FAILED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tied_gradients_are_the_sum_of_both_stages),
		cmocka_unit_test(tied_tables_stay_equal_in_16_bit),
		cmocka_unit_test(tied_gradients_add_up_on_one_stage),
		cmocka_unit_test(norms_have_the_gradient_of_all_rows),
		cmocka_unit_test(any_vocabulary_is_shared_by_any_ranks),
		cmocka_unit_test(too_small_a_vocabulary_is_refused),
		cmocka_unit_test(a_tied_head_is_the_table),
	};

	return cmocka_run_group_tests(tests, map_shared, NULL);
}
