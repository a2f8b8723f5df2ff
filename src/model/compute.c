/*
 * compute.c - a micro-batch through a chunk, forward and backward; see model.h
 *
 * Split by columns, a layer has whole inputs and a slice of the outputs: its input
 * gradient is a sum over the ranks. Split by rows it has a slice of the inputs and whole
 * outputs: its output is a sum over the ranks, and bias and activation come after it.
 */
#include "model/model.h"

static bool is_last(const struct model *m, const struct layer *l)
{
	return l->number == m->shape.depth - 1;
}

/* What follows a layer; nothing behind the last. */
static enum activation activation_of(const struct model *m, const struct layer *l)
{
	return is_last(m, l) ? ACT_NONE : m->shape.act;
}

/* What the derivative of layer i's activation is taken from. */
static struct view saved_of(const struct model *m, const struct slot *s, int i)
{
	return m->shape.act == ACT_GELU ? s->before[i] : s->input[i + 1];
}

static struct linear linear_of(const struct layer *l, float *flat, enum dtype type, int rows)
{
	return (struct linear){
		.rows = rows,
		.out = l->out,
		.in = l->in,
		.type = type,
		.weight = flat_at(flat, type, l->weight),
		.bias = flat_at(flat, type, l->bias),
	};
}

/* Sum whole rows over the slices; the padding between them comes along. */
static void start_sum(struct model *m, struct view v, int rows, struct comm_request *r)
{
	comm_start(m->sums, COMM_ALLREDUCE, v.data, (size_t)rows * v.stride, v.type, 0, r);
	m->bytes += (int64_t)((size_t)rows * v.stride * dtype_size(v.type));
}

static enum status forward_split_by_rows(struct model *m, const struct layer *l,
					 struct linear *linear, struct error *err)
{
	struct view before = linear->saved, bias = {linear->bias, 0, m->type};
	struct comm_request sum;
	enum status st;

	linear->bias = NULL;
	linear->saved = (struct view){0};
	linear->act = ACT_NONE;
	device_forward(m->dev, linear);
	start_sum(m, linear->y, linear->rows, &sum);
	TRY(comm_wait(&sum, err));
	device_activate(m->dev, linear->y, bias, before, linear->rows, l->out,
			activation_of(m, l));
out:
	return st;
}

/* The last layer split by columns: bring the slices together, for the loss. They arrive one
   after the other behind full's rows, and are put side by side. */
static enum status gather_output(struct model *m, const struct layer *l, struct slot *s,
				 struct view y, int rows, struct error *err)
{
	size_t block = (size_t)rows * (size_t)l->out;
	struct view slices = view_from(s->full, (size_t)rows);
	enum status st;

	slices.stride = (size_t)l->out;
	device_copy(m->dev, view_from(slices, (size_t)m->shard * (size_t)rows), 0, y, 0, rows,
		    l->out);
	TRY(comm_run(m->sums, COMM_ALLGATHER, slices.data, block * (size_t)m->mp, y.type, 0,
		     err));
	m->bytes += (int64_t)(block * (size_t)m->mp * dtype_size(y.type));
	for (int part = 0; part < m->mp; part++)
		device_copy(m->dev, s->full, part * l->out,
			    view_from(slices, (size_t)part * (size_t)rows), 0, rows, l->out);
out:
	return st;
}

enum status chunk_forward(struct model *m, const struct chunk *c, struct slot *s, int rows,
			  model_hook *hook, void *arg, struct error *err)
{
	enum status st = OK;

	for (int i = 0; i < c->count; i++) {
		const struct layer *l = &m->layers[c->first + i];
		struct linear linear = linear_of(l, m->param, m->type, rows);

		linear.x = s->input[i];
		linear.y = s->input[i + 1];
		linear.saved = s->before[i];
		linear.act = activation_of(m, l);
		if (l->split == SPLIT_ROWS)
			TRY(forward_split_by_rows(m, l, &linear, err));
		else
			device_forward(m->dev, &linear);
		if (is_last(m, l) && l->split == SPLIT_COLUMNS)
			TRY(gather_output(m, l, s, linear.y, rows, err));
		if (hook)
			hook(arg, c->first + i);
	}
out:
	return st;
}

static void weight_gradient(struct model *m, const struct chunk *c, const struct slot *s,
			    const struct flow *f, int i, int rows, const struct backward *how)
{
	struct linear linear = linear_of(&m->layers[c->first + i], m->grad, m->grad_type, rows);

	linear.x = s->input[i];
	linear.y = f->flow[i];
	linear.accumulate = how->accumulate;
	device_backward_weight(m->dev, &linear);
	if (how->hook)
		how->hook(how->arg, c->first + i);
}

/* Layer i's input gradient into dx, and its weight gradient while that is summed. */
static enum status backward_layer(struct model *m, const struct chunk *c, struct slot *s,
				  struct flow *f, int i, int rows, const struct backward *how,
				  struct error *err)
{
	const struct layer *l = &m->layers[c->first + i];
	struct linear linear = linear_of(l, m->param, m->type, rows);
	bool wanted = i > 0 || !c->begins, summed = wanted && l->split == SPLIT_COLUMNS;
	struct comm_request sum = {.kind = REQUEST_NONE};
	enum status st = OK;

	linear.y = f->flow[i];
	linear.x = i > 0 ? f->flow[i - 1] : how->dx;
	linear.act = activation_of(m, l);
	linear.saved = saved_of(m, s, i);
	if (wanted)
		device_backward_input(m->dev, &linear);
	else
		device_derive(m->dev, linear.y, linear.saved, rows, l->out, linear.act);
	if (summed) {
		start_sum(m, linear.x, rows, &sum);
		if (!how->overlap)
			TRY(comm_wait(&sum, err));
	}
	if (how->part & BACKWARD_WEIGHT)
		weight_gradient(m, c, s, f, i, rows, how);
	TRY(comm_wait(&sum, err));
out:
	return st;
}

enum status chunk_backward(struct model *m, const struct chunk *c, struct slot *s,
			   struct flow *f, int rows, const struct backward *how,
			   struct error *err)
{
	const struct layer *top = &m->layers[c->first + c->count - 1];
	enum status st = OK;

	if (how->part == BACKWARD_WEIGHT) {
		for (int i = c->count - 1; i >= 0; i--)
			weight_gradient(m, c, s, f, i, rows, how);
		return OK;
	}
	if (c->ends && top->split == SPLIT_COLUMNS) /* our slice of the whole gradient */
		device_copy(m->dev, f->flow[c->count - 1], 0, f->full, top->row, rows,
			    top->out);
	for (int i = c->count - 1; i >= 0; i--)
		TRY(backward_layer(m, c, s, f, i, rows, how, err));
out:
	return st;
}
