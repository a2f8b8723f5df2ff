/*
 * test_generate.c - a sequence that is fed piece by piece, with what was seen of it remembered,
 * gives the outputs of a forward pass over all of it: for random models, cuts, types and grids.
 */
#include "engines.h"

#include "comm/fork.h"
#include "engine/snapshot.h"
#include "model/gpt.h"

enum { CONTEXT_MOST = 150, VOCABULARY_MOST = 60 };

struct setting {
	struct gpt gpt;
	struct grid grid;
	enum dtype type;
	const char *device;
	int threads, rows; /* fed at a time, at most */
	uint64_t seed;
	int32_t tokens[CONTEXT_MOST];
	int ends[CONTEXT_MOST]; /* of the pieces, in the order in which they are fed */
	int begins[CONTEXT_MOST], pieces;
	float *wanted; /* (context, vocabulary) */
	double tolerance;
};

/* ---- what is tried ---- */

static void choose_model(struct random *r, struct setting *s)
{
	bool llama = random_int(r, 0, 1);
	int shared = s->grid.mp, kv = shared * random_int(r, 1, 2);
	int heads = kv * (llama ? random_int(r, 1, 3) : 1), width = 2 * random_int(r, 1, 20);

	s->gpt = (struct gpt){.layers = random_int(r, 1, 3),
			      .heads = heads,
			      .kv_heads = kv,
			      .dim = heads * width,
			      .context = random_int(r, 1, CONTEXT_MOST),
			      .vocabulary = random_int(r, 2, VOCABULARY_MOST),
			      .norm = llama ? NORM_RMS : NORM_LAYER,
			      .eps = 1e-5f,
			      .act = llama ? ACT_SILU : ACT_GELU_TANH,
			      .gated = llama,
			      .biased = !llama && random_int(r, 0, 1),
			      .theta = llama ? 10000 : 0,
			      .tied = !llama};
	s->gpt.ffn = gpt_usual_ffn(s->gpt.dim, heads, llama);
}

/* From a place that was seen on, where what follows is forgotten; in the end all of it. */
static void choose_pieces(struct random *r, struct setting *s)
{
	int seen = 0;

	s->rows = random_int(r, 1, imin(s->gpt.context, 70));
	while (s->pieces < CONTEXT_MOST - 1 && seen < s->gpt.context) {
		int begin = random_int(r, 0, 9) ? seen : random_int(r, 0, seen);
		int n = random_int(r, 0, 1) ? 1 : random_int(r, 1, s->rows);

		s->begins[s->pieces] = begin;
		s->ends[s->pieces++] = seen = imin(begin + n, s->gpt.context);
	}
	for (int i = 0; i < s->gpt.context; i++)
		s->tokens[i] = random_int(r, 0, s->gpt.vocabulary - 1);
}

static enum status random_weights(void *arg, const struct region *region, float *values,
				  struct error *e)
{
	const struct setting *s = arg;
	uint64_t stream = 100 + (uint64_t)region->tensor;

	(void)e;
	for (int i = 0; i < region->rows; i++) {
		float *row = values + (size_t)i * (size_t)region->columns;

		rng_normal(s->seed, stream,
			   (uint64_t)(region->row + i) * 4096 + (uint64_t)region->column,
			   (size_t)region->columns, row);
		for (int k = 0; k < region->columns; k++)
			row[k] *= 0.15f;
	}
	return OK;
}

/* ---- a rank ---- */

struct part {
	struct device *dev;
	struct model model;
	struct partition partition;
	struct schedule schedule;
	struct engine *engine;
};

static enum status source_of_world(void *arg, size_t bytes, void **out, struct error *e)
{
	return comm_alloc(arg, bytes, out, e);
}

static void back_to_world(void *arg, void *memory)
{
	comm_give_back(arg, memory);
}

static enum status part_open(struct part *p, const struct setting *s, struct comm *world,
			     bool forward_only, struct error *e)
{
	struct device_options device = {.threads = s->threads};
	struct engine_options o = {.model = &p->model,
				   .loss = &loss_cross_entropy,
				   .rows = forward_only ? s->rows : s->gpt.context,
				   .micro_batches = 1,
				   .seed = 5,
				   .type = s->type,
				   .grad_type = s->type,
				   .world = world,
				   .grid = forward_only ? s->grid : (struct grid){1, 1, 1},
				   .partition = &p->partition,
				   .schedule = &p->schedule,
				   .forward_only = forward_only};
	enum status st;

	TRY(device_open(&p->dev, s->device, &device, e));
	if (comm_size(world) > 1)
		device_share(p->dev, source_of_world, back_to_world, world);
	model_init(&p->model, 1, o.grid.mp);
	TRY(gpt_build(&p->model, &s->gpt, e));
	TRY(partition_init(&p->partition, &p->model, o.grid.pp, 1, "", e));
	TRY(schedule_init(&p->schedule, SCHEDULE_1F1B, o.grid.pp, 1, 1, e));
	TRY(engine_create(&p->engine, p->dev, &o, e));
	TRY(engine_take_weights(p->engine, random_weights, (void *)(uintptr_t)s, e));
out:
	return st;
}

static void part_close(struct part *p)
{
	engine_free(p->engine);
	schedule_release(&p->schedule);
	partition_release(&p->partition);
	model_release(&p->model);
	device_close(p->dev);
}

/* ---- all at once ---- */

static void fill_tokens(void *arg, int64_t first, int rows, const struct batch *b)
{
	const struct setting *s = arg;

	(void)first;
	memcpy(b->tokens, s->tokens, (size_t)rows * sizeof(*b->tokens));
	memset(b->labels, 0, (size_t)rows * sizeof(*b->labels));
}

static enum status keep_outputs(void *arg, int64_t first, int rows, const float *outputs,
				struct error *e)
{
	const struct setting *s = arg;
	size_t n = (size_t)s->gpt.vocabulary;

	(void)e;
	memcpy(s->wanted + (size_t)first * n, outputs, (size_t)rows * n * sizeof(float));
	return OK;
}

static void run_whole(struct setting *s)
{
	struct evaluation unused;
	struct part p = {0};
	struct comm *world;

	s->wanted = malloc((size_t)s->gpt.context * (size_t)s->gpt.vocabulary * sizeof(float));
	assert_int_equal(comm_open_self(&world, &err), OK);
	if (part_open(&p, s, world, false, &err) != OK)
		fail_msg("%s", err.msg);
	assert_int_equal(engine_outputs(p.engine, s->gpt.context, fill_tokens, s, keep_outputs,
					s, &unused, &err),
			 OK);
	part_close(&p);
	comm_free(world);
}

/* ---- piece by piece ---- */

static enum status compare(const struct setting *s, int row, const float *got, struct error *e)
{
	const float *wanted = s->wanted + (size_t)row * (size_t)s->gpt.vocabulary;

	for (int i = 0; i < s->gpt.vocabulary; i++)
		if (!(fabs((double)got[i] - (double)wanted[i]) <=
		      s->tolerance * (1 + fabs((double)wanted[i]))))
			return FAIL(e, ERR_FAILED, "row %d, class %d: %.9g, should be %.9g",
				    row, i, (double)got[i], (double)wanted[i]);
	return OK;
}

static enum status feed_pieces(struct comm *world, void *arg, struct error *e)
{
	const struct setting *s = arg;
	struct part p = {0};
	enum status st;

	TRY(part_open(&p, s, world, true, e));
	for (int i = 0; i < s->pieces; i++) {
		bool wanted = i % 3 != 1;
		const float *outputs = NULL;
		int32_t words[2] = {comm_rank(world), i};

		TRY(engine_feed(p.engine, s->tokens + s->begins[i], s->ends[i] - s->begins[i],
				s->begins[i], wanted ? &outputs : NULL, e));
		if (outputs)
			TRY(compare(s, s->ends[i] - 1, outputs, e));
		TRY(engine_pass_on(p.engine, words, 2, e));
		if (words[0] != (s->grid.pp - 1) * s->grid.mp || words[1] != i)
			return FAIL(e, ERR_FAILED, "the words of rank %d", words[0]);
	}
	part_close(&p);
out:
	return st;
}

static void check(struct setting *s)
{
	int ranks = grid_size(&s->grid);
	struct comm *world;
	enum status st;

	run_whole(s);
	error_clear(&err);
	if (ranks > 1) {
		st = comm_fork(ranks, feed_pieces, s, &err);
	} else {
		assert_int_equal(comm_open_self(&world, &err), OK);
		st = feed_pieces(world, s, &err);
		comm_free(world);
	}
	if (st != OK)
		fail_msg(
			"%s, pp %d mp %d, %s, layers %d heads %d/%d dim %d context %d vocabulary "
			"%d, %d rows, type %d: %s",
			s->device, s->grid.pp, s->grid.mp, s->gpt.gated ? "llama" : "gpt",
			s->gpt.layers, s->gpt.heads, s->gpt.kv_heads, s->gpt.dim,
			s->gpt.context, s->gpt.vocabulary, s->rows, (int)s->type, err.msg);
	free(s->wanted);
}

static void check_random(struct random *r, struct grid grid, enum dtype type,
			 const char *device)
{
	struct setting s = {.grid = grid,
			    .type = type,
			    .device = device,
			    .threads = grid_size(&grid) > 1 ? 1 : random_int(r, 1, 3),
			    .seed = (uint64_t)random_int(r, 0, 1 << 30),
			    .tolerance = type == DTYPE_F32   ? 2e-5
					 : type == DTYPE_F16 ? 2e-2
							     : 1e-1};

	choose_model(r, &s);
	s.gpt.vocabulary = imax(s.gpt.vocabulary, grid.mp);
	if (s.gpt.layers + 2 < grid.pp)
		s.gpt.layers = grid.pp;
	choose_pieces(r, &s);
	check(&s);
}

static void pieces_give_what_the_whole_gives(void **state)
{
	struct random r = random_start("pieces");
	(void)state;

	for (int i = 0; i < 40; i++)
		check_random(&r, (struct grid){1, 1, 1}, DTYPE_F32, "cpu");
}

static void in_16_bit_too(void **state)
{
	struct random r = random_start("16 bit");
	(void)state;

	for (int i = 0; i < 10; i++) {
		check_random(&r, (struct grid){1, 1, 1}, DTYPE_BF16, "cpu");
		check_random(&r, (struct grid){1, 1, 1}, DTYPE_F16, "cpu");
	}
}

static void behind_a_fence_too(void **state)
{
	struct random r = random_start("fenced");
	(void)state;

	for (int i = 0; i < 5; i++)
		check_random(&r, (struct grid){1, 1, 1}, DTYPE_F32, "fenced");
}

static void on_every_grid(void **state)
{
	static const struct grid grids[] = {{1, 2, 1}, {1, 1, 2}, {1, 2, 2}, {1, 3, 1},
					    {1, 1, 3}, {1, 4, 1}, {1, 3, 2}, {1, 1, 4}};
	struct random r = random_start("grids");
	(void)state;

	for (int i = 0; i < 24; i++)
		check_random(&r, grids[i % (int)ARRAY_SIZE(grids)],
			     i % 4 == 3 ? DTYPE_BF16 : DTYPE_F32,
			     i % 5 == 4 ? "fenced" : "cpu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_give_what_the_whole_gives),
		cmocka_unit_test(in_16_bit_too),
		cmocka_unit_test(behind_a_fence_too),
		cmocka_unit_test(on_every_grid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
