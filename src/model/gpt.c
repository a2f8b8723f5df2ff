/* gpt.c - see gpt.h */
#include "model/gpt.h"
#include "model/attention.h"
#include "model/block.h"
#include "model/dropout.h"
#include "model/embedding.h"
#include "model/gate.h"
#include "model/linear.h"
#include "model/norm.h"

#include <math.h>
#include <stdio.h>

#define DEVIATION 0.02f /* of weights at first */

int gpt_usual_ffn(int dim, int heads, bool gated)
{
	int step = heads;

	if (!gated)
		return 4 * dim;
	while (step % 32)
		step += heads;
	return (int)round_up(ceil_div(8 * (int64_t)dim, 3), step);
}

static void put(struct block_config *b, struct layer *l, const char *label)
{
	b->inner[b->count] = l;
	b->label[b->count++] = label;
}

/* A block of them; NULL: no memory, and nothing is left. */
static struct layer *block_of(const struct block_config *b)
{
	struct layer *l = NULL;
	bool whole = true;

	for (int i = 0; i < b->count; i++)
		whole &= b->inner[i] != NULL;
	if (whole)
		l = layer_new(&layer_block, b, sizeof(*b));
	for (int i = 0; i < b->count && !l; i++)
		layer_free(b->inner[i]);
	return l;
}

static struct layer *norm_of(const struct gpt *g)
{
	struct norm_config c = {.kind = g->norm, .eps = g->eps, .no_bias = !g->biased};

	return layer_new(&layer_norm, &c, sizeof(c));
}

/* Widens the rows: every rank has some of what comes out. */
static struct layer *open_of(const struct gpt *g, int out, enum activation act, int a, int b,
			     int c)
{
	struct linear_config l = {.out = out,
				  .act = act,
				  .split = LINEAR_COLUMNS,
				  .deviation = DEVIATION,
				  .no_bias = !g->biased,
				  .blocks = {a, b, c}};

	return layer_new(&layer_linear, &l, sizeof(l));
}

/* Brings them back. What all blocks add to a row is not to grow with their number. */
static struct layer *close_of(const struct gpt *g)
{
	struct linear_config l = {.out = g->dim,
				  .split = LINEAR_ROWS,
				  .deviation = DEVIATION / sqrtf(2 * (float)g->layers),
				  .no_bias = !g->biased,
				  .spreads = g->spreads};

	return layer_new(&layer_linear, &l, sizeof(l));
}

static void put_dropout(struct block_config *b, const struct gpt *g, const char *label)
{
	struct dropout_config c = {.p = g->dropout};

	if (g->dropout > 0)
		put(b, layer_new(&layer_dropout, &c, sizeof(c)), label);
}

static struct layer *attention_branch(const struct gpt *g)
{
	int width = g->dim / g->heads;
	struct attention_config a = {.heads = g->heads,
				     .kv_heads = g->kv_heads,
				     .width = width,
				     .theta = g->theta,
				     .dropout = g->dropout};
	struct block_config b = {.bridged = true,
				 .recompute = g->recompute == RECOMPUTE_ATTENTION};

	put(&b, norm_of(g), ".norm1");
	put(&b,
	    open_of(g, (g->heads + 2 * g->kv_heads) * width, ACT_NONE, g->heads * width,
		    g->kv_heads * width, g->kv_heads * width),
	    ".attention.qkv");
	put(&b, layer_new(&layer_attention, &a, sizeof(a)), ".attention");
	put(&b, close_of(g), ".attention.out");
	put_dropout(&b, g, ".attention.dropout");
	return block_of(&b);
}

static struct layer *forward_branch(const struct gpt *g)
{
	struct gate_config gate = {.act = g->act};
	struct block_config b = {.bridged = true};

	put(&b, norm_of(g), ".norm2");
	if (g->gated) {
		put(&b, open_of(g, 2 * g->ffn, ACT_NONE, g->ffn, g->ffn, 0), ".mlp.gate_up");
		put(&b, layer_new(&layer_gate, &gate, sizeof(gate)), ".mlp.gate");
	} else {
		put(&b, open_of(g, g->ffn, g->act, 0, 0, 0), ".mlp.up");
	}
	put(&b, close_of(g), ".mlp.down");
	put_dropout(&b, g, ".mlp.dropout");
	return block_of(&b);
}

static struct layer *block_at(const struct gpt *g)
{
	struct block_config b = {.recompute = g->recompute == RECOMPUTE_BLOCK};

	put(&b, attention_branch(g), "");
	put(&b, forward_branch(g), "");
	return block_of(&b);
}

static struct layer *embedding_of(const struct gpt *g)
{
	struct embedding_config e = {.vocabulary = g->vocabulary,
				     .columns = g->dim,
				     .positions = !(g->theta > 0),
				     .spreads = g->spreads,
				     .deviation = DEVIATION};
	struct block_config b = {0};

	put(&b, layer_new(&layer_embedding, &e, sizeof(e)), "/");
	put_dropout(&b, g, ".dropout");
	return block_of(&b);
}

static struct layer *head_of(const struct gpt *g)
{
	struct linear_config l = {.out = g->vocabulary,
				  .split = LINEAR_COLUMNS,
				  .deviation = DEVIATION,
				  .no_bias = true,
				  .tied = g->tied ? EMBEDDING_TOKENS : NULL,
				  .uneven = true};
	struct block_config b = {0};

	put(&b, norm_of(g), "/norm");
	put(&b, layer_new(&layer_linear, &l, sizeof(l)), "");
	return block_of(&b);
}

enum status gpt_build(struct model *m, const struct gpt *g, struct error *err)
{
	char name[LAYER_NAME];
	enum status st;

	m->tokens = true;
	m->sequence = g->context;
	m->vectors_decay = false;
	m->out_sliced = true;
	if (g->spreads && g->context % m->mp) {
		FAIL(err, ERR_USAGE,
		     "--sequence-parallel: --context %d does not divide by --mp %d", g->context,
		     m->mp);
		return HINT(err, "--context %lld would fit, or --sequence-parallel=false",
			    (long long)round_up(g->context, m->mp));
	}
	/* Or the product before it would speak of its columns. */
	TRY(attention_check_heads(g->heads, g->kv_heads, m->mp, m->held, err));
	TRY(model_add_named(m, embedding_of(g), "embedding", err));
	for (int i = 0; i < g->layers; i++) {
		snprintf(name, sizeof(name), "blocks.%d", i);
		TRY(model_add_named(m, block_at(g), name, err));
	}
	TRY(model_add_named(m, head_of(g), "head", err));
	TRY(model_end(m, err));
out:
	return st;
}
