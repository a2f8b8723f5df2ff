/* gpu_tokens.c - launches what kernels/tokens.cl and kernels/attention*.cl have. */
#include "base/util.h"
#include "device/gpu/gpu.h"

#include <assert.h>

/* ---- embeddings ---- */

void gpu_embed(struct device *dev, const struct embedding *e)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_embed);

	gpu_put_ints(&l, e->tokens);
	gpu_put_vector(&l, e->table, e->type);
	gpu_put_view(&l, e->y);
	gpu_put_int(&l, e->rows);
	gpu_put_int(&l, e->columns);
	gpu_put_int(&l, e->first);
	gpu_put_int(&l, e->count);
	gpu_run_tiles(g, &l, e->rows, e->columns);
}

static void clear_table(struct gpu *g, const struct embedding *e)
{
	struct gpu_launch l = gpu_begin(g, GPU_clear);
	size_t n = (size_t)e->count * (size_t)e->columns * dtype_size(e->type) / 2;

	gpu_put_vector(&l, e->table, DTYPE_F16);
	gpu_put_long(&l, (int64_t)n);
	gpu_run_flat(g, &l, n);
}

static void link_tokens(struct gpu *g, const struct embedding *e)
{
	struct gpu_launch l = gpu_begin(g, GPU_link_tokens);

	assert(e->rows <= g->rows);
	gpu_put_ints(&l, e->tokens);
	gpu_put_ints(&l, g->links);
	gpu_put_int(&l, e->rows);
	gpu_put_int(&l, e->first);
	gpu_put_int(&l, e->count);
	gpu_run_flat(g, &l, (size_t)e->rows);
}

void gpu_embed_gradient(struct device *dev, const struct embedding *e)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_embed_gradient);

	if (!e->accumulate)
		clear_table(g, e);
	link_tokens(g, e);
	gpu_put_ints(&l, g->links);
	gpu_put_vector(&l, e->table, e->type);
	gpu_put_view(&l, e->y);
	gpu_put_int(&l, e->rows);
	gpu_put_int(&l, e->columns);
	gpu_run_tiles(g, &l, e->rows, e->columns);
}

/* ---- positions ---- */

static void put_positions(struct gpu_launch *l, const struct positions *p)
{
	gpu_put_vector(l, p->table, p->type);
	gpu_put_view(l, p->y);
	gpu_put_int(l, p->rows);
	gpu_put_int(l, p->columns);
	gpu_put_int(l, p->length);
	gpu_put_long(l, p->first);
}

void gpu_add_positions(struct device *dev, const struct positions *p)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_add_positions);

	put_positions(&l, p);
	gpu_run_tiles(g, &l, p->rows, p->columns);
}

void gpu_positions_gradient(struct device *dev, const struct positions *p)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_positions_gradient);

	put_positions(&l, p);
	gpu_put_int(&l, p->accumulate);
	gpu_run_tiles(g, &l, p->length, p->columns);
}

/* ---- attention ---- */

static void put_shape(struct gpu_launch *l, const struct attention *a)
{
	gpu_put_int(l, a->queries);
	gpu_put_int(l, a->keys);
	gpu_put_int(l, a->first);
	gpu_put_int(l, a->heads);
	gpu_put_int(l, a->kv_heads);
	gpu_put_int(l, a->width);
	gpu_put_float(l, a->scale);
	gpu_put_dropout(l, &a->drop);
	gpu_put_long(l, a->first_row);
	gpu_put_int(l, a->all_heads);
	gpu_put_int(l, a->first_head);
}

/* Groups for each block of rows, for each slice of each head, for each sequence. */
static void run_blocks(struct gpu *g, struct gpu_launch *l, const struct attention *a, int rows,
		       int heads)
{
	gpu_run(g, l, (int)ceil_div(rows, ATTENTION_BLOCK),
		heads * (int)ceil_div(a->width, ATTENTION_SLICE), a->sequences);
}

void gpu_attention_forward(struct device *dev, const struct attention *a)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch l = gpu_begin(g, GPU_attention_forward);

	assert(a->saved.type == DTYPE_F32);
	gpu_put_view(&l, a->q);
	gpu_put_view(&l, a->k);
	gpu_put_view(&l, a->v);
	gpu_put_view(&l, a->out);
	gpu_put_view(&l, a->saved);
	put_shape(&l, a);
	run_blocks(g, &l, a, a->queries, a->heads);
}

static void put_forward(struct gpu_launch *l, const struct attention *a)
{
	gpu_put_view(l, a->q);
	gpu_put_view(l, a->k);
	gpu_put_view(l, a->v);
	gpu_put_view(l, a->out);
	gpu_put_view(l, a->saved);
	gpu_put_view(l, a->dout);
}

void gpu_attention_backward(struct device *dev, const struct attention *a)
{
	struct gpu *g = gpu_of(dev);
	struct gpu_launch queries = gpu_begin(g, GPU_attention_queries);
	struct gpu_launch keys = gpu_begin(g, GPU_attention_keys);

	put_forward(&queries, a);
	gpu_put_view(&queries, a->dq);
	put_shape(&queries, a);
	run_blocks(g, &queries, a, a->queries, a->heads);
	put_forward(&keys, a);
	gpu_put_view(&keys, a->dk);
	gpu_put_view(&keys, a->dv);
	put_shape(&keys, a);
	run_blocks(g, &keys, a, a->keys, a->kv_heads);
}
