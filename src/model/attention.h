/*
 * attention.h - every row looks at those of its sequence up to itself.
 *
 * What goes in is queries, keys and values side by side, of all heads, and where there are
 * ranks to split it over each has some heads of all three; what comes out is as wide as the
 * queries.
 */
#ifndef KOLM_MODEL_ATTENTION_H
#define KOLM_MODEL_ATTENTION_H

#include "model/layer.h"

struct attention_config {
	int heads, kv_heads, width; /* of all ranks; width of a head */
	float theta;		    /* of rotary positions; 0: none */
	double dropout;		    /* of what a row looks at */
};

extern const struct layer_ops layer_attention;

/* Can so many heads be shared by mp, of which a rank has held? */
enum status attention_check_heads(int heads, int kv_heads, int mp, int held, struct error *err);

/* What the device draws from, for a micro-batch that begins with a row of the global batch. Of
   that row's head number h, what column k keeps is that of (row * heads + h, k). */
struct dropout attention_dropout(const struct layer *l, uint64_t seed, int64_t step);

#endif
