/* predict.c - see predict.h */
#include "engine/impl.h"
#include "engine/predict_impl.h"
#include "base/clock.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What trials do not show, up and down: parts that disturb each other, other moments. */
#define MARGIN 0.05

/* A bucket has a layer at least, and every other stage has some for each of its chunks; one is
   deferred. */
static int most_buckets(const struct engine *e)
{
	return e->options.model->count - (e->options.grid.pp - 1) * e->n_chunks + 1;
}

size_t cost_row_size(const struct engine *e)
{
	return (sizeof(struct rank_costs) + (size_t)e->n_chunks * sizeof(struct part_cost) +
		(size_t)most_buckets(e) * sizeof(struct bucket_cost)) /
	       sizeof(double);
}

struct cost_row cost_row_at(const struct engine *e, double *rows, int i)
{
	struct cost_row row;

	row.rank = (struct rank_costs *)(rows + cost_row_size(e) * (size_t)i);
	row.parts = (struct part_cost *)(row.rank + 1);
	row.buckets = (struct bucket_cost *)(row.parts + e->n_chunks);
	return row;
}

/* Everybody's costs, from everybody: the rows of all ranks, COSTS_COUNT times. */
static enum status collect(struct engine *e, double *own, double **all, struct error *err)
{
	size_t row = cost_row_size(e), ranks = (size_t)e->ranks;
	enum status st;

	TRY(comm_alloc(e->options.world, COSTS_COUNT * ranks * row * sizeof(double),
		       (void **)all, err));
	for (size_t k = 0; k < COSTS_COUNT; k++) {
		double *rows = *all + k * ranks * row;

		memcpy(rows + row * (size_t)e->number, own + k * row, row * sizeof(double));
		TRY(comm_run(e->options.world, COMM_ALLGATHER, rows,
			     ranks * row * sizeof(double), DTYPE_BYTE, 0, err));
	}
out:
	return st;
}

/* In ms; of the machine's time, also where the ranks' is virtual. */
static enum status predict(struct engine *e, int steps, bool meet, double *own,
			   struct prediction_of_step *p, struct error *err)
{
	size_t rows = cost_row_size(e) * (size_t)e->ranks;
	double *ms[COSTS_COUNT] = {&p->low_ms, &p->step_ms, &p->high_ms};
	double begin = clock_ms(), bubbles[COSTS_COUNT], *all = NULL;
	enum status st;

	TRY(engine_calibrate(e, steps, own, &p->trials, err));
	p->trials_ms = clock_ms() - begin;
	TRY(collect(e, own, &all, err));
	for (size_t k = 0; k < COSTS_COUNT; k++)
		TRY(engine_compose(e, all + k * rows, meet, ms[k], &bubbles[k], err));
	p->bubble = bubbles[COSTS_LIKELY];
	if (!device_is_virtual(e->dev)) {
		p->low_ms *= 1 - MARGIN;
		p->high_ms *= 1 + MARGIN;
	}
out:
	comm_give_back(e->options.world, all);
	return st;
}

enum status engine_predict(struct engine *e, int steps, bool meet, struct prediction_of_step *p,
			   struct error *err)
{
	double *own = NULL;
	enum status st = OK;

	*p = (struct prediction_of_step){0};
	if (e->options.grad_sync == SYNC_MASTER) {
		p->step_ms = p->low_ms = p->high_ms = p->bubble = NAN;
		return OK;
	}
	own = calloc(COSTS_COUNT * cost_row_size(e), sizeof(*own));
	st = own ? predict(e, steps, meet, own, p, err)
		 : FAIL(err, ERR_MEMORY, "no memory to predict a step");
	free(own);
	if (e->options.records)
		e->options.records->count = 0; /* of the trials */
	return st;
}
