/*
 * schedule.h - what each pipeline stage does, in which order: data, not code.
 *
 * A generator emits the compute order of a stage, lowering adds messages, the reduction of
 * gradients and the step, and the checker proves the result before anybody runs it. One
 * executor runs it, one simulator predicts it (see timeline.h).
 *
 * The model is cut into p * v parts, in the order of its layers. Each of p stages holds v of
 * them, its chunks; a table of the schedule says where each part is, and nobody else does.
 * Activations go from part k to k + 1, gradients the other way.
 */
#ifndef KOLM_SCHEDULE_SCHEDULE_H
#define KOLM_SCHEDULE_SCHEDULE_H

#include "base/error.h"
#include "base/names.h"
#include "base/text.h"

#include <stdbool.h>

/* generate.c describes each of them. */
#define SCHEDULES(X)                  \
	X(NAIVE, "naive")             \
	X(GPIPE, "gpipe")             \
	X(1F1B, "1f1b")               \
	X(INTERLEAVED, "interleaved") \
	X(ZB_H1, "zb-h1")
#define SCHEDULE_KIND(name, ...) SCHEDULE_##name,
enum schedule_kind { SCHEDULES(SCHEDULE_KIND) };
enum { SCHEDULE_KIND_COUNT = NAMES_COUNT(SCHEDULES) };
const char *schedule_name(enum schedule_kind kind);
extern const char *const schedule_names[]; /* the same, NULL-terminated: choices of an option */

/* How many chunks its stages have where so many are wanted; 0: as many as is usual. */
int schedule_chunks(enum schedule_kind kind, int wanted);
/* Can its stages have so many? */
enum status schedule_check_chunks(enum schedule_kind kind, int chunks, struct error *err);
/* What to run with so many stages: some kinds are for more than one. */
enum schedule_kind schedule_for(enum schedule_kind kind, int stages);

enum action_kind {
	ACTION_F,      /* forward */
	ACTION_B,      /* the whole backward */
	ACTION_I,      /* gradient of the input only ... */
	ACTION_W,      /* ... and of the weights, later */
	ACTION_E,      /* a forward of which nothing is kept */
	ACTION_SEND_F, /* the output of an F or E to where the next part is */
	ACTION_RECV_F, /* the input of an F or E */
	ACTION_SEND_B, /* the input's gradient, made by B or I, to where the part before is */
	ACTION_RECV_B, /* the output's gradient, for B or I */
	ACTION_REDUCE, /* sum a chunk's gradients over the replicas; micro_batch is 0 */
	ACTION_STEP,   /* the optimizer; chunk and micro_batch are 0 */
	ACTION_PAUSE,  /* a sleep that was asked for: in timelines only */
};

/* Is it computed, is it a message, and does it wait for one? */
static inline bool action_is_computed(enum action_kind kind)
{
	return kind <= ACTION_E;
}

static inline bool action_is_message(enum action_kind kind)
{
	return kind >= ACTION_SEND_F && kind <= ACTION_RECV_B;
}

static inline bool action_receives(enum action_kind kind)
{
	return kind == ACTION_RECV_F || kind == ACTION_RECV_B;
}

/* chunk is always that of the stage whose order this is, also in messages. */
struct action {
	enum action_kind kind;
	int chunk, micro_batch;
};

struct order {
	struct action *actions;
	int count, capacity;
};

struct place {
	int stage, chunk;
};

struct schedule {
	enum schedule_kind kind;
	int stages, micro_batches, chunks;
	bool forward_only;    /* an evaluation: of each part an E, and nothing else */
	struct place *places; /* (parts) where part k, in the order of the layers, is */
	int *part_at;	      /* (stages, chunks) which part is there */
	struct order *orders; /* (stages), lowered */
};

/* Generate, lower, check. */
enum status schedule_init(struct schedule *s, enum schedule_kind kind, int stages,
			  int micro_batches, int chunks, struct error *err);
/* The same kind, stages, chunks and places as another, but an evaluation of so many
   micro-batches: each goes through all parts before a stage begins the next. */
enum status schedule_init_forward(struct schedule *s, const struct schedule *like,
				  int micro_batches, struct error *err);
void schedule_release(struct schedule *s);

/*
 * Prove that every stage can run its order: each (chunk, micro-batch) has one F and then
 * one B, or one I and then one W; in an evaluation, one E and nothing else; every message is
 * sent and received, in the same order per channel; nobody waits forever (sends do not block,
 * receives do); no more activations are alive than the schedule promises. The error names the
 * stage and the action.
 */
enum status schedule_check(const struct schedule *s, struct error *err);

/* Most (chunk, micro-batch) alive at once: from F until B or W. */
int schedule_activations(const struct order *o);
/* What the schedule promises for that number. */
int schedule_activation_bound(const struct schedule *s, int stage);
/* Messages that a stage sends. */
int schedule_messages(const struct order *o);

/* Parts of the model; where one is; which one is there. */
int schedule_parts(const struct schedule *s);
struct place schedule_place(const struct schedule *s, int part);
int schedule_part(const struct schedule *s, int stage, int chunk);

/* The stage at the other end of a SEND or RECV, and the chunk there; -1: there is nothing to
   send, since the model ends here or the other part is on the same stage. */
int schedule_peer(const struct schedule *s, int stage, struct action a, int *chunk);

/*
 * Text: F0 is the forward of micro-batch 0, F0.1 that of its chunk 1; B, I, W and E likewise.
 * Messages: <F0 receives the input of F0 or E0, F0> sends its output; <B0 and B0> are the same
 * for the gradients of B0 or I0. Then reduce0 for a chunk's reduction, and step.
 */
enum { ACTION_TEXT_MAX = 32 };
const char *action_format(struct action a, char buf[ACTION_TEXT_MAX]);
/* The actions with a space between them: all, or only what is computed. */
void order_format(const struct order *o, bool all, struct text *out);

#endif
