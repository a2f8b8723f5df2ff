/*
 * batch.h - some samples: x (rows, in) and either targets (rows, out) or labels (rows). Those
 * of language models: tokens (rows) and labels (rows), a row per token, samples one after the
 * other. What is NULL is not wanted.
 */
#ifndef KOLM_DATA_BATCH_H
#define KOLM_DATA_BATCH_H

#include "device/kernel.h"

struct batch {
	struct view x, target; /* fp32, in the host's memory */
	int32_t *tokens;
	int32_t *labels;
};

#endif
