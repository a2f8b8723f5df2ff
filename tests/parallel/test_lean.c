/*
 * test_lean.c - what saves memory never costs any: on every stage of every grid, activations
 * with sequence parallel against without, with more recomputed against less; and the accounts
 * of ranks are what the plan has said.
 */
#include "grid_engine.h"

#include "launch/launch.h"

#include <sys/mman.h>

enum { LEAN_RANKS = 8 };

/* A model that is large enough for its rows to be what matters, and small enough to train. */
static struct setting random_setting(struct random *r, int pp, int mp, int schedule)
{
	bool llama = random_int(r, 0, 1);
	int heads = mp * random_int(r, 1, 2), width = 16 * random_int(r, 2, 4);
	struct setting s = {.grid = {1, pp, mp},
			    .variant = llama ? VARIANT_LLAMA : VARIANT_GPT,
			    .schedule = (enum schedule_kind)schedule,
			    .micro_batches = random_int(r, 1, 8),
			    .optimizer = OPT_SGD,
			    .type = (enum dtype)random_int(r, DTYPE_F32, DTYPE_BF16),
			    .labelled = true};

	s.grad_type = s.type;
	s.chunks = setting_chunks(s.schedule, r);
	s.base = s.schedule == SCHEDULE_NAIVE;
	s.gpt = (struct gpt){.layers = imax(1, pp * s.chunks - 2) + random_int(r, 0, 3),
			     .heads = heads,
			     .kv_heads = llama && random_int(r, 0, 1) ? mp : heads,
			     .dim = heads * width,
			     .context = 4 * random_int(r, 1, 16),
			     .vocabulary = random_int(r, 4, 300),
			     .norm = llama ? NORM_RMS : NORM_LAYER,
			     .eps = 1e-5f,
			     .act = llama ? ACT_SILU : ACT_GELU_TANH,
			     .gated = llama,
			     .biased = !llama,
			     .theta = llama ? 10000 : 0,
			     .tied = !llama,
			     .dropout = random_int(r, 0, 1) ? 0.1 : 0};
	s.gpt.ffn = mp * 16 * random_int(r, 1, 16);
	return s;
}

static int rows_of(const struct setting *s)
{
	return 2 * s->micro_batches * s->gpt.context;
}

/* What a rank would take; *blocks: how many of those a stage has, unless it is NULL. */
static struct memory_account plan_of(const struct setting *s, int rank, int *blocks)
{
	struct device_options options = {.threads = 1, .plan = true};
	struct model model;
	struct partition partition;
	struct schedule schedule;
	struct engine_options o = grid_options(s, rows_of(s), 1 << 20, NULL);
	struct memory_account account;
	struct error err = {0};
	struct device *dev;
	struct engine *e;

	o.model = &model;
	o.partition = &partition;
	o.schedule = &schedule;
	o.plan = true;
	o.plan_rank = rank;
	assert_int_equal(grid_model(&model, s, &err), OK);
	assert_int_equal(partition_init(&partition, &model, s->grid.pp, s->chunks, "", &err),
			 OK);
	assert_int_equal(schedule_init(&schedule, s->schedule, s->grid.pp, s->micro_batches,
				       s->chunks, &err),
			 OK);
	assert_int_equal(device_open(&dev, "cpu", &options, &err), OK);
	assert_int_equal(engine_create(&e, dev, &o, &err), OK);
	account = *device_memory(dev);
	for (int c = 0; blocks && c < s->chunks; c++) {
		int part = schedule_part(&schedule, rank / s->grid.mp, c);

		for (int i = partition.first[part]; i < partition.first[part + 1]; i++)
			*blocks += i > 0 && i <= s->gpt.layers;
	}
	engine_free(e);
	device_close(dev);
	schedule_release(&schedule);
	partition_release(&partition);
	model_release(&model);
	return account;
}

static uint64_t activations(struct setting s, int rank, bool spreads, int recompute,
			    int *blocks)
{
	s.gpt.spreads = spreads;
	s.gpt.recompute = (enum recompute)recompute;
	return plan_of(&s, rank, blocks).now[MEMORY_ACTIVATIONS];
}

static void expect_at_most(const struct setting *s, int rank, uint64_t now, uint64_t before,
			   const char *what)
{
	char text[640];

	if (now <= before)
		return;
	setting_describe(s, text, sizeof(text));
	fail_msg("rank %d: %llu bytes of activations %s, %llu otherwise; %s", rank,
		 (unsigned long long)now, what, (unsigned long long)before, text);
}

/* A block that is alone on its stage has all of itself in memory when it is computed again; of
   one whose attention is, that comes when the gradients of the rest are through. */
static void check_rank(const struct setting *s, int rank)
{
	uint64_t bytes[2][3];

	for (int spreads = 0; spreads <= (s->grid.mp > 1); spreads++) {
		uint64_t *b = bytes[spreads];
		int blocks = 0;

		b[0] = activations(*s, rank, spreads, RECOMPUTE_NONE, &blocks);
		b[1] = activations(*s, rank, spreads, RECOMPUTE_ATTENTION, NULL);
		b[2] = activations(*s, rank, spreads, RECOMPUTE_BLOCK, NULL);
		expect_at_most(s, rank, b[1], b[0], "with recompute attention");
		expect_at_most(s, rank, b[2], b[blocks > 1], "with recompute block");
		for (int i = 0; i < 3 && spreads; i++)
			expect_at_most(s, rank, b[i], bytes[0][i], "with sequence parallel");
	}
}

static void what_saves_memory_never_costs_any(void **state)
{
	struct random r = random_start("lean");

	(void)state;
	for (int pp = 1; pp <= 5; pp++)
		for (int mp = 1; mp <= 4; mp *= 2)
			for (int schedule = 0; schedule < NAMES_COUNT(SCHEDULES); schedule++)
				for (int i = 0; i < 3; i++) {
					struct setting s = random_setting(&r, pp, mp, schedule);

					if (schedule_for(s.schedule, pp) != s.schedule)
						continue;
					for (int k = 0; k < pp * mp; k += mp)
						check_rank(&s, k);
				}
}

/* A block of a stage that has many: what Megatron counts, in rows of so many columns each. Both
   norms and what goes into both branches are spread; queries, keys, values, what attention
   yields, and the inner columns twice, are sliced anyway. */
static void a_block_more_is_what_it_keeps(void **state)
{
	struct setting s = {.grid = {1, 1, 4},
			    .variant = VARIANT_GPT,
			    .schedule = SCHEDULE_1F1B,
			    .chunks = 1,
			    .micro_batches = 1,
			    .labelled = true,
			    .gpt = {.layers = 4,
				    .heads = 4,
				    .kv_heads = 4,
				    .dim = 256,
				    .ffn = 1024,
				    .context = 64,
				    .vocabulary = 64,
				    .norm = NORM_LAYER,
				    .eps = 1e-5f,
				    .act = ACT_GELU_TANH,
				    .biased = true,
				    .tied = true}};
	size_t rows = 128, line = 64, column = rows * 256 * sizeof(float);
	/* Of every row: two numbers of both norms, and one of every head. */
	size_t small = rows * 2 * line, heads = rows * line;
	uint64_t less[2][2], more[2][2];

	(void)state;
	for (int spreads = 0; spreads < 2; spreads++)
		for (int block = 0; block < 2; block++) {
			int recompute = block ? RECOMPUTE_BLOCK : RECOMPUTE_NONE;

			s.gpt.layers = 4;
			less[spreads][block] = activations(s, 0, spreads, recompute, NULL);
			s.gpt.layers = 5;
			more[spreads][block] = activations(s, 0, spreads, recompute, NULL);
		}
	assert_int_equal(more[0][0] - less[0][0],
			 4 * column + (3 + 1 + 4 + 4) * column / 4 + small + heads);
	assert_int_equal(more[1][0] - less[1][0],
			 (4 + 3 + 1 + 4 + 4) * column / 4 + small / 4 + heads);
	assert_int_equal(more[0][1] - less[0][1], column);
	assert_int_equal(more[1][1] - less[1][1], column / 4);
}

/* ---- the accounts of ranks ---- */

struct job {
	struct setting setting;
	struct memory_account *accounts; /* (ranks), shared */
};

static enum status take_memory(struct rank *rank, void *arg, struct error *err)
{
	const struct job *job = arg;
	struct grid_engine g = {0};
	struct step_result result;
	enum status st;

	TRY(grid_engine_open(&g, &job->setting, rows_of(&job->setting), 1 << 20, rank->world,
			     err));
	TRY(engine_step(g.engine, 0, &result, err));
	job->accounts[comm_rank(rank->world)] = *device_memory(g.dev);
out:
	grid_engine_close(&g);
	return st;
}

static void check_accounts(const struct job *job)
{
	int ranks = grid_size(&job->setting.grid);
	struct launch l = {.ranks = ranks, .timeout_ms = 60000};
	struct error err = {0};

	if (launch_run(&l, take_memory, (void *)job, &err) != OK)
		fail_msg("%s", err.msg);
	for (int i = 0; i < ranks; i++) {
		struct memory_account plan = plan_of(&job->setting, i, NULL);

		for (int k = 0; k < MEMORY_KIND_COUNT; k++)
			if (job->accounts[i].now[k] != plan.now[k]) {
				char text[640];

				setting_describe(&job->setting, text, sizeof(text));
				fail_msg("rank %d: %llu bytes of %s, planned were %llu; %s", i,
					 (unsigned long long)job->accounts[i].now[k],
					 memory_kind_name((enum memory_kind)k),
					 (unsigned long long)plan.now[k], text);
			}
	}
}

static void ranks_take_what_was_planned(void **state)
{
	struct random r = random_start("accounts");
	struct job job = {.accounts = mmap(NULL, LEAN_RANKS * sizeof(*job.accounts),
					   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
					   -1, 0)};
	int checked = 0;

	(void)state;
	while (checked < 8) {
		int pp = random_int(&r, 1, 4), mp = 1 << random_int(&r, 0, pp > 2 ? 1 : 2);

		job.setting = random_setting(&r, pp, mp,
					     random_int(&r, 0, NAMES_COUNT(SCHEDULES) - 1));
		job.setting.gpt.recompute = (enum recompute)random_int(&r, 0, RECOMPUTE_BLOCK);
		job.setting.gpt.spreads = mp > 1 && random_int(&r, 0, 1);
		if (schedule_for(job.setting.schedule, pp) != job.setting.schedule)
			continue;
		check_accounts(&job);
		checked++;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_saves_memory_never_costs_any),
		cmocka_unit_test(a_block_more_is_what_it_keeps),
		cmocka_unit_test(ranks_take_what_was_planned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
