/*
 * transcript.h - what a step has computed on its way, in numbers that do not depend on the
 * grid: so that of two runs whose bits differ one can see where that began.
 *
 * Of every layer and micro-batch: what came out, the gradient of that, and the gradient of the
 * weights so far; and the losses. Each is boiled down to a sum of one number per element, made
 * of its bits and its row: ranks that have parts of a matrix add up their sums.
 */
#ifndef KOLM_ENGINE_TRANSCRIPT_H
#define KOLM_ENGINE_TRANSCRIPT_H

#include "engine/engine.h"

enum transcript_kind {
	TRANSCRIPT_OUTPUT,
	TRANSCRIPT_LOSS, /* of the last layer */
	TRANSCRIPT_GRADIENT,
	TRANSCRIPT_WEIGHTS,
	TRANSCRIPT_KINDS
};

struct transcript {
	int step;		   /* that is written down */
	int layers, micro_batches; /* of the model; of all replicas */
	uint64_t *sums;		   /* (TRANSCRIPT_KINDS, layers, micro_batches) of this rank */
};

/* Have that step of an engine written down. It borrows the transcript. */
enum status transcript_begin(struct transcript *t, struct engine *e, int step,
			     struct error *err);
void transcript_release(struct transcript *t);
/* After it, by all ranks: rank 0 writes transcript.txt, a line for each, in an order in which
   they could have been computed: the sum, and what it is. */
enum status transcript_write(const struct transcript *t, struct engine *e, const char *folder,
			     struct error *err);

#endif
