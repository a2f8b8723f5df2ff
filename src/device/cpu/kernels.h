/*
 * kernels.h - the table of CPU kernels. One complete plain-C reference, and faster
 * tables for particular instruction sets that override it where they win.
 *
 * A kernel works on a part of its problem, so that threads can share it, and on
 * memory that it is given: it can't fail and allocates nothing. The same part gives
 * the same bits whatever the number of threads.
 */
#ifndef KOLM_DEVICE_CPU_KERNELS_H
#define KOLM_DEVICE_CPU_KERNELS_H

#include "device/kernel.h"

enum {
	ROWS_MAX = 256,		  /* rows that a matrix kernel takes at once */
	BLOCK = 512,		  /* outputs of a block of packed output gradients */
	BLOCK_STRIDE = 528,	  /* a row of such a block, off the power of two */
	SPAN = 3072,		  /* outputs that are packed at a time, if sums have room */
	MANY_ROWS = ROWS_MAX / 2, /* from here on an input gradient may have another order */
	SCRATCH = ROWS_MAX * 512, /* floats of working memory per thread */
	PIECE = 4096,		  /* of a row that elementwise kernels take at once */
	ATTENTION_BLOCK = 64,	  /* queries, and keys, that attention takes at once */
};

/* Floats that the packed output gradients of rows x out need. */
size_t kernels_packed_size(int rows, int out);

/* Packed gradients of outputs [o0, o1): all of them, or spans one after the other, which begin
   at multiples of SPAN. */
struct packed {
	void *dy;    /* in blocks of floats or of the table's own type, zero-filled; a table may
			multiply l->y where it is instead */
	float *sums; /* (rows, in) of dx, from span to span; NULL if there is one only */
	int o0, o1;
};

/* Up to PIECE columns of a row of a norm, all as floats. */
struct norm_piece {
	int n;
	const float *x, *dy, *weight, *bias; /* bias: or NULL */
	float mean, factor;		     /* x^ = (x - mean) * factor */
	float *out;			     /* y, or dx */
};

/* Queries [query, query + n) of a head of a sequence. */
struct attention_block {
	int sequence, head, query, n;
};

/* A turn of threads that share the gradients of a key head. */
struct attention_turn {
	int sequence, kv_head, number;
	float *sums;	  /* of dk and dv, zero before the first */
	float *gradients; /* of scores */
};

/* Floats of working memory that a thread needs for attention, at the end of which is room for
   sums, or for gradients of scores. */
size_t kernels_attention_size(int keys, int width);
size_t kernels_attention_sums(int keys, int width);
/* The last turn. */
int kernels_attention_turns(const struct attention *a);

struct kernels {
	const char *name;

	/* Outputs [16*p0, 16*p1) of y. */
	void (*forward)(const struct linear *l, int p0, int p1, float *scratch);
	/* dy . act'(saved) of rows r0..r1, in place, and packed if it will be read there. */
	void (*pack_dy)(const struct linear *l, int r0, int r1, const struct packed *p);
	/* Inputs [i0, i1) of dx (i0 a multiple of 16) from what pack_dy has made; of the sums,
	   if it is not the last span. */
	void (*backward_input)(const struct linear *l, const struct packed *p, int i0, int i1,
			       float *scratch);
	/* Outputs [16*p0, 16*p1) of dW and db. */
	void (*backward_weight)(const struct linear *l, int p0, int p1, float *scratch);

	/* dy = scale * (y - t); returns the sum of (y - t)^2 over one row of n. */
	double (*mse_row)(const float *y, const float *target, float *dy, int n, float scale);
	/* *top = the largest of up to PIECE values; returns the sum of exp(y - *top). */
	double (*class_sum)(const float *y, int n, float *top);
	/* dy = factor * exp(y - top), where no y is above top. */
	void (*class_shares)(const float *y, float *dy, int n, float top, float factor);

	/* y = act(y + bias) over one row of n; before (or NULL) takes y + bias. */
	void (*activate_row)(float *y, const float *bias, float *before, int n,
			     enum activation act);
	/* dy *= act'(saved), which is as in struct linear. */
	void (*derive_row)(float *dy, const float *saved, int n, enum activation act);

	/* y = act(gate) * up */
	void (*gate_row)(const float *gate, const float *up, float *y, int n,
			 enum activation act);
	/* The gradients of both, which may be in their place. */
	void (*gate_gradient_row)(const float *gate, const float *up, const float *dy,
				  float *dgate, float *dup, int n, enum activation act);

	/* to += from */
	void (*add)(float *to, const float *from, int n);
	/* Up to PIECE elements of the whole matrix, from that index on. */
	void (*dropout)(float *to, const float *from, int n, const struct dropout *d,
			uint64_t first);

	/* The sum of x. */
	double (*norm_sum)(const struct norm_piece *p);
	/* Adds the sums of x - mean and of its square. */
	void (*norm_spread)(const struct norm_piece *p, double sums[2]);
	/* y = x^ * weight + bias */
	void (*norm_forward)(const struct norm_piece *p);
	/* Adds the sums of g and of g * x^ for g = dy * weight. */
	void (*norm_sums)(const struct norm_piece *p, double sums[2]);
	/* dx = (g - means[0] - x^ * means[1]) * factor */
	void (*norm_input)(const struct norm_piece *p, const float means[2]);
	/* dweight += dy * x^, dbias += dy */
	void (*norm_weight)(const struct norm_piece *p, float *dweight, float *dbias);

	/* Up to ATTENTION_BLOCK queries of a head: out and saved. next: what this thread will
	   do then, or NULL. */
	void (*attention_forward)(const struct attention *a, const struct attention_block *b,
				  const struct attention_block *next, float *scratch);
	/* dq of all query heads of a key head of a sequence, its dk and dv. */
	void (*attention_backward)(const struct attention *a, int sequence, int kv_head,
				   float *scratch);

	/* The same by all threads together: turns 0 .. kernels_attention_turns(), each when all
	   are done with the one before. NULL: it can't be shared. */
	void (*attention_turn)(const struct attention *a, const struct attention_turn *t,
			       int part, int parts, float *scratch);

	/* Sine and cosine of position * turns[i] whole turns, for n of them. */
	void (*rotary_angles)(const double *turns, int position, int n, float *sines,
			      float *cosines);
	/* Turns elements i and i + half of a head by angle i. */
	void (*rotate)(float *x, const float *sines, const float *cosines, int half);

	/* Update elements [begin, end); returns the sum of squares of grad there. */
	double (*update)(const struct update *u, size_t begin, size_t end);
	double (*sum_squares)(const void *x, enum dtype type, size_t n);
	/* The sum of squares of each line of SQUARES_LINE elements, the same bits in all
	   tables: squares of floats are exact in double. */
	void (*line_squares)(const void *x, enum dtype type, size_t lines, double *sums);

	/* Conversions round to nearest, ties to even. */
	void (*f32_to_f16)(const float *src, uint16_t *dst, size_t n);
	void (*f16_to_f32)(const uint16_t *src, float *dst, size_t n);
	void (*f32_to_bf16)(const float *src, uint16_t *dst, size_t n);
	void (*bf16_to_f32)(const uint16_t *src, float *dst, size_t n);

	/* Benchmarks: run n rounds of independent FMAs, return the number of flops. */
	double (*fma_rounds)(long n);
	double (*bf16_rounds)(long n); /* NULL: no instruction multiplies bf16 */
};

extern const struct kernels kernels_reference;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2, kernels_avx512, kernels_avx512bf16, kernels_amx;
/* avx512bf16 and amx for tests on other CPUs */
extern const struct kernels kernels_emulated, kernels_emulated_amx;
#endif
extern const struct kernels kernels_generic; /* 128-bit vectors of the base ISA */

/*
 * The best table that this CPU can run, or the one of that name (environment
 * variable KOLM_CPU: reference, generic, avx2, avx512, avx512bf16, amx, emulated,
 * emulated-amx). NULL if name is unknown or this CPU can't run it.
 */
const struct kernels *kernels_select(const char *name);

/* All tables that this CPU can run, best first, NULL at the end. */
const struct kernels *const *kernels_available(void);

#endif
