/*
 * kernel.h - the arguments of the kernels, shared by the device interface and by
 * every implementation. Plain data; nothing here knows a particular device.
 */
#ifndef KOLM_DEVICE_KERNEL_H
#define KOLM_DEVICE_KERNEL_H

#include "base/dtype.h"
#include "base/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE_FLOATS = 16 }; /* of a cache line: what buffers are aligned and padded to */

enum { SQUARES_LINE = 16 }; /* elements of a line, see device_exact_squares */

/* A matrix in row order, possibly a window of a larger one. Where it is in device memory
   only kernels follow data. */
struct view {
	void *data;
	size_t stride;	 /* elements from one row to the next, >= columns */
	enum dtype type; /* DTYPE_F32 if not said otherwise */
};

/* The view from a row on; of a view of nothing, nothing. */
static inline struct view view_from(struct view v, size_t row)
{
	if (v.data)
		v.data = (char *)v.data + row * v.stride * dtype_size(v.type);
	return v;
}

/* The view from a column on. */
static inline struct view view_at(struct view v, int column)
{
	if (v.data)
		v.data = (char *)v.data + (size_t)column * dtype_size(v.type);
	return v;
}

/* What some rows of it take, with the padding between them. */
static inline size_t view_bytes(struct view v, int rows)
{
	return (size_t)rows * v.stride * dtype_size(v.type);
}

/* And what their derivative is taken from: what went in, what came out, or nothing. */
#define ACTIVATIONS(X)           \
	X(NONE, "none", NOTHING) \
	X(RELU, "relu", OUTPUT)  \
	X(GELU, "gelu", INPUT)   \
	X(TANH, "tanh", OUTPUT)  \
	X(SILU, "silu", INPUT)   \
	X(GELU_TANH, "gelu-tanh", INPUT)
#define ACTIVATION(name, ...) ACT_##name,
enum activation { ACTIVATIONS(ACTIVATION) };
enum { ACT_COUNT = NAMES_COUNT(ACTIVATIONS) };
extern const char *const activation_names[]; /* NULL-terminated */

enum activation_saves { ACT_SAVES_NOTHING, ACT_SAVES_OUTPUT, ACT_SAVES_INPUT };
enum activation_saves activation_saves(enum activation act);

/*
 * y = act(x * W' + b), and for its gradient, of what is behind the activation:
 * dy = dy . act'(saved), in place, where saved is y or the value before the activation, as
 * activation_saves() says; dx = dy * W.
 * dW (+)= dy' * x, db (+)= column sums of dy, for such a dy.
 */
struct linear {
	int rows, out, in;
	void *weight;	   /* in the device's layout: W, or dW when it is written */
	void *bias;	   /* (out), or db; NULL for none */
	struct view x;	   /* (rows, in): x or dx */
	struct view y;	   /* (rows, out): y or dy */
	struct view saved; /* forward: takes the value before the activation if data is set;
			      input gradient: as said above */
	enum activation act;
	enum dtype type; /* of weight and bias */
	bool accumulate; /* weight gradient: add to what is there */
};

#define NORMS(X)          \
	X(NONE, "none")   \
	X(LAYER, "layer") \
	X(RMS, "rms")
#define NORM(name, ...) NORM_##name,
enum norm_kind { NORMS(NORM) };
enum { NORM_COUNT = NAMES_COUNT(NORMS) };
extern const char *const norm_names[]; /* NULL-terminated */

/*
 * Rows brought to mean 0 and deviation 1 (layer), or to a mean square of 1 (rms), as PyTorch
 * defines it: with x^ = (x - mean) / sqrt(variance + eps) and rms without the mean,
 * y = x^ * weight + bias;
 * dx = (g - mean of g - x^ * mean of g x^) / sqrt(variance + eps), where g = dy * weight, and
 * rms is without the mean of g;
 * dweight (+)= column sums of dy * x^, dbias (+)= column sums of dy.
 */
struct norm {
	enum norm_kind kind; /* not NORM_NONE */
	int rows, columns;
	struct view x;	   /* (rows, columns): what goes in, for the gradients too */
	struct view y;	   /* (rows, columns): y or dy */
	struct view dx;	   /* (rows, columns); may be dy */
	struct view saved; /* (rows, 2) in fp32, from forward: mean (rms: 0), and the factor
			      1 / sqrt(variance + eps) */
	const void *weight, *bias; /* (columns); bias may be NULL */
	void *dweight, *dbias;	   /* (columns); dbias may be NULL */
	enum dtype type;	   /* of weight and bias */
	enum dtype grad_type;	   /* of dweight and dbias */
	float eps;
	bool accumulate; /* dweight, dbias: add to what is there */
};

/*
 * to = from / (1 - p) where it is kept, else 0. Element (r, c) of a call is element (row + r,
 * column + c) of a whole matrix of so many columns, and what is kept is a pure function of that
 * place: any cut into calls gives the same mask. With index = row * columns + column it is kept
 * if word number index of the stream (see base/rng.h) is at least p * 2^32.
 */
struct dropout {
	double p; /* 0 to 1 */
	uint64_t seed, stream;
	int64_t row, column; /* of the whole matrix, where the call begins */
	int64_t columns;     /* of the whole matrix */
};

/* Is that element of the whole matrix kept? For who writes the mask down. */
bool dropout_keeps(const struct dropout *d, int64_t row, int64_t column);

/* Words below this drop their element: 0 to 2^32. */
uint64_t dropout_bound(const struct dropout *d);
/* What is kept is multiplied by this. */
float dropout_factor(const struct dropout *d);

/*
 * Rows of a table by number: y[r] = W[tokens[r] - first]. W is a matrix (count, columns) in the
 * device's layout of weights, so that a product can share it. A token outside of
 * first .. first + count - 1 is somebody else's: its row of y is zero, and its gradient is left
 * out. dW (+)= the rows of dy that have its token, summed in fp32 in their order, rounded once.
 */
struct embedding {
	int rows, columns, first, count;
	const int32_t *tokens; /* (rows) */
	void *table;	       /* W, or dW when it is written */
	enum dtype type;       /* of the table */
	struct view y;	       /* (rows, columns): y or dy */
	bool accumulate;       /* gradient: add to what is there, else overwrite all of it */
};

/*
 * Learned positions: row r is at position (first + r) % length. y += table[position];
 * dtable (+)= the rows of dy that are there, summed in fp32 in their order, rounded once.
 */
struct positions {
	int rows, columns, length;
	int64_t first;
	void *table;	 /* (length, columns) row by row, or its gradient */
	enum dtype type; /* of the table */
	struct view y;	 /* (rows, columns): y or dy */
	bool accumulate; /* gradient: add to what is there, else overwrite all of it */
};

/* y = act(gate) * up, where gate and up are side by side; and the gradient of both from dy. */
struct gate {
	int rows, columns;
	enum activation act;
	struct view x, dx; /* (rows, 2 * columns): gate | up; dx may be x */
	struct view y, dy; /* (rows, columns) */
};

/*
 * Cross-entropy where every rank of a group has some of the classes. First each writes down
 * what the others need of its slice, for every row: the maximum, the sum of exp(y - maximum),
 * and the label's y (-INFINITY where that is elsewhere). With those of all slices each has the
 * same loss, to the bit, and its part of the gradient.
 */
enum { CLASS_STATS = 3 }; /* floats of a row */

struct class_slice {
	int rows, columns, first; /* classes first .. first + columns - 1 are here */
	struct view y, dy;	  /* (rows, columns); dy may be y */
	const int32_t *labels;	  /* (rows), of all classes */
	float *stats;		  /* (slices, rows, CLASS_STATS) */
	int slices, slice;	  /* of how many, which this is */
	float scale;		  /* of the gradient */
};

/*
 * Causal attention: row r of a sequence's queries looks at keys 0 .. first + r of the same
 * sequence. With s = scale * q . k and p = softmax(s) over those keys, dropped as drop says,
 * out = sum of p v. Query head h uses key head h / (heads / kv_heads).
 */
struct attention {
	int sequences;		    /* one after the other */
	int queries, keys;	    /* rows of each sequence in q and out, and in k and v;
				       first + queries <= keys. Backward: first 0, queries == keys */
	int first;		    /* place of the first query among the keys */
	int heads, kv_heads, width; /* of this rank; width of one head */
	float scale;		    /* of the products: 1 / sqrt(width) */
	struct view q;		    /* (sequences * queries, heads * width) */
	struct view k, v;	    /* (sequences * keys, kv_heads * width) */
	struct view out;	    /* as q: forward's result; backward reads it */
	struct view saved; /* (sequences * queries, heads) in fp32, from forward: the logarithm
			      of the sum of exp(s) */
	struct view dout, dq, dk, dv; /* backward: shaped as out, q, k, v; overwritten */
	struct dropout drop; /* of the probabilities; p 0: none. Element (query row r, head h,
				key) is element ((first_row + r) * all_heads + first_head + h,
				key) of a whole matrix of `keys` columns; its own place and
				columns don't count */
	int64_t first_row;   /* of the first query of the call, in the global batch */
	int all_heads, first_head; /* of all ranks, and where this one's begin */
};

/*
 * Rotary positions as LLaMA has them: in every head elements i and i + width / 2 are turned by
 * position * theta^(-2 i / width), in place; back: the other way, as gradients are. Row r has
 * position first + r % length. width is even.
 */
struct rotary {
	int rows, heads, width;
	int length, first;
	float theta;
	bool back;
	struct view x; /* (rows, heads * width) */
};

#define OPTIMIZERS(X)           \
	X(SGD, "sgd")           \
	X(MOMENTUM, "momentum") \
	X(ADAMW, "adamw")
#define OPTIMIZER(name, ...) OPT_##name,
enum optimizer { OPTIMIZERS(OPTIMIZER) };
enum { OPT_COUNT = NAMES_COUNT(OPTIMIZERS) };
extern const char *const optimizer_names[]; /* NULL-terminated */

/* One optimizer step as PyTorch defines it; grad is multiplied by grad_scale first. */
struct update {
	enum optimizer kind;
	float lr, momentum, beta1, beta2, eps, weight_decay, grad_scale;
	float correction1, correction2; /* 1 - beta^t */
	float *param;			/* fp32, also where training is in 16 bit */
	const void *grad;		/* of grad_type */
	enum dtype grad_type;		/* DTYPE_F32, or that of the working copy */
	void *working; /* NULL, or a 16-bit copy of param that is kept up to date ... */
	enum dtype working_type; /* ... of this type */
	float *m, *v;		 /* momentum or first moment; second moment */
};

#endif
