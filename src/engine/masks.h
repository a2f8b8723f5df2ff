/*
 * masks.h - which elements the dropout layers of a run keep, as a file. They are a pure
 * function of the seed: whoever writes them asks nobody. A part of dump.h.
 */
#ifndef KOLM_ENGINE_MASKS_H
#define KOLM_ENGINE_MASKS_H

#include "base/file.h"
#include "model/model.h"

struct masks {
	struct file file;
	const struct layer **layers; /* (count) borrowed from the model; 0: there is no file */
	int count;
	uint64_t seed;
	int batch;	    /* samples of the global batch */
	unsigned char *row; /* room for the widest */
};

/* Begin folder/masks.safetensors, if the model has dropout: for every step and layer
   "masks.{step}.{layer}", U8 (batch, width), 1 where an element is kept. */
enum status masks_begin(struct masks *k, const char *folder, const struct model *m,
			uint64_t seed, int batch, int steps, struct error *err);
/* Append those of a step. */
enum status masks_add(struct masks *k, int step, struct error *err);
enum status masks_end(struct masks *k, struct error *err);
/* Remove what is incomplete. Does nothing after masks_end, or to what is all 0 with a closed
   file. */
void masks_abort(struct masks *k);

#endif
