/* evaluate.c - loss and accuracy on held-out samples, over all stages; see engine.h */
#include "base/util.h"
#include "engine/impl.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Which of the samples the caller is asked for: it knows nothing of micro-batches. */
struct held_out {
	struct engine *e;
	engine_fill *fill;
	void *arg;
	int64_t first;
	int rows;
	/* Who wants the outputs, or NULL; and (rows, out) for them. */
	engine_take *take;
	void *take_arg;
	float *outputs;
};

static void fill_rows(void *arg, int64_t first, int rows, const struct batch *b)
{
	const struct held_out *h = arg;

	(void)first, (void)rows;
	h->fill(h->arg, h->first, h->rows, b);
}

/* What has come out of the last layer, while it is still there. */
static enum status hand_over(void *arg, struct view y, struct error *err)
{
	const struct held_out *h = arg;
	size_t out = (size_t)h->e->options.model->out;

	for (int r = 0; r < h->rows; r++)
		device_read(h->e->dev, view_from(y, (size_t)r).data, y.type, out,
			    h->outputs + (size_t)r * out);
	return h->take(h->take_arg, h->first, h->rows, h->outputs, err);
}

/* One micro-batch through all parts. */
static enum status evaluate(struct engine *e, struct held_out *h, struct error *err)
{
	enum status st;

	e->run.take = h->take ? hand_over : NULL;
	e->run.take_arg = h;
	TRY(engine_execute(e, &e->forward.orders[e->at.pp], err));
	for (int c = 0; c < e->n_chunks; c++)
		TRY(engine_release(e, &(struct action){ACTION_E, c, 0}, err));
out:
	e->run.take = NULL;
	return st;
}

/* What this rank has found: the loss is known to all slices of a layer. */
static struct report own_report(const struct engine *e)
{
	struct report r = {0};

	if (e->at.mp > 0 || e->at.dp > 0)
		return r;
	r.correct = engine_read_numbers(e, &r.loss)[NUMBER_CORRECT];
	return r;
}

/* The first replica does it. */
static enum status evaluate_all(struct engine *e, int64_t samples, struct held_out h,
				struct evaluation *out, struct error *err)
{
	struct report sum;
	enum status st = OK;

	engine_clear_numbers(e);
	e->run.training = false;
	e->run.divisor = (double)samples;
	for (; h.first < samples && e->at.dp == 0; h.first += h.rows) {
		e->run.rows = h.rows = (int)min64(e->options.rows, samples - h.first);
		engine_say(e, "evaluation of sample %lld",
			   (long long)(h.first / e->options.model->sequence));
		engine_fill_samples(e, &e->batch, 0, fill_rows, &h);
		TRY(evaluate(e, &h, err));
	}
	TRY(engine_exchange(e, own_report(e), &sum, err));
	out->loss = engine_mean_loss(e, &sum.loss);
	if (e->options.loss->labelled)
		out->accuracy = sum.correct / (double)samples;
out:
	return st;
}

static void pause_records(const struct engine *e, bool paused)
{
	if (e->options.records)
		e->options.records->paused = paused;
}

/* Nothing of it is part of a step. */
static enum status evaluate_apart(struct engine *e, int64_t samples, struct held_out h,
				  struct evaluation *out, struct error *err)
{
	struct engine_times times = e->times;
	struct traffic_count traffic = e->traffic;
	int64_t sum_bytes = e->sum_bytes;
	enum status st;

	*out = (struct evaluation){.samples = samples, .accuracy = NAN};
	TRY(engine_check(e, err));
	pause_records(e, true);
	st = evaluate_all(e, samples, h, out, err);
	pause_records(e, false);
	if (st != OK) {
		engine_give_up(e);
		goto out;
	}
	e->times = times;
	e->traffic = traffic;
	e->sum_bytes = sum_bytes;
out:
	return st;
}

enum status engine_evaluate(struct engine *e, int64_t samples, engine_fill *fill, void *arg,
			    struct evaluation *out, struct error *err)
{
	return evaluate_apart(e, samples, (struct held_out){.e = e, .fill = fill, .arg = arg},
			      out, err);
}

enum status engine_outputs(struct engine *e, int64_t samples, engine_fill *fill, void *arg,
			   engine_take *take, void *take_arg, struct evaluation *out,
			   struct error *err)
{
	size_t n = (size_t)e->options.rows * (size_t)e->options.model->out;
	struct held_out h = {
		.e = e, .fill = fill, .arg = arg, .take = take, .take_arg = take_arg};
	enum status st;

	assert(e->ranks == 1); /* others would have parts of them */
	h.outputs = malloc(n * sizeof(*h.outputs));
	if (!h.outputs)
		return FAIL(err, ERR_MEMORY, "no memory for %zu outputs", n);
	st = evaluate_apart(e, samples, h, out, err);
	free(h.outputs);
	return st;
}
