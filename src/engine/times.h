/* times.h - where the time of a rank went. */
#ifndef KOLM_ENGINE_TIMES_H
#define KOLM_ENGINE_TIMES_H

#include "base/records.h"

#include <stdint.h>

/* In ns: of a step, or summed over several. */
struct engine_times {
	int64_t steps;
	int64_t step;	 /* from before the forward pass to after the optimizer */
	int64_t compute; /* kernels, the optimizer's included */
	int64_t update;	 /* the optimizer's part of it */
	int64_t comm;	 /* transfers that nothing hid */
	int64_t lost;	 /* waiting for other ranks */
	int64_t pause;	 /* sleep that was asked for */
	int64_t window;	 /* from the first forward to the last operation of the schedule */
	int64_t actions; /* of that, in forward and backward, with all that happens inside */
	/* by enum record_kind: FORWARD, BACKWARD, INPUT, WEIGHT; of a whole BACKWARD, WEIGHT is
	   what comes behind the gradient of the input */
	int64_t kind_ns[RECORD_WEIGHT + 1], kind_count[RECORD_WEIGHT + 1];
};

void engine_times_add(struct engine_times *sum, const struct engine_times *t);

#endif
