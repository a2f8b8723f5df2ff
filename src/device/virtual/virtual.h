/* virtual.h - what a virtual device is made of. Only for device/virtual/. */
#ifndef KOLM_DEVICE_VIRTUAL_VIRTUAL_H
#define KOLM_DEVICE_VIRTUAL_VIRTUAL_H

#include "base/error.h"
#include "base/links.h"
#include "base/pace.h"
#include "device/impl.h"

struct machine {
	struct pace *pace;
	struct pace own; /* where nobody else has one */
	struct links links;
	double gflops;	  /* of products */
	double gflops16;  /* of those with 16-bit matrices; 0: they take the time of fp32 */
	double bandwidth; /* in bytes per ns; 0: moving data takes no time */
	uint64_t memory;  /* limit, or 0 */
	int rank, ranks;  /* this one, of how many */
	double slowness;  /* of this rank */
	bool stray;	  /* what was parsed names a rank that is not there */
	char *next;	  /* address to be handed out */
};

/* What follows "virtual:"; rank and ranks are known, the rest has its defaults. */
enum status virtual_parse(struct machine *m, const char *spec, struct error *err);

/* To who listens, if anybody does. */
void virtual_tell(struct device *dev, struct operation what);

/* So long, or as long as so many bytes take. */
void virtual_take_time(struct device *dev, double ns, double bytes);
/* As long as it takes to move all elements so often. */
void virtual_move(struct device *dev, double elements, enum dtype type, int times);
/* GFLOP/s of products with matrices of that type. */
double virtual_speed(struct device *dev, enum dtype type);

/* virtual_tokens.c */
void virtual_embed(struct device *dev, const struct embedding *e);
void virtual_embed_gradient(struct device *dev, const struct embedding *e);
void virtual_add_positions(struct device *dev, const struct positions *p);
void virtual_positions_gradient(struct device *dev, const struct positions *p);
void virtual_gate(struct device *dev, const struct gate *g);
void virtual_gate_gradient(struct device *dev, const struct gate *g);
void virtual_class_stats(struct device *dev, const struct class_slice *c);
void virtual_class_loss(struct device *dev, const struct class_slice *c, double *sum,
			double *correct);

/* virtual_attention.c */
void virtual_attention_forward(struct device *dev, const struct attention *a);
void virtual_attention_backward(struct device *dev, const struct attention *a);
void virtual_rotate(struct device *dev, const struct rotary *r);

#endif
