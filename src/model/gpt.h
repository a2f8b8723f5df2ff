/*
 * gpt.h - models that continue a text: an embedding, blocks of attention and feed-forward
 * layers, each behind a norm and beside a bridge, and a head that tells how likely every token
 * is. GPT-2 and LLaMA are two settings of it.
 */
#ifndef KOLM_MODEL_GPT_H
#define KOLM_MODEL_GPT_H

#include "model/model.h"
#include "model/models.h"

struct gpt {
	int layers, heads, kv_heads, dim, ffn;
	int context, vocabulary;
	enum norm_kind norm;
	float eps;	     /* of the norms */
	enum activation act; /* of the feed-forward layers; */
	bool gated;	     /* ... times a product of its own */
	bool biased;	     /* products and norms */
	float theta;	     /* of rotary positions; 0: learned ones */
	bool tied;	     /* the head has the embedding's weights */
	double dropout;
	enum recompute recompute;
	bool spreads; /* between the products every rank has a part of the rows */
};

/* The width inside of the feed-forward layers that is usual: whatever divides the heads divides
   it. */
int gpt_usual_ffn(int dim, int heads, bool gated);

/* The layers of m, which is empty. Heads and feed-forward layers are split over the ranks as
   Megatron does it, tokens and classes by their number. */
enum status gpt_build(struct model *m, const struct gpt *gpt, struct error *err);

#endif
