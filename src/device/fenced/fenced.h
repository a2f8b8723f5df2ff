/*
 * fenced.h - the parts of the fenced device: what waits to be computed, and how its addresses
 * become those of memory. Only for device/fenced/.
 */
#ifndef KOLM_DEVICE_FENCED_FENCED_H
#define KOLM_DEVICE_FENCED_FENCED_H

#include "device/impl.h"

enum {
	WORK_MAX = 1024,   /* kernels that wait; the oldest is run for one more */
	EVENTS_MAX = 4096, /* that are remembered; an older one stands for all so far */
	WRITES_MAX = 256,  /* of the host that kernels may have missed */
};

/* A kernel with its arguments, translated. Each uses the fields that it needs. */
struct work {
	void (*run)(struct device *cpu, const struct work *w);
	struct view a, b, c;
	int rows, columns, a_column, b_column;
	enum activation act;
	const void *from;
	void *to;
	enum dtype from_type, to_type;
	size_t n;
	float scale;
	double factor, *number, *count;
	struct exact *exact;
	union {
		struct linear linear;
		struct norm norm;
		struct dropout dropout;
		struct update update;
		struct embedding embedding;
		struct positions positions;
		struct gate gate;
		struct class_slice classes;
		struct attention attention;
		struct rotary rotary;
	};
};

/* How far each queue had come: kernels that were put, writes of the host that were ended. */
struct progress {
	uint64_t of[QUEUE_COUNT];
};

/* What the host wrote through a queue, as its number `number`. */
struct host_write {
	enum device_queue queue;
	uint64_t number;
	uintptr_t begin, end;
};

struct fenced {
	struct device *cpu; /* that does the work */
	struct work work[WORK_MAX];
	uint64_t done; /* kernels that were run; those put are seen[QUEUE_COMPUTE] of itself */
	struct progress seen[QUEUE_COUNT]; /* what each queue is behind, itself too */
	struct progress events[EVENTS_MAX];
	uint64_t n_events;
	struct host_write writes[WRITES_MAX];
	uint64_t n_writes;
};

static inline struct fenced *fenced_of(const struct device *dev)
{
	return dev->state;
}

/* Memory behind an address that this device has handed out; of NULL, NULL. */
void *fenced_memory(const void *address);

/* The same for what a kernel that is put now takes: the host's writes there were awaited. */
void *fenced_operand(struct device *dev, const void *address, size_t bytes);
struct view fenced_view(struct device *dev, struct view v, int rows, int columns);

/* Room for a kernel behind all others, to be filled in; its own until the next call. */
struct work *fenced_put(struct device *dev, void (*run)(struct device *, const struct work *));

/* All kernels that were put so far. */
void fenced_finish(struct device *dev);

/* fenced_kernels.c */
void fenced_copy(struct device *dev, struct view to, int to_column, struct view from,
		 int from_column, int rows, int columns);
void fenced_forward(struct device *dev, const struct linear *l);
void fenced_backward_input(struct device *dev, const struct linear *l);
void fenced_backward_weight(struct device *dev, const struct linear *l);
void fenced_activate(struct device *dev, struct view y, struct view bias, struct view before,
		     int rows, int columns, enum activation act);
void fenced_derive(struct device *dev, struct view dy, struct view saved, int rows, int columns,
		   enum activation act);
void fenced_add(struct device *dev, struct view to, struct view from, int rows, int columns);
void fenced_dropout(struct device *dev, struct view to, struct view from, int rows, int columns,
		    const struct dropout *d);
void fenced_norm_forward(struct device *dev, const struct norm *n);
void fenced_norm_backward_input(struct device *dev, const struct norm *n);
void fenced_norm_backward_weight(struct device *dev, const struct norm *n);
void fenced_clear(struct device *dev, double *numbers, size_t n);
void fenced_mse(struct device *dev, struct view y, struct view target, struct view dy, int rows,
		int columns, float scale, double *sum);
void fenced_update(struct device *dev, const struct update *u, size_t n, double *squares);
void fenced_exact_squares(struct device *dev, const void *x, enum dtype type, size_t n,
			  struct exact *sum);
void fenced_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
			double factor, double *sum);
void fenced_cast(struct device *dev, const void *src, enum dtype from, void *dst, enum dtype to,
		 size_t n);

/* fenced_tokens.c */
void fenced_embed(struct device *dev, const struct embedding *e);
void fenced_embed_gradient(struct device *dev, const struct embedding *e);
void fenced_add_positions(struct device *dev, const struct positions *p);
void fenced_positions_gradient(struct device *dev, const struct positions *p);
void fenced_gate(struct device *dev, const struct gate *g);
void fenced_gate_gradient(struct device *dev, const struct gate *g);
void fenced_class_stats(struct device *dev, const struct class_slice *c);
void fenced_class_loss(struct device *dev, const struct class_slice *c, double *sum,
		       double *correct);

/* fenced_attention.c */
void fenced_attention_forward(struct device *dev, const struct attention *a);
void fenced_attention_backward(struct device *dev, const struct attention *a);
void fenced_rotate(struct device *dev, const struct rotary *r);

#endif
