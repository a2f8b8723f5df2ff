/*
 * data.h - where samples come from.
 *
 * A batch is a pure function of (seed, step): any rank can produce any row of it.
 * Files are read whole; their features are brought to mean 0 and deviation 1, and a
 * share of their samples is held out for evaluation.
 */
#ifndef KOLM_DATA_DATA_H
#define KOLM_DATA_DATA_H

#include "base/error.h"
#include "base/names.h"
#include "data/batch.h"
#include "data/table.h"
#include "device/device.h"

/* Each by its loss. */
#define DATA_TASKS(X)        \
	X(AUTO, "auto")      \
	X(REGRESSION, "mse") \
	X(CLASSIFICATION, "cross-entropy")
#define DATA_TASK(name, ...) TASK_##name,
enum data_task { DATA_TASKS(DATA_TASK) };
extern const char *const data_task_names[]; /* NULL-terminated */

enum data_kind { DATA_SYNTHETIC, DATA_NOISE, DATA_TABLE };

struct data {
	enum data_kind kind;
	uint64_t seed;
	int in, out;	/* features, and targets or classes */
	bool labelled;	/* classification */
	float *teacher; /* synthetic: (in, factors), (out, factors) */
	float unit;	/* synthetic: what its targets are multiplied with */
	struct table table;
	int64_t train, held_out; /* samples of the table */
	int32_t *order;		 /* (samples): training samples first, then the others */
	int32_t *shuffled;	 /* (train): the order of one epoch */
	int64_t epoch;		 /* whose order is in shuffled; -1: none */
};

/* spec as in --data; in and out are the width of made-up data. */
enum status data_open(struct data *d, const char *spec, enum data_task task, int in, int out,
		      uint64_t seed, double holdout, struct error *err);
void data_close(struct data *d);

/* Rows first .. first+rows-1 of a step's global batch of that size. */
void data_batch(struct data *d, struct device *dev, int64_t step, int batch, int first,
		int rows, const struct batch *b);

/* Held-out samples first .. first+rows-1. */
void data_held_out(const struct data *d, int64_t first, int rows, const struct batch *b);

#endif
