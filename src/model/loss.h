/* loss.h - what a model's output is held against, and how: the mean over rows. */
#ifndef KOLM_MODEL_LOSS_H
#define KOLM_MODEL_LOSS_H

#include "comm/comm.h"
#include "device/device.h"

/* In device memory: values as many as outputs, or the number of a class. */
struct target {
	struct view values;
	const int32_t *labels;
};

/* Some rows of what has come out. */
struct loss_run {
	struct device *dev;
	struct view y, dy; /* (rows, columns here); may be the same */
	struct target target;
	int rows, columns; /* columns of all ranks */
	float scale;
	double *sum;	 /* += the loss of the rows, not divided */
	double *correct; /* += rows whose label has the largest value; NULL: nobody asks */
	/* Where every rank has some of the columns: the others, or NULL; which we are; so many
	   times rows times CLASS_STATS floats that the others reach; bytes brought to them. A
	   rank has so many shards, side by side. */
	struct comm *slices;
	int shard, shards, held;
	float *stats;
	double *unused; /* takes numbers that nobody wants */
	int64_t *sum_bytes;
};

struct loss {
	const char *name;
	bool labelled;
	/* What the mean runs over, beside rows: its sums are divided by rows times so many. */
	double (*terms)(int columns);
	/* dy = scale times the gradient of the loss. */
	enum status (*run)(const struct loss_run *r, struct error *err);
};

extern const struct loss loss_mse, loss_cross_entropy;

/* The target from a row on. */
struct target target_from(const struct target *t, size_t row);

#endif
