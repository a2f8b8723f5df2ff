/* gpu_linear.c - the products of a linear layer. Weights are in row order, [out][in]. */
#include "base/util.h"
#include "device/gpu/gpu.h"

#include <assert.h>
#include <stdio.h>

static const struct tile {
	int m, n, k;	    /* of a group */
	int item_m, item_n; /* of an item */
} tiles[GPU_TILES] = {
#define TILE(...) {__VA_ARGS__},
	PRODUCT_TILES(TILE)
#undef TILE
};
enum { ANY_TYPE = PRECISION_COUNT, WORTH_TUNING = 1 << 22 };
_Static_assert(ANY_TYPE + 1 == GPU_TYPES, "one for each precision, and one for mixtures");

static int items_of(const struct tile *t)
{
	return t->m / t->item_m * (t->n / t->item_n);
}

/* Along k elements lie side by side, or apart, in A and in B. */
static int layout_of(const struct gpu_product *p)
{
	if (p->a_k == 1)
		return p->b_k == 1 ? 0 : 1;
	return 2;
}

static int type_of(const struct gpu_product *p)
{
	return p->a_type == p->b_type ? (int)p->a_type : ANY_TYPE;
}

static enum status build(struct gpu *g, int tile, int layout, int type, struct error *err)
{
	const struct tile *t = &tiles[tile];
	const char *texts[] = {gpu_text_product};
	struct gpu_program *program;
	char defines[256];
	int n = snprintf(defines, sizeof(defines),
			 "#define TILE_M %d\n#define TILE_N %d\n#define TILE_K %d\n"
			 "#define ITEM_M %d\n#define ITEM_N %d\n#define A_FAST %d\n"
			 "#define B_FAST %d\n",
			 t->m, t->n, t->k, t->item_m, t->item_n, layout != 2, layout == 0);
	enum status st;

	if (type != ANY_TYPE)
		snprintf(defines + n, sizeof(defines) - (size_t)n, "#define TYPE %d\n", type);
	TRY(gpu_build_one(g, "product", texts, 1, defines, &program, err));
	TRY(g->driver->kernel(g->context, program, "product", &g->products[tile][layout][type],
			      err));
out:
	return st;
}

/* Built when it is wanted: a driver that builds all others builds this one. */
static struct gpu_kernel *kernel_of(struct gpu *g, int tile, int layout, int type)
{
	struct error err = {0};

	if (!g->products[tile][layout][type] && build(g, tile, layout, type, &err) != OK)
		gpu_lost(g->driver->name, g->info.number, "building the products", err.msg);
	return g->products[tile][layout][type];
}

void gpu_multiply(struct gpu *g, const struct gpu_product *p, int tile)
{
	const struct tile *t = &tiles[tile];
	struct gpu_launch l = {.kernel = kernel_of(g, tile, layout_of(p), type_of(p)),
			       .items = {(unsigned)items_of(t), 1}};

	gpu_put_vector(&l, p->a, p->a_type);
	gpu_put_long(&l, (int64_t)p->a_m);
	gpu_put_long(&l, (int64_t)p->a_k);
	gpu_put_vector(&l, p->b, p->b_type);
	gpu_put_long(&l, (int64_t)p->b_k);
	gpu_put_long(&l, (int64_t)p->b_n);
	gpu_put_view(&l, p->c);
	gpu_put_vector(&l, p->bias, p->bias_type);
	gpu_put_view(&l, p->saved);
	gpu_put_int(&l, p->m);
	gpu_put_int(&l, p->n);
	gpu_put_int(&l, p->k);
	gpu_put_int(&l, (int)p->act);
	gpu_put_int(&l, p->accumulate);
	gpu_run(g, &l, (int)ceil_div(p->n, t->n), (int)ceil_div(p->m, t->m), 1);
}

/* The fastest, unless it has no group for every unit of the device; of a small product it is
   not worth asking which that is. */
static int choose(struct gpu *g, const struct gpu_product *p)
{
	int tile;

	if ((double)p->m * p->n * p->k < WORTH_TUNING)
		return 0;
	tile = gpu_fastest_tile(g, type_of(p));
	while (tile > 0 &&
	       ceil_div(p->m, tiles[tile].m) * ceil_div(p->n, tiles[tile].n) < g->info.units)
		tile--;
	return tile;
}

static bool run_of_driver(struct gpu *g, const struct gpu_product *p)
{
	if (!g->driver->product || !g->driver->product(g->context, p))
		return false;
	g->has_news[QUEUE_COMPUTE] = true;
	return true;
}

/* By the driver, with what stands behind the product or without, which then comes of a kernel;
   or by our own kernel. */
static void run(struct device *dev, struct gpu_product *p)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_product plain;

	p->room = g->room_for_products;
	if (run_of_driver(g, p))
		return;
	plain = *p;
	plain.act = ACT_NONE;
	plain.saved = (struct view){0};
	if ((p->act != ACT_NONE || p->saved.data) && run_of_driver(g, &plain))
		gpu_activate(dev, p->c, (struct view){0}, p->saved, p->m, p->n, p->act);
	else
		gpu_multiply(g, p, choose(g, p));
}

/* y (rows, out) = x (rows, in) * W' */
void gpu_forward(struct device *dev, const struct linear *l)
{
	struct gpu_product p = {
		.m = l->rows,
		.n = l->out,
		.k = l->in,
		.a = l->x.data,
		.a_type = l->x.type,
		.a_m = l->x.stride,
		.a_k = 1,
		.b = l->weight,
		.b_type = l->type,
		.b_k = 1,
		.b_n = (uint64_t)l->in,
		.c = l->y,
		.bias = l->bias,
		.bias_type = l->type,
		.saved = l->saved,
		.act = l->act,
	};

	run(dev, &p);
}

/* dx (rows, in) = dy (rows, out) * W */
void gpu_backward_input(struct device *dev, const struct linear *l)
{
	struct gpu_product p = {
		.m = l->rows,
		.n = l->in,
		.k = l->out,
		.a = l->y.data,
		.a_type = l->y.type,
		.a_m = l->y.stride,
		.a_k = 1,
		.b = l->weight,
		.b_type = l->type,
		.b_k = (uint64_t)l->in,
		.b_n = 1,
		.c = l->x,
	};

	gpu_derive(dev, l->y, l->saved, l->rows, l->out, l->act);
	run(dev, &p);
}

static void sum_bias(struct gpu *g, const struct linear *l)
{
	struct gpu_launch launch = gpu_begin(g, GPU_column_sums);

	gpu_put_view(&launch, (struct view){0});
	gpu_put_view(&launch, l->y);
	gpu_put_view(&launch, (struct view){0});
	gpu_put_vector(&launch, NULL, DTYPE_F32);
	gpu_put_vector(&launch, l->bias, l->type);
	gpu_put_int(&launch, l->rows);
	gpu_put_int(&launch, l->out);
	gpu_put_int(&launch, l->accumulate);
	gpu_run(g, &launch, (int)ceil_div(l->out, COLUMNS), 1, 1);
}

/* dW (out, in) = dy' (out, rows) * x (rows, in) */
void gpu_backward_weight(struct device *dev, const struct linear *l)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_product p = {
		.m = l->out,
		.n = l->in,
		.k = l->rows,
		.a = l->y.data,
		.a_type = l->y.type,
		.a_m = 1,
		.a_k = l->y.stride,
		.b = l->x.data,
		.b_type = l->x.type,
		.b_k = l->x.stride,
		.b_n = 1,
		.c = {l->weight, (size_t)l->in, l->type},
		.accumulate = l->accumulate,
	};

	run(dev, &p);
	if (l->bias)
		sum_bias(g, l);
}
