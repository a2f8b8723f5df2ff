/*
 * sync.h - from this rank's gradients to new parameters, together with the other replicas.
 *
 * Gradients live in buckets: ranges of the flat array, whole layers, the last layers
 * first. In the backward pass of the last micro-batch a bucket's sum starts as soon as its
 * gradients are complete, and goes on beside the rest of the pass. With the optimizer state
 * sharded, a replica gets the sum of its slice of each bucket only, updates that and
 * gathers the others'.
 *
 * What other stages or slices have a part of the gradient of is a bucket of its own, which is
 * complete when the whole pipeline is: first those parts are added up, then the replicas. Where
 * a step is to have the same bits on every grid, it is the other way round: which stages have
 * a part is a matter of the grid, and each part is then summed over the replicas on its own.
 */
#ifndef KOLM_ENGINE_SYNC_H
#define KOLM_ENGINE_SYNC_H

#include "base/names.h"
#include "comm/comm.h"
#include "model/chunk.h"
#include "model/collective.h"
#include "model/weights.h"
#include "optim/optim.h"

#define GRAD_SYNCS(X)   \
	X(DDP, "ddp")   \
	X(FLAT, "flat") \
	X(MASTER, "master")
#define GRAD_SYNC(name, ...) SYNC_##name,
enum grad_sync { GRAD_SYNCS(GRAD_SYNC) };
extern const char *const grad_sync_names[]; /* NULL-terminated */

struct bucket {
	size_t begin, end; /* elements of the flat arrays */
	int first_layer;   /* complete when this one is: the last to get its gradient */
	int chunk;	   /* that has it */
	bool deferred;	   /* until the pipeline is through */
	bool started;
	struct collective sum; /* or what is gathered */
};

/* Borrowed; each is NULL where there is one of them, or this is only a plan. */
struct sync_groups {
	struct comm *replicas;
	struct comm *slices;  /* for what is partial */
	struct comm *holders; /* the stages that share something */
};

struct sync {
	const struct weights *weights; /* borrowed */
	struct sync_groups groups;
	int count, number; /* how many replicas there are, and which this is */
	enum grad_sync kind;
	bool zero, overlap;
	/* The same bits on every grid: takes the squares of gradients, in device memory; or
	   NULL. */
	struct exact *exact;
	struct bucket *buckets; /* the first to be complete first */
	int n_buckets;
	int64_t bytes; /* brought to collectives so far */
};

struct sync_options {
	int count, number;
	enum grad_sync kind;
	size_t bucket_bytes;
	bool zero, overlap;
	struct exact *exact;
};

enum status sync_init(struct sync *s, const struct weights *w, const struct chunk *chunks,
		      int n_chunks, const struct sync_groups *groups,
		      const struct sync_options *o, struct error *err);
void sync_release(struct sync *s);

/* Elements that this rank keeps optimizer state for. */
size_t sync_state_size(const struct sync *s);

/* A new step; then, in its last backward pass: a layer's gradient is complete. */
void sync_begin(struct sync *s);
void sync_layer_done(struct sync *s, int layer);
/* Are there sums that start only when all of a chunk's gradients are there? Then do them. */
bool sync_waits_for(const struct sync *s, int chunk);
enum status sync_reduce(struct sync *s, struct error *err);
/* The pipeline is through: have what is deferred, and wait until all sums are there. */
enum status sync_finish(struct sync *s, struct error *err);

/* To *squares, in device memory: this replica's share of the sum of squares of the gradients,
   parameters that other slices have too left out: the shares of all replicas add up to it.
   Where there is an exact sum, that takes it. */
void sync_squares(const struct sync *s, double *squares);
/* Update what is ours; the squares of its gradients likewise, an exact sum only if they are
   wanted. */
void sync_update(struct sync *s, struct optim *o, double *squares, bool wanted);
/* 16-bit training: from the fp32 parameters that the optimizer keeps to those that the layers
   use, on all replicas. */
enum status sync_fill_params(struct sync *s, const struct optim *o, struct error *err);
/* Give our parameters to the replicas that need them. */
enum status sync_share(struct sync *s, struct error *err);
/* Where the state is sharded, every replica has its slice of each bucket of an array: give it
   to all. */
enum status sync_share_array(struct sync *s, void *flat, enum dtype type, struct error *err);
/* This replica's slice of a bucket, or all of it; the part that this rank updates; where its
   state begins: behind that of those before it, which is ours alone, or otherwise where the
   bucket itself does. */
void sync_range(const struct sync *s, const struct bucket *b, bool slice, size_t *begin,
		size_t *end);
void sync_own_range(const struct sync *s, const struct bucket *b, size_t *begin, size_t *end);
size_t sync_state_begin(const struct sync *s, const struct bucket *b);

/* sync_state.c */

/* For who wants to see all of it on every replica: the sums of a step; what the optimizer
   keeps, into an array like the model's that other ranks can reach. Without --zero 1 the
   optimizer's own arrays are like that. */
enum status sync_share_gradients(struct sync *s, struct error *err);
enum status sync_spread(struct sync *s, const float *state, float *flat, struct error *err);
/* From n elements of such an array, of which it is the first, to the part of ours. */
void sync_keep_part(const struct sync *s, float *part, size_t first, size_t n, float *state);
/* From all of it. */
void sync_keep(const struct sync *s, const float *flat, float *state);

#endif
