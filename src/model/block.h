/* block.h - layers one behind the other as one: y = f(x), or with a bridge y = x + f(x). */
#ifndef KOLM_MODEL_BLOCK_H
#define KOLM_MODEL_BLOCK_H

#include "model/layer.h"

enum { BLOCK_MAX = 8 };

/* The layers are the block's from layer_new on; label is what is put behind its name for
   theirs, "" for none. */
struct block_config {
	struct layer *inner[BLOCK_MAX];
	const char *label[BLOCK_MAX];
	int count;
	bool bridged; /* what comes out is as wide as what goes in */
};

extern const struct layer_ops layer_block;

#endif
