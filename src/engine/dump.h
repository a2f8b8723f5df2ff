/*
 * dump.h - what anyone needs to recompute a run elsewhere: initial and final weights,
 * every batch, what dropout keeps (masks.h), and check.json with the options and the losses.
 * Every rank calls these functions; rank 0 writes.
 */
#ifndef KOLM_ENGINE_DUMP_H
#define KOLM_ENGINE_DUMP_H

#include "base/file.h"
#include "base/json.h"
#include "data/data.h"
#include "engine/engine.h"
#include "engine/masks.h"

enum { CHECK_STEPS_MAX = 20 }; /* every batch is written to disk */

struct dump {
	const char *folder; /* borrowed */
	bool writes;	    /* is rank 0 */
	struct file batches;
	struct masks masks;
	struct batch chunk; /* some rows of a batch */
	int batch, rows;    /* samples of the global batch, and of a chunk */
};

/* The weights of all ranks as one safetensors file. */
enum status dump_weights(struct engine *e, const char *folder, const char *name,
			 struct error *err);
/* One copy of them (collect.h): the weights that the optimizer keeps; the gradients of the last
   step, times its loss scale, as gradients.safetensors. */
enum status dump_masters(struct engine *e, int copy, const char *folder, const char *name,
			 struct error *err);
enum status dump_gradients(struct engine *e, int copy, const char *folder, struct error *err);

/* Write initial.safetensors and begin batches.safetensors and, with dropout,
   masks.safetensors in a folder that exists. */
enum status dump_begin(struct dump *d, const char *folder, struct engine *e, int batch,
		       int steps, struct error *err);
/* Append the global batch of a step, from that sample on, and what is kept of it. */
enum status dump_batch(struct dump *d, const struct engine *e, struct data *data, int step,
		       int64_t sample, struct error *err);
/* Members of an object that j is in: the options of the run. */
typedef void dump_options_fn(const void *options, struct json *j);
/* Complete batches and masks, write final.safetensors and check.json. */
enum status dump_end(struct dump *d, struct engine *e, dump_options_fn *put_options,
		     const void *options, const double *losses, int steps, struct error *err);
/* Remove what is incomplete. Does nothing after dump_end. */
void dump_abort(struct dump *d);

#endif
