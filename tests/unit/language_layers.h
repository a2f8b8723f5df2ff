/*
 * language_layers.h - models of one kind of layer between an embedding and a head, for
 * test_language_layers.c.
 */
#ifndef KOLM_TESTS_LANGUAGE_LAYERS_H
#define KOLM_TESTS_LANGUAGE_LAYERS_H

#include "model/attention.h"
#include "model/block.h"
#include "model/dropout.h"
#include "model/embedding.h"
#include "model/gate.h"
#include "model/linear.h"
#include "model/model.h"
#include "model/norm.h"

#include <string.h>

enum {
	VOCABULARY = 11, /* does not divide by the ranks */
	SEQUENCE = 6,
	WIDTH = 8,
	HEADS = 4,
	HEAD = 4, /* width of one, so that all are wider than the rows */
	GATED = 10
};
#define DEVIATION 0.5f

/* What is between embedding and head. */
enum middle { NOTHING, PRODUCT, ATTENTION, GATE };
/* A block that computes again, or a block around one that does, or that around others. */
enum again { NEVER, INSIDE, AROUND, BOTH };

struct kind {
	const char *name;
	enum middle middle;
	bool positions, tied, spreads, bridged, biased;
	enum norm_kind norm;
	enum again again;
	int kv_heads;
	float theta;
	double dropout;
};

static inline void put(struct block_config *b, const struct layer_ops *ops, const void *config,
		       size_t size, const char *label)
{
	b->inner[b->count] = layer_new(ops, config, size);
	b->label[b->count++] = label;
}

static inline void put_linear(struct block_config *b, struct linear_config c, const char *label)
{
	c.deviation = DEVIATION;
	put(b, &layer_linear, &c, sizeof(c), label);
}

static inline void put_norm(struct block_config *b, const struct kind *k, const char *label)
{
	struct norm_config c = {.kind = k->norm, .eps = 1e-5f};

	if (k->norm != NORM_NONE)
		put(b, &layer_norm, &c, sizeof(c), label);
}

static inline void put_dropout(struct block_config *b, const struct kind *k)
{
	struct dropout_config c = {.p = k->dropout};

	if (k->dropout > 0)
		put(b, &layer_dropout, &c, sizeof(c), ".dropout");
}

static inline void put_middle(struct block_config *b, const struct kind *k)
{
	struct attention_config a = {.heads = HEADS,
				     .kv_heads = k->kv_heads,
				     .width = HEAD,
				     .theta = k->theta,
				     .dropout = k->dropout};
	struct linear_config open = {.no_bias = !k->biased, .split = LINEAR_COLUMNS};
	struct gate_config gate = {.act = ACT_SILU};
	int q = HEADS * HEAD, kv = k->kv_heads * HEAD;

	switch (k->middle) {
	case NOTHING:
		return;
	case PRODUCT:
		open.out = GATED;
		open.act = ACT_GELU_TANH;
		put_linear(b, open, ".open");
		break;
	case ATTENTION:
		open.out = q + 2 * kv;
		memcpy(open.blocks, (int[]){q, kv, kv}, sizeof(open.blocks));
		put_linear(b, open, ".qkv");
		put(b, &layer_attention, &a, sizeof(a), ".attention");
		break;
	case GATE:
		open.out = 2 * GATED;
		memcpy(open.blocks, (int[]){GATED, GATED, 0}, sizeof(open.blocks));
		put_linear(b, open, ".open");
		put(b, &layer_gate, &gate, sizeof(gate), ".gate");
		break;
	}
	put_linear(b,
		   (struct linear_config){.out = WIDTH,
					  .split = LINEAR_ROWS,
					  .no_bias = !k->biased,
					  .spreads = k->spreads},
		   ".close");
}

static inline struct layer *block_of(const struct block_config *b)
{
	return layer_new(&layer_block, b, sizeof(*b));
}

static inline struct layer *first_of(const struct kind *k)
{
	struct embedding_config e = {.vocabulary = VOCABULARY,
				     .columns = WIDTH,
				     .positions = k->positions,
				     .spreads = k->spreads,
				     .deviation = DEVIATION};
	struct block_config b = {0};

	put(&b, &layer_embedding, &e, sizeof(e), "/");
	put_dropout(&b, k);
	return block_of(&b);
}

static inline struct layer *middle_of(const struct kind *k)
{
	struct block_config inner = {.bridged = k->bridged,
				     .recompute = k->again == INSIDE || k->again == BOTH};
	struct block_config around = {.recompute = k->again == AROUND || k->again == BOTH};

	put_norm(&inner, k, ".norm");
	put_middle(&inner, k);
	put_dropout(&inner, k);
	around.inner[0] = block_of(&inner);
	around.label[0] = "";
	around.count = 1;
	return block_of(&around);
}

static inline struct layer *last_of(const struct kind *k)
{
	struct linear_config head = {.out = VOCABULARY,
				     .split = LINEAR_COLUMNS,
				     .no_bias = true,
				     .uneven = true,
				     .tied = k->tied ? EMBEDDING_TOKENS : NULL};
	struct block_config b = {0};

	put_norm(&b, k, "/norm");
	put_linear(&b, head, "");
	return block_of(&b);
}

static inline enum status build(struct model *m, const struct kind *k, int mp, struct error *e)
{
	enum status st;

	model_init(m, 1, mp);
	m->tokens = m->out_sliced = true;
	m->sequence = SEQUENCE;
	TRY(model_add_named(m, first_of(k), "first", e));
	if (k->middle != NOTHING)
		TRY(model_add_named(m, middle_of(k), "middle", e));
	TRY(model_add_named(m, last_of(k), "last", e));
	TRY(model_end(m, e));
out:
	return st;
}

#endif
