/* block.h - the passes that a stage is made of, for one micro-batch. Only for plan/. */
#ifndef KOLM_PLAN_BLOCK_H
#define KOLM_PLAN_BLOCK_H

#include "plan/cost.h"
#include "plan/setup.h"

struct both_ways {
	struct cost forward, backward; /* backward with what is computed again */
};

/* One transformer block. */
void block_cost(struct both_ways *p, const struct setup *s, const struct cluster *c);
/* Tokens and positions looked up. */
void embedding_cost(struct both_ways *p, const struct setup *s, const struct cluster *c);
/* The last norm, the product with the table, cross-entropy. */
void head_cost(struct both_ways *p, const struct setup *s, const struct cluster *c);

#endif
