/*
 * virtual.c - a device that computes nothing: an operation takes the time that its cost
 * says, asleep. Its memory is an account of addresses with nothing behind them.
 *
 *   virtual:gflops=100,gflops16=200,bandwidth=20GB/s,mem=2GiB,link=1GB/s,latency=50us,
 *           slow=RANK:FACTOR,slow-link=A-B:FACTOR
 *
 * What moves data more than it computes takes bytes / bandwidth, if one is given.
 */
#include "device/virtual/virtual.h"
#include "base/util.h"
#include "device/impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status virtual_open(struct device *dev, const char *spec,
				const struct device_options *o, struct error *err)
{
	struct machine *m = calloc(1, sizeof(*m));
	const char *words = strchr(spec, ':');
	char in_16_bit[64] = "";
	enum status st = OK;

	if (!m)
		return FAIL(err, ERR_MEMORY, "no memory for the device '%s'", spec);
	*m = (struct machine){.gflops = 100,
			      .slowness = 1,
			      .rank = o->rank,
			      .ranks = imax(1, o->ranks),
			      .next = (char *)4096};
	if (words)
		TRY(virtual_parse(m, words + 1, err));
	m->pace = o->pace ? o->pace : &m->own;
	pace_make_virtual(m->pace);
	if (m->memory && (!dev->account.limit || m->memory < dev->account.limit))
		dev->account.limit = m->memory;
	dev->links = &m->links;
	dev->threads = dev->cores = 1;
	if (m->gflops16 > 0)
		snprintf(in_16_bit, sizeof(in_16_bit), " (16 bit: %g)", m->gflops16);
	snprintf(dev->description, sizeof(dev->description),
		 "virtual: %g GFLOP/s%s, links of %.3g GB/s and %g us", m->gflops, in_16_bit,
		 m->links.ns_per_byte > 0 ? 1 / m->links.ns_per_byte : INFINITY,
		 m->links.latency_ns * 1e-3);
	dev->state = m;
	m = NULL; /* the device's now */
out:
	free(m);
	return st;
}

static void virtual_close(struct device *dev)
{
	free(dev->state);
}

static void *virtual_map(struct device *dev, uint64_t bytes)
{
	struct machine *m = dev->state;
	char *at = m->next;

	m->next += bytes;
	return at;
}

static void virtual_unmap(struct device *dev, void *memory, uint64_t bytes)
{
	(void)dev;
	(void)memory;
	(void)bytes;
}

static enum status virtual_reserve(struct device *dev, int rows, int width, struct error *err)
{
	(void)dev;
	(void)rows;
	(void)width;
	(void)err;
	return OK;
}

static void virtual_parallel(struct device *dev, void (*fn)(void *, int, int), void *arg)
{
	(void)dev;
	fn(arg, 0, 1);
}

static size_t virtual_matrix_size(int out, int in)
{
	return (size_t)out * (size_t)in;
}

static void virtual_matrix_write(struct device *dev, void *matrix, enum dtype type, int out,
				 int in, int row, int rows, const float *values)
{
	(void)dev, (void)matrix, (void)type, (void)out, (void)in, (void)row, (void)rows;
	(void)values;
}

static void virtual_matrix_read(struct device *dev, const void *matrix, enum dtype type,
				int out, int in, int row, int rows, float *values)
{
	(void)dev, (void)matrix, (void)type, (void)out, (void)row;
	memset(values, 0, (size_t)rows * (size_t)in * sizeof(float));
}

/* ---- what takes time ---- */

void virtual_take_time(struct device *dev, double ns, double bytes)
{
	struct machine *m = dev->state;

	if (m->bandwidth > 0)
		ns = fmax(ns, bytes / m->bandwidth);
	pace_spend(m->pace, (int64_t)(ns * m->slowness));
}

static bool virtual_multiplies(struct device *dev, enum dtype type)
{
	const struct machine *m = dev->state;

	return type == DTYPE_F32 || (dtype_size(type) == 2 && m->gflops16 > 0);
}

double virtual_speed(struct device *dev, enum dtype type)
{
	const struct machine *m = dev->state;

	return type != DTYPE_F32 && virtual_multiplies(dev, type) ? m->gflops16 : m->gflops;
}

void virtual_tell(struct device *dev, struct operation what)
{
	if (dev->listener)
		dev->listener(dev->listener_arg, &what);
}

static void tell_plain(struct device *dev, enum operation_kind kind, int rows, int columns)
{
	virtual_tell(dev, (struct operation){.kind = kind, .rows = rows, .columns = columns});
}

static void product(struct device *dev, const struct linear *l, enum operation_kind kind)
{
	double rows = l->rows, out = l->out, in = l->in;

	virtual_tell(dev, (struct operation){.kind = kind,
					     .rows = l->rows,
					     .columns = l->out,
					     .inner = l->in,
					     .act = l->act,
					     .biased = l->bias != NULL});

	virtual_take_time(dev, 2 * rows * out * in / virtual_speed(dev, l->type),
			  out * in * (double)dtype_size(l->type) +
				  rows * (out * (double)dtype_size(l->y.type) +
					  in * (double)dtype_size(l->x.type)));
}

void virtual_move(struct device *dev, double elements, enum dtype type, int times)
{
	virtual_take_time(dev, 0, elements * (double)dtype_size(type) * times);
}

static void virtual_forward(struct device *dev, const struct linear *l)
{
	product(dev, l, OPERATION_PRODUCT);
}

static void virtual_backward_input(struct device *dev, const struct linear *l)
{
	product(dev, l, OPERATION_PRODUCT_INPUT);
}

static void virtual_backward_weight(struct device *dev, const struct linear *l)
{
	product(dev, l, OPERATION_PRODUCT_WEIGHT);
}

static void virtual_copy(struct device *dev, struct view to, int to_column, struct view from,
			 int from_column, int rows, int columns)
{
	(void)to_column, (void)from, (void)from_column;
	virtual_move(dev, (double)rows * columns, to.type, 2);
}

static void virtual_activate(struct device *dev, struct view y, struct view bias,
			     struct view before, int rows, int columns, enum activation act)
{
	virtual_tell(dev, (struct operation){.kind = OPERATION_ACTIVATION,
					     .rows = rows,
					     .columns = columns,
					     .act = act,
					     .biased = bias.data != NULL});
	virtual_move(dev, (double)rows * columns, y.type, before.data ? 3 : 2);
}

static void virtual_derive(struct device *dev, struct view dy, struct view saved, int rows,
			   int columns, enum activation act)
{
	(void)saved;
	virtual_tell(dev, (struct operation){.kind = OPERATION_DERIVATIVE,
					     .rows = rows,
					     .columns = columns,
					     .act = act});
	virtual_move(dev, (double)rows * columns, dy.type, 3);
}

static void virtual_add(struct device *dev, struct view to, struct view from, int rows,
			int columns)
{
	(void)from;
	tell_plain(dev, OPERATION_ADD, rows, columns);
	virtual_move(dev, (double)rows * columns, to.type, 3);
}

static void virtual_dropout(struct device *dev, struct view to, struct view from, int rows,
			    int columns, const struct dropout *d)
{
	(void)from, (void)d;
	tell_plain(dev, OPERATION_DROPOUT, rows, columns);
	virtual_move(dev, (double)rows * columns, to.type, 2);
}

static void virtual_norm_forward(struct device *dev, const struct norm *n)
{
	tell_plain(dev, OPERATION_NORM, n->rows, n->columns);
	virtual_move(dev, (double)n->rows * n->columns, n->x.type, 2);
}

static void virtual_norm_backward_input(struct device *dev, const struct norm *n)
{
	tell_plain(dev, OPERATION_NORM_INPUT, n->rows, n->columns);
	virtual_move(dev, (double)n->rows * n->columns, n->x.type, 3);
}

static void virtual_norm_backward_weight(struct device *dev, const struct norm *n)
{
	tell_plain(dev, OPERATION_NORM_WEIGHT, n->rows, n->columns);
	virtual_move(dev, (double)n->rows * n->columns, n->x.type, 2);
}

/* Nothing is computed: what kernels yield is nowhere, and who reads it gets zeros. */
static void virtual_write(struct device *dev, void *memory, enum dtype type, size_t n,
			  const float *values)
{
	(void)dev, (void)memory, (void)type, (void)n, (void)values;
}

static void virtual_read(struct device *dev, const void *memory, enum dtype type, size_t n,
			 float *values)
{
	(void)dev, (void)memory, (void)type;
	memset(values, 0, n * sizeof(*values));
}

static void virtual_clear(struct device *dev, double *numbers, size_t n)
{
	(void)dev, (void)numbers, (void)n;
}

static void virtual_numbers(struct device *dev, const double *numbers, size_t n, double *out)
{
	(void)dev, (void)numbers;
	memset(out, 0, n * sizeof(*out));
}

static void virtual_mse(struct device *dev, struct view y, struct view target, struct view dy,
			int rows, int columns, float scale, double *sum)
{
	(void)target, (void)dy, (void)scale, (void)sum;
	virtual_move(dev, (double)rows * columns, y.type, 3);
}

static void virtual_update(struct device *dev, const struct update *u, size_t n,
			   double *squares)
{
	double bytes = 2 * sizeof(float) + (double)dtype_size(u->grad_type) +
		       (u->working ? (double)dtype_size(u->working_type) : 0) +
		       (u->m ? 2 * sizeof(float) : 0) + (u->v ? 2 * sizeof(float) : 0);

	(void)squares;
	virtual_take_time(dev, 0, bytes * (double)n);
}

static void virtual_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
				double factor, double *sum)
{
	(void)x, (void)factor, (void)sum;
	virtual_move(dev, (double)n, type, 1);
}

static void virtual_exact_squares(struct device *dev, const void *x, enum dtype type, size_t n,
				  struct exact *sum)
{
	(void)x, (void)sum;
	virtual_move(dev, (double)n, type, 1);
}

static void virtual_cast(struct device *dev, const void *src, enum dtype from, void *dst,
			 enum dtype to, size_t n)
{
	(void)src, (void)dst;
	virtual_take_time(dev, 0, (double)(n * (dtype_size(from) + dtype_size(to))));
}

static double virtual_fma_rounds(struct device *dev, enum dtype type, long n)
{
	double flops = 1e3 * (double)n;

	virtual_take_time(dev, flops / virtual_speed(dev, type), 0);
	return flops;
}

const struct device_ops device_virtual = {
	.name = "virtual",
	.takes_words = true,
	.open = virtual_open,
	.close = virtual_close,
	.map = virtual_map,
	.unmap = virtual_unmap,
	.reserve = virtual_reserve,
	.reserve_attention = virtual_reserve,
	.parallel = virtual_parallel,
	.matrix_size = virtual_matrix_size,
	.matrix_write = virtual_matrix_write,
	.matrix_read = virtual_matrix_read,
	.write = virtual_write,
	.read = virtual_read,
	.copy = virtual_copy,
	.forward = virtual_forward,
	.backward_input = virtual_backward_input,
	.backward_weight = virtual_backward_weight,
	.activate = virtual_activate,
	.derive = virtual_derive,
	.add = virtual_add,
	.dropout = virtual_dropout,
	.norm_forward = virtual_norm_forward,
	.norm_backward_input = virtual_norm_backward_input,
	.norm_backward_weight = virtual_norm_backward_weight,
	.embed = virtual_embed,
	.embed_gradient = virtual_embed_gradient,
	.add_positions = virtual_add_positions,
	.positions_gradient = virtual_positions_gradient,
	.gate = virtual_gate,
	.gate_gradient = virtual_gate_gradient,
	.attention_forward = virtual_attention_forward,
	.attention_backward = virtual_attention_backward,
	.rotate = virtual_rotate,
	.clear = virtual_clear,
	.numbers = virtual_numbers,
	.mse = virtual_mse,
	.class_stats = virtual_class_stats,
	.class_loss = virtual_class_loss,
	.update = virtual_update,
	.sum_squares = virtual_sum_squares,
	.exact_squares = virtual_exact_squares,
	.cast = virtual_cast,
	.multiplies = virtual_multiplies,
	.fma_rounds = virtual_fma_rounds,
};
