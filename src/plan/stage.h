/* stage.h - what one micro-batch takes on a stage, or on a part of it. Only for plan/. */
#ifndef KOLM_PLAN_STAGE_H
#define KOLM_PLAN_STAGE_H

#include "plan/block.h"

/* The operations of all stages, which are equal but for their ends. */
struct stage_kinds {
	const struct outline *outline; /* borrowed */
	struct both_ways block, embedding, head;
	/* Bytes that are kept for the backward; of a block: and while it is under way. */
	double block_kept, block_under_way, embedding_kept, head_kept;
	double logits;
	double message; /* s, of one to the next stage or back */
};

/* In s. */
struct stage_cost {
	double forward, backward; /* with the sums in them */
	double sums;		  /* the part of both that is sums */
	double weights;	 /* the part of backward that is for the gradients of weights */
	double messages; /* sent and received, which nothing hides */
};

/* All but the message, which is 0: that depends on the outline, micro_batch and recompute of
   the setup, and on nothing else. */
void stage_kinds_init(struct stage_kinds *k, const struct outline *o, const struct setup *s,
		      const struct cluster *c);
/* The message depends on the grid too. */
void stage_kinds_set_message(struct stage_kinds *k, const struct setup *s,
			     const struct cluster *c);
/* Of so many blocks in so many chunks, with the embedding and the head, or without. */
struct stage_cost stage_cost(const struct stage_kinds *k, const struct setup *s,
			     const struct cluster *c, int layers, int chunks, bool first,
			     bool last);

static inline double stage_whole(const struct stage_cost *c)
{
	return c->forward + c->backward + c->messages;
}

#endif
