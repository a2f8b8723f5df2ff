/*
 * snapshot.h - what must be kept of an engine so that another one, on any grid, can go on: the
 * weights that the optimizer keeps, its moments, and a few numbers.
 *
 * A snapshot is a copy of this rank's share: the ranks of a grid have every element of every
 * tensor exactly once between them. Its rows are those of the whole tensors, whatever the
 * device's layout.
 */
#ifndef KOLM_ENGINE_SNAPSHOT_H
#define KOLM_ENGINE_SNAPSHOT_H

#include "engine/engine.h"

/* The optimizer may have none, one or both of the moments. */
enum engine_array { ARRAY_WEIGHTS, ARRAY_FIRST, ARRAY_SECOND, ARRAY_COUNT };

/* As PyTorch calls them: exp_avg, exp_avg_sq, momentum_buffer; "" for the weights. NULL: an
   optimizer of that kind has none. */
const char *engine_array_name(enum optimizer kind, enum engine_array array);

/* Some rows and columns of a tensor of the model. */
struct region {
	enum engine_array array;
	int tensor;
	int row, rows, column, columns;
	int held; /* of the rank's shards, the one that has it */
	int own;  /* the row of that shard that it begins with */
};

struct snapshot {
	struct engine *engine; /* borrowed */
	int count;
	struct region *regions; /* (count) */
	float **values;		/* (count) (rows, columns) of each */
	float *memory;
	size_t bytes;
};

/* Bytes of this rank's share, also of an engine that is only a plan. */
size_t snapshot_bytes(const struct engine *e);
enum status snapshot_init(struct snapshot *s, struct engine *e, struct error *err);
void snapshot_release(struct snapshot *s);
/* Copy it, between two steps. Every rank calls it. */
enum status snapshot_take(struct snapshot *s, struct error *err);

/* Numbers that are the same on all ranks. */
struct engine_state {
	int64_t updates; /* that the optimizer has made: steps that were not skipped */
	double scale;	 /* of the loss */
	int finite;	 /* steps since it has changed */
};
struct engine_state engine_state(const struct engine *e);

/* Fills in values (rows, columns) of a region. */
typedef enum status engine_source(void *arg, const struct region *r, float *values,
				  struct error *err);
/* Be where another engine was. Every rank calls it, between two steps; each asks for what it
 * has. */
enum status engine_restore(struct engine *e, const struct engine_state *state,
			   engine_source *source, void *arg, struct error *err);
/* Begin with those weights: the optimizer has done nothing yet. */
enum status engine_take_weights(struct engine *e, engine_source *source, void *arg,
				struct error *err);

#endif
