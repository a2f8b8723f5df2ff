/*
 * verify.h - what kolm verify is made of: runs (verify_run.c), how far one is from another
 * (verify_distance.c), and what of that is rounding (verify_judge.c). See docs/precision.md
 * for the model behind it.
 */
#ifndef KOLM_CMD_VERIFY_H
#define KOLM_CMD_VERIFY_H

#include "base/error.h"
#include "base/safetensors.h"
#include "base/sha256.h"
#include "grid/grid.h"

#include <stdbool.h>

/* ---- runs ---- */

/* How a run differs from the one that was asked for. */
struct variant {
	bool alone;	/* on one rank, with the same global batch */
	bool reordered; /* its sums in another order */
	int draw;	/* with noise of the size of rounding, drawn so; 0: without */
	int until;	/* of so many steps; 0: of all */
	bool gradients; /* keep those of the last step */
	bool bits;	/* to be compared bit by bit */
};

/* What the runs of one rank take over from that of the grid, and what is said of them. */
struct setup {
	int argc;
	char *const *argv; /* the options of kolm train */
	struct grid grid;
	int batch, micro_batches, micro_batch_size;
	char as_if[64]; /* the grid that decides about the bits; "": none */
	int as_if_dp, as_if_mp;
	int steps;
	enum dtype type;
	double unit;	   /* unit roundoff of what is trained in */
	int terms;	   /* of the longest sum, which is taken in fp32 */
	double noise;	   /* what rounding may do to a result, as a share of it */
	double init_scale; /* to begin with instead of --init-scale; 0: not */
	char reorder[128]; /* what another order is here; empty: there is none */
};

/* What a run has left. */
struct outcome {
	double *losses;
	bool *skipped; /* steps without an update */
	int count;
	double first_scale, last_scale;	    /* of the loss */
	struct safetensors weights, sketch; /* final; see engine/sketch.h */
	struct safetensors gradients;	    /* if they were wanted */
	/* To be compared bit by bit: fingerprint.txt; transcript.txt of the last step, if the
	   run ended before its end, or NULL; the sums of a checkpoint, "" where the optimizer
	   keeps nothing. */
	char *fingerprint, *transcript;
	char weights_sha256[SHA256_TEXT], optimizer_sha256[SHA256_TEXT];
};

/* A run in a folder of its own that goes away; the grid's, which comes first, fills in setup.
 */
enum status run_variant(struct setup *s, const struct variant *v, struct outcome *o,
			struct error *err);
void outcome_release(struct outcome *o);

/* ---- distances ---- */

/* What is compared, each in every step: of all tensors together, and, but for the first two,
   of each. */
enum measure {
	MEASURE_LOSS,	  /* relative difference of the loss */
	MEASURE_WEIGHT,	  /* after the last step: largest difference of a weight, relative to
			     the largest of its tensor */
	MEASURE_GRADIENT, /* norm of the difference, relative to that of the gradient */
	MEASURE_SCALE, /* sum so far of the relative differences of the norms, over the square
			  root of their number: rounding does not grow in it, a bias does */
	MEASURE_MOVED, /* as GRADIENT, of the way that the weights have come */
	MEASURES
};

struct distance {
	int steps, tensors;
	int parted;	/* the first step that only one has skipped, or steps that both have:
			   nothing but the losses and last weights is compared from there on */
	double *values; /* see distance_at */
	size_t worst;	/* element of its tensor where the weights differ most */
	const struct safetensors_entry *worst_tensor; /* borrowed from the outcome; or NULL */
};

/* How far a run is from the reference, as far as it goes. */
enum status distance_init(struct distance *d, const struct outcome *reference,
			  const struct outcome *run, struct error *err);
void distance_release(struct distance *d);
/* tensor is one of them, or their number for all together. */
double *distance_at(const struct distance *d, enum measure m, int tensor, int step);
/* The largest over all steps, of all tensors together. */
double distance_most(const struct distance *d, enum measure m);

/* The element of the tensors of that name (or "": of all) where two runs differ most. */
struct difference {
	char tensor[128];
	size_t element;
	double one, many; /* its values */
};
void distance_find(const struct safetensors *one, const struct safetensors *many,
		   const char *name, struct difference *place);

/* ---- judgement ---- */

/* How many times as far as the controls a run may go, and a tensor of it alone; draws of noise
   that there are always, and at most, to explain a difference. */
#define CONTROLS_TIMES 3.0
#define ALONE_TIMES    6.0
enum { DRAWS_FIRST = 3, DRAWS_MOST = 64 };

/* Where a run is first beyond what is allowed: the first step, the first measure in it, and
   the tensor that is furthest beyond. */
struct finding {
	bool beyond;
	bool skipped; /* only one of the runs has skipped the step; the rest is not set */
	int step;
	enum measure measure;
	int tensor;
	double excess; /* its distance over what is allowed there */
};

/* What is allowed: within the limits of the contract; and where reach is given, within a
   multiple of how far the controls came up to that step. */
struct limits {
	double contract[MEASURES];
	double noise;
	const struct distance *reach; /* or NULL */
};

/* Widen reach to take in a control: its distances, and those before them. */
void reach_add(struct distance *reach, const struct distance *control);
double limit_at(const struct limits *l, enum measure m, int tensor, int step);
struct finding judge(const struct distance *d, const struct limits *l);

/* ---- the whole ---- */

enum verdict { VERDICT_SAME, VERDICT_ROUNDING, VERDICT_DIFFERENT };

/* What two runs that should be the same differ in first. */
struct bits {
	bool differ;
	int step;
	char what[192];		/* a number of the step, a tensor or its gradient */
	char one[64], many[64]; /* its values, or those of the element */
	int64_t element;	/* of the tensor; -1: it is a number */
	char sum[256];		/* that was taken differently, as far as it can be told */
	char also[256]; /* where it is a number: the first tensor or gradient of that step */
};

struct verify {
	/* options; a tolerance that was given is one that nothing excuses to exceed */
	double loss_tolerance, weight_tolerance;
	bool as_json, bitwise, loss_given, weight_given;
	/* the runs */
	struct setup setup;
	struct outcome many, one;    /* of the grid, and of one rank */
	struct distance grid, reach; /* from one rank: of the grid, and of the controls */
	int controls;
	bool parted_too; /* a control has skipped other steps from the same one on */
	/* the result */
	enum verdict verdict;
	struct finding first; /* beyond the contract, or what the controls can't explain */
	struct finding first_control; /* of them, beyond the contract */
	double loss_allowed, weight_allowed;
	char where[320];
	struct bits bits; /* of --bitwise */
};

void verify_print(const struct verify *v);
/* verify_bits.c: --bitwise. */
enum status verify_bits(struct verify *v, struct error *err);
/* The grid, for messages. */
const char *verify_grid(const struct verify *v, char *text, size_t size);

#endif
