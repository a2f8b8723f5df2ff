/*
 * operation.h - what a device is asked for, as sizes: a virtual one tells who listens, so that
 * layers need no second description of what they compute.
 */
#ifndef KOLM_DEVICE_OPERATION_H
#define KOLM_DEVICE_OPERATION_H

#include "base/names.h"
#include "device/kernel.h"

/* What moves numbers only for the engine's own sake, such as a cast, is not among them. */
#define OPERATIONS(X)                            \
	X(PRODUCT, "product")                    \
	X(PRODUCT_INPUT, "product's input")      \
	X(PRODUCT_WEIGHT, "product's weight")    \
	X(ACTIVATION, "activation")              \
	X(DERIVATIVE, "derivative")              \
	X(ADD, "add")                            \
	X(DROPOUT, "dropout")                    \
	X(NORM, "norm")                          \
	X(NORM_INPUT, "norm's input")            \
	X(NORM_WEIGHT, "norm's weight")          \
	X(EMBED, "embedding")                    \
	X(EMBED_WEIGHT, "embedding's weight")    \
	X(POSITIONS, "positions")                \
	X(POSITIONS_WEIGHT, "positions' weight") \
	X(GATE, "gate")                          \
	X(GATE_INPUT, "gate's input")            \
	X(ATTENTION, "attention")                \
	X(ATTENTION_INPUT, "attention's input")  \
	X(ROTATION, "rotation")                  \
	X(CLASS_STATS, "statistics of classes")  \
	X(CLASS_LOSS, "loss of classes")
#define OPERATION(name, ...) OPERATION_##name,
enum operation_kind { OPERATIONS(OPERATION) };
enum { OPERATION_COUNT = NAMES_COUNT(OPERATIONS) };
extern const char *const operation_names[]; /* NULL-terminated */

struct operation {
	enum operation_kind kind;
	int rows, columns;   /* of what comes out, or of its gradient */
	int inner;	     /* of products: columns of what goes in */
	enum activation act; /* of products and activations */
	bool biased;	     /* a bias is added, or gets its gradient */
	/* Of attention, where columns are those of the queries: */
	int heads, kv_heads, width, length;
	bool dropped; /* what it multiplies the values with */
};

typedef void operation_listener(void *arg, const struct operation *what);

#endif
