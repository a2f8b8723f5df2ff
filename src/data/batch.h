/* batch.h - some samples: x (rows, in) and either targets (rows, out) or labels (rows). */
#ifndef KOLM_DATA_BATCH_H
#define KOLM_DATA_BATCH_H

#include "device/kernel.h"

struct batch {
	struct view x, target; /* fp32, in the host's memory */
	int32_t *labels;
};

#endif
