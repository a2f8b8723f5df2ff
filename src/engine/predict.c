/* predict.c - see predict.h */
#include "engine/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a rank knows, behind each other: its costs, then those of its chunks. */
static size_t row_doubles(const struct engine *e)
{
	return (sizeof(struct rank_costs) +
		(size_t)e->model.n_chunks * sizeof(struct part_cost)) /
	       sizeof(double);
}

/* Everybody's row, from everybody. */
static enum status collect(struct engine *e, double **all, struct error *err)
{
	size_t row = row_doubles(e), ranks = (size_t)e->rank->ranks;
	size_t at = row * (size_t)e->rank->number;
	enum status st;

	TRY(comm_alloc(e->rank->world, ranks * row * sizeof(double), (void **)all, err));
	TRY(engine_calibrate(
		e, (struct rank_costs *)(*all + at),
		(struct part_cost *)(*all + at + sizeof(struct rank_costs) / sizeof(double)),
		err));
	TRY(comm_run(e->rank->world, COMM_ALLGATHER, *all, ranks * row * 2, DTYPE_F32, 0, err));
out:
	return st;
}

/* Of a stage, the slowest of its ranks, and the costs of a chunk of it: their mean. */
static void look_at_stage(const struct engine *e, const double *all, int stage,
			  struct part_cost *parts, double *tail, double *message)
{
	int chunks = e->model.n_chunks, width = e->grid.dp * e->grid.mp;

	for (int i = 0; i < width; i++) {
		const double *row = all + (size_t)(stage * width + i) * row_doubles(e);
		const struct rank_costs *c = (const struct rank_costs *)row;
		const struct part_cost *own =
			(const struct part_cost *)(row + sizeof(*c) / sizeof(double));

		*tail = fmax(*tail, c->sync + c->share + c->update + c->exchange);
		*message = fmax(*message, c->message);
		for (int k = 0; k < chunks; k++) {
			struct part_cost *p = &parts[stage * chunks + k];

			p->f += own[k].f / width;
			p->b += own[k].b / width;
			p->w += own[k].w / width;
		}
	}
}

static enum status put_together(const struct engine *e, const double *all,
				struct prediction_of_step *p, struct error *err)
{
	const struct links *links = device_links(e->dev);
	int stages = e->grid.pp, chunks = e->model.n_chunks;
	struct part_cost *parts = calloc((size_t)stages * (size_t)chunks, sizeof(*parts));
	double *tails = calloc((size_t)stages, sizeof(*tails));
	struct costs costs = {.parts = parts, .stop_and_wait = e->options.base};
	struct timeline t;
	enum status st = OK;

	if (!parts || !tails) {
		st = FAIL(err, ERR_MEMORY, "no memory to predict a step");
		goto out;
	}
	for (int s = 0; s < stages; s++)
		look_at_stage(e, all, s, parts, &tails[s], &costs.latency);
	if (links) { /* known, and one part of it takes the link from others */
		costs.transfer = fmax(0, costs.latency - links->latency_ns * 1e-6);
		costs.latency = links->latency_ns * 1e-6;
	}
	TRY(timeline_simulate(&t, e->options.schedule, &costs, err));
	p->bubble = t.bubble;
	for (int s = 0; s < stages; s++)
		p->step_ms = fmax(p->step_ms, t.totals[s].end_ms + tails[s]);
	timeline_release(&t);
out:
	free(parts);
	free(tails);
	return st;
}

enum status engine_predict(struct engine *e, struct prediction_of_step *p, struct error *err)
{
	double *all;
	enum status st;

	*p = (struct prediction_of_step){0};
	if (e->options.grad_sync == SYNC_MASTER) {
		p->step_ms = p->bubble = NAN;
		return OK;
	}
	TRY(collect(e, &all, err));
	TRY(put_together(e, all, p, err));
	if (e->options.records)
		e->options.records->count = 0; /* of the trial */
out:
	return st;
}
