/*
 * fenced_kernels.c - every kernel of the fenced device, as a pair: what puts it among those
 * that wait, with addresses translated, and what runs it then on the CPU.
 */
#include "device/fenced/fenced.h"

static void run_copy(struct device *cpu, const struct work *w)
{
	device_copy(cpu, w->a, w->a_column, w->b, w->b_column, w->rows, w->columns);
}

void fenced_copy(struct device *dev, struct view to, int to_column, struct view from,
		 int from_column, int rows, int columns)
{
	struct work *w = fenced_put(dev, run_copy);

	w->a = fenced_view(dev, to, rows, to_column + columns);
	w->b = fenced_view(dev, from, rows, from_column + columns);
	w->a_column = to_column;
	w->b_column = from_column;
	w->rows = rows;
	w->columns = columns;
}

/* ---- linear layers ---- */

static void put_linear(struct device *dev, const struct linear *l,
		       void (*run)(struct device *, const struct work *))
{
	struct work *w = fenced_put(dev, run);
	size_t size = dtype_size(l->type);

	w->linear = *l;
	w->linear.weight =
		fenced_operand(dev, l->weight, device_matrix_size(dev, l->out, l->in) * size);
	w->linear.bias = fenced_operand(dev, l->bias, (size_t)l->out * size);
	w->linear.x = fenced_view(dev, l->x, l->rows, l->in);
	w->linear.y = fenced_view(dev, l->y, l->rows, l->out);
	w->linear.saved = fenced_view(dev, l->saved, l->rows, l->out);
}

static void run_forward(struct device *cpu, const struct work *w)
{
	device_forward(cpu, &w->linear);
}

void fenced_forward(struct device *dev, const struct linear *l)
{
	put_linear(dev, l, run_forward);
}

static void run_backward_input(struct device *cpu, const struct work *w)
{
	device_backward_input(cpu, &w->linear);
}

void fenced_backward_input(struct device *dev, const struct linear *l)
{
	put_linear(dev, l, run_backward_input);
}

static void run_backward_weight(struct device *cpu, const struct work *w)
{
	device_backward_weight(cpu, &w->linear);
}

void fenced_backward_weight(struct device *dev, const struct linear *l)
{
	put_linear(dev, l, run_backward_weight);
}

/* ---- row by row ---- */

/* A kernel of up to two matrices of one size. */
static struct work *put_views(struct device *dev, struct view a, struct view b, int rows,
			      int columns, void (*run)(struct device *, const struct work *))
{
	struct work *w = fenced_put(dev, run);

	w->a = fenced_view(dev, a, rows, columns);
	w->b = fenced_view(dev, b, rows, columns);
	w->rows = rows;
	w->columns = columns;
	return w;
}

static void run_activate(struct device *cpu, const struct work *w)
{
	device_activate(cpu, w->a, w->c, w->b, w->rows, w->columns, w->act);
}

void fenced_activate(struct device *dev, struct view y, struct view bias, struct view before,
		     int rows, int columns, enum activation act)
{
	struct work *w = put_views(dev, y, before, rows, columns, run_activate);

	w->c = fenced_view(dev, bias, 1, columns);
	w->act = act;
}

static void run_derive(struct device *cpu, const struct work *w)
{
	device_derive(cpu, w->a, w->b, w->rows, w->columns, w->act);
}

void fenced_derive(struct device *dev, struct view dy, struct view saved, int rows, int columns,
		   enum activation act)
{
	put_views(dev, dy, saved, rows, columns, run_derive)->act = act;
}

static void run_add(struct device *cpu, const struct work *w)
{
	device_add(cpu, w->a, w->b, w->rows, w->columns);
}

void fenced_add(struct device *dev, struct view to, struct view from, int rows, int columns)
{
	put_views(dev, to, from, rows, columns, run_add);
}

static void run_dropout(struct device *cpu, const struct work *w)
{
	device_dropout(cpu, w->a, w->b, w->rows, w->columns, &w->dropout);
}

void fenced_dropout(struct device *dev, struct view to, struct view from, int rows, int columns,
		    const struct dropout *d)
{
	put_views(dev, to, from, rows, columns, run_dropout)->dropout = *d;
}

/* ---- norms ---- */

static void put_norm(struct device *dev, const struct norm *n,
		     void (*run)(struct device *, const struct work *))
{
	struct work *w = fenced_put(dev, run);
	size_t size = (size_t)n->columns * dtype_size(n->type);
	size_t grad_size = (size_t)n->columns * dtype_size(n->grad_type);

	w->norm = *n;
	w->norm.x = fenced_view(dev, n->x, n->rows, n->columns);
	w->norm.y = fenced_view(dev, n->y, n->rows, n->columns);
	w->norm.dx = fenced_view(dev, n->dx, n->rows, n->columns);
	w->norm.saved = fenced_view(dev, n->saved, n->rows, 2);
	w->norm.weight = fenced_operand(dev, n->weight, size);
	w->norm.bias = fenced_operand(dev, n->bias, size);
	w->norm.dweight = fenced_operand(dev, n->dweight, grad_size);
	w->norm.dbias = fenced_operand(dev, n->dbias, grad_size);
}

static void run_norm_forward(struct device *cpu, const struct work *w)
{
	device_norm_forward(cpu, &w->norm);
}

void fenced_norm_forward(struct device *dev, const struct norm *n)
{
	put_norm(dev, n, run_norm_forward);
}

static void run_norm_backward_input(struct device *cpu, const struct work *w)
{
	device_norm_backward_input(cpu, &w->norm);
}

void fenced_norm_backward_input(struct device *dev, const struct norm *n)
{
	put_norm(dev, n, run_norm_backward_input);
}

static void run_norm_backward_weight(struct device *cpu, const struct work *w)
{
	device_norm_backward_weight(cpu, &w->norm);
}

void fenced_norm_backward_weight(struct device *dev, const struct norm *n)
{
	put_norm(dev, n, run_norm_backward_weight);
}

/* ---- numbers and losses ---- */

static void run_clear(struct device *cpu, const struct work *w)
{
	device_clear(cpu, w->number, w->n);
}

void fenced_clear(struct device *dev, double *numbers, size_t n)
{
	struct work *w = fenced_put(dev, run_clear);

	w->number = fenced_operand(dev, numbers, n * sizeof(*numbers));
	w->n = n;
}

static void run_mse(struct device *cpu, const struct work *w)
{
	device_mse(cpu, w->a, w->b, w->c, w->rows, w->columns, w->scale, w->number);
}

void fenced_mse(struct device *dev, struct view y, struct view target, struct view dy, int rows,
		int columns, float scale, double *sum)
{
	struct work *w = put_views(dev, y, target, rows, columns, run_mse);

	w->c = fenced_view(dev, dy, rows, columns);
	w->scale = scale;
	w->number = fenced_operand(dev, sum, sizeof(*sum));
}

/* ---- flat arrays ---- */

static void run_update(struct device *cpu, const struct work *w)
{
	device_update(cpu, &w->update, w->n, w->number);
}

void fenced_update(struct device *dev, const struct update *u, size_t n, double *squares)
{
	struct work *w = fenced_put(dev, run_update);
	size_t bytes = n * sizeof(float);

	w->update = *u;
	w->update.param = fenced_operand(dev, u->param, bytes);
	w->update.grad = fenced_operand(dev, u->grad, n * dtype_size(u->grad_type));
	w->update.working = fenced_operand(dev, u->working, n * dtype_size(u->working_type));
	w->update.m = fenced_operand(dev, u->m, bytes);
	w->update.v = fenced_operand(dev, u->v, bytes);
	w->n = n;
	w->number = fenced_operand(dev, squares, sizeof(*squares));
}

static void run_sum_squares(struct device *cpu, const struct work *w)
{
	device_sum_squares(cpu, w->from, w->from_type, w->n, w->factor, w->number);
}

void fenced_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
			double factor, double *sum)
{
	struct work *w = fenced_put(dev, run_sum_squares);

	w->from = fenced_operand(dev, x, n * dtype_size(type));
	w->from_type = type;
	w->n = n;
	w->factor = factor;
	w->number = fenced_operand(dev, sum, sizeof(*sum));
}

static void run_exact_squares(struct device *cpu, const struct work *w)
{
	device_exact_squares(cpu, w->from, w->from_type, w->n, w->exact);
}

void fenced_exact_squares(struct device *dev, const void *x, enum dtype type, size_t n,
			  struct exact *sum)
{
	struct work *w = fenced_put(dev, run_exact_squares);

	w->from = fenced_operand(dev, x, n * dtype_size(type));
	w->from_type = type;
	w->n = n;
	w->exact = fenced_operand(dev, sum, sizeof(*sum));
}

static void run_cast(struct device *cpu, const struct work *w)
{
	device_cast(cpu, w->from, w->from_type, w->to, w->to_type, w->n);
}

void fenced_cast(struct device *dev, const void *src, enum dtype from, void *dst, enum dtype to,
		 size_t n)
{
	struct work *w = fenced_put(dev, run_cast);

	w->from = fenced_operand(dev, src, n * dtype_size(from));
	w->from_type = from;
	w->to = fenced_operand(dev, dst, n * dtype_size(to));
	w->to_type = to;
	w->n = n;
}
