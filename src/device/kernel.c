/* kernel.c - the kernels of device.h: each is that of the implementation. */
#include "device/impl.h"

#include <assert.h>

size_t device_matrix_size(const struct device *dev, int out, int in)
{
	return dev->ops->matrix_size(out, in);
}

void device_matrix_write(struct device *dev, void *matrix, enum dtype type, int out, int in,
			 int row, int rows, const float *values)
{
	dev->ops->matrix_write(dev, matrix, type, out, in, row, rows, values);
}

void device_matrix_read(struct device *dev, const void *matrix, enum dtype type, int out,
			int in, int row, int rows, float *values)
{
	dev->ops->matrix_read(dev, matrix, type, out, in, row, rows, values);
}

void device_write(struct device *dev, void *memory, enum dtype type, size_t n,
		  const float *values)
{
	dev->ops->write(dev, memory, type, n, values);
}

void device_read(struct device *dev, const void *memory, enum dtype type, size_t n,
		 float *values)
{
	dev->ops->read(dev, memory, type, n, values);
}

void device_copy(struct device *dev, struct view to, int to_column, struct view from,
		 int from_column, int rows, int columns)
{
	assert(to.type == from.type); /* device_cast is for others */
	dev->ops->copy(dev, to, to_column, from, from_column, rows, columns);
}

void device_forward(struct device *dev, const struct linear *l)
{
	dev->ops->forward(dev, l);
}

void device_backward_input(struct device *dev, const struct linear *l)
{
	dev->ops->backward_input(dev, l);
}

void device_backward_weight(struct device *dev, const struct linear *l)
{
	dev->ops->backward_weight(dev, l);
}

void device_activate(struct device *dev, struct view y, struct view bias, struct view before,
		     int rows, int columns, enum activation act)
{
	dev->ops->activate(dev, y, bias, before, rows, columns, act);
}

void device_derive(struct device *dev, struct view dy, struct view saved, int rows, int columns,
		   enum activation act)
{
	dev->ops->derive(dev, dy, saved, rows, columns, act);
}

void device_add(struct device *dev, struct view to, struct view from, int rows, int columns)
{
	dev->ops->add(dev, to, from, rows, columns);
}

void device_dropout(struct device *dev, struct view to, struct view from, int rows, int columns,
		    const struct dropout *d)
{
	dev->ops->dropout(dev, to, from, rows, columns, d);
}

void device_norm_forward(struct device *dev, const struct norm *n)
{
	dev->ops->norm_forward(dev, n);
}

void device_norm_backward_input(struct device *dev, const struct norm *n)
{
	dev->ops->norm_backward_input(dev, n);
}

void device_norm_backward_weight(struct device *dev, const struct norm *n)
{
	dev->ops->norm_backward_weight(dev, n);
}

void device_embed(struct device *dev, const struct embedding *e)
{
	dev->ops->embed(dev, e);
}

void device_embed_gradient(struct device *dev, const struct embedding *e)
{
	dev->ops->embed_gradient(dev, e);
}

void device_add_positions(struct device *dev, const struct positions *p)
{
	dev->ops->add_positions(dev, p);
}

void device_positions_gradient(struct device *dev, const struct positions *p)
{
	dev->ops->positions_gradient(dev, p);
}

void device_gate(struct device *dev, const struct gate *g)
{
	dev->ops->gate(dev, g);
}

void device_gate_gradient(struct device *dev, const struct gate *g)
{
	dev->ops->gate_gradient(dev, g);
}

void device_attention_forward(struct device *dev, const struct attention *a)
{
	assert(a->first + a->queries <= a->keys && a->heads % a->kv_heads == 0);
	dev->ops->attention_forward(dev, a);
}

void device_attention_backward(struct device *dev, const struct attention *a)
{
	assert(a->first == 0 && a->queries == a->keys && a->heads % a->kv_heads == 0);
	dev->ops->attention_backward(dev, a);
}

void device_rotate(struct device *dev, const struct rotary *r)
{
	assert(r->width % 2 == 0);
	dev->ops->rotate(dev, r);
}

void device_clear(struct device *dev, double *numbers, size_t n)
{
	dev->ops->clear(dev, numbers, n);
}

void device_numbers(struct device *dev, const double *numbers, size_t n, double *out)
{
	dev->ops->numbers(dev, numbers, n, out);
}

bool device_has_exact(const struct device *dev)
{
	return dev->ops->exact_squares != NULL;
}

void device_exact_squares(struct device *dev, const void *x, enum dtype type, size_t n,
			  struct exact *sum)
{
	dev->ops->exact_squares(dev, x, type, n, sum);
}

/* No device looks into numbers that it clears or hands out. */
enum { NUMBERS_OF_EXACT = sizeof(struct exact) / sizeof(double) };
_Static_assert(sizeof(struct exact) % sizeof(double) == 0, "or some bytes would be left");

void device_clear_exact(struct device *dev, struct exact *sums, size_t n)
{
	device_clear(dev, (double *)sums, n * NUMBERS_OF_EXACT);
}

void device_exact(struct device *dev, const struct exact *sums, size_t n, struct exact *out)
{
	device_numbers(dev, (const double *)sums, n * NUMBERS_OF_EXACT, (double *)out);
}

void device_mse(struct device *dev, struct view y, struct view target, struct view dy, int rows,
		int columns, float scale, double *sum)
{
	dev->ops->mse(dev, y, target, dy, rows, columns, scale, sum);
}

void device_class_stats(struct device *dev, const struct class_slice *c)
{
	dev->ops->class_stats(dev, c);
}

void device_class_loss(struct device *dev, const struct class_slice *c, double *sum,
		       double *correct)
{
	dev->ops->class_loss(dev, c, sum, correct);
}

void device_update(struct device *dev, const struct update *u, size_t n, double *squares)
{
	dev->ops->update(dev, u, n, squares);
}

void device_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
			double factor, double *sum)
{
	dev->ops->sum_squares(dev, x, type, n, factor, sum);
}

void device_cast(struct device *dev, const void *src, enum dtype from, void *dst, enum dtype to,
		 size_t n)
{
	dev->ops->cast(dev, src, from, dst, to, n);
}

bool device_multiplies(struct device *dev, enum dtype type)
{
	return dev->ops->multiplies(dev, type);
}

enum dtype device_peak_type(struct device *dev, enum dtype type)
{
	return device_multiplies(dev, type) ? type : DTYPE_F32;
}

double device_fma_rounds(struct device *dev, enum dtype type, long n)
{
	return dev->ops->fma_rounds(dev, type, n);
}
