/*
 * engine.h - the training step of a rank: its micro-batches through its layers in the
 * order of the schedule, gradients summed over the replicas, then clipping and the
 * optimizer. All memory is planned and allocated by engine_create; a step allocates
 * nothing.
 */
#ifndef KOLM_ENGINE_ENGINE_H
#define KOLM_ENGINE_ENGINE_H

#include "data/data.h"
#include "device/device.h"
#include "engine/buffers.h"
#include "engine/inject.h"
#include "engine/scaler.h"
#include "engine/sync.h"
#include "grid/grid.h"
#include "launch/launch.h"
#include "model/model.h"
#include "optim/optim.h"
#include "schedule/schedule.h"

/* The channels of its messages: activations, their gradients, what DataParallel moves. */
enum engine_channel { CHANNEL_FORWARD, CHANNEL_BACKWARD, CHANNEL_MASTER };

struct engine_options {
	struct model_shape shape; /* shape.rows is the size of a micro-batch */
	int micro_batches;	  /* per step and replica */
	bool labelled;		  /* cross-entropy, otherwise mean squared error */
	struct update optimizer;  /* hyper-parameters */
	double clip;
	uint64_t seed;
	enum grad_sync grad_sync;
	size_t bucket_bytes;
	bool zero;		    /* optimizer state sharded over the replicas */
	enum dtype type, grad_type; /* of parameters, activations, messages; of gradients */
	struct scaler scaler;	    /* of the loss; scale 0: none */
	bool base;		    /* the naive engine: nothing overlaps */
	/* Borrowed; without a grid there is one rank, and partition and schedule are made
	   for it. */
	struct rank *rank;
	const struct grid *grid;
	const struct partition *partition;
	const struct schedule *schedule;
	const struct inject_plan *inject; /* or NULL */
	struct records *records;	  /* takes what is done when, or NULL */
	double keep_ms; /* after so long, kept_at says since when, a step asks to keep; 0: never
			 */
	bool plan;	/* only to see what memory rank number plan_rank would take: on a device
			   that hands out none. Nothing else may be done with it. */
	int plan_rank;
};

/* What a rank has sent, per kind, and what went in and out of it in steps. */
struct traffic_count {
	int64_t messages, bytes; /* point to point, all steps */
	int64_t forward_messages, forward_bytes;
	int64_t collective_bytes;  /* that it brought to collectives of gradients and layers */
	struct comm_traffic moved; /* bytes of all of it, in and out of this rank */
};

/* Where the time of this rank went, in ns: of a step, or summed over several. */
struct engine_times {
	int64_t steps;
	int64_t step;	 /* from before the forward pass to after the optimizer */
	int64_t compute; /* kernels, the optimizer's included */
	int64_t update;	 /* the optimizer's part of it */
	int64_t comm;	 /* transfers that nothing hid */
	int64_t lost;	 /* waiting for other ranks */
	int64_t pause;	 /* sleep that was asked for */
	int64_t window;	 /* from the first forward to the last operation of the schedule */
	int64_t actions; /* of that, in forward and backward, with all that happens inside */
	/* by enum record_kind: FORWARD, BACKWARD, INPUT, WEIGHT */
	int64_t kind_ns[RECORD_WEIGHT + 1], kind_count[RECORD_WEIGHT + 1];
};

void engine_times_add(struct engine_times *sum, const struct engine_times *t);

struct transfers; /* see execute.c */

struct engine {
	struct device *dev; /* borrowed */
	struct engine_options options;
	struct rank *rank; /* or NULL */
	struct grid grid;
	struct coords at;
	struct partition own_partition; /* where none was given */
	struct schedule own_schedule;
	const struct order *order;	/* of our stage */
	struct comm *replicas, *slices; /* dp and mp groups, or NULL */
	struct comm *pipe; /* for messages between stages: the world, unless it is virtual */
	struct model model;
	struct buffers buffers;
	struct optim optim;
	struct sync sync;
	struct scaler scaler;
	struct batch batch; /* (micro_batches * shape.rows) samples; the caller fills it */
	/* Of the master of grad_sync master: the batch, the outputs of a micro-batch and their
	   gradients, of all replicas. */
	struct batch all;
	struct view outputs, gradients;
	struct report *reports; /* (ranks) what each rank knows of a step */
	struct transfers *transfers;
	/* weights.c: weights on their way to rank 0, from the first time on: of one slice, put
	   together, those of the optimizer. */
	struct {
		float *piece, *rows, *masters;
	} passage;
	struct traffic_count traffic;
	struct pace *pace;	   /* or NULL */
	struct engine_times times; /* of the step under way, or the last one */
	int step;		   /* the one under way */
	double kept_at;		   /* ms: set by who keeps */
};

struct step_result {
	double loss;	   /* mean over the batch (mse: and over the features) */
	double grad_norm;  /* before clipping */
	double loss_scale; /* that the step was taken with */
	bool skipped;	   /* the gradients were not finite: no update */
	int stop;	   /* the signal that asks for an end, the same on all ranks; or 0 */
	bool keep; /* it is time to collect what the ranks have measured; on all ranks */
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
/* Does this rank need the step's samples: does it begin or end the pipeline? */
bool engine_needs_batch(const struct engine *e);

/* One optimizer step on engine->batch, together with the other ranks. */
enum status engine_step(struct engine *e, int step, struct step_result *result,
			struct error *err);

/* Loss and accuracy on the held-out samples, by all ranks together, the same on all.
   Overwrites engine->batch. */
enum status engine_evaluate(struct engine *e, const struct data *d, struct evaluation *out,
			    struct error *err);

/* ---- within the engine ---- */

/* What a rank adds to what all know of a step. */
struct report {
	double loss, squares, correct, stop;
	double keep; /* of the sum: rank 0's */
};

/* Everybody's reports added up, in the same order on all ranks. */
enum status engine_exchange(struct engine *e, struct report own, struct report *sum,
			    struct error *err);
/* In 16 bit, or when clipping, the gradients are looked at before they are used. */
bool engine_looks(const struct engine *e);
/* Say where we are, and have the trouble that is planned for here. */
void engine_reach(struct engine *e, enum inject_at at, int micro_batch);
/* spoil.c: wrong results, if they are planned. What enters the backward pass of a micro-batch
   is there; a layer's gradient is complete; is the update to be left out? */
void spoil_flow(struct engine *e, const struct chunk *c, struct flow *f, int micro_batch);
void spoil_gradient(struct engine *e, int layer);
bool spoil_update(const struct engine *e);
/* A layer's output is there, or the gradient of its input and of its weights. */
struct computing {
	const struct chunk *chunk;
	const struct slot *slot;
	const struct flow *flow; /* NULL: forward */
	int micro_batch;
};
void spoil_result(struct engine *e, const struct computing *c, int layer);

/* watch.c: the time that something takes this rank, without what is waiting or pause in
   it. The action is NULL for what belongs to no micro-batch. */
struct watch {
	int64_t begin, apart;
};
struct watch watch_begin(const struct engine *e);
void watch_end(struct engine *e, struct watch w, enum record_kind kind, const struct action *a);
/* The step as a whole. */
void watch_begin_step(struct engine *e);
void watch_end_step(struct engine *e);

/* execute.c: all actions of a step but the last; *loss is our part of it. */
enum status transfers_create(struct engine *e, struct error *err);
void transfers_free(struct engine *e);
enum status engine_execute(struct engine *e, double *loss, struct error *err);
/* Loss of rows samples of a batch from row on, whose outputs are y; its gradient in dy. */
double engine_loss(struct engine *e, const struct batch *b, int row, struct view y,
		   struct view dy, int rows, double divisor);

/* master.c: the step of DataParallel; *loss and the sum are rank 0's. */
enum status engine_step_master(struct engine *e, double *loss, struct error *err);

#endif
