/* block.h - layers one behind the other as one: y = f(x), or with a bridge y = x + f(x). */
#ifndef KOLM_MODEL_BLOCK_H
#define KOLM_MODEL_BLOCK_H

#include "model/layer.h"

enum { BLOCK_MAX = 8 };

/* The layers are the block's from layer_new on; label is what is put behind its name for
   theirs, "" for none; "/NAME" is a name of its own. */
struct block_config {
	struct layer *inner[BLOCK_MAX];
	const char *label[BLOCK_MAX];
	int count;
	bool bridged; /* what comes out is as wide as what goes in */
	/* Nothing is saved: before the backward pass all is computed again from what went in.
	 */
	bool recompute;
};

extern const struct layer_ops layer_block;

#endif
