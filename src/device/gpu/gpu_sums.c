/* gpu_sums.c - launches what kernels/classes.cl and kernels/sums.cl have. */
#include "base/util.h"
#include "device/gpu/gpu.h"

#include <assert.h>

enum { ROUND_GROUPS = 4 }; /* of multiply_adds, for each unit of the device */

/* ---- losses: a part for each row ---- */

void gpu_mse(struct device *dev, struct view y, struct view target, struct view dy, int rows,
	     int columns, float scale, double *sum)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_mse);

	assert(rows <= g->rows);
	gpu_put_view(&l, y);
	gpu_put_view(&l, target);
	gpu_put_view(&l, dy);
	gpu_put_int(&l, columns);
	gpu_put_float(&l, 2 * scale);
	gpu_put_numbers(&l, g->parts);
	gpu_run_rows(g, &l, rows);
	gpu_add_parts(g, 0, (size_t)rows, 1, sum);
}

void gpu_class_stats(struct device *dev, const struct class_slice *c)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_class_stats);

	gpu_put_view(&l, c->y);
	gpu_put_ints(&l, c->labels);
	gpu_put_vector(&l, c->stats + (size_t)c->slice * (size_t)c->rows * 3, DTYPE_F32);
	gpu_put_int(&l, c->columns);
	gpu_put_int(&l, c->first);
	gpu_run_rows(g, &l, c->rows);
}

void gpu_class_loss(struct device *dev, const struct class_slice *c, double *sum,
		    double *correct)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_class_loss);

	assert(c->rows <= g->rows);
	gpu_put_view(&l, c->y);
	gpu_put_ints(&l, c->labels);
	gpu_put_view(&l, c->dy);
	gpu_put_vector(&l, c->stats, DTYPE_F32);
	gpu_put_int(&l, c->rows);
	gpu_put_int(&l, c->columns);
	gpu_put_int(&l, c->first);
	gpu_put_int(&l, c->slices);
	gpu_put_float(&l, c->scale);
	gpu_put_numbers(&l, g->parts);
	gpu_put_numbers(&l, g->parts + c->rows);
	gpu_run_rows(g, &l, c->rows);
	gpu_add_parts(g, 0, (size_t)c->rows, 1, sum);
	if (correct)
		gpu_add_parts(g, (size_t)c->rows, (size_t)c->rows, 1, correct);
}

/* ---- flat arrays: a part for each group ---- */

void gpu_update(struct device *dev, const struct update *u, size_t n, double *squares)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_update);

	gpu_put_vector(&l, u->param, DTYPE_F32);
	gpu_put_vector(&l, u->grad, u->grad_type);
	gpu_put_vector(&l, u->working, u->working_type);
	gpu_put_vector(&l, u->m, DTYPE_F32);
	gpu_put_vector(&l, u->v, DTYPE_F32);
	gpu_put_long(&l, (int64_t)n);
	gpu_put_int(&l, (int)u->kind);
	gpu_put_float(&l, u->lr);
	gpu_put_float(&l, u->momentum);
	gpu_put_float(&l, u->beta1);
	gpu_put_float(&l, u->beta2);
	gpu_put_float(&l, u->eps);
	gpu_put_float(&l, u->weight_decay);
	gpu_put_float(&l, u->grad_scale);
	gpu_put_float(&l, u->correction1);
	gpu_put_float(&l, u->correction2);
	gpu_put_numbers(&l, g->parts);
	gpu_run_flat(g, &l, n);
	gpu_add_parts(g, 0, (size_t)gpu_flat_groups(n), 1, squares);
}

void gpu_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
		     double factor, double *sum)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_sum_squares);

	gpu_put_vector(&l, x, type);
	gpu_put_long(&l, (int64_t)n);
	gpu_put_numbers(&l, g->parts);
	gpu_run_flat(g, &l, n);
	gpu_add_parts(g, 0, (size_t)gpu_flat_groups(n), factor, sum);
}

void gpu_cast(struct device *dev, const void *src, enum dtype from, void *dst, enum dtype to,
	      size_t n)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_cast);

	gpu_put_vector(&l, src, from);
	gpu_put_vector(&l, dst, to);
	gpu_put_long(&l, (int64_t)n);
	gpu_run_flat(g, &l, n);
}

void gpu_clear(struct device *dev, double *numbers, size_t n)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_clear);
	size_t words = n * sizeof(*numbers) / 2;

	gpu_put_vector(&l, numbers, DTYPE_F16);
	gpu_put_long(&l, (int64_t)words);
	gpu_run_flat(g, &l, words);
}

double gpu_fma_rounds(struct device *dev, enum dtype type, long n)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_multiply_adds);
	int groups = ROUND_GROUPS * imax(1, g->info.units);

	(void)type; /* all are multiplied as fp32 */
	gpu_put_vector(&l, g->room_for_rounds, DTYPE_F32);
	gpu_put_long(&l, n);
	gpu_run(g, &l, groups, 1, 1);
	g->driver->finish(g->context);
	return 2.0 * 8 * FLAT_ITEMS * (double)groups * (double)n;
}
