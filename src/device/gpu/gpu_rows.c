/* gpu_rows.c - launches what kernels/rows.cl and kernels/norm.cl have. */
#include "base/util.h"
#include "device/gpu/gpu.h"

#include <assert.h>

void gpu_copy(struct device *dev, struct view to, int to_column, struct view from,
	      int from_column, int rows, int columns)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_copy);

	gpu_put_view(&l, view_at(to, to_column));
	gpu_put_view(&l, view_at(from, from_column));
	gpu_put_int(&l, rows);
	gpu_put_int(&l, columns);
	gpu_put_int(&l, (int)dtype_size(to.type));
	gpu_run_tiles(g, &l, rows, columns);
}

void gpu_activate(struct device *dev, struct view y, struct view bias, struct view before,
		  int rows, int columns, enum activation act)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_activate);

	gpu_put_view(&l, y);
	gpu_put_vector(&l, bias.data, bias.type);
	gpu_put_view(&l, before);
	gpu_put_int(&l, rows);
	gpu_put_int(&l, columns);
	gpu_put_int(&l, (int)act);
	gpu_run_tiles(g, &l, rows, columns);
}

void gpu_derive(struct device *dev, struct view dy, struct view saved, int rows, int columns,
		enum activation act)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_derive);

	if (act == ACT_NONE)
		return;
	gpu_put_view(&l, dy);
	gpu_put_view(&l, saved);
	gpu_put_int(&l, rows);
	gpu_put_int(&l, columns);
	gpu_put_int(&l, (int)act);
	gpu_run_tiles(g, &l, rows, columns);
}

void gpu_add(struct device *dev, struct view to, struct view from, int rows, int columns)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_add);

	gpu_put_view(&l, to);
	gpu_put_view(&l, from);
	gpu_put_int(&l, rows);
	gpu_put_int(&l, columns);
	gpu_run_tiles(g, &l, rows, columns);
}

void gpu_dropout(struct device *dev, struct view to, struct view from, int rows, int columns,
		 const struct dropout *d)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_dropout);

	gpu_put_view(&l, to);
	gpu_put_view(&l, from);
	gpu_put_int(&l, rows);
	gpu_put_int(&l, columns);
	gpu_put_dropout(&l, d);
	gpu_put_long(&l, d->row * d->columns + d->column);
	gpu_put_long(&l, d->columns);
	gpu_run_tiles(g, &l, rows, columns);
}

void gpu_gate(struct device *dev, const struct gate *gate)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_gate);

	gpu_put_view(&l, gate->x);
	gpu_put_view(&l, gate->y);
	gpu_put_int(&l, gate->rows);
	gpu_put_int(&l, gate->columns);
	gpu_put_int(&l, (int)gate->act);
	gpu_run_tiles(g, &l, gate->rows, gate->columns);
}

void gpu_gate_gradient(struct device *dev, const struct gate *gate)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_gate_gradient);

	gpu_put_view(&l, gate->x);
	gpu_put_view(&l, gate->dx);
	gpu_put_view(&l, gate->dy);
	gpu_put_int(&l, gate->rows);
	gpu_put_int(&l, gate->columns);
	gpu_put_int(&l, (int)gate->act);
	gpu_run_tiles(g, &l, gate->rows, gate->columns);
}

void gpu_rotate(struct device *dev, const struct rotary *r)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_rotate_heads);

	gpu_put_view(&l, r->x);
	gpu_put_int(&l, r->rows);
	gpu_put_int(&l, r->heads);
	gpu_put_int(&l, r->width / 2);
	gpu_put_int(&l, r->length);
	gpu_put_int(&l, r->first);
	gpu_put_float(&l, r->theta);
	gpu_put_int(&l, r->back);
	gpu_run_tiles(g, &l, r->rows, r->width / 2);
}

/* ---- norms ---- */

static int is_centred(const struct norm *n)
{
	assert(n->kind != NORM_NONE);
	return n->kind == NORM_LAYER;
}

void gpu_norm_forward(struct device *dev, const struct norm *n)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_norm_forward);

	gpu_put_view(&l, n->x);
	gpu_put_view(&l, n->y);
	gpu_put_view(&l, n->saved);
	gpu_put_vector(&l, n->weight, n->type);
	gpu_put_vector(&l, n->bias, n->type);
	gpu_put_int(&l, n->columns);
	gpu_put_float(&l, n->eps);
	gpu_put_int(&l, is_centred(n));
	gpu_run_rows(g, &l, n->rows);
}

void gpu_norm_backward_input(struct device *dev, const struct norm *n)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_norm_backward_input);

	gpu_put_view(&l, n->x);
	gpu_put_view(&l, n->y);
	gpu_put_view(&l, n->dx);
	gpu_put_view(&l, n->saved);
	gpu_put_vector(&l, n->weight, n->type);
	gpu_put_int(&l, n->columns);
	gpu_put_int(&l, is_centred(n));
	gpu_run_rows(g, &l, n->rows);
}

void gpu_norm_backward_weight(struct device *dev, const struct norm *n)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_column_sums);

	gpu_put_view(&l, n->x);
	gpu_put_view(&l, n->y);
	gpu_put_view(&l, n->saved);
	gpu_put_vector(&l, n->dweight, n->grad_type);
	gpu_put_vector(&l, n->dbias, n->grad_type);
	gpu_put_int(&l, n->rows);
	gpu_put_int(&l, n->columns);
	gpu_put_int(&l, n->accumulate);
	gpu_run(g, &l, (int)ceil_div(n->columns, COLUMNS), 1, 1);
}
