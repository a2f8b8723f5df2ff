/* gpu_launch.c - a kernel with its arguments; see gpu.h and kernels/common.h */
#include "base/util.h"
#include "device/gpu/gpu.h"

#include <assert.h>

enum { GROUPS_Y = 65535 }; /* and z: more have no GPU; kernels go over what is left */

static const unsigned items[][2] = {
#define ITEMS(name, program, x, y) {x, y},
	GPU_KERNELS(ITEMS)
#undef ITEMS
};

/* Element types and activations as kernels/common.h numbers them. */
_Static_assert(DTYPE_F32 == 0 && DTYPE_F16 == 1 && DTYPE_BF16 == 2, "common.h");
_Static_assert(ACT_NONE == 0 && ACT_RELU == 1 && ACT_GELU == 2 && ACT_TANH == 3 &&
		       ACT_SILU == 4 && ACT_GELU_TANH == 5 && ACT_COUNT == 6,
	       "common.h");
_Static_assert(OPT_SGD == 0 && OPT_MOMENTUM == 1 && OPT_ADAMW == 2 && OPT_COUNT == 3,
	       "sums.cl");

struct gpu_launch gpu_begin(struct gpu *g, enum gpu_kernel_id kernel)
{
	return (struct gpu_launch){.kernel = g->kernels[kernel],
				   .items = {items[kernel][0], items[kernel][1]}};
}

static struct gpu_argument *next(struct gpu_launch *l, int bytes)
{
	assert(l->count < GPU_ARGUMENTS);
	l->arguments[l->count] = (struct gpu_argument){.bytes = bytes};
	return &l->arguments[l->count++];
}

static void put_address(struct gpu_launch *l, const void *data, size_t scale)
{
	l->scale[l->count] = (int)scale;
	next(l, 0)->address = (void *)(uintptr_t)data;
}

void gpu_put_view(struct gpu_launch *l, struct view v)
{
	put_address(l, v.data, dtype_size(v.type));
	gpu_put_long(l, (int64_t)v.stride);
	gpu_put_int(l, v.data ? (int)v.type : -1);
}

void gpu_put_vector(struct gpu_launch *l, const void *data, enum dtype type)
{
	put_address(l, data, dtype_size(type));
	gpu_put_int(l, data ? (int)type : -1);
}

void gpu_put_ints(struct gpu_launch *l, const int32_t *data)
{
	put_address(l, data, sizeof(*data));
}

void gpu_put_numbers(struct gpu_launch *l, const double *data)
{
	put_address(l, data, sizeof(*data));
}

void gpu_put_int(struct gpu_launch *l, int value)
{
	next(l, sizeof(int32_t))->i = value;
}

void gpu_put_long(struct gpu_launch *l, int64_t value)
{
	next(l, sizeof(uint64_t))->bits = (uint64_t)value;
}

void gpu_put_float(struct gpu_launch *l, float value)
{
	next(l, sizeof(float))->f = value;
}

void gpu_put_double(struct gpu_launch *l, double value)
{
	next(l, sizeof(double))->d = value;
}

void gpu_put_dropout(struct gpu_launch *l, const struct dropout *d)
{
	gpu_put_long(l, (int64_t)d->seed);
	gpu_put_long(l, (int64_t)d->stream);
	gpu_put_long(l, (int64_t)dropout_bound(d));
	gpu_put_float(l, dropout_factor(d));
}

void gpu_run(struct gpu *g, struct gpu_launch *l, int x, int y, int z)
{
	if (!x || !y || !z)
		return;
	assert(x > 0 && y > 0 && y <= GROUPS_Y && z > 0 && z <= GROUPS_Y);
	l->groups[0] = (unsigned)x;
	l->groups[1] = (unsigned)y;
	l->groups[2] = (unsigned)z;
	g->driver->launch(g->context, l);
	g->has_news[QUEUE_COMPUTE] = true;
}

void gpu_run_tiles(struct gpu *g, struct gpu_launch *l, int rows, int columns)
{
	gpu_run(g, l, (int)ceil_div(columns, TILE_X),
		imin((int)ceil_div(rows, TILE_Y), GROUPS_Y), 1);
}

void gpu_run_rows(struct gpu *g, struct gpu_launch *l, int rows)
{
	gpu_run(g, l, rows, 1, 1);
}

/* They depend on n alone, so that sums do not depend on the device. */
int gpu_flat_groups(size_t n)
{
	return (int)min64(ceil_div((int64_t)n, FLAT_ITEMS), GPU_PARTS);
}

void gpu_run_flat(struct gpu *g, struct gpu_launch *l, size_t n)
{
	gpu_run(g, l, gpu_flat_groups(n), 1, 1);
}

void gpu_add_parts(struct gpu *g, size_t at, size_t n, double factor, double *number)
{
	struct gpu_launch l = gpu_begin(g, GPU_add_parts);

	gpu_put_numbers(&l, g->parts + at);
	gpu_put_long(&l, (int64_t)n);
	gpu_put_double(&l, factor);
	gpu_put_numbers(&l, number);
	gpu_run(g, &l, 1, 1, 1);
}
