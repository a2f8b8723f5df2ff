/* limits.h - how large things may be, where several folders must agree on it. */
#ifndef KOLM_BASE_LIMITS_H
#define KOLM_BASE_LIMITS_H

enum {
	RANKS_MAX = 4096,    /* of a run, on one machine or several */
	BATCH_MAX = 1 << 24, /* samples of a step, over all ranks */
};

#endif
