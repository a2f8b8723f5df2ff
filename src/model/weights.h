/*
 * weights.h - a rank's parameters and their gradients. All parameters lie in one array and all
 * gradients in another at the same places, so that optimizer and gradient sums see flat arrays.
 * What a rank holds of a tensor is the same numbers whatever the grid. Where it has several
 * shards, each is a tensor of its own size and layout, one behind the other.
 */
#ifndef KOLM_MODEL_WEIGHTS_H
#define KOLM_MODEL_WEIGHTS_H

#include "model/chunk.h"
#include "model/model.h"

#define WEIGHTS_ELSEWHERE SIZE_MAX

struct weights {
	struct device *dev; /* borrowed */
	const struct model *model;
	int shard;		    /* of the ranks that share each layer, which we are */
	enum dtype type, grad_type; /* of parameters and activations; of gradients */
	size_t size;		    /* elements of the flat arrays, padding included */
	size_t *at;		    /* (tensors) where each is in them; WEIGHTS_ELSEWHERE */
	size_t *begin;		    /* (layers + 1) where each layer of ours begins */
	bool *borrowed;		    /* (tensors) another stage counts and keeps it */
	bool *filled;		    /* (tensors) see pass_adds_to */
	/* Behind the layers: what other stages have too, and what has a gradient of a part of
	   the rows only. */
	size_t shared, partial;
	/* The same bits on every grid: what a layer adds to the gradient of another one's
	   tensor has a place of its own, behind all: elements of the gradient array. */
	bool as_if;
	size_t grad_size;
	int levels; /* gradient arrays, see tree.h; the first is what comes of a step */
	void *param,
		*grad; /* (size), (levels, grad_size), in device memory; grad may be NULL */
};

struct weights_options {
	int shard;
	enum dtype type, grad_type;
	bool share_params; /* other ranks read or write our parameters */
	bool plan;	   /* leave the parameters as they are: there is no memory */
	bool forward_only; /* likewise, others come; and there are no gradients */
	bool as_if;
	int levels; /* gradient arrays; 0: one */
	/* What begins a layer, and is behind the last, is a multiple of so many lines; 0: 1. */
	int lines;
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

/* What this rank has of a tensor, padding included; shards of it that it has, and where in the
   flat arrays one is. */
size_t weights_tensor_size(const struct weights *w, int tensor);
int weights_shards(const struct weights *w, int tensor);
size_t weights_at(const struct weights *w, int tensor, int held);
/* In the gradients: where a layer that uses another one's tensor adds to it. */
size_t weights_tied_at(const struct weights *w, int tensor, int held);
/* Is it this rank that counts and keeps what it has of it? Of what all slices or several stages
   have, only the first does. */
bool weights_is_counted(const struct weights *w, int tensor);
/* Does weight decay apply to it? */
bool weights_decays(const struct weights *w, int tensor);
/* From an element on: up to where is the same true of all tensors, and is it? Of padding, which
   is zero, either may be said. */
typedef bool weights_are(const struct weights *w, int tensor);
size_t weights_run(const struct weights *w, size_t from, weights_are *are, bool *is);
/* Of the first array of gradients: n elements from one on += those from another on. */
void weights_add_gradients(const struct weights *w, size_t to, size_t from, size_t n);
/* What a layer of ours has computed for a leaf of a sum of gradients is in the array that
   tree.h says: have the sums that it completes. */
void weights_add_leaf(const struct weights *w, int layer, int leaf);
/* Another step: nothing of it is in a gradient yet. */
void weights_begin_step(const struct weights *w);

/* The first values of all that is here, in a flat array of any type; or of one tensor alone. */
enum status weights_make(const struct weights *w, void *flat, enum dtype type, uint64_t seed,
			 struct error *err);
enum status weights_make_one(const struct weights *w, int tensor, void *begin, enum dtype type,
			     uint64_t seed, struct error *err);

/* Rows of one of our shards of a tensor that is here, of a flat array. */
void weights_read_rows(const struct weights *w, void *flat, enum dtype type, int tensor,
		       int held, int row, int rows, float *values);
void weights_write_rows(const struct weights *w, void *flat, enum dtype type, int tensor,
			int held, int row, int rows, const float *values);

#endif
