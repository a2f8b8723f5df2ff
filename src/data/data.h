/*
 * data.h - where samples come from.
 *
 * A sample is a pure function of the seed and of its number in an endless sequence: any rank
 * can produce any of them. Files are read whole; their features are brought to mean 0 and
 * deviation 1, and a share of their samples, or another file, is held out for evaluation.
 */
#ifndef KOLM_DATA_DATA_H
#define KOLM_DATA_DATA_H

#include "base/error.h"
#include "data/batch.h"
#include "data/form.h"
#include "data/table.h"
#include "device/device.h"

enum data_kind { DATA_SYNTHETIC, DATA_NOISE, DATA_TABLE };

struct data_options {
	const char *spec; /* as in --data */
	const char *test; /* as in --test; NULL or "": a share is held out instead */
	struct table_options table;
	bool scale_target;
	int in, out; /* the width of made-up data */
	uint64_t seed;
	double holdout; /* the share */
};

struct data {
	enum data_kind kind;
	uint64_t seed;
	int in, out;	  /* features, and targets or classes */
	bool labelled;	  /* classification */
	bool has_targets; /* labels or targets are known */
	float *teacher;	  /* synthetic: (in, factors), (out, factors) */
	float unit;	  /* synthetic: what its targets are multiplied with */
	struct data_form form;
	struct table table;
	struct table test;	 /* of --test, or no samples */
	int64_t train, held_out; /* samples of the table, or held out by another */
	int32_t *order;		 /* (samples): training samples first, then the others */
	int32_t *shuffled;	 /* (train): the order of one epoch */
	int64_t epoch;		 /* whose order is in shuffled; -1: none */
};

enum status data_open(struct data *d, const struct data_options *o, struct error *err);
/*
 * Another file, read as the form says: csv:FILE, idx:IMAGES[,LABELS], or FILE alone, which is
 * as the data that was trained with. Its labels or targets may be missing. Samples are those of
 * data_rows, d->table.samples of them.
 */
enum status data_open_like(struct data *d, const char *spec, const struct data_form *form,
			   struct error *err);
void data_close(struct data *d);

/* How the samples were read; borrowed. */
const struct data_form *data_form(const struct data *d);

/* Samples first .. first+rows-1 of the endless sequence. */
void data_batch(struct data *d, struct device *dev, int64_t first, int rows,
		const struct batch *b);

/* Held-out samples first .. first+rows-1. */
void data_held_out(const struct data *d, int64_t first, int rows, const struct batch *b);

/* Samples first .. first+rows-1 of the file, in its order. */
void data_rows(const struct data *d, int64_t first, int rows, const struct batch *b);

#endif
