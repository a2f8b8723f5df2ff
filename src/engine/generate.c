/*
 * generate.c - a sequence that is continued, over all stages and slices; see engine.h
 *
 * It is an evaluation of one micro-batch, whose attention looks at what was remembered of the
 * rows before. Of what comes out, the last row alone is computed, and brought together where
 * every slice has some of the classes.
 */
#include "engine/impl.h"
#include "base/util.h"

#include <assert.h>
#include <string.h>

static bool is_last_stage(const struct engine *e)
{
	return e->chunks[e->n_chunks - 1].ends;
}

enum status engine_open_sequence(struct engine *e, struct error *err)
{
	const struct engine_options *o = &e->options;
	enum status st;

	TRY(cache_init(&e->sequence.cache, e->dev, o->model, e->chunks, e->n_chunks, o->type,
		       o->model->sequence, err));
	if (o->plan)
		return OK;
	if (is_last_stage(e))
		TRY(comm_alloc(o->world, (size_t)o->model->out * sizeof(float),
			       (void **)&e->sequence.outputs, err));
	TRY(comm_alloc(o->world, WORDS_MAX * sizeof(int32_t), (void **)&e->sequence.words,
		       err));
out:
	return st;
}

void engine_close_sequence(struct engine *e)
{
	cache_release(&e->sequence.cache);
	if (e->options.plan)
		return;
	comm_give_back(e->options.world, e->sequence.outputs);
	comm_give_back(e->options.world, e->sequence.words);
}

struct tokens_fed {
	const int32_t *tokens;
	int n;
};

static void fill_tokens(void *arg, int64_t first, int rows, const struct batch *b)
{
	const struct tokens_fed *f = arg;

	(void)first, (void)rows;
	memcpy(b->tokens, f->tokens, (size_t)f->n * sizeof(*f->tokens));
}

/* The one row that was computed, of the classes that are here, and then of all. */
static enum status take_outputs(void *arg, struct view y, struct error *err)
{
	struct engine *e = arg;
	int out = e->options.model->out, slices = e->options.grid.mp;
	int64_t begin = part_begin(out, e->at.mp, slices);
	int64_t end = part_begin(out, e->at.mp + 1, slices);

	device_read(e->dev, y.data, y.type, (size_t)(end - begin), e->sequence.outputs + begin);
	if (!e->slices)
		return OK;
	return comm_run(e->slices, COMM_ALLGATHER, e->sequence.outputs, (size_t)out, DTYPE_F32,
			0, err);
}

static enum status run(struct engine *e, bool wanted, struct error *err)
{
	enum status st;

	e->run.take = wanted ? take_outputs : NULL;
	e->run.take_arg = e;
	TRY(engine_execute(e, &e->forward.orders[e->at.pp], err));
	for (int c = 0; c < e->n_chunks; c++)
		TRY(engine_release(e, &(struct action){ACTION_E, c, 0}, err));
out:
	e->run.take = NULL;
	return st;
}

enum status engine_feed(struct engine *e, const int32_t *tokens, int n, int position,
			const float **outputs, struct error *err)
{
	struct tokens_fed fed = {tokens, n};
	enum status st;

	assert(n > 0 && n <= e->options.rows);
	assert(position + n <= e->options.model->sequence);
	TRY(engine_check(e, err));
	engine_say(e, "token %d", position + n);
	engine_fill_samples(e, &e->batch, 0, fill_tokens, &fed);
	e->run.training = false;
	e->run.rows = n;
	e->run.cache = &e->sequence.cache;
	e->run.position = position;
	e->run.left_out = outputs ? n - 1 : n;
	st = run(e, outputs != NULL, err);
	e->run.cache = NULL;
	e->run.position = e->run.left_out = 0;
	if (st != OK) {
		engine_give_up(e);
		goto out;
	}
	if (outputs)
		*outputs = is_last_stage(e) ? e->sequence.outputs : NULL;
out:
	return st;
}

enum status engine_pass_on(struct engine *e, int32_t *words, int n, struct error *err)
{
	struct coords from = {.pp = schedule_place(e->options.schedule,
						   schedule_parts(e->options.schedule) - 1)
					    .stage};
	size_t bytes = (size_t)n * sizeof(*words);
	enum status st;

	assert(n <= WORDS_MAX);
	TRY(engine_check(e, err));
	memcpy(e->sequence.words, words, bytes);
	TRY(comm_run(e->options.world, COMM_BROADCAST, e->sequence.words, bytes, DTYPE_BYTE,
		     grid_rank(&e->options.grid, from), err));
	memcpy(words, e->sequence.words, bytes);
out:
	return st;
}
