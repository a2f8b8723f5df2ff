/* weights.c - see weights.h */
#include "engine/weights.h"
#include "base/half.h"
#include "base/util.h"

#include <string.h>

enum { BLOCK_ROWS = 64, WEIGHTS_CHANNEL = 3 };

struct gathering {
	struct engine *e;
	int replica;
	float *flat; /* the parameters, or their gradients */
	enum dtype type;
	weights_fn *fn;
	void *arg;
	float *piece; /* (BLOCK_ROWS, in): of one slice, on its way */
	float *rows;  /* (BLOCK_ROWS, in): put together */
};

/* Our own layer of that number; it is in this rank's part. */
static const struct layer *own_layer(const struct engine *e, int number)
{
	const struct layer *l = e->model.layers;

	while (l->number != number)
		l++;
	return l;
}

static int rank_of(const struct gathering *g, int number, int shard)
{
	int part = partition_part_of(g->e->options.partition, number);
	struct coords at = {.dp = g->replica, .pp = part % g->e->grid.pp, .mp = shard};

	return grid_rank(&g->e->grid, at);
}

/* count values of a slice to rank 0's piece; the one that has them fills piece first. */
static enum status move(struct gathering *g, int from, size_t count, struct error *err)
{
	struct rank *rank = g->e->rank;
	struct comm_request r;

	if (!rank || from == 0 || (rank->number != from && rank->number != 0))
		return OK;
	if (rank->number == from)
		comm_isend(rank->world, 0, WEIGHTS_CHANNEL, g->piece, count * sizeof(float),
			   &r);
	else
		comm_irecv(rank->world, from, WEIGHTS_CHANNEL, g->piece, count * sizeof(float),
			   &r);
	return comm_wait(&r, err);
}

static bool is_me(const struct engine *e, int rank)
{
	return (e->rank ? e->rank->number : 0) == rank;
}

/* n rows from row on of a slice (in wide) into columns of rows. */
static enum status take_rows(struct gathering *g, int number, int shard, int row, int n, int in,
			     int column, int width, struct error *err)
{
	int from = rank_of(g, number, shard);
	enum status st;

	if (is_me(g->e, from)) {
		const struct layer *l = own_layer(g->e, number);

		device_matrix_read(g->e->dev, flat_at(g->flat, g->type, l->weight), g->type,
				   l->out, l->in, row, n, g->piece);
	}
	TRY(move(g, from, (size_t)n * (size_t)in, err));
	for (int r = 0; r < n && is_me(g->e, 0); r++)
		memcpy(g->rows + (size_t)r * (size_t)width + column,
		       g->piece + (size_t)r * (size_t)in, (size_t)in * sizeof(float));
out:
	return st;
}

static enum status gather_weight(struct gathering *g, int number, struct error *err)
{
	const struct engine *e = g->e;
	enum split split = split_of(number, e->grid.mp);
	int in = shape_in(&e->options.shape, number),
	    out = shape_out(&e->options.shape, number);
	int shards = split == SPLIT_COLUMNS ? e->grid.mp : 1, mp = e->grid.mp;
	enum status st = OK;

	for (int shard = 0; shard < shards; shard++)
		for (int row = 0; row < out / shards; row += BLOCK_ROWS) {
			int n = imin(BLOCK_ROWS, out / shards - row);

			if (split == SPLIT_ROWS)
				for (int part = 0; part < mp; part++)
					TRY(take_rows(g, number, part, row, n, in / mp,
						      part * (in / mp), in, err));
			else
				TRY(take_rows(g, number, shard, row, n, in, 0, in, err));
			if (is_me(e, 0))
				TRY(g->fn(g->arg, g->rows, (size_t)n * (size_t)in, err));
		}
out:
	return st;
}

static enum status gather_bias(struct gathering *g, int number, struct error *err)
{
	const struct engine *e = g->e;
	int shards = split_of(number, e->grid.mp) == SPLIT_COLUMNS ? e->grid.mp : 1;
	int n = shape_out(&e->options.shape, number) / shards;
	enum status st = OK;

	for (int shard = 0; shard < shards; shard++) {
		int from = rank_of(g, number, shard);

		for (int at = 0; at < n; at += BLOCK_ROWS) {
			size_t count = (size_t)imin(BLOCK_ROWS, n - at);

			for (size_t i = 0; i < count && is_me(e, from); i++)
				g->piece[i] = float_from(
					g->flat, own_layer(e, number)->bias + (size_t)at + i,
					g->type);
			TRY(move(g, from, count, err));
			if (is_me(e, 0))
				TRY(g->fn(g->arg, g->piece, count, err));
		}
	}
out:
	return st;
}

static enum status gather(struct gathering *g, struct error *err)
{
	struct engine *e = g->e;
	const struct model_shape *shape = &e->options.shape;
	size_t bytes = BLOCK_ROWS * (size_t)imax(shape->in, shape->dim) * sizeof(float);
	enum status st = OK;

	if (!e->passage.piece)
		TRY(device_alloc_shared(e->dev, MEMORY_COMM, bytes, "weights on their way",
					(void **)&e->passage.piece, err));
	if (!e->passage.rows)
		TRY(device_alloc(e->dev, MEMORY_COMM, bytes, "weights on their way",
				 (void **)&e->passage.rows, err));
	g->piece = e->passage.piece;
	g->rows = e->passage.rows;
	for (int i = 0; i < shape->depth; i++) {
		if (e->rank)
			rank_at(e->rank, "collecting layer %d", i);
		TRY(gather_weight(g, i, err));
		TRY(gather_bias(g, i, err));
	}
out:
	return st;
}

enum status weights_gather(struct engine *e, int replica, weights_fn *fn, void *arg,
			   struct error *err)
{
	struct gathering g = {.e = e,
			      .replica = replica,
			      .flat = e->model.param,
			      .type = e->model.type,
			      .fn = fn,
			      .arg = arg};

	return gather(&g, err);
}

enum status masters_gather(struct engine *e, int replica, weights_fn *fn, void *arg,
			   struct error *err)
{
	struct gathering g = {
		.e = e, .replica = replica, .type = DTYPE_F32, .fn = fn, .arg = arg};
	enum status st;

	if (e->model.type == DTYPE_F32)
		return weights_gather(e, replica, fn, arg, err);
	if (!e->passage.masters) /* not of the device's memory: the run goes on without them */
		TRY(comm_alloc(e->rank->world, e->model.size * sizeof(float),
			       (void **)&e->passage.masters, err));
	TRY(sync_masters(&e->sync, &e->optim, e->passage.masters, err));
	g.flat = e->passage.masters;
	TRY(gather(&g, err));
out:
	return st;
}

enum status gradients_gather(struct engine *e, int replica, weights_fn *fn, void *arg,
			     struct error *err)
{
	struct gathering g = {.e = e,
			      .replica = replica,
			      .flat = e->model.grad,
			      .type = e->model.grad_type,
			      .fn = fn,
			      .arg = arg};
	enum status st;

	TRY(sync_share_gradients(&e->sync, err));
	TRY(gather(&g, err));
out:
	return st;
}
