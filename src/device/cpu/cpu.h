/* cpu.h - the CPU device's own state, and its operations by file. */
#ifndef KOLM_DEVICE_CPU_CPU_H
#define KOLM_DEVICE_CPU_CPU_H

#include "device/cpu/kernels.h"
#include "device/cpu/pool.h"
#include "device/impl.h"

enum { PARTIALS = 4096 }; /* partial sums of a reduction */

/* A row of the input and its token. */
struct token_row {
	uint32_t token;
	int32_t row;
};

struct cpu {
	const struct kernels *kernels;
	struct pool *pool;
	float *scratch;	    /* SCRATCH per thread */
	void *packed;	    /* output gradients of up to ROWS_MAX rows, by each packer */
	double *partials;   /* PARTIALS, or one per row */
	size_t packed_size; /* of each, in floats */
	int packers;	    /* threads that have rows of their own, or 1 */
	float *attention;   /* attention_size per thread */
	size_t attention_size;
	int partials_size;
	struct token_row *order; /* twice order_size rows, for sorting by tokens */
	int order_size;
};

static inline struct cpu *cpu_of(struct device *dev)
{
	return dev->state;
}

/* cpu_linear.c */
void cpu_forward(struct device *dev, const struct linear *l);
void cpu_backward_input(struct device *dev, const struct linear *l);
void cpu_backward_weight(struct device *dev, const struct linear *l);

/* cpu_rows.c */
void cpu_copy(struct device *dev, struct view to, int to_column, struct view from,
	      int from_column, int rows, int columns);
void cpu_activate(struct device *dev, struct view y, struct view bias, struct view before,
		  int rows, int columns, enum activation act);
void cpu_derive(struct device *dev, struct view dy, struct view saved, int rows, int columns,
		enum activation act);
void cpu_add(struct device *dev, struct view to, struct view from, int rows, int columns);
void cpu_dropout(struct device *dev, struct view to, struct view from, int rows, int columns,
		 const struct dropout *d);
void cpu_gate(struct device *dev, const struct gate *g);
void cpu_gate_gradient(struct device *dev, const struct gate *g);

/* cpu_embedding.c */
void cpu_embed(struct device *dev, const struct embedding *e);
void cpu_embed_gradient(struct device *dev, const struct embedding *e);

/* cpu_positions.c */
void cpu_add_positions(struct device *dev, const struct positions *p);
void cpu_positions_gradient(struct device *dev, const struct positions *p);

/* cpu_classes.c */
void cpu_class_stats(struct device *dev, const struct class_slice *c);
void cpu_class_loss(struct device *dev, const struct class_slice *c, double *sum,
		    double *correct);

/* cpu_norm.c */
void cpu_norm_forward(struct device *dev, const struct norm *n);
void cpu_norm_backward_input(struct device *dev, const struct norm *n);
void cpu_norm_backward_weight(struct device *dev, const struct norm *n);

/* cpu_attention.c */
enum status cpu_reserve_attention(struct device *dev, int keys, int width, struct error *err);
void cpu_attention_forward(struct device *dev, const struct attention *a);
void cpu_attention_backward(struct device *dev, const struct attention *a);

/* cpu_rotary.c */
void cpu_rotate(struct device *dev, const struct rotary *r);

/* cpu_element.c */
void cpu_clear(struct device *dev, double *numbers, size_t n);
void cpu_numbers(struct device *dev, const double *numbers, size_t n, double *out);
void cpu_mse(struct device *dev, struct view y, struct view target, struct view dy, int rows,
	     int columns, float scale, double *sum);
void cpu_update(struct device *dev, const struct update *u, size_t n, double *squares);
void cpu_exact_squares(struct device *dev, const void *x, enum dtype type, size_t n,
		       struct exact *sum);
void cpu_sum_squares(struct device *dev, const void *x, enum dtype type, size_t n,
		     double factor, double *sum);
void cpu_cast(struct device *dev, const void *src, enum dtype from, void *dst, enum dtype to,
	      size_t n);
bool cpu_multiplies(struct device *dev, enum dtype type);
double cpu_fma_rounds(struct device *dev, enum dtype type, long n);

#endif
