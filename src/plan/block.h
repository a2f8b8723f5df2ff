/*
 * block.h - what the layers of an outline take and keep, for one micro-batch, with the kernels
 * that others have for the engine's operations: which are one kernel, what it reads and writes.
 * Only for plan/.
 */
#ifndef KOLM_PLAN_BLOCK_H
#define KOLM_PLAN_BLOCK_H

#include "plan/cost.h"
#include "plan/outline.h"
#include "plan/setup.h"

struct both_ways {
	struct cost forward, backward; /* backward with what is computed again */
};

/* One transformer block. */
void block_cost(struct both_ways *p, const struct outline *o, const struct setup *s,
		const struct cluster *c);
/* What is before the blocks, and behind them. */
void embedding_cost(struct both_ways *p, const struct outline *o, const struct setup *s,
		    const struct cluster *c);
void head_cost(struct both_ways *p, const struct outline *o, const struct setup *s,
	       const struct cluster *c);

/* Bytes that a block keeps for its backward, where so much is computed again; for gpt they are
   those of Korthikanti et al., table 2. */
double block_kept(const struct outline *o, const struct setup *s,
		  enum setup_recompute recompute);
/* The same of the embedding; of the head, without the logits, of which there are so many. */
double embedding_kept(const struct outline *o, const struct setup *s);
double head_kept(const struct outline *o, const struct setup *s);
double head_logits(const struct outline *o, const struct setup *s);

#endif
