/*
 * engine.h - the training step: micro-batches forward and backward with accumulation, the
 * sum of the gradients over the replicas, then clipping and the optimizer. All memory is
 * planned and allocated by engine_create; a step allocates nothing.
 */
#ifndef KOLM_ENGINE_ENGINE_H
#define KOLM_ENGINE_ENGINE_H

#include "data/data.h"
#include "device/device.h"
#include "engine/inject.h"
#include "launch/launch.h"
#include "model/stack.h"
#include "optim/optim.h"

struct engine_options {
	struct stack_shape shape; /* shape.rows is the size of a micro-batch */
	int micro_batches;	  /* per step */
	bool labelled;		  /* cross-entropy, otherwise mean squared error */
	struct update optimizer;  /* hyper-parameters */
	double clip;
	uint64_t seed;
	struct rank *rank;		  /* one replica of several, or NULL: the only one */
	const struct inject_plan *inject; /* or NULL */
};

struct engine {
	struct device *dev; /* borrowed */
	struct engine_options options;
	struct stack stack;
	struct optim optim;
	struct batch batch; /* (micro_batches * shape.rows) samples; the caller fills it */
	void *batch_memory;
	struct report *reports; /* (ranks) what each rank knows of a step */
};

struct step_result {
	double loss;	  /* mean over the batch (mse: and over the features) */
	double grad_norm; /* before clipping */
	int stop;	  /* the signal that asks for an end, the same on all ranks; or 0 */
};

struct evaluation {
	int64_t samples;
	double loss, accuracy; /* accuracy is NAN for regression */
};

enum status engine_create(struct engine **out, struct device *dev,
			  const struct engine_options *options, struct error *err);
void engine_free(struct engine *e);

/* Samples of a step, of this replica. */
int engine_batch_rows(const struct engine *e);

/* One optimizer step on engine->batch, together with the other ranks. */
enum status engine_step(struct engine *e, int step, struct step_result *result,
			struct error *err);

/* Loss and accuracy on the held-out samples. Overwrites engine->batch. */
struct evaluation engine_evaluate(struct engine *e, const struct data *d);

#endif
