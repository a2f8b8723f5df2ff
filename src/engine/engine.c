/* engine.c - see engine.h */
#include "engine/engine.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>

/* What a rank adds to what all know of a step. Whole numbers of floats: it travels so. */
struct report {
	double loss, stop, spare[2];
};

static int replicas_of(const struct engine *e)
{
	return e->options.rank ? e->options.rank->ranks : 1;
}

int engine_batch_rows(const struct engine *e)
{
	return e->options.micro_batches * e->options.shape.rows;
}

/* Inputs, then targets or labels, in one piece. */
static enum status allocate_batch(struct engine *e, struct error *err)
{
	const struct stack_shape *shape = &e->options.shape;
	size_t rows = (size_t)engine_batch_rows(e);
	size_t x = (size_t)round_up(shape->in, LINE_FLOATS);
	size_t y = e->options.labelled ? 0 : (size_t)round_up(shape->out, LINE_FLOATS);
	size_t labels = e->options.labelled ? rows : 0;
	enum status st;

	TRY(device_alloc(e->dev, MEMORY_ACTIVATIONS, (rows * (x + y) + labels) * sizeof(float),
			 "the batch", &e->batch_memory, err));
	e->batch.x = (struct view){e->batch_memory, x};
	if (e->options.labelled)
		e->batch.labels = (int32_t *)(e->batch.x.data + rows * x);
	else
		e->batch.target = (struct view){e->batch.x.data + rows * x, y};
out:
	return st;
}

enum status engine_create(struct engine **out, struct device *dev,
			  const struct engine_options *options, struct error *err)
{
	enum status st;
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return FAIL(err, ERR_MEMORY, "no memory for the engine");
	e->dev = dev;
	e->options = *options;
	TRY(stack_init(&e->stack, dev, &options->shape, options->seed, err));
	TRY(optim_init(&e->optim, dev, &options->optimizer, options->clip, e->stack.size, err));
	TRY(allocate_batch(e, err));
	TRY(device_alloc_shared(dev, MEMORY_COMM, (size_t)replicas_of(e) * sizeof(*e->reports),
				"the reports", (void **)&e->reports, err));
	*out = e;
	e = NULL; /* the caller's now */
out:
	engine_free(e);
	return st;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	device_free(e->dev, e->reports);
	device_free(e->dev, e->batch_memory);
	optim_release(&e->optim);
	stack_release(&e->stack);
	free(e);
}

static struct view rows_from(struct view v, int row)
{
	if (v.data)
		v.data += (size_t)row * v.stride;
	return v;
}

/*
 * Loss of rows samples from row on, already divided by what the mean runs over, so
 * that micro-batches simply add up. Leaves the gradient for stack_backward.
 */
static double loss_of(struct engine *e, int row, int rows, double divisor)
{
	int out = e->options.shape.out;
	struct view y = stack_forward(&e->stack, rows_from(e->batch.x, row), rows);
	struct view dy = stack_output_gradient(&e->stack);

	if (e->options.labelled)
		return device_cross_entropy(e->dev, y, e->batch.labels + row, dy, rows, out,
					    (float)(1 / divisor)) /
		       divisor;
	divisor *= out;
	return device_mse(e->dev, y, rows_from(e->batch.target, row), dy, rows, out,
			  (float)(1 / divisor)) /
	       divisor;
}

/* Say where we are, and have the trouble that is planned for here. */
static void reach(const struct engine *e, int step, enum inject_at at, int micro_batch)
{
	static const char *const names[AT_COUNT] = {"", " forward", " backward", " optimizer"};
	struct rank *rank = e->options.rank;

	if (rank && (at == AT_FORWARD || at == AT_BACKWARD))
		rank_at(rank, "step %d%s %d", step, names[at], micro_batch);
	else if (rank)
		rank_at(rank, "step %d%s", step, names[at]);
	if (e->options.inject)
		inject_do(e->options.inject, rank ? rank->number : 0, step, at);
}

/* Everybody learns what everybody knows, and adds it up in the same order. */
static enum status exchange_reports(struct engine *e, double loss, struct step_result *result,
				    struct error *err)
{
	struct rank *rank = e->options.rank;
	size_t floats = sizeof(struct report) / sizeof(float);
	enum status st = OK;

	if (!rank) {
		result->loss = loss;
		return OK;
	}
	e->reports[rank->number] = (struct report){.loss = loss, .stop = rank_stop(rank)};
	TRY(comm_run(rank->world, COMM_ALLGATHER, e->reports, (size_t)rank->ranks * floats,
		     DTYPE_F32, 0, err));
	for (int i = 0; i < rank->ranks; i++) {
		result->loss += e->reports[i].loss;
		if (e->reports[i].stop > 0)
			result->stop = (int)e->reports[i].stop;
	}
out:
	return st;
}

enum status engine_step(struct engine *e, int step, struct step_result *result,
			struct error *err)
{
	int rows = e->options.shape.rows;
	double loss = 0;
	enum status st = OK;

	*result = (struct step_result){0};
	reach(e, step, AT_STEP, 0);
	for (int m = 0; m < e->options.micro_batches; m++) {
		reach(e, step, AT_FORWARD, m);
		loss += loss_of(e, m * rows, rows,
				(double)engine_batch_rows(e) * replicas_of(e));
		reach(e, step, AT_BACKWARD, m);
		stack_backward(&e->stack, rows, m > 0);
	}
	if (replicas_of(e) > 1)
		TRY(comm_run(e->options.rank->world, COMM_ALLREDUCE, e->stack.grad,
			     e->stack.size, DTYPE_F32, 0, err));
	reach(e, step, AT_OPTIMIZER, 0);
	result->grad_norm = optim_step(&e->optim, e->stack.param, e->stack.grad);
	TRY(exchange_reports(e, loss, result, err));
out:
	return st;
}

static int correct_rows(const struct engine *e, int rows)
{
	struct view y = e->stack.input[e->stack.shape.depth];
	int correct = 0;

	for (int r = 0; r < rows; r++) {
		const float *row = y.data + (size_t)r * y.stride;
		int best = 0;

		for (int i = 1; i < e->options.shape.out; i++)
			if (row[i] > row[best])
				best = i;
		correct += best == e->batch.labels[r];
	}
	return correct;
}

struct evaluation engine_evaluate(struct engine *e, const struct data *d)
{
	struct evaluation result = {.samples = d->held_out, .accuracy = NAN};
	int64_t correct = 0;

	for (int64_t i = 0; i < d->held_out; i += e->options.shape.rows) {
		int rows = (int)min64(e->options.shape.rows, d->held_out - i);

		data_held_out(d, i, rows, &e->batch);
		result.loss += loss_of(e, 0, rows, (double)d->held_out);
		if (e->options.labelled)
			correct += correct_rows(e, rows);
	}
	if (e->options.labelled)
		result.accuracy = (double)correct / (double)d->held_out;
	return result;
}
