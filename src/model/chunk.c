/* chunk.c - a micro-batch through a chunk; see chunk.h */
#include "model/chunk.h"
#include "model/collective.h"
#include "base/tree.h"
#include "model/weights.h"

static void *param_at(const struct pass *p, size_t at)
{
	return flat_at(p->weights->param, p->weights->type, at);
}

static void *grad_at(const struct pass *p, size_t at)
{
	return flat_at(p->weights->grad, p->weights->grad_type,
		       (size_t)p->level * p->weights->grad_size + at);
}

void *pass_param(const struct pass *p, const struct layer *l, int k, int held)
{
	return param_at(p, weights_at(p->weights, l->tensor + k, held));
}

void *pass_grad(const struct pass *p, const struct layer *l, int k, int held)
{
	return grad_at(p, weights_at(p->weights, l->tensor + k, held));
}

void *pass_tied_param(const struct pass *p, const struct layer *l, int held)
{
	return param_at(p, weights_at(p->weights, l->tied, held));
}

void *pass_tied_grad(const struct pass *p, const struct layer *l, int held)
{
	return grad_at(p, weights_tied_at(p->weights, l->tied, held));
}

bool pass_adds_to(const struct pass *p, int tensor)
{
	bool filled = p->weights->filled[tensor];

	if (p->weights->as_if) /* nobody else adds to the same place */
		return p->accumulate;
	p->weights->filled[tensor] = true;
	return filled;
}

enum status layer_backward(const struct layer *l, struct pass *p, struct error *err)
{
	enum status st, beside = OK;
	bool under_way;

	if (l->ops->backward)
		return l->ops->backward(l, p, err);
	p->sum.all.under_way = false;
	TRY(l->ops->backward_input(l, p, err));
	under_way = p->sum.all.under_way;
	if (under_way && !p->overlap)
		TRY(pass_sum_end(p, &p->sum, err));
	if (l->ops->backward_weight)
		beside = l->ops->backward_weight(l, p, err);
	if (under_way && p->overlap)
		TRY(pass_sum_end(p, &p->sum, err)); /* it is on our stack */
	st = beside;
out:
	return st;
}

struct view pass_tree(const struct pass *p, struct view to, int rooms, int held)
{
	int depth = tree_depth((unsigned)held);

	return depth ? p->kept[rooms + depth - 1] : to;
}

void pass_tree_add(struct pass *p, struct view to, int rooms, int held, int columns)
{
	int depth = tree_depth((unsigned)held);

	for (int n = tree_merges((unsigned)held); n > 0; n--, depth--)
		device_add(p->dev, depth > 1 ? p->kept[rooms + depth - 2] : to,
			   p->kept[rooms + depth - 1], p->rows, columns);
}

void pass_sum_begin(struct pass *p, struct view v, struct view to, int columns,
		    struct pass_sum *sum)
{
	sum->of = v;
	sum->to = to;
	sum->columns = columns;
	collective_begin(&sum->all, p->dev, p->slices,
			 to.data ? COMM_REDUCE_SCATTER : COMM_ALLREDUCE, v.data,
			 (size_t)p->rows * v.stride, v.type);
	*p->sum_bytes += (int64_t)view_bytes(v, p->rows);
}

enum status pass_sum_end(struct pass *p, struct pass_sum *sum, struct error *err)
{
	int rows = p->rows / comm_size(p->slices);
	enum status st;

	TRY(collective_end(&sum->all, err));
	if (sum->to.data)
		device_copy(p->dev, sum->to, 0,
			    view_from(sum->of, (size_t)rows * (size_t)p->shard), 0, rows,
			    sum->columns);
out:
	return st;
}

enum status pass_collect(struct pass *p, struct view all, struct view part, int columns,
			 struct error *err)
{
	int rows = p->rows / comm_size(p->slices);

	device_copy(p->dev, view_from(all, (size_t)rows * (size_t)p->shard), 0, part, 0, rows,
		    columns);
	*p->sum_bytes += (int64_t)view_bytes(all, p->rows);
	return collective_run(p->dev, p->slices, COMM_ALLGATHER, all.data,
			      (size_t)p->rows * all.stride, all.type, err);
}

void pass_take_over(struct pass *p, struct view to, struct view from, int rows, int columns)
{
	if (from.type == to.type)
		device_copy(p->dev, to, 0, from, 0, rows, columns);
	for (int r = 0; r < rows && from.type != to.type; r++)
		device_cast(p->dev, view_from(from, (size_t)r).data, from.type,
			    view_from(to, (size_t)r).data, to.type, (size_t)columns);
}

enum status pass_gather(struct pass *p, struct view slices, int columns, struct error *err)
{
	size_t n = (size_t)p->rows * (size_t)columns * (size_t)comm_size(p->slices);

	*p->sum_bytes += (int64_t)(n * dtype_size(slices.type));
	return collective_run(p->dev, p->slices, COMM_ALLGATHER, slices.data, n, slices.type,
			      err);
}

static const struct layer *layer_of(const struct chunk_run *r, int i)
{
	return r->model->layers[r->chunk->first + i];
}

/* Layer i's part of what slot and flow have. */
static void enter(struct chunk_run *r, int i)
{
	const struct layer *l = layer_of(r, i), *first = layer_of(r, 0);
	struct pass *p = &r->pass;

	p->weights = r->weights;
	p->x = r->slot->input[i];
	p->y = r->slot->input[i + 1];
	p->saved = r->slot->saved + (l->saved_before - first->saved_before);
	p->kept = r->again;
	if (r->flow) {
		p->dy = r->flow->flow[i];
		p->kept = r->flow->kept + (l->kept_before - first->kept_before);
	} else if (p->kept) {
		p->kept += l->kept_before - first->kept_before;
	}
}

static void tell(const struct chunk_run *r, int i, enum chunk_event event)
{
	if (r->hook)
		r->hook(r->arg, r->chunk->first + i, event);
}

/* The first rows may not be wanted of what comes out: the last ones are computed alone. False:
   there are none. */
static bool shorten(struct chunk_run *r, int i)
{
	if (!r->left_out || !r->chunk->ends || i < r->chunk->count - 1)
		return true;
	r->pass.x = view_from(r->pass.x, (size_t)r->left_out);
	r->pass.rows -= r->left_out;
	return r->pass.rows > 0;
}

enum status chunk_forward(struct chunk_run *r, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < r->chunk->count; i++) {
		enter(r, i);
		if (!shorten(r, i))
			break;
		TRY(layer_of(r, i)->ops->forward(layer_of(r, i), &r->pass, err));
		tell(r, i, CHUNK_FORWARD);
	}
out:
	return st;
}

static enum status weight_gradient(struct chunk_run *r, int i, struct error *err)
{
	const struct layer *l = layer_of(r, i);
	enum status st = OK;

	enter(r, i);
	r->flow->done[i] = true;
	if (l->ops->backward_weight)
		TRY(l->ops->backward_weight(l, &r->pass, err));
	tell(r, i, CHUNK_WEIGHT);
out:
	return st;
}

/* The topmost layer whose weights have no gradient yet: they get theirs in order, so that a
   sum over several of them knows when all are there. */
static int next_weights(const struct chunk_run *r)
{
	int i = r->chunk->count - 1;

	while (r->flow->done[i])
		i--;
	return i;
}

static enum status input_gradient(struct chunk_run *r, int i, bool beside_sums,
				  struct error *err)
{
	const struct layer *l = layer_of(r, i);
	struct pass *p = &r->pass;
	enum status st, beside = OK;

	p->sum.all.under_way = false;
	TRY(l->ops->backward_input(l, p, err));
	if (p->sum.all.under_way) {
		if (beside_sums)
			beside = weight_gradient(r, next_weights(r), err);
		TRY(pass_sum_end(p, &p->sum, err)); /* it is on our stack */
		TRY(beside);
	}
	tell(r, i, CHUNK_INPUT);
out:
	return st;
}

static enum status both_gradients(struct chunk_run *r, int i, struct error *err)
{
	enum status st;

	TRY(layer_backward(layer_of(r, i), &r->pass, err));
	r->flow->done[i] = true;
	tell(r, i, CHUNK_INPUT);
	tell(r, i, CHUNK_WEIGHT);
out:
	return st;
}

enum status chunk_backward_input(struct chunk_run *r, struct view dx,
				 enum chunk_weights weights, bool overlap, struct error *err)
{
	enum status st = OK;

	r->pass.together = weights == WEIGHTS_WITH_INPUT;
	r->pass.overlap = overlap;
	for (int i = 0; i < r->chunk->count; i++)
		r->flow->done[i] = false;
	for (int i = r->chunk->count - 1; i >= 0; i--) {
		enter(r, i);
		r->pass.dx = i > 0 ? r->flow->flow[i - 1] : dx;
		if (r->pass.together)
			TRY(both_gradients(r, i, err));
		else
			TRY(input_gradient(r, i, overlap && weights == WEIGHTS_BESIDE_SUMS,
					   err));
	}
out:
	return st;
}

enum status chunk_backward_weight(struct chunk_run *r, struct error *err)
{
	enum status st = OK;

	for (int i = r->chunk->count - 1; i >= 0; i--)
		if (!r->flow->done[i])
			TRY(weight_gradient(r, i, err));
out:
	return st;
}
