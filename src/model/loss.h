/* loss.h - what a model's output is held against, and how: the mean over samples. */
#ifndef KOLM_MODEL_LOSS_H
#define KOLM_MODEL_LOSS_H

#include "device/device.h"

/* In device memory: values as many as outputs, or the number of a class. */
struct target {
	struct view values;
	const int32_t *labels;
};

struct loss {
	const char *name;
	bool labelled;
	/* What the mean runs over, beside samples: its sums are divided by samples times so
	   many. */
	double (*terms)(int columns);
	/* *sum += the loss of rows samples, not divided; dy = scale times its gradient. */
	void (*run)(struct device *dev, struct view y, const struct target *t, struct view dy,
		    int rows, int columns, float scale, double *sum);
};

extern const struct loss loss_mse, loss_cross_entropy;

/* The target from a row on. */
struct target target_from(const struct target *t, size_t row);

#endif
