/*
 * engine.h - the training step of a rank: its micro-batches through its layers in the
 * order of the schedule, gradients summed over the replicas, then clipping and the
 * optimizer. All memory is planned and allocated by engine_create; a step allocates
 * nothing.
 */
#ifndef KOLM_ENGINE_ENGINE_H
#define KOLM_ENGINE_ENGINE_H

#include "comm/comm.h"
#include "data/batch.h"
#include "device/device.h"
#include "engine/inject.h"
#include "engine/scaler.h"
#include "engine/sync.h"
#include "engine/times.h"
#include "grid/grid.h"
#include "model/loss.h"
#include "model/model.h"
#include "model/partition.h"
#include "schedule/schedule.h"

struct engine; /* opaque, see impl.h */

/* The channels of its messages: activations, their gradients, what DataParallel moves, and
   tensors on their way to rank 0. */
enum engine_channel { CHANNEL_FORWARD, CHANNEL_BACKWARD, CHANNEL_MASTER, CHANNEL_TENSORS };

/* What a rank has for the others to know with every step. */
struct engine_word {
	double asked; /* the largest of all ranks */
	double busy;  /* of all ranks, added up */
};

/* Who looks after this rank: it is told where the rank is, says when to stop (a signal's
   number, or 0), and has a word for the others. Any may be NULL. */
struct engine_observer {
	void *arg;
	void (*at)(void *arg, const char *place);
	int (*stop)(void *arg);
	struct engine_word (*word)(void *arg);
};

struct engine_options {
	/* Borrowed, like everything else that is pointed to. */
	const struct model *model;
	const struct loss *loss;
	int rows;	   /* of a micro-batch */
	int micro_batches; /* per step and replica */
	/* The same bits on every grid: as if there were so many replicas, of which each has its
	   part of ours; a power of two, like those that there are. 0: as it comes. */
	int as_if_dp;
	struct update optimizer; /* hyper-parameters */
	double clip;
	uint64_t seed;
	enum grad_sync grad_sync;
	size_t bucket_bytes;
	bool zero;		    /* optimizer state sharded over the replicas */
	enum dtype type, grad_type; /* of parameters, activations, messages; of gradients */
	struct scaler scaler;	    /* of the loss; scale 0: none */
	bool base;		    /* the naive engine: nothing overlaps */
	struct comm *world;	    /* of as many ranks as the grid has */
	struct grid grid;
	const struct partition *partition;
	const struct schedule *schedule;
	const struct inject_plan *inject; /* or NULL */
	struct pace *pace;		  /* the rank's time; NULL: the machine's */
	struct records *records;	  /* takes what is done when, or NULL */
	struct engine_observer observer;
	double keep_ms; /* so long after engine_kept a step asks to keep; 0: never */
	/* Nothing is trained: there are no gradients and no optimizer, and engine_take_weights
	   brings the weights. Of one micro-batch; the schedule says where what is. */
	bool forward_only;
	bool plan; /* only to see what memory rank number plan_rank would take: on a device
		      that hands out none, without a world. Nothing else may be done. */
	int plan_rank;
};

/* What a rank has sent, per kind, and what went in and out of it in steps. */
struct traffic_count {
	int64_t messages, bytes; /* point to point, all steps */
	int64_t forward_messages, forward_bytes;
	int64_t collective_bytes;  /* that it brought to collectives of gradients and layers */
	struct comm_traffic moved; /* bytes of all of it, in and out of this rank */
};

struct step_result {
	double loss;	   /* mean over the batch (mse: and over the features) */
	double grad_norm;  /* before clipping */
	double loss_scale; /* that the step was taken with */
	bool skipped;	   /* the gradients were not finite: no update */
	int stop;	   /* the signal that asks for an end, the same on all ranks; or 0 */
	bool keep; /* it is time to collect what the ranks have measured; on all ranks */
	struct engine_word word; /* of all ranks */
};

struct evaluation {
	int64_t samples;
	double loss, accuracy; /* accuracy is NAN for regression */
	/* Of a language model, by who knows that it is one; 0: not known. */
	double perplexity, bits_per_byte;
};

enum status engine_create(struct engine **out, struct device *dev,
			  const struct engine_options *options, struct error *err);
void engine_free(struct engine *e);

/*
 * Of the gradients where nobody has said it: sums over many micro-batches lose their
 * contributions in 16 bit; up to so many, each is at least 8 units of rounding of the sum. See
 * docs/precision.md.
 */
enum dtype engine_grad_type(enum dtype type, int micro_batches);

/* The options that it runs with. */
const struct engine_options *engine_options(const struct engine *e);
struct device *engine_device(const struct engine *e);
/* What memory of GPUs goes through between ranks: "NCCL 2.28.9", or "host memory" and why; ""
   where there are none. */
const char *engine_between(const struct engine *e);
/* Of the last step; of all so far. */
const struct engine_times *engine_times(const struct engine *e);
const struct traffic_count *engine_traffic(const struct engine *e);
/* What the ranks have measured was collected now. */
void engine_kept(struct engine *e);

/*
 * The samples of the next step. Where this rank needs some, fill is called with where to write
 * them: so many rows of the step's global batch, from one of them on.
 */
typedef void engine_fill(void *arg, int64_t first, int rows, const struct batch *b);
void engine_load(struct engine *e, engine_fill *fill, void *arg);

/* Did something go well on all ranks? Fails on all if it did not on one. */
enum status engine_agree(struct engine *e, bool well, struct error *err);

/* The learning rate from the next step on; all ranks have to set the same. */
void engine_set_lr(struct engine *e, double lr);

/* One optimizer step on them, together with the other ranks. */
enum status engine_step(struct engine *e, int step, struct step_result *result,
			struct error *err);

/* Loss and accuracy on so many samples, by all ranks together, the same on all. Between two
   steps it leaves no trace in what was measured of them. */
enum status engine_evaluate(struct engine *e, int64_t samples, engine_fill *fill, void *arg,
			    struct evaluation *out, struct error *err);

/* The same in a world of one rank; each block of outputs (rows, out) is handed to take, in
   order. What take fails with is what it fails with. */
typedef enum status engine_take(void *arg, int64_t first, int rows, const float *outputs,
				struct error *err);
enum status engine_outputs(struct engine *e, int64_t samples, engine_fill *fill, void *arg,
			   engine_take *take, void *take_arg, struct evaluation *out,
			   struct error *err);

/*
 * generate.c: a sequence of tokens that is continued, with forward_only, by all ranks together;
 * they call it alike. Up to options.rows tokens from a position on, and behind them model's
 * sequence ends: what was fed before that position is remembered, what was from there on is
 * forgotten. outputs may be NULL: nobody wants them. Otherwise, on the ranks of the last stage,
 * *outputs are those of the last token, the engine's until the next call; elsewhere NULL.
 */
enum status engine_feed(struct engine *e, const int32_t *tokens, int n, int position,
			const float **outputs, struct error *err);
/* A few words of the first rank of the last stage, to all. */
enum { WORDS_MAX = 4 };
enum status engine_pass_on(struct engine *e, int32_t *words, int n, struct error *err);

#endif
