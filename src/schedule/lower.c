/* lower.c - from the compute order of a stage to all that it does in a step. */
#include "schedule/impl.h"

#include <stdlib.h>

/* A message, unless this is the end of the model where there is nobody to exchange with. */
static void add_message(struct schedule *s, int stage, enum action_kind kind, struct action of)
{
	struct action a = {kind, of.chunk, of.micro_batch};
	int chunk;

	if (schedule_peer(s, stage, a, &chunk) >= 0)
		order_add(&s->orders[stage], kind, a.chunk, a.micro_batch);
}

enum status schedule_lower(struct schedule *s, int stage, const struct order *compute,
			   struct error *err)
{
	struct order *out = &s->orders[stage];
	int *done = calloc((size_t)s->chunks, sizeof(*done)); /* B or W of each chunk */
	/* Two messages for every forward and backward, and what ends the step. */
	int capacity = compute->count + 4 * s->micro_batches * s->chunks + s->chunks + 1;
	enum status st;

	if (!done)
		return FAIL(err, ERR_MEMORY, "no memory for a schedule of %d chunks",
			    s->chunks);
	TRY(order_init(out, capacity, err));
	for (int i = 0; i < compute->count; i++) {
		struct action a = compute->actions[i];
		bool forward = a.kind == ACTION_F || a.kind == ACTION_E,
		     last = a.kind == ACTION_W;

		if (!last)
			add_message(s, stage, forward ? ACTION_RECV_F : ACTION_RECV_B, a);
		order_add(out, a.kind, a.chunk, a.micro_batch);
		if (!last)
			add_message(s, stage, forward ? ACTION_SEND_F : ACTION_SEND_B, a);
		if (a.kind == ACTION_B || a.kind == ACTION_W)
			if (++done[a.chunk] == s->micro_batches)
				order_add(out, ACTION_REDUCE, a.chunk, 0);
	}
	if (!s->forward_only)
		order_add(out, ACTION_STEP, 0, 0);
out:
	free(done);
	return st;
}
