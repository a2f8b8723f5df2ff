/*
 * scaler.h - the loss scale of 16-bit training, as PyTorch's GradScaler has it: gradients
 * are computed of a loss that is multiplied by it, so that small ones do not vanish. A step
 * whose gradients are not all finite is skipped and the scale falls; after some steps
 * without it grows.
 */
#ifndef KOLM_ENGINE_SCALER_H
#define KOLM_ENGINE_SCALER_H

#include "base/error.h"

#include <stdbool.h>

struct scaler {
	double scale;
	double growth, backoff;
	int interval; /* finite steps after which the scale grows; 0: it never changes */
	int finite;   /* such steps in a row */
};

/* Below this, or after so many skipped steps in a row, something else is wrong. */
#define SCALER_FLOOR 0x1p-24

/* A step was taken, or skipped since its gradients were not finite. Fails at the floor. */
enum status scaler_update(struct scaler *s, bool skipped, struct error *err);

#endif
