/* impl.h - an engine from inside. Only for engine/. */
#ifndef KOLM_ENGINE_IMPL_H
#define KOLM_ENGINE_IMPL_H

#include "base/exact.h"
#include "base/tree.h"
#include "engine/buffers.h"
#include "engine/engine.h"
#include "model/cache.h"
#include "model/weights.h"
#include "optim/optim.h"

/* Numbers that kernels leave in device memory; the step reads them once. */
enum { NUMBER_SQUARES, NUMBER_CORRECT, NUMBER_UNUSED, NUMBER_COUNT };

/* Samples in device memory: inputs, then targets or labels, in one piece. */
struct samples {
	void *memory;
	size_t bytes, rows;
	struct view x;
	struct target target;
};

/* A message of some rows between device memory and another rank. */
struct message {
	struct comm_request request;
	struct view view;
	size_t bytes;
	bool out, started;
	/* Of what is to be sent but is still fetched from the device: to whom, and which is
	   next. */
	bool fetched;
	struct comm *comm;
	int peer, channel;
	struct message *next;
	/* The devices move it by themselves: when it is over. Otherwise the request is. */
	bool is_beside;
	struct device_event over;
};

/* To or from the stage that activations, or their gradients, go to or come from: where the
   devices of both reach each other. */
struct way {
	int peer;	/* rank */
	uint64_t count; /* of messages so far */
	struct device_group *devices;
};

/* The messages of a (chunk, micro-batch). */
struct messages {
	struct message receive_forward, receive_backward, send_forward, send_backward;
	int dx; /* of DX_BUFFERS: what send_backward sends */
};

/* A layer's output is there, or the gradient of its input or its weights. */
struct computing {
	const struct chunk *chunk;
	const struct slot *slot;
	const struct flow *flow; /* NULL: forward */
	int number;		 /* of the chunk */
	int micro_batch;
	bool weights; /* these are the last gradients of the chunk's weights in this step */
};

/* An order that is carried out. */
struct execution {
	const struct order *order;
	int rows;	/* of a micro-batch */
	bool training;	/* otherwise nothing is dropped */
	double divisor; /* of the loss: samples that its mean runs over */
	struct step_result *result;
	struct messages *messages; /* (chunks, micro_batches) */
	struct message *first_out; /* those that are still fetched, in their order */
	int next[2];		   /* action up to which receives are posted, by direction */
	int *dx_user;	   /* (chunks, DX_BUFFERS): the micro-batch that uses it, or -1 */
	int *dx_turn;	   /* (chunks) */
	int *weights_left; /* (chunks) weight gradients until the last */
	struct computing now;
	bool ended;	  /* the pipeline is through */
	int64_t dx_ready; /* watch_now: when the last B had its input gradient */
	/* An evaluation: who wants the outputs of a micro-batch, or NULL. */
	enum status (*take)(void *arg, struct view y, struct error *err);
	void *take_arg;
	/* A sequence that is continued: what was seen of it, and so many rows it was; rows at
	   whose outputs nobody looks. */
	struct cache *cache;
	int position, left_out;
	/* Trials: told of each layer's weight gradient; no sum of gradients begins. */
	void (*layer_done)(void *arg, int layer);
	void *layer_done_arg;
};

struct engine {
	struct device *dev; /* borrowed */
	struct engine_options options;
	int number, ranks;
	struct coords at;
	struct schedule forward;	/* of an evaluation */
	struct comm *replicas, *slices; /* dp and mp groups; NULL where there is one of them */
	struct comm *pipe;    /* for messages between stages: the world, unless it is virtual */
	struct comm *holders; /* of what this stage and another one have; or NULL */
	struct way ways[CHANNEL_BACKWARD + 1][2]; /* by channel; in, out */
	bool is_joined;				  /* some group's devices reach each other */
	char between[160]; /* what devices of different ranks exchange through, or "" */
	struct chunk *chunks;
	int n_chunks;
	struct weights weights;
	struct buffers buffers;
	struct optim optim;
	struct sync sync;
	struct scaler scaler;
	struct samples batch; /* of this replica, where it begins or ends the pipeline */
	/* Of the master of grad_sync master: the batch, the outputs of a micro-batch and their
	   gradients, of all replicas. */
	struct samples all;
	struct view outputs, gradients;
	float *stats;		/* of slices of classes, for the loss; or NULL */
	double *numbers;	/* (NUMBER_COUNT), in device memory */
	double *losses;		/* (micro-batches), behind them */
	double *yielded;	/* all of them, as engine_read_numbers has found them */
	struct exact *squares;	/* in device memory, or NULL; see sync.h */
	struct report *reports; /* (ranks) what each rank knows of a step */
	struct execution run;
	/* Of a sequence that is continued, see engine_feed: for the ranks of the last stage the
	   outputs of its last row, and what one of them has made of it, for all. */
	struct {
		struct cache cache;
		float *outputs; /* (out) */
		int32_t *words; /* (WORDS_MAX) */
	} sequence;
	/* Tensors on their way, from the first time on: of one slice, put together, in the
	   host's memory (collect.c); what the optimizer keeps, of all replicas, in the device's
	   (snapshot.c). */
	struct {
		float *piece, *rows, *flat;
	} passage;
	int64_t sum_bytes; /* brought to sums over the slices so far */
	struct traffic_count traffic;
	struct transcript *transcript; /* of what is computed, or NULL */
	struct engine_times times;     /* of the step under way, or the last one */
	int64_t first_record;	       /* of that step, of all that were ever added */
	int step;		       /* the one under way */
	double kept_at;		       /* ms */
	bool failed;		       /* in the middle of something: it can only be freed */
};

/* What a rank adds to what all know of a step. */
struct report {
	struct exact loss, squares; /* the same sums in any order */
	double correct, stop;
	double keep; /* of the sum: rank 0's */
	struct engine_word word;
};

/* engine.c: does this rank begin or end the pipeline? Samples of a step, of this replica. */
bool engine_needs_batch(const struct engine *e);
int engine_batch_rows(const struct engine *e);
/* Micro-batches of one of the replicas that there are as if, and which one has one of ours. */
static inline int engine_turn(const struct engine *e)
{
	const struct engine_options *o = &e->options;

	return o->micro_batches / tree_held(o->as_if_dp, o->grid.dp);
}
static inline int engine_leaf(const struct engine *e, int micro_batch)
{
	return micro_batch / engine_turn(e);
}
/* Have all of some samples filled, from one of the global batch on; nothing where none are. */
void engine_fill_samples(struct engine *e, const struct samples *s, int64_t first,
			 engine_fill *fill, void *arg);

/* Rows of a micro-batch that this rank has of what goes into a chunk and comes out of it. */
int engine_rows_in(const struct engine *e, int chunk);
int engine_rows_out(const struct engine *e, int chunk);
/* Is the gradient of a chunk's input sent before those of its weights are computed? Not where
   memory comes before time: more would have to be kept for all layers of the chunk. */
bool engine_sends_early(const struct engine_options *o);

/* generate.c: the memory for it; and its end. */
enum status engine_open_sequence(struct engine *e, struct error *err);
void engine_close_sequence(struct engine *e);

/* groups.c: the groups that this rank talks to; every rank makes the same calls. And: the
   stages that have the same tensor, if there are two, the one that counts it first. */
enum status engine_open_groups(struct engine *e, struct error *err);
bool engine_holders(const struct engine *e, int stages[2]);

/* join.c: the devices of those groups, and of stages that send to each other, where they reach
   each other without the host; before the groups are freed they part. */
enum status engine_join_devices(struct engine *e, struct error *err);
void engine_part_devices(struct engine *e);
/* The host is about to wait for its device, and so for other ranks'; it has. */
void engine_wait_devices(const struct engine *e, bool waits);

/* step.c: fails if something has before; and: this has, nothing goes on. */
enum status engine_check(const struct engine *e, struct error *err);
void engine_give_up(struct engine *e);
/* Everybody's reports added up, the same on all ranks. */
enum status engine_exchange(struct engine *e, struct report own, struct report *sum,
			    struct error *err);
/* What kernels are to yield is 0; what they have yielded, with the loss of all micro-batches;
   the mean of what all ranks have. */
void engine_clear_numbers(struct engine *e);
const double *engine_read_numbers(const struct engine *e, struct exact *loss);
double engine_mean_loss(const struct engine *e, const struct exact *sum);
/* Signals that ask for an end. */
int engine_stop(const struct engine *e);
/* In 16 bit, or when clipping, the gradients are looked at before they are used. */
bool engine_looks(const struct engine *e);
/* Say where we are. */
void engine_say(struct engine *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same in a step, and have the trouble that is planned for here. */
void engine_reach(struct engine *e, enum inject_at at, int micro_batch);
/* The STEP of a schedule: wait for the sums, clip, update. */
enum status engine_update(struct engine *e, struct error *err);

/* snapshot.c: an array of the optimizer as one like the model's. */
enum status engine_spread(struct engine *e, float *state, void **flat, struct error *err);

/* message.c */
void message_send(struct engine *e, struct comm *c, int peer, enum engine_channel channel,
		  struct view v, int rows, struct message *m);
void message_receive(struct engine *e, struct comm *c, int peer, enum engine_channel channel,
		     struct view v, int rows, struct message *m);
/* Send what was fetched meanwhile; is there more? Or: send all of it. */
bool messages_go_on(struct engine *e);
void messages_send_all(struct engine *e);
/* Does nothing for what was never started or is over. */
enum status message_wait(struct engine *e, struct message *m, struct error *err);

/* execute.c: all actions of an order. Loss and counts of right answers are added to numbers. */
enum status execution_init(struct engine *e, struct error *err);
void execution_release(struct engine *e);
enum status engine_execute(struct engine *e, const struct order *order, struct error *err);
/* A SEND. */
enum status engine_send(struct engine *e, const struct action *a, struct error *err);
struct messages *engine_messages(const struct engine *e, const struct action *a);

/* compute.c: an F, E, B, I or W; send is the SEND_B that a B does in the middle, or NULL. */
enum status engine_compute(struct engine *e, const struct action *a, const struct action *send,
			   struct error *err);
/* Give back what the micro-batch of an action holds. */
enum status engine_release(struct engine *e, const struct action *a, struct error *err);
/* Loss of rows samples whose outputs are y, from a row of the samples on, added to that of a
   micro-batch; its gradient in dy. */
enum status engine_loss(struct engine *e, const struct samples *s, int micro_batch, size_t row,
			struct view y, struct view dy, int rows, struct error *err);

/* master.c: where DataParallel does something else: the weights before the first micro-batch,
   the inputs of one, its loss, the sums. */
enum status master_begin(struct engine *e, struct error *err);
enum status master_input(struct engine *e, int micro_batch, struct view *x, struct error *err);
enum status master_loss(struct engine *e, int micro_batch, struct view y, struct view dy,
			struct error *err);
enum status master_reduce(struct engine *e, struct error *err);

/* spoil.c: wrong results, if they are planned. What enters the backward pass of a micro-batch
   is there; a layer's gradient is complete; is the update to be left out? A layer has computed
   something. */
void spoil_flow(struct engine *e, const struct chunk *c, struct view dy, int micro_batch);
void spoil_gradient(struct engine *e, int layer);
bool spoil_update(const struct engine *e);
void spoil_result(struct engine *e, const struct computing *c, int layer,
		  enum chunk_event event);
/* A step begins: the order in which its groups add up. */
void spoil_order(struct engine *e);

/* transcript.c: if the step is written down. A layer has computed something; what enters the
   backward pass of a chunk; the losses of micro-batches. */
void transcript_result(struct engine *e, const struct computing *c, int layer,
		       enum chunk_event event);
void transcript_top(struct engine *e, const struct chunk *c, struct view dy, int micro_batch);
void transcript_losses(const struct engine *e, const double *losses);

/* watch.c: the time that something takes this rank, without what is waiting or pause in
   it. The action is NULL for what belongs to no micro-batch. Now is a stamp of QUEUE_COMPUTE
   where the device has such: what it takes is known at the end of the step. */
struct watch {
	int64_t begin, apart;
};
int64_t watch_now(const struct engine *e);
/* When all that was put into queues is done. */
double watch_ms_since(const struct engine *e, int64_t now);
struct watch watch_begin(const struct engine *e);
void watch_end(struct engine *e, struct watch w, enum record_kind kind, const struct action *a);
/* The step as a whole. */
void watch_begin_step(struct engine *e);
void watch_end_pipeline(struct engine *e);
void watch_end_step(struct engine *e);

/* watch_device.c: the same where what was recorded has stamps. */
void watch_begin_stamps(struct engine *e);
void watch_end_stamps(struct engine *e, int64_t begin);

#endif
