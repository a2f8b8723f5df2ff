/* collect.c - see collect.h */
#include "engine/collect.h"
#include "base/util.h"
#include "engine/impl.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16 }; /* elements on their way at once, or a row */

struct collection {
	struct engine *e;
	int copy;
	void *flat; /* the parameters, or their gradients */
	enum dtype type;
	const int *order; /* (tensors) of the tensors, or NULL: the model's */
	collect_fn *fn;
	void *arg;
	size_t room;	   /* elements of piece and rows */
	float *piece;	   /* of one slice, on its way */
	enum status taken; /* what fn has said: rank 0 goes on receiving when that has failed */
	float *rows;	   /* put together */
};

/* The stage that a tensor is taken from: two may have it. */
static int stage_of(const struct collection *c, int tensor, int turn)
{
	const struct engine_options *o = &c->e->options;
	int part = partition_part_of(o->partition, o->model->tensors[tensor].layer), stages[2];

	if (engine_holders(c->e, stages) && o->model->ties[0].tensor == tensor)
		return stages[turn % 2];
	return schedule_place(o->schedule, part).stage;
}

/* The rank that has a shard of a tensor, or one of those that have all of it. */
static int rank_of(const struct collection *c, int tensor, int shard)
{
	const struct engine_options *o = &c->e->options;
	bool whole = o->model->tensors[tensor].split == SPLIT_NONE;
	int turn = c->copy / o->grid.dp;
	struct coords at = {.dp = c->copy % o->grid.dp,
			    .pp = stage_of(c, tensor, turn),
			    .mp = whole ? turn % o->grid.mp : shard / o->model->held};

	return grid_rank(&o->grid, at);
}

/* count values of a slice to rank 0's piece; the one that has them fills piece first. */
static enum status move(struct collection *c, int from, size_t count, struct error *err)
{
	const struct engine *e = c->e;
	struct comm_request r;

	if (from == 0 || (e->number != from && e->number != 0))
		return OK;
	if (e->number == from)
		comm_isend(e->options.world, 0, CHANNEL_TENSORS, c->piece,
			   count * sizeof(float), &r);
	else
		comm_irecv(e->options.world, from, CHANNEL_TENSORS, c->piece,
			   count * sizeof(float), &r);
	return comm_wait(&r, err);
}

/* Some rows of a slice to rank 0's rows, from a column on. */
static enum status take(struct collection *c, int tensor, int shard, int row, int rows,
			struct error *err)
{
	struct engine *e = c->e;
	const struct tensor *t = &e->options.model->tensors[tensor];
	size_t columns = (size_t)tensor_own_columns(t, e->options.model->mp);
	size_t at = t->split == SPLIT_COLUMNS ? (size_t)shard * columns : 0;
	int from = rank_of(c, tensor, shard);
	enum status st;

	if (e->number == from)
		weights_read_rows(&e->weights, c->flat, c->type, tensor,
				  shard % e->options.model->held, row, rows, c->piece);
	TRY(move(c, from, (size_t)rows * columns, err));
	for (size_t r = 0; r < (size_t)rows && e->number == 0; r++)
		memcpy(c->rows + r * (size_t)t->columns + at, c->piece + r * columns,
		       columns * sizeof(float));
out:
	return st;
}

/* Some rows of the whole that one slice has, or of which all slices have some columns; from row
   own of each slice on. */
static enum status collect_rows(struct collection *c, int tensor, int slice, int own, int rows,
				struct error *err)
{
	const struct engine *e = c->e;
	const struct tensor *t = &e->options.model->tensors[tensor];
	int parts = t->split == SPLIT_COLUMNS ? e->options.model->mp : 1;
	enum status st = OK;

	for (int part = 0; part < parts; part++)
		TRY(take(c, tensor, parts > 1 ? part : slice, own, rows, err));
	if (e->number == 0 && c->taken == OK)
		c->taken =
			c->fn(c->arg, tensor, c->rows, (size_t)rows * (size_t)t->columns, err);
out:
	return st;
}

/* Block by block; slices of rows one after the other, those of columns side by side. */
static enum status collect_tensor(struct collection *c, int tensor, struct error *err)
{
	const struct engine *e = c->e;
	const struct tensor *t = &e->options.model->tensors[tensor];
	int mp = e->options.model->mp, slices = t->split == SPLIT_ROWS ? mp : 1;
	int most = (int)(c->room / (size_t)t->columns);
	enum status st = OK;

	for (int b = 0; b < tensor_blocks(t); b++)
		for (int slice = 0; slice < slices; slice++) {
			struct tensor_piece p = tensor_piece(t, mp, slice, b);

			for (int row = 0; row < p.rows; row += most)
				TRY(collect_rows(c, tensor, slice, p.own + row,
						 imin(most, p.rows - row), err));
		}
out:
	return st;
}

static enum status collect(struct collection *c, struct error *err)
{
	struct engine *e = c->e;
	const struct model *m = e->options.model;
	enum status st = OK;

	TRY(engine_check(e, err));
	c->taken = OK;
	c->room = PIECE;
	for (int i = 0; i < m->n_tensors; i++)
		if ((size_t)m->tensors[i].columns > c->room)
			c->room = (size_t)m->tensors[i].columns;
	if (!e->passage.piece)
		TRY(comm_alloc(e->options.world, c->room * sizeof(float),
			       (void **)&e->passage.piece, err));
	if (!e->passage.rows)
		e->passage.rows = malloc(c->room * sizeof(float));
	if (!e->passage.rows)
		return FAIL(err, ERR_MEMORY, "no memory for tensors on their way");
	c->piece = e->passage.piece;
	c->rows = e->passage.rows;
	for (int i = 0; i < m->n_tensors; i++) {
		int tensor = c->order ? c->order[i] : i;

		engine_say(e, "collecting %s", m->tensors[tensor].name);
		TRY(collect_tensor(c, tensor, err));
	}
	st = c->taken;
out:
	return st;
}

enum status collect_weights(struct engine *e, int copy, collect_fn *fn, void *arg,
			    struct error *err)
{
	struct collection c = {.e = e,
			       .copy = copy,
			       .flat = e->weights.param,
			       .type = e->weights.type,
			       .fn = fn,
			       .arg = arg};

	return collect(&c, err);
}

enum status collect_in_order(struct engine *e, int copy, const int *order, collect_fn *fn,
			     void *arg, struct error *err)
{
	struct collection c = {.e = e,
			       .copy = copy,
			       .flat = e->weights.param,
			       .type = DTYPE_F32,
			       .order = order,
			       .fn = fn,
			       .arg = arg};
	enum status st;

	if (e->weights.type != DTYPE_F32)
		TRY(engine_spread(e, e->optim.master, &c.flat, err));
	TRY(collect(&c, err));
out:
	return st;
}

enum status collect_masters(struct engine *e, int copy, collect_fn *fn, void *arg,
			    struct error *err)
{
	return collect_in_order(e, copy, NULL, fn, arg, err);
}

enum status collect_gradients(struct engine *e, int copy, collect_fn *fn, void *arg,
			      struct error *err)
{
	struct collection c = {.e = e,
			       .copy = copy,
			       .flat = e->weights.grad,
			       .type = e->weights.grad_type,
			       .fn = fn,
			       .arg = arg};
	enum status st;

	TRY(sync_share_gradients(&e->sync, err));
	TRY(collect(&c, err));
out:
	return st;
}
