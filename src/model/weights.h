/*
 * weights.h - a rank's parameters and their gradients. All parameters lie in one array and all
 * gradients in another at the same places, so that optimizer and gradient sums see flat arrays.
 * What a rank holds of a tensor is the same numbers whatever the grid.
 */
#ifndef KOLM_MODEL_WEIGHTS_H
#define KOLM_MODEL_WEIGHTS_H

#include "model/chunk.h"
#include "model/model.h"

#define WEIGHTS_ELSEWHERE SIZE_MAX

struct weights {
	struct device *dev; /* borrowed */
	const struct model *model;
	int shard;		    /* of each layer, that this rank has */
	enum dtype type, grad_type; /* of parameters and activations; of gradients */
	size_t size;		    /* elements of the flat arrays, padding included */
	size_t *at;		    /* (tensors) where each is in them; WEIGHTS_ELSEWHERE */
	size_t *begin;		    /* (layers + 1) where each layer of ours begins */
	bool *borrowed;		    /* (tensors) another stage counts and keeps it */
	bool *filled;		    /* (tensors) see pass_adds_to */
	/* Behind the layers: what other stages have too, and what has a gradient of a part of
	   the rows only. */
	size_t shared, partial;
	void *param, *grad; /* (size), of those types, in device memory; grad may be NULL */
};

struct weights_options {
	int shard;
	enum dtype type, grad_type;
	bool share_params; /* other ranks read or write our parameters */
	bool plan;	   /* leave the parameters as they are: there is no memory */
	bool forward_only; /* likewise, others come; and there are no gradients */
	uint64_t seed;
};

/* For the layers of some chunks. */
enum status weights_init(struct weights *w, struct device *dev, const struct model *m,
			 const struct chunk *chunks, int n_chunks,
			 const struct weights_options *o, struct error *err);
void weights_release(struct weights *w);

/* Element number i of a flat array. */
static inline void *flat_at(void *flat, enum dtype type, size_t i)
{
	return (char *)flat + i * dtype_size(type);
}

/* What this rank has of a tensor, padding included. */
size_t weights_tensor_size(const struct weights *w, int tensor);
/* Is it this rank that counts and keeps what it has of it? Of what all slices or several stages
   have, only the first does. */
bool weights_is_counted(const struct weights *w, int tensor);
/* From an element on: up to where is all of one kind, and does weight decay apply to that? */
size_t weights_run(const struct weights *w, size_t from, bool *decays);
/* Another step: nothing of it is in a gradient yet. */
void weights_begin_step(const struct weights *w);

/* The first values of all that is here, in a flat array of any type; or of one tensor alone. */
enum status weights_make(const struct weights *w, void *flat, enum dtype type, uint64_t seed,
			 struct error *err);
enum status weights_make_one(const struct weights *w, int tensor, void *begin, enum dtype type,
			     uint64_t seed, struct error *err);

/* Rows of this rank's part of a tensor that is here, of a flat array. */
void weights_read_rows(const struct weights *w, void *flat, enum dtype type, int tensor,
		       int row, int rows, float *values);
void weights_write_rows(const struct weights *w, void *flat, enum dtype type, int tensor,
			int row, int rows, const float *values);

#endif
