/* evaluate.c - loss and accuracy on held-out samples, over all stages; see engine.h */
#include "base/half.h"
#include "base/util.h"
#include "engine/engine.h"

#include <assert.h>
#include <math.h>

static int correct_rows(const struct engine *e, struct view y, int rows)
{
	int correct = 0;

	assert(y.data);
	for (int r = 0; r < rows; r++) {
		const void *row = view_from(y, (size_t)r).data;
		size_t best = 0;

		for (size_t i = 1; i < (size_t)e->options.shape.out; i++)
			if (float_from(row, i, y.type) > float_from(row, best, y.type))
				best = i;
		correct += (int)best == e->batch.labels[r];
	}
	return correct;
}

/* One part of the stack for some samples: from the part before, to the part behind. */
static enum status evaluate_part(struct engine *e, int part, int rows, double divisor,
				 struct report *sum, struct error *err)
{
	int k = part / e->grid.pp, parts = e->grid.pp * e->model.n_chunks;
	const struct chunk *c = &e->model.chunks[k];
	struct chunk_buffers *b = &e->buffers.chunks[k];
	struct slot *s = &b->slot[0];
	struct coords at = e->at;
	struct comm_request r;
	enum status st = OK;

	assert(e->rank || parts == 1); /* alone there is nobody to send to */
	if (part % e->grid.pp != e->at.pp)
		return OK;
	s->input[0] = c->begins ? e->batch.x : b->input[0];
	if (part > 0) {
		at.pp = (part - 1) % e->grid.pp;
		comm_irecv(e->rank->world, grid_rank(&e->grid, at), 0, s->input[0].data,
			   view_bytes(s->input[0], rows), &r);
		TRY(comm_wait(&r, err));
	}
	TRY(chunk_forward(&e->model, c, s, rows, NULL, NULL, err));
	if (part < parts - 1) {
		at.pp = (part + 1) % e->grid.pp;
		comm_isend(e->rank->world, grid_rank(&e->grid, at), 0, s->input[c->count].data,
			   view_bytes(s->input[c->count], rows), &r);
		TRY(comm_wait(&r, err));
		return OK;
	}
	if (e->at.mp > 0)
		return OK;
	sum->loss += engine_loss(e, &e->batch, 0, s->full, b->flow[0].full, rows, divisor);
	if (e->options.labelled)
		sum->correct += correct_rows(e, s->full, rows);
out:
	return st;
}

/* The first replica does it, part after part. */
enum status engine_evaluate(struct engine *e, const struct data *d, struct evaluation *out,
			    struct error *err)
{
	struct report own = {0}, sum;
	enum status st = OK;

	*out = (struct evaluation){.samples = d->held_out, .accuracy = NAN};
	for (int64_t i = 0; i < d->held_out && e->at.dp == 0; i += e->options.shape.rows) {
		int rows = (int)min64(e->options.shape.rows, d->held_out - i);

		if (e->rank)
			rank_at(e->rank, "evaluation of sample %lld", (long long)i);
		if (engine_needs_batch(e))
			data_held_out(d, i, rows, &e->batch);
		for (int part = 0; part < e->grid.pp * e->model.n_chunks; part++)
			TRY(evaluate_part(e, part, rows, (double)d->held_out, &own, err));
	}
	TRY(engine_exchange(e, own, &sum, err));
	out->loss = sum.loss;
	if (e->options.labelled)
		out->accuracy = sum.correct / (double)d->held_out;
out:
	return st;
}
