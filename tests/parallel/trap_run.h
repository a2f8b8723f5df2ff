/*
 * trap_run.h - a small language model on a grid for test_traps.c: every rank leaves what it has
 * of every tensor, so that copies which must be equal are compared bit by bit.
 */
#ifndef KOLM_TESTS_TRAP_RUN_H
#define KOLM_TESTS_TRAP_RUN_H

#include "grid_engine.h"

#include "engine/collect.h"
#include "engine/impl.h"
#include "engine/snapshot.h"
#include "launch/launch.h"

enum { STEPS = 12, RANKS = 8, TENSORS = 128, VALUES = 1 << 13, TEXT = 768 };

/* What a rank has, its rows one behind the other. */
struct copy {
	bool here[TENSORS];
	int at[TENSORS], count[TENSORS];
	float weights[VALUES], gradients[VALUES];
};

struct outcome {
	double losses[STEPS], norms[STEPS], held_out, accuracy;
	/* Gradients of the first step, put together. */
	size_t count;
	float first[VALUES];
	struct copy copies[RANKS];
};

struct job {
	struct setting s;
	int steps;
	bool load; /* begin with other weights than the first */
	struct outcome *outcome;
};

static struct outcome *shared; /* of one rank, of a grid */

/* ---- a rank ---- */

static inline enum status keep_first(void *arg, int tensor, const float *values, size_t count,
				     struct error *e)
{
	struct outcome *o = arg;

	(void)tensor;
	if (o->count + count > VALUES)
		return FAIL(e, ERR_FAILED, "more weights than the test has room for");
	memcpy(o->first + o->count, values, count * sizeof(float));
	o->count += count;
	return OK;
}

/* Where the state is sharded, the sums are too. */
static inline enum status keep_copy(struct engine *e, struct copy *c, struct error *err)
{
	const struct weights *w = &e->weights;
	int at = 0;
	enum status st;

	TRY(sync_share_gradients(&e->sync, err));
	for (int i = 0; i < w->model->n_tensors; i++) {
		const struct tensor *t = &w->model->tensors[i];
		int rows = tensor_own_rows(t, w->model->mp, w->shard);

		c->here[i] = w->at[i] != WEIGHTS_ELSEWHERE;
		c->at[i] = at;
		c->count[i] = rows * tensor_own_columns(t, w->model->mp);
		if (!c->here[i])
			continue;
		if (at + c->count[i] > VALUES)
			return FAIL(err, ERR_FAILED, "more weights than the test has room for");
		weights_read_rows(w, w->param, w->type, i, 0, 0, rows, c->weights + at);
		weights_read_rows(w, w->grad, w->grad_type, i, 0, 0, rows, c->gradients + at);
		at += c->count[i];
	}
out:
	return st;
}

/* Weights that nobody has drawn. */
static inline enum status other_weights(void *arg, const struct region *r, float *values,
					struct error *err)
{
	(void)arg, (void)err;
	for (int row = 0; row < r->rows; row++)
		rng_uniform(99, (uint64_t)r->tensor,
			    (uint64_t)(r->row + row) * 1000 + (uint64_t)r->column,
			    (size_t)r->columns, -0.3f, 0.3f, values + row * r->columns);
	return OK;
}

static inline enum status train(struct grid_engine *g, const struct job *job, struct supply *s,
				struct error *err)
{
	struct outcome *o = job->outcome;
	struct evaluation e;
	enum status st = OK;

	for (; s->step < job->steps; s->step++) {
		struct step_result result;

		engine_load(g->engine, supply_fill, s);
		TRY(engine_step(g->engine, s->step, &result, err));
		if (s->step == 0)
			TRY(collect_gradients(g->engine, 0, keep_first, o, err));
		if (comm_rank(g->options.world))
			continue;
		o->losses[s->step] = result.loss;
		o->norms[s->step] = result.grad_norm;
	}
	s->step = 1000; /* samples that nobody has seen */
	TRY(engine_evaluate(g->engine, s->batch, supply_fill, s, &e, err));
	if (comm_rank(g->options.world) == 0) {
		o->held_out = e.loss;
		o->accuracy = e.accuracy;
	}
	TRY(keep_copy(g->engine, &o->copies[comm_rank(g->options.world)], err));
out:
	return st;
}

static inline int batch_of(const struct setting *s)
{
	return 4 * s->gpt.context;
}

static inline enum status train_rank(struct rank *rank, void *arg, struct error *err)
{
	struct job *job = arg;
	struct grid_engine g;
	struct supply s;
	enum status st;

	TRY(grid_engine_open(&g, &job->s, batch_of(&job->s), 500, rank->world, err));
	TRY(supply_open(&s, &g, batch_of(&job->s), err));
	if (job->load)
		TRY(engine_take_weights(g.engine, other_weights, NULL, err));
	TRY(train(&g, job, &s, err));
	supply_close(&s);
	grid_engine_close(&g);
out:
	return st;
}

static inline void run(struct job *job)
{
	struct launch l = {.ranks = grid_size(&job->s.grid), .timeout_ms = 60000};
	struct error err = {0};
	char text[TEXT];

	memset(job->outcome, 0, sizeof(*job->outcome));
	if (launch_run(&l, train_rank, job, &err) == OK)
		return;
	setting_describe(&job->s, text, sizeof(text));
	fail_msg("%s: %s; %s", text, err.msg, err.hint);
}

/* ---- what is compared ---- */

/* GPT-2 in small, with a vocabulary that is prime. */
static inline struct setting small_gpt(int dp, int pp, int mp)
{
	return (struct setting){.variant = VARIANT_GPT,
				.grid = {dp, pp, mp},
				.schedule = SCHEDULE_1F1B,
				.chunks = 1,
				.micro_batches = 2,
				.labelled = true,
				.optimizer = OPT_ADAMW,
				.gpt = {.layers = 2,
					.heads = 4,
					.kv_heads = 4,
					.dim = 8,
					.ffn = 16,
					.context = 4,
					.vocabulary = 23,
					.norm = NORM_LAYER,
					.eps = 1e-5f,
					.act = ACT_GELU_TANH,
					.biased = true,
					.tied = true}};
}

static inline struct model model_of(const struct setting *s)
{
	struct model m;
	struct error err = {0};

	assert_int_equal(grid_model(&m, s, &err), OK);
	return m;
}

/* What two ranks have of a tensor is the same to the last bit. */
static inline void want_equal(const struct setting *s, const struct model *m, int tensor, int a,
			      int b)
{
	const struct copy *x = &shared[1].copies[a], *y = &shared[1].copies[b];
	size_t bytes = (size_t)x->count[tensor] * sizeof(float);
	bool weights, gradients;
	char text[TEXT];

	setting_describe(s, text, sizeof(text));
	if (!x->here[tensor] || !y->here[tensor] || x->count[tensor] != y->count[tensor])
		fail_msg("%s: %s is not on ranks %d and %d", text, m->tensors[tensor].name, a,
			 b);
	weights = !memcmp(x->weights + x->at[tensor], y->weights + y->at[tensor], bytes);
	gradients = !memcmp(x->gradients + x->at[tensor], y->gradients + y->at[tensor], bytes);
	if (!weights || !gradients)
		fail_msg("%s: %s of %s differ between ranks %d and %d", text,
			 weights ? "the gradients" : "the weights", m->tensors[tensor].name, a,
			 b);
}

/* The run is that of one rank: gradients of the first step, norms, losses, an evaluation. */
static inline void want_as_alone(const struct setting *s, bool load)
{
	struct job alone = {setting_alone(s), STEPS, load, &shared[0]};
	double largest = 0;
	char text[TEXT];

	run(&alone);
	setting_describe(s, text, sizeof(text));
	for (size_t i = 0; i < shared[0].count; i++)
		largest = fmax(largest, fabs((double)shared[0].first[i]));
	assert_int_equal(shared[0].count, shared[1].count);
	for (size_t i = 0; i < shared[0].count; i++)
		if (!(fabs((double)shared[0].first[i] - (double)shared[1].first[i]) <=
		      1e-5 * largest))
			fail_msg("%s: gradient %zu is %.9g, on one rank %.9g", text, i,
				 (double)shared[1].first[i], (double)shared[0].first[i]);
	for (int i = 0; i < STEPS; i++)
		if (!(fabs(shared[0].losses[i] - shared[1].losses[i]) <=
			      1e-5 * shared[0].losses[i] &&
		      fabs(shared[0].norms[i] - shared[1].norms[i]) <=
			      1e-4 * shared[0].norms[i]))
			fail_msg("%s: step %d has loss %.9g and norm %.9g, on one rank %.9g "
				 "and %.9g",
				 text, i, shared[1].losses[i], shared[1].norms[i],
				 shared[0].losses[i], shared[0].norms[i]);
	if (!(fabs(shared[0].held_out - shared[1].held_out) <= 1e-5 * shared[0].held_out &&
	      fabs(shared[0].accuracy - shared[1].accuracy) <= 0.07))
		fail_msg("%s: held out %.9g, accuracy %g, on one rank %.9g, %g", text,
			 shared[1].held_out, shared[1].accuracy, shared[0].held_out,
			 shared[0].accuracy);
}

static inline int rank_of(const struct setting *s, int dp, int pp, int mp)
{
	return grid_rank(&s->grid, (struct coords){.dp = dp, .pp = pp, .mp = mp});
}

/* The table on the first and on the last stage, of all replicas. */
static inline void want_tied(const struct setting *s)
{
	struct model m = model_of(s);
	int table = model_find_tensor(&m, "tokens.weight");

	for (int mp = 0; mp < s->grid.mp; mp++)
		for (int dp = 0; dp < s->grid.dp; dp++)
			for (int last = 0; last < 2; last++)
				want_equal(s, &m, table, rank_of(s, 0, 0, mp),
					   rank_of(s, dp, last * (s->grid.pp - 1), mp));
	model_release(&m);
}

#endif
